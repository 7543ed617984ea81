//! Opening the files, and their behaviour on a full disk.

use std::{fs, path::PathBuf, time::Duration};

use frontdesk_state::{Class, Expect, Key, Put, Subject, Window};

use super::{
    counts::Counts,
    database::{Database, Layout},
    kept::Kept,
    writer_thread::Work,
    *,
};

/// A temporary directory of the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("frontdesk-file-{name}-{}", std::process::id())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pragma(database: &Database, name: &str) -> String {
    let value: rusqlite::types::Value =
        database.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
    match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_is_on_the_disk_when_it_is_answered_for() {
    let directory = Directory::new("pragmas");
    let synchronous = |layout: &Layout| {
        let database = Database::open(&directory.0, layout).unwrap();
        assert_eq!(pragma(&database, "journal_mode"), "wal");
        pragma(&database, "synchronous")
    };
    // FULL and NORMAL, for new and for existing files.
    for _ in 0..2 {
        assert_eq!((synchronous(&kept::LAYOUT), synchronous(&counts::LAYOUT)), ("2".into(), "1".into()));
    }
}

/// Makes the file appear to be on a full disk: SQLite reports the same for a file that may not grow.
fn fill(database: &Database) {
    let pages = pragma(database, "page_count");
    database.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
}

#[test]
fn without_room_records_are_read_and_refused() {
    let directory = Directory::new("full-records");
    let mut kept = Kept::open(directory.0.clone(), 1 << 30).unwrap();
    let commit = |key: &str, length: usize| {
        let put = Put::Value(vec![b'r'; length].into(), Duration::from_secs(600));
        kept::Asked::Commit(vec![Change { key: key.into(), expect: Expect::Absent, put }], 1)
    };
    kept.carry_out(&[commit("there", 10)]).unwrap();
    fill(&kept.database);
    let asked = [kept::Asked::Get("there".into()), commit("large", 100_000), kept::Asked::Sweep { probing: true }];
    for _ in 0..3 {
        let answers = kept.carry_out(&asked).unwrap();
        assert!(matches!(&answers[0], kept::Answer::Got(Some(_))));
        assert!(matches!(&answers[1], kept::Answer::Committed(Err(NotKept::Full))));
        assert!(matches!(&answers[2], kept::Answer::Full));
    }
    kept.database.connection.query_row("PRAGMA max_page_count = 1000000", [], |_| Ok(())).unwrap();
    let answers = kept.carry_out(&asked).unwrap();
    assert!(matches!(&answers[1], kept::Answer::Committed(Ok(Committed::Done(_)))));
    assert!(matches!(&answers[2], kept::Answer::Swept(false)));
}

#[test]
fn without_room_counts_are_looked_at_only() {
    let directory = Directory::new("full-counts");
    let mut counts = Counts::open(directory.0.clone(), 1 << 20).unwrap();
    let take = |name: u32, wanted| {
        let key = Key::new(Class::Actions, Subject::named(&[&name.to_le_bytes()]));
        let window = Window::Fixed(Duration::from_secs(600));
        counts::Asked::Take(vec![Limit { key, most: 5, window }], Amount { wanted, least: wanted })
    };
    counts.carry_out(&[take(0, 3)]).unwrap();
    fill(&counts.database);
    let mut asked = vec![take(0, 0), counts::Asked::Sweep { probing: true }];
    asked.extend((1..1000).map(|n| take(n, 1)));
    let answers = counts.carry_out(&asked).unwrap();
    assert!(matches!(&answers[0], counts::Answer::Taken(taken) if taken.levels[0].used == 3));
    assert!(answers[1..].iter().all(|answer| matches!(answer, counts::Answer::Full)));
}

#[test]
fn a_clock_that_went_back_is_not_forgotten_before_it_is_dealt_with() {
    let directory = Directory::new("clock");
    let mut kept = Kept::open(directory.0.clone(), 1 << 30).unwrap();
    let put = Put::Value("value".into(), Duration::from_secs(60));
    let change = Change { key: "key".into(), expect: Expect::Absent, put };
    kept.carry_out(&[kept::Asked::Commit(vec![change], 1)]).unwrap();
    // As if the record had been made an hour later.
    kept.database.connection.execute("UPDATE records SET ends = ends + 3600000", []).unwrap();
    kept.clock.1 += 3_600_000;
    let ends = |kept: &Kept| -> i64 {
        kept.database.connection.query_row("SELECT ends - keeps FROM records", [], |row| row.get(0)).unwrap()
    };
    let other = Database::open(&directory.0, &kept::LAYOUT).unwrap();
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let sweep = [kept::Asked::Sweep { probing: false }];
    assert!(kept.carry_out(&sweep).is_err());
    assert!(ends(&kept) > database::wall());
    other.connection.execute_batch("COMMIT").unwrap();
    kept.carry_out(&sweep).unwrap();
    assert!(ends(&kept) <= database::wall());
}
