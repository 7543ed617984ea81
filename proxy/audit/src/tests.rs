//! Tests of the audit log on real files: complete lines, none lost, through rotation and deletion of files.

mod full;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{shared::STOCK, *};

/// A temporary directory of the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("frontdesk-audit-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// The file names in it, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Every line of every file.
    fn lines(&self) -> Vec<String> {
        let files = self.names().into_iter().map(|name| fs::read_to_string(self.0.join(name)).unwrap());
        files.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn settings(path: &Path) -> Settings {
    let day = Duration::from_secs(86_400);
    Settings { path: path.into(), retention: None, max_size: 64 << 20, max_age: day }
}

fn open(path: &Path) -> Arc<Log> {
    Log::open(&settings(path)).unwrap()
}

async fn write(log: &Log, line: &str) -> Result<(), NotWritten> {
    log.reserve().await?.write(format!("{line}\n").into()).await
}

/// Waits until the condition holds.
async fn until(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Writes from many tasks, some notes and some reserved lines. Returns the lines that must be in the log.
async fn many(log: &Arc<Log>, mark: &str, tasks: usize, each: usize) -> BTreeSet<String> {
    let tasks: Vec<_> = (0..tasks)
        .map(|task| {
            let (log, mark) = (log.clone(), mark.to_owned());
            tokio::spawn(async move {
                let mut lines = Vec::new();
                for index in 0..each {
                    let line = format!("{mark} {task} {index} {}", "x".repeat((task * 131 + index * 17) % 3000));
                    if index % 3 == 0 {
                        log.note(format!("{line}\n").into());
                    } else {
                        write(&log, &line).await.unwrap();
                    }
                    lines.push(line);
                }
                lines
            })
        })
        .collect();
    let mut expected = BTreeSet::new();
    for task in tasks {
        expected.extend(task.await.unwrap());
    }
    expected
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_tasks_and_every_line_whole() {
    let directory = Directory::new("tasks");
    let log = open(&directory.log());
    let expected = many(&log, "a", 64, 60).await;
    log.close();
    let lines = directory.lines();
    assert_eq!(lines.len(), 64 * 60);
    assert!(BTreeSet::from_iter(lines) == expected);
    assert_eq!(log.status(), Status { well: false, written: 64 * 60, dropped: 0 });
    let found = fs::metadata(directory.log()).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    // The reserved blocks were given back.
    assert!(found.blocks() * 512 <= found.len() + 16 * 1024, "{} for {}", found.blocks() * 512, found.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_logs_on_one_file_rotate_it_and_lose_nothing() {
    let directory = Directory::new("two");
    let small = Settings { max_size: 40_000, ..settings(&directory.log()) };
    let (first, second) = (Log::open(&small).unwrap(), Log::open(&small).unwrap());
    let (mut expected, others) = tokio::join!(many(&first, "a", 16, 60), many(&second, "b", 16, 60));
    expected.extend(others);
    first.close();
    second.close();
    let lines = directory.lines();
    assert_eq!(lines.len(), 2 * 16 * 60);
    assert!(BTreeSet::from_iter(lines) == expected);
    assert!(directory.names().len() > 10, "{:?}", directory.names());
    for name in directory.names() {
        let found = fs::metadata(directory.0.join(&name)).unwrap();
        assert!(found.blocks() * 512 <= found.len() + 16 * 1024, "{name}: {} for {}", found.blocks(), found.len());
    }
}

#[tokio::test]
async fn room_that_is_not_used_is_given_back() {
    let directory = Directory::new("unused");
    let log = open(&directory.log());
    let mut places = Vec::new();
    for _ in 0..100 {
        places.push(log.reserve().await.unwrap());
    }
    assert!(log.shared.state().promised >= 100);
    assert!(fs::metadata(directory.log()).unwrap().blocks() * 512 >= 100 * LONGEST as u64);
    drop(places);
    let state = log.shared.state();
    assert_eq!((state.free, state.promised), (STOCK, STOCK));
}

#[tokio::test]
async fn a_line_fits_its_room_or_is_refused() {
    let directory = Directory::new("lines");
    let log = open(&directory.log());
    let longest = [vec![b'x'; LONGEST - 1], vec![b'\n']].concat();
    assert_eq!(log.reserve().await.unwrap().write(longest.clone()).await, Ok(()));
    for wrong in [[b"x", longest.as_slice()].concat(), b"a".to_vec(), b"a\nb\n".to_vec(), vec![]] {
        assert_eq!(log.reserve().await.unwrap().write(wrong.clone()).await, Err(NotWritten));
        log.note(wrong);
    }
    log.close();
    assert_eq!(fs::read(directory.log()).unwrap(), longest);
    assert_eq!((log.status().written, log.status().dropped), (1, 4));
}

#[tokio::test]
async fn an_old_file_is_put_aside_though_nobody_writes() {
    let directory = Directory::new("age");
    let log = Log::open(&Settings { max_age: Duration::from_millis(200), ..settings(&directory.log()) }).unwrap();
    write(&log, "a").await.unwrap();
    assert_eq!(directory.names(), ["audit.jsonl"]);
    until("it is put aside", || directory.names().len() == 2).await;
    write(&log, "b").await.unwrap();
    until("it is put aside too", || directory.names().len() == 3).await;
    // An empty file does not grow old.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(directory.names().len(), 3, "{:?}", directory.names());
    assert_eq!(directory.lines().len(), 2);
}

#[tokio::test]
async fn only_what_we_put_aside_is_deleted_and_only_when_it_is_old() {
    let directory = Directory::new("retention");
    let (old, kept) = ("audit-20200101T000000Z.jsonl", "audit-29990101T000000Z.jsonl");
    let others = ["audit-20200101T000000Z.jsonl.gz", "audit-2020.jsonl", "other-20200101T000000Z.jsonl"];
    for name in others.into_iter().chain([old, kept, "audit-20200101T000000Z-3.jsonl"]) {
        fs::write(directory.0.join(name), "x").unwrap();
    }
    fs::create_dir(directory.0.join("audit-20200102T000000Z.jsonl")).unwrap();
    let ninety = Some(Duration::from_secs(90 * 86_400));
    let keeping = Settings { retention: ninety, max_size: 1, ..settings(&directory.log()) };
    let log = Log::open(&keeping).unwrap();
    let mut left: Vec<_> =
        others.into_iter().chain([kept, "audit-20200102T000000Z.jsonl", "audit.jsonl"]).map(str::to_owned).collect();
    left.sort();
    assert_eq!(directory.names(), left);
    // The same at a rotation.
    fs::write(directory.0.join(old), "x").unwrap();
    write(&log, "a").await.unwrap();
    write(&log, "b").await.unwrap();
    assert!(!directory.0.join(old).exists() && directory.names().len() == left.len() + 1, "{:?}", directory.names());
}

#[tokio::test]
async fn a_file_that_was_moved_or_deleted_is_begun_again() {
    let directory = Directory::new("moved");
    let log = open(&directory.log());
    write(&log, "a").await.unwrap();
    let place = log.reserve().await.unwrap();
    fs::rename(directory.log(), directory.0.join("audit.jsonl.1")).unwrap();
    place.write(b"b\n".to_vec()).await.unwrap();
    assert_eq!(fs::read_to_string(directory.log()).unwrap(), "b\n");
    fs::remove_file(directory.log()).unwrap();
    write(&log, "c").await.unwrap();
    assert_eq!(fs::read_to_string(directory.log()).unwrap(), "c\n");
    // As `copytruncate` of logrotate does.
    fs::write(directory.log(), "").unwrap();
    write(&log, "d").await.unwrap();
    assert_eq!(fs::read_to_string(directory.log()).unwrap(), "d\n");
    assert_eq!(fs::read_to_string(directory.0.join("audit.jsonl.1")).unwrap(), "a\n");
}

#[tokio::test]
async fn what_a_link_leads_to_is_put_aside() {
    let directory = Directory::new("link");
    fs::create_dir(directory.0.join("disk")).unwrap();
    fs::write(directory.0.join("disk/real.jsonl"), "").unwrap();
    std::os::unix::fs::symlink("disk/real.jsonl", directory.log()).unwrap();
    let log = Log::open(&Settings { max_size: 1, ..settings(&directory.log()) }).unwrap();
    write(&log, "a").await.unwrap();
    write(&log, "b").await.unwrap();
    assert_eq!(fs::read_to_string(directory.log()).unwrap(), "b\n");
    assert_eq!(
        (directory.names(), fs::read_dir(directory.0.join("disk")).unwrap().count()),
        (vec!["audit.jsonl".to_owned(), "disk".to_owned()], 2)
    );
}

#[tokio::test]
async fn a_piece_of_a_line_is_not_grown_into() {
    let directory = Directory::new("torn");
    fs::write(directory.log(), "a\nb").unwrap();
    let log = open(&directory.log());
    write(&log, "c").await.unwrap();
    write(&log, "d").await.unwrap();
    assert_eq!(fs::read_to_string(directory.log()).unwrap(), "a\nb\nc\nd\n");
}

#[tokio::test]
async fn what_was_promised_is_kept_when_the_log_is_replaced() {
    let directory = Directory::new("replaced");
    let log = open(&directory.log());
    assert!(log.fits(&settings(&directory.log())) && !log.fits(&settings(&directory.0.join("other"))));
    let place = log.reserve().await.unwrap();
    let shared = log.shared.clone();
    drop(log);
    place.write(b"a\n".to_vec()).await.unwrap();
    assert!(shared.ended_within(Duration::from_secs(5)));
    assert_eq!(directory.lines(), ["a"]);
}

#[tokio::test]
async fn after_the_end_nothing_is_promised() {
    let directory = Directory::new("closed");
    let log = open(&directory.log());
    let place = log.reserve().await.unwrap();
    log.note(b"a\n".to_vec());
    log.close();
    assert_eq!(place.write(b"b\n".to_vec()).await, Err(NotWritten));
    assert_eq!(log.reserve().await.err(), Some(NotWritten));
    log.note(b"c\n".to_vec());
    assert_eq!(directory.lines(), ["a"]);
    assert_eq!(log.status(), Status { well: false, written: 1, dropped: 1 });
}

#[test]
fn what_cannot_be_opened_is_said() {
    let directory = Directory::new("errors");
    let refused = |path: &Path| Log::open(&settings(path)).err().unwrap();
    let missing = refused(&directory.0.join("missing/audit.jsonl"));
    assert!(missing.contains("there is no directory") && missing.contains("/missing; create it"), "{missing}");
    assert!(refused(&directory.0).contains("Is a directory"));
}
