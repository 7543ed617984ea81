//! Tests of the file store between processes: they share it, and kill -9 loses nothing that was acknowledged.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use frontdesk_config::StoreHome;
use frontdesk_state::{Amount, Away, Committed};
use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rusqlite::Connection;

use super::{Directory, file::broken, fixed, record, settings, take, used};
use crate::Store;

const DIRECTORY: &str = "FRONTDESK_SUITE_DIRECTORY";
const SHARED: u64 = 600;

fn open(directory: &Path) -> Arc<Store> {
    let mut settings = settings(StoreHome::File(directory.into()));
    settings.max_records = 1 << 30;
    Store::open(&settings).unwrap()
}

/// Runs one of the ignored tests below in a child process.
fn child(test: &str, directory: &Path) -> Child {
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs in a process of its own, for acknowledged_records_survive_kill_9"]
async fn writes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let store = open(Path::new(&directory));
    let run = std::process::id();
    for task in 0..4 {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0u64.. {
                let key = format!("{run} {task} {n}");
                store.records.commit(&record(&key)).await.unwrap();
                take(&store, &[fixed("killed", u64::MAX, 600_000)], Amount::ONE).await;
                println!("\nkept {key}");
            }
        });
    }
    std::future::pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_records_survive_kill_9() {
    let directory = Directory::new();
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut child = child("writes_until_it_is_killed", directory.path());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Another thread kills it at an arbitrary moment.
        let mut killer = None;
        for line in lines {
            if let Some(key) = line.unwrap().strip_prefix("kept ") {
                kept.push(key.to_owned());
                let id = child.id();
                killer.get_or_insert_with(|| {
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(300));
                        // The parent waits for the child only after this thread, so the pid is still the child's.
                        kill(Pid::from_raw(id.try_into().unwrap()), Signal::SIGKILL).unwrap();
                    })
                });
            }
        }
        killer.unwrap().join().unwrap();
        child.wait().unwrap();
    }
    assert!(kept.len() > 10, "{}", kept.len());
    let store = open(directory.path());
    for key in &kept {
        assert!(store.records.get(key).await.unwrap().is_some(), "{key} of {} was lost", kept.len());
    }
    assert!(used(&store, fixed("killed", u64::MAX, 600_000)).await >= kept.len() as u64);
    assert!(!fs::read_dir(directory.path()).unwrap().any(|file| broken(&file.unwrap().file_name())));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs in a process of its own, for processes_share_counts_and_records"]
async fn takes_what_it_can() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let store = open(Path::new(&directory));
    let (granted, won) = take_what_it_can(&store).await;
    println!("\ntook {granted} {won}");
}

async fn take_what_it_can(store: &Arc<Store>) -> (u64, u64) {
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let (mut granted, mut won) = (0, 0);
                for n in 0..50 {
                    // On a busy machine the file may seem away. Then nothing was done, and the test retries.
                    let limits = [fixed("shared", SHARED, 600_000)];
                    let taken = loop {
                        match store.counters.take(&limits, Amount::ONE).await {
                            Ok(taken) => break taken,
                            Err(Away) => drop(store.tend().await),
                        }
                    };
                    granted += taken.granted.unwrap_or(0);
                    let done = loop {
                        match store.records.commit(&record(&format!("shared {n}"))).await {
                            Ok(done) => break done,
                            Err(_) => drop(store.tend().await),
                        }
                    };
                    won += u64::from(matches!(done, Committed::Done(_)));
                }
                (granted, won)
            })
        })
        .collect();
    let mut sum = (0, 0);
    for task in tasks {
        let (granted, won) = task.await.unwrap();
        sum = (sum.0 + granted, sum.1 + won);
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_counts_and_records() {
    let directory = Directory::new();
    let (here, there) = (open(directory.path()), open(directory.path()));
    let child = child("takes_what_it_can", directory.path());
    let (one, two) = tokio::join!(take_what_it_can(&here), take_what_it_can(&there));
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text.lines().find_map(|line| line.strip_prefix("took ")).unwrap();
    let (granted, won) = numbers.split_once(' ').unwrap();
    // 2,400 attempts in three groups, one of them in another process.
    assert_eq!(one.0 + two.0 + granted.parse::<u64>().unwrap(), SHARED);
    assert_eq!(one.1 + two.1 + won.parse::<u64>().unwrap(), 50);
    assert_eq!(used(&here, fixed("shared", SHARED, 600_000)).await, SHARED);
}

#[tokio::test]
#[ignore = "runs in a process of its own, for a_second_store_in_one_process_lets_go_of_nothing"]
async fn looks_in_and_closes() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let path = Path::new(&directory).join("records.db");
    // This SQLite has another sign that the file is in use. An older SQLite relies on this lock alone.
    assert!(is_locked(&fs::File::open(&path).unwrap()), "nobody else seems to use it");
    let file = Connection::open(path).unwrap();
    let kept: i64 = file.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    // The last process to close it writes everything back and removes the journal.
    file.close().unwrap();
    println!("\nsaw {kept}");
}

/// Whether another process holds SQLite's shared lock on a file.
fn is_locked(file: &fs::File) -> bool {
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as _,
        l_whence: libc::SEEK_SET as _,
        // The position is part of SQLite's file format.
        l_start: (1 << 30) + 2,
        l_len: 510,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_GETLK(&mut lock)).unwrap();
    lock.l_type != libc::F_UNLCK as libc::c_short
}

/// The number of records that another process sees.
fn seen_elsewhere(directory: &Path) -> i64 {
    let output = child("looks_in_and_closes", directory).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("saw ")).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_store_in_one_process_lets_go_of_nothing() {
    let directory = Directory::new();
    // As when a configuration swap changes [store] but not its place.
    let first = open(directory.path());
    first.records.commit(&record("first")).await.unwrap();
    let second = open(directory.path());
    assert_eq!(seen_elsewhere(directory.path()), 1);
    first.records.commit(&record("of the first")).await.unwrap();
    second.records.commit(&record("of the second")).await.unwrap();
    assert_eq!(seen_elsewhere(directory.path()), 3);
    drop(first);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(seen_elsewhere(directory.path()), 3);
    second.records.commit(&record("after the first")).await.unwrap();
    assert_eq!(seen_elsewhere(directory.path()), 4);
    assert!(directory.path().join("records.db-wal").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_removed_is_noticed() {
    let directory = Directory::new();
    let store = open(directory.path());
    for end in ["-wal", "-shm"] {
        fs::remove_file(directory.path().join(format!("records.db{end}"))).unwrap();
    }
    store.records.commit(&record("into the old")).await.unwrap();
    store.tend().await.unwrap();
    store.records.commit(&record("into the new")).await.unwrap();
    // And the marker.
    assert_eq!(seen_elsewhere(directory.path()), 3);
}
