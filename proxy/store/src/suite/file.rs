//! Tests of the file store alone: private, bounded, and replaced when it is broken.

use std::{
    fs,
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
    sync::Arc,
    time::Duration,
};

use frontdesk_config::StoreHome;
use frontdesk_state::{Amount, Committed, NotKept, Put};
use rusqlite::Connection;

use super::{Directory, amount, fixed, pause, record, settings, take, used};
use crate::Store;

fn open(directory: &Path) -> Arc<Store> {
    let mut settings = settings(StoreHome::File(directory.into()));
    settings.max_records = 1 << 30;
    Store::open(&settings).unwrap()
}

#[tokio::test]
async fn nobody_else_may_read_it() {
    let directory = Directory::new();
    let path = directory.path().join("a/b");
    let _store = open(&path);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory.path().join("a")), mode(&path)), (0o700, 0o700));
    for file in fs::read_dir(&path).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_broken_file_is_set_aside() {
    let directory = Directory::new();
    {
        let store = open(directory.path());
        for n in 0..200 {
            let mut changes = record(&format!("record {n}"));
            changes[0].put = Put::Value(vec![b'r'; 300].into(), Duration::from_secs(600));
            store.records.commit(&changes).await.unwrap();
        }
        take(&store, &[fixed("kept", 5, 600_000)], Amount::ONE).await;
    }
    // Let the store's threads close their files.
    pause(200).await;
    let path = directory.path().join("records.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 40_000);
    bytes[8192..32768].fill(0xa5);
    fs::write(&path, bytes).unwrap();

    let store = open(directory.path());
    assert_eq!(store.records.get("record 7").await, Ok(None));
    assert!(matches!(store.records.commit(&record("new")).await, Ok(Committed::Done(_))));
    let aside = fs::read_dir(directory.path()).unwrap().filter(|file| broken(&file.as_ref().unwrap().file_name()));
    assert_eq!(aside.count(), 1);
    // The other file was intact.
    assert_eq!(used(&store, fixed("kept", 5, 600_000)).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_breaks_while_it_is_used_is_set_aside() {
    let directory = Directory::new();
    let store = open(directory.path());
    // More than SQLite keeps of it in memory.
    let writing: Vec<_> = (0..64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..20 {
                    let mut changes = record(&format!("{task} {n}"));
                    changes[0].put = Put::Value(vec![b'r'; 8000].into(), Duration::from_secs(600));
                    store.records.commit(&changes).await.unwrap();
                }
            })
        })
        .collect();
    for task in writing {
        task.await.unwrap();
    }
    let path = directory.path().join("records.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let length = fs::metadata(&path).unwrap().len();
    assert!(length > 8 << 20, "{length}");
    let damage = vec![0xa5; length as usize - 8192];
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&damage, 8192).unwrap();

    let mut found_out = false;
    for n in 0..1280 {
        found_out |= store.records.get(&format!("{} {}", n / 20, n % 20)).await == Err(NotKept::Away);
    }
    assert!(found_out);
    store.tend().await.unwrap();
    assert_eq!(store.records.get("0 0").await, Ok(None));
    assert!(matches!(store.records.commit(&record("new")).await, Ok(Committed::Done(_))));
    assert!(fs::read_dir(directory.path()).unwrap().any(|file| broken(&file.unwrap().file_name())));
}

/// Whether a file was moved aside.
pub fn broken(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.contains(".broken-") && !name.ends_with("-wal") && !name.ends_with("-shm")
}

#[tokio::test]
async fn what_is_not_broken_is_left_to_the_operator() {
    let refused = |path: &Path| Store::open(&settings(StoreHome::File(path.into()))).err().unwrap();
    let directory = Directory::new();
    fs::create_dir_all(directory.path().join("records.db")).unwrap();
    let why = refused(directory.path());
    assert!(why.contains("records.db cannot be opened"), "{why}");
    assert!(directory.path().join("records.db").is_dir());

    let why = refused(&directory.path().join("counters.db"));
    assert!(why.contains("must name a directory"), "{why}");

    let newer = Directory::new();
    drop(open(newer.path()));
    pause(100).await;
    Connection::open(newer.path().join("counters.db")).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let why = refused(newer.path());
    assert!(why.contains("a newer Frontdesk wrote it"), "{why}");
    assert!(!fs::read_dir(newer.path()).unwrap().any(|file| broken(&file.unwrap().file_name())));
}

#[tokio::test]
async fn a_file_that_was_replaced_is_opened_again() {
    let directory = Directory::new();
    let (here, there) = (open(directory.path()), open(directory.path()));
    let limit = fixed("replaced", 10, 600_000);
    take(&here, &[limit], Amount::ONE).await;
    for name in ["counters.db", "counters.db-wal", "counters.db-shm", "records.db", "records.db-wal", "records.db-shm"]
    {
        fs::rename(directory.path().join(name), directory.path().join(format!("old {name}"))).unwrap();
    }
    here.tend().await.unwrap();
    there.tend().await.unwrap();
    assert_eq!(used(&here, limit).await, 0);
    take(&here, &[limit], amount(3, 3)).await;
    assert_eq!(used(&there, limit).await, 3);
    here.records.commit(&record("new")).await.unwrap();
    assert!(there.records.get("new").await.unwrap().is_some());
}

#[tokio::test]
async fn counts_are_bounded_and_the_stalest_go() {
    let directory = Directory::new();
    let mut settings = settings(StoreHome::File(directory.path().into()));
    settings.max_keys = 100;
    let store = Store::open(&settings).unwrap();
    for n in 0..50 {
        take(&store, &[fixed(&format!("ended {n}"), 5, 50)], Amount::ONE).await;
    }
    let stubborn = fixed("stubborn", 1, 600_000);
    take(&store, &[stubborn], Amount::ONE).await;
    for n in 0..39 {
        take(&store, &[fixed(&format!("stale {n}"), 5, 600_000)], Amount::ONE).await;
    }
    pause(1100).await;
    // A refused request counts as use.
    assert_eq!(take(&store, &[stubborn], Amount::ONE).await.granted, None);
    // Expired counters make room for these.
    for n in 0..60 {
        take(&store, &[fixed(&format!("live {n}"), 5, 600_000)], Amount::ONE).await;
    }
    assert_eq!(used(&store, fixed("stale 0", 5, 600_000)).await, 1);
    pause(10).await;
    for n in 0..30 {
        take(&store, &[fixed(&format!("late {n}"), 5, 600_000)], Amount::ONE).await;
    }
    store.tend().await.unwrap();
    let tracked = store.status().tracked;
    assert!((90..=100).contains(&tracked), "{tracked}");
    let mut counted = [0; 3];
    for n in 0..60 {
        for (sum, name) in counted.iter_mut().zip(["stale", "live", "late"]) {
            *sum += used(&store, fixed(&format!("{name} {n}"), 5, 600_000)).await;
        }
    }
    assert_eq!((counted[1], counted[2]), (60, 30), "{counted:?}");
    assert_eq!(used(&store, stubborn).await, 1);
    let rows = "SELECT count(*) = (SELECT held FROM total) FROM counts";
    let file = Connection::open(directory.path().join("counters.db")).unwrap();
    assert!(file.query_row(rows, [], |row| row.get::<_, bool>(0)).unwrap());
}

#[tokio::test]
async fn what_is_begun_does_not_put_out_what_it_was_taken_with() {
    let directory = Directory::new();
    let mut settings = settings(StoreHome::File(directory.path().into()));
    settings.max_keys = 8;
    let store = Store::open(&settings).unwrap();
    let oldest = fixed("oldest", 100, 600_000);
    take(&store, &[oldest], Amount::ONE).await;
    pause(10).await;
    for n in 0..7 {
        take(&store, &[fixed(&format!("other {n}"), 5, 600_000)], Amount::ONE).await;
    }
    pause(10).await;
    for n in 2..50 {
        let taken = take(&store, &[fixed(&format!("new {n}"), 5, 600_000), oldest], Amount::ONE).await;
        assert_eq!(taken.levels[1].used, n);
        assert_eq!(used(&store, oldest).await, n);
    }
}

#[tokio::test]
async fn expired_records_are_swept() {
    let directory = Directory::new();
    let store = open(directory.path());
    for n in 0..10 {
        let mut changes = record(&format!("short {n}"));
        changes[0].put = Put::Value("x".into(), Duration::from_millis(50));
        store.records.commit(&changes).await.unwrap();
    }
    store.records.commit(&record("long")).await.unwrap();
    pause(60).await;
    store.tend().await.unwrap();
    let file = Connection::open(directory.path().join("records.db")).unwrap();
    let count = |what: &str| file.query_row(what, [], |row| row.get::<_, i64>(0)).unwrap();
    // The lasting record and the marker.
    assert_eq!(count("SELECT count(*) FROM records"), 2);
    assert_eq!(count("SELECT held FROM total"), count("SELECT sum(weight) FROM records"));
}

#[tokio::test]
async fn a_clock_that_went_back_makes_nothing_last_longer() {
    let directory = Directory::new();
    let limit = fixed("clock", 5, 60_000);
    {
        let store = open(directory.path());
        take(&store, &[limit], Amount::ONE).await;
        store.records.commit(&record("clock")).await.unwrap();
        let counts = Connection::open(directory.path().join("counters.db")).unwrap();
        counts.execute("UPDATE counts SET ends = ends + 86400000", []).unwrap();
        let look = take(&store, &[limit], Amount::NOTHING).await;
        assert_eq!(look.levels[0].used, 1);
        assert!(look.levels[0].resets_in <= limit.window.length());
    }
    // And the window does end.
    {
        let store = open(directory.path());
        let brief = fixed("brief", 5, 400);
        take(&store, &[brief], amount(5, 5)).await;
        let counts = Connection::open(directory.path().join("counters.db")).unwrap();
        counts.execute("UPDATE counts SET ends = ends + 86400000, touched = touched + 86400000", []).unwrap();
        assert_eq!(take(&store, &[brief], Amount::ONE).await.granted, None);
        pause(410).await;
        assert_eq!(take(&store, &[brief], Amount::ONE).await.granted, Some(1));
    }
    let records = Connection::open(directory.path().join("records.db")).unwrap();
    records.execute("UPDATE records SET ends = ends + 86400000", []).unwrap();
    let _store = open(directory.path());
    let ends: i64 = records.query_row("SELECT ends FROM records", [], |row| row.get(0)).unwrap();
    let wall = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    assert!(ends - wall <= 600_000);
}
