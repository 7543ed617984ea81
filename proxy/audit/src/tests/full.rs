//! Tests of full disks and of files that are no disk files: noticed before a call acts, and over when there is room
//! again.

use std::{io::Read, process::Command};

use nix::{
    errno::Errno,
    sys::signal::{SigSet, Signal},
};

use super::*;

/// A file system of its own; `None` where the test may not mount one.
struct Mounted(Directory);

impl Mounted {
    fn new(name: &str, kind: &str, options: &str) -> Option<Self> {
        let directory = Directory::new(name);
        let mount = Command::new("mount").args(["-t", kind, "-o", options, kind]).arg(&directory.0).output();
        mount.is_ok_and(|done| done.status.success()).then_some(Self(directory))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0.0).status();
    }
}

/// Writes until the disk is full.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [65_536, 4096, 1] {
        while std::io::Write::write_all(&mut file, &vec![b'x'; size]).is_ok() {}
    }
}

#[tokio::test]
async fn a_full_device_promises_nothing() {
    let log = open(Path::new("/dev/full"));
    assert!(!log.status().well);
    for _ in 0..3 {
        assert_eq!(log.reserve().await.err(), Some(NotWritten));
    }
    log.note(b"a\n".to_vec());
    until("the line is lost", || log.status().dropped == 1).await;
    assert!(!log.status().well);
    log.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_keeps_its_promises_and_makes_no_more() {
    let Some(disk) = Mounted::new("full", "tmpfs", "size=2m") else { return };
    let log = open(&disk.0.log());
    let mut places = Vec::new();
    for _ in 0..40 {
        places.push(log.reserve().await.unwrap());
    }
    let filler = disk.0.0.join("filler");
    fill(&filler);
    // Reads take none of the reserved room.
    for _ in 0..100 {
        log.note([vec![b'n'; LONGEST - 1], vec![b'\n']].concat());
    }
    until("reads are lost", || log.status().dropped > 0).await;
    assert!(!log.status().well);
    let mut more = 0;
    while let Ok(place) = log.reserve().await {
        places.push(place);
        more += 1;
        assert!(more < 200);
    }
    let longest = [vec![b'p'; LONGEST - 1], vec![b'\n']].concat();
    let promised = places.len();
    for place in places {
        assert_eq!(place.write(longest.clone()).await, Ok(()));
    }
    // After the rest of the room is used, nothing is promised.
    let mut rest = 0;
    while let Ok(place) = log.reserve().await {
        assert_eq!(place.write(longest.clone()).await, Ok(()));
        rest += 1;
        assert!(rest < 300);
    }
    let text = fs::read_to_string(disk.0.log()).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with('p')).count(), promised + rest);
    assert!(text.lines().all(|line| line.len() == LONGEST - 1));

    fs::remove_file(filler).unwrap();
    until("it is well again by itself", || log.status().well).await;
    assert_eq!(write(&log, "again").await, Ok(()));
    log.close();
}

#[tokio::test]
async fn a_disk_that_is_full_at_the_start_is_no_reason_not_to_start() {
    let Some(disk) = Mounted::new("full-start", "tmpfs", "size=256k") else { return };
    fs::write(disk.0.log(), "").unwrap();
    fill(&disk.0.0.join("filler"));
    let log = open(&disk.0.log());
    assert!(!log.status().well);
    assert_eq!(log.reserve().await.err(), Some(NotWritten));
    fs::remove_file(disk.0.0.join("filler")).unwrap();
    assert_eq!(write(&log, "a").await, Ok(()));
    until("it is well again by itself", || log.status().well).await;
    log.close();
}

#[tokio::test]
async fn a_disk_that_cannot_set_aside_will_do() {
    let Some(disk) = Mounted::new("plain", "ramfs", "mode=0700") else { return };
    let log = open(&disk.0.log());
    let expected = many(&log, "a", 8, 30).await;
    assert!(!log.shared.state().stocks);
    log.close();
    assert!(BTreeSet::from_iter(disk.0.lines()) == expected);
}

#[tokio::test]
async fn a_pipe_is_written_while_somebody_reads_it() {
    let directory = Directory::new("pipe");
    let path = directory.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(Log::open(&settings(&path)).is_err(), "nobody reads it");
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let log = open(&path);
    write(&log, "a").await.unwrap();
    let mut read = [0; 2];
    reader.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"a\n");
    drop(reader);
    assert_eq!(log.reserve().await.err(), Some(NotWritten));
    assert!(!log.status().well);
    let _reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    assert_eq!(write(&log, "b").await, Ok(()));
    log.close();
}

#[tokio::test]
async fn after_a_failed_write_one_is_let_through_to_try() {
    let directory = Directory::new("stuffed");
    let path = directory.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let log = open(&path);
    let noted = [vec![b'n'; 4999], vec![b'\n']].concat();
    for _ in 0..20 {
        log.note(noted.clone());
    }
    until("nobody reads", || log.status().dropped > 0).await;
    assert!(!log.status().well);
    assert_eq!(log.reserve().await.err(), Some(NotWritten));
    let read = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let kept = read.clone();
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(taken) = reader.read(&mut buffer) {
            kept.lock().extend_from_slice(&buffer[..taken]);
        }
    });
    // A successful note shows that the log works again, and so does an action that is let through after a while.
    let began = Instant::now();
    while write(&log, "action").await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until("it is well again", || log.status().well).await;
    until("it is read", || read.lock().ends_with(b"\naction\n")).await;
    let whole = read.lock().split(|byte| *byte == b'\n').filter(|line| line.len() == 4999).count();
    assert_eq!((log.status().written, log.status().dropped), (whole as u64 + 1, 20 - whole as u64));
    log.close();
}

#[test]
fn a_disk_that_does_not_answer_is_noticed_before_the_next_promise() {
    let shared = Shared::new();
    shared.note(Some(b"a\n".to_vec()));
    let room = || shared.ask().is_ok();
    assert!(room());
    // As if the thread hung at the disk.
    assert_eq!(shared.next(Duration::ZERO).unwrap().len(), 2);
    assert!(room() && shared.status().0);
    thread::sleep(PATIENCE + Duration::from_millis(50));
    assert!(!room() && !shared.status().0);
    assert_eq!(shared.next(Duration::ZERO).unwrap().len(), 1);
    assert!(room() && shared.status().0);
}

#[tokio::test]
async fn what_was_promised_is_written_though_the_next_file_has_no_room() {
    let Some(disk) = Mounted::new("full-rotation", "tmpfs", "size=2m") else { return };
    let log = Log::open(&Settings { max_size: 40_000, ..settings(&disk.0.log()) }).unwrap();
    let mut places = Vec::new();
    for _ in 0..40 {
        places.push(log.reserve().await.unwrap());
    }
    let filler = disk.0.0.join("filler");
    fill(&filler);
    let longest = [vec![b'p'; LONGEST - 1], vec![b'\n']].concat();
    for place in places {
        assert_eq!(place.write(longest.clone()).await, Ok(()));
    }
    assert_eq!(log.reserve().await.err(), Some(NotWritten), "the file in use has no room");
    fs::remove_file(filler).unwrap();
    until("it is well again by itself", || log.status().well).await;
    assert_eq!(write(&log, "again").await, Ok(()));
    log.close();
    assert_eq!(fs::read_to_string(disk.0.log()).unwrap(), "again\n");
    assert_eq!(disk.0.lines().len(), 41);
}

/// The child process, whose files may not exceed 1 MiB.
#[tokio::test]
#[ignore = "run by the test below, in a process of its own"]
async fn limited() {
    let directory = Directory::new("limited");
    // The thread of the log inherits this. A write beyond the limit then fails.
    SigSet::from(Signal::SIGXFSZ).thread_block().unwrap();
    // An incomplete line is cut off.
    let cut = directory.0.join("cut");
    let (done, error) =
        file::OpenFile::open(&cut).unwrap().append(&[vec![b'c'; 4999], vec![b'\n']].concat().repeat(300));
    assert_eq!((done, error.unwrap().raw_os_error()), (1 << 20, Some(Errno::EFBIG as i32)));
    assert_eq!(fs::metadata(&cut).unwrap().len(), (1 << 20) / 5000 * 5000);
    let log = open(&directory.log());
    let longest = [vec![b'p'; LONGEST - 1], vec![b'\n']].concat();
    let mut written = 0;
    while let Ok(place) = log.reserve().await {
        assert_eq!(place.write(longest.clone()).await, Ok(()));
        written += 1;
        assert!(written < 200);
    }
    assert!(written > 64 && !log.status().well, "{written}");
    // A line without reserved room may be lost. Drain all of them: waiting ones would fill the next file.
    let handed_over = || log.status().written + log.status().dropped;
    let before = handed_over();
    for _ in 0..200 {
        log.note(longest.clone());
    }
    until("every read is written or lost", || handed_over() == before + 200).await;
    assert!(log.status().dropped > 0 && !log.status().well, "a file at its limit is not well: {:?}", log.status());
    fs::rename(directory.log(), directory.0.join("moved")).unwrap();
    until("it is well again by itself", || log.status().well).await;
    assert_eq!(write(&log, "again").await, Ok(()));
    assert_eq!(fs::read_to_string(directory.log()).unwrap().lines().last(), Some("again"));
    log.close();
}

#[test]
fn a_file_that_may_not_grow_is_a_full_disk() {
    let child = Command::new("prlimit")
        .arg("--fsize=1048576:1048576")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "tests::full::limited", "--ignored", "--nocapture"])
        .output();
    // Some machines have no prlimit.
    let Ok(child) = child else { return };
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
