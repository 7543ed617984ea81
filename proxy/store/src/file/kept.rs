//! The records in a SQLite file. A commit checks its expectations, then the room, and only then writes.
//!
//! The value is the last column of a row, so that reading a row's times does not read the value.

use std::{path::PathBuf, time::Instant};

use bytes::Bytes;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    database::{self, Database, Layout, wall},
    writer_thread::Work,
};
use crate::millis;

pub const LAYOUT: Layout = Layout {
    name: "records.db",
    synchronous: "FULL",
    wait: database::patiently,
    tables: "CREATE TABLE records (
                 id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
                 ends INTEGER NOT NULL, keeps INTEGER NOT NULL, weight INTEGER NOT NULL, value BLOB NOT NULL
             );
             CREATE INDEX records_by_end ON records (ends);
             CREATE TABLE total (held INTEGER NOT NULL);
             INSERT INTO total VALUES (0);",
};

/// The bytes of a record besides its key and its value, including its index entries.
const OVERHEAD: usize = 128;
/// How many expired records one sweep removes, so that no caller waits long.
const SWEPT: i64 = 200;
/// The largest step back of the clock that is ignored, in milliseconds.
const SLIP: i64 = 1000;

/// A request to the records.
pub enum Asked {
    Get(String),
    /// A commit under this version, which no earlier commit had.
    Commit(Vec<Change>, u64),
    /// Removes expired records. Always writes something, to find out whether the disk takes it.
    Sweep {
        probing: bool,
    },
}

/// The answer to it.
pub enum Answer {
    Got(Option<Record>),
    Committed(Result<Committed, NotKept>),
    /// Whether more records have expired.
    Swept(bool),
    /// Nothing was done: the disk has no room.
    Full,
}

/// The records of one file, kept below a size.
pub struct Kept {
    directory: PathBuf,
    pub database: Database,
    most: i64,
    /// When the clock was last read, by a monotonic clock, and what it showed.
    pub clock: (Instant, i64),
}

impl Kept {
    /// Opens the file.
    pub fn open(directory: PathBuf, most: usize) -> Result<Self, String> {
        let mut database = Database::open(&directory, &LAYOUT)?;
        straighten(&mut database.connection).map_err(|error| error.to_string())?;
        let clock = (Instant::now(), wall());
        Ok(Self { directory, database, most: i64::try_from(most).unwrap_or(i64::MAX), clock })
    }

    /// Maintenance besides sweeping.
    fn look_after(&mut self) -> Result<(), String> {
        if self.database.is_elsewhere() {
            self.database.open_again(&self.directory, &LAYOUT)?;
        }
        let (looked, said) = self.clock;
        let now = (Instant::now(), wall());
        let expected = said.saturating_add(i64::try_from(looked.elapsed().as_millis()).unwrap_or(i64::MAX));
        if now.1 < expected - SLIP {
            match straighten(&mut self.database.connection) {
                Ok(_) => {}
                // Until the disk has room. The step of the clock stays noted.
                Err(error) if database::is_full(&error) => {
                    self.database.tell_that_it_is_full();
                    return Ok(());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        self.clock = now;
        Ok(())
    }
}

impl Work for Kept {
    type Asked = Asked;
    type Answer = Answer;

    fn carry_out(&mut self, asked: &[Asked]) -> Result<Vec<Answer>, String> {
        if asked.iter().any(|one| matches!(one, Asked::Sweep { .. })) {
            self.look_after()?;
        }
        let done = match batch(&mut self.database.connection, asked, self.most, false) {
            Err(error) if database::is_full(&error) => {
                self.database.tell_that_it_is_full();
                batch(&mut self.database.connection, asked, self.most, true)
            }
            done => done,
        };
        done.map_err(|error| self.database.explain(&error, &self.directory, &LAYOUT))
    }
}

/// After the clock went back, shortens each record's lifetime to what it was meant to be.
fn straighten(connection: &mut Connection) -> rusqlite::Result<usize> {
    connection.execute("UPDATE records SET ends = ?1 + keeps WHERE ends > ?1 + keeps", [wall()])
}

/// On a full disk, answers reads, and refuses writes with the reason.
fn batch(connection: &mut Connection, asked: &[Asked], most: i64, full: bool) -> rusqlite::Result<Vec<Answer>> {
    let reads = full || asked.iter().all(|one| matches!(one, Asked::Get(_)));
    let behaviour = if reads { TransactionBehavior::Deferred } else { TransactionBehavior::Immediate };
    let transaction = connection.transaction_with_behavior(behaviour)?;
    let before: i64 = transaction.prepare_cached("SELECT held FROM total")?.query_row([], |row| row.get(0))?;
    let mut turn = Turn { transaction: &transaction, now: wall(), most, held: before };
    let mut probing = false;
    let answers = asked
        .iter()
        .map(|one| match one {
            Asked::Get(key) => Ok(Answer::Got(turn.find(key)?.and_then(|found| found.record))),
            Asked::Commit(..) if full => Ok(Answer::Committed(Err(NotKept::Full))),
            Asked::Sweep { .. } if full => Ok(Answer::Full),
            Asked::Commit(changes, version) => turn.commit(changes, *version).map(Answer::Committed),
            Asked::Sweep { probing: writes } => {
                probing |= writes;
                Ok(Answer::Swept(turn.drop_expired()? == SWEPT))
            }
        })
        .collect::<rusqlite::Result<Vec<_>>>()?;
    if turn.held != before || probing {
        transaction.prepare_cached("UPDATE total SET held = ?1")?.execute([turn.held])?;
    }
    transaction.commit()?;
    Ok(answers)
}

/// An existing row, and its record unless that has expired.
struct Found {
    record: Option<Record>,
    weight: i64,
}

/// The work of one batch, at one moment.
struct Turn<'a> {
    transaction: &'a Transaction<'a>,
    now: i64,
    most: i64,
    held: i64,
}

impl Turn<'_> {
    fn find(&self, key: &str) -> rusqlite::Result<Option<Found>> {
        let mut select =
            self.transaction.prepare_cached("SELECT version, ends, weight, value FROM records WHERE key = ?1")?;
        let found = select.query_row([key], |row| {
            let record = if row.get::<_, i64>(1)? > self.now {
                let value = Bytes::copy_from_slice(row.get_ref(3)?.as_blob()?);
                Some(Record { value, version: row.get::<_, i64>(0)? as u64 })
            } else {
                None
            };
            Ok(Found { record, weight: row.get(2)? })
        });
        found.optional()
    }

    fn commit(&mut self, changes: &[Change], version: u64) -> rusqlite::Result<Result<Committed, NotKept>> {
        let mut grows = 0;
        for (index, change) in changes.iter().enumerate() {
            let found = self.find(&change.key)?;
            grows += weight(change) - found.as_ref().map_or(0, |found| found.weight);
            let record = found.and_then(|found| found.record);
            let holds = match change.expect {
                Expect::Absent => record.is_none(),
                Expect::Version(version) => record.as_ref().is_some_and(|record| record.version == version),
                Expect::Anything => true,
            };
            if !holds {
                return Ok(Ok(Committed::Conflict(index, record)));
            }
        }
        while grows > 0 && self.held + grows > self.most {
            let before = self.held;
            if self.drop_expired()? == 0 {
                return Ok(Err(NotKept::Full));
            }
            // The removed records may include some that this commit replaces.
            let mut replaced = 0;
            for change in changes {
                replaced += self.find(&change.key)?.map_or(0, |found| found.weight);
            }
            grows = changes.iter().map(weight).sum::<i64>() - replaced;
            debug_assert!(self.held < before);
        }
        for change in changes {
            self.put(change, version)?;
        }
        self.held += grows;
        Ok(Ok(Committed::Done(version)))
    }

    fn put(&self, change: &Change, version: u64) -> rusqlite::Result<()> {
        match &change.put {
            Put::Value(value, length) => {
                let keeps = millis(*length);
                let mut put = self.transaction.prepare_cached(
                    "INSERT INTO records (key, version, ends, keeps, weight, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (key) DO UPDATE SET version = ?2, ends = ?3, keeps = ?4, weight = ?5, value = ?6",
                )?;
                let (ends, weight) = (self.now + keeps, weight(change));
                put.execute(params![change.key, version as i64, ends, keeps, weight, value.as_ref()])?;
            }
            Put::Nothing => {
                self.transaction.prepare_cached("DELETE FROM records WHERE key = ?1")?.execute([&change.key])?;
            }
        }
        Ok(())
    }

    fn drop_expired(&mut self) -> rusqlite::Result<i64> {
        let mut delete = self.transaction.prepare_cached(
            "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE ends <= ?1 ORDER BY ends LIMIT ?2)
             RETURNING weight",
        )?;
        let mut dropped = 0;
        for weight in delete.query_map([self.now, SWEPT], |row| row.get::<_, i64>(0))? {
            self.held -= weight?;
            dropped += 1;
        }
        Ok(dropped)
    }
}

fn weight(change: &Change) -> i64 {
    match &change.put {
        Put::Value(value, _) => (change.key.len() + value.len() + OVERHEAD) as i64,
        Put::Nothing => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_goes_back_is_noticed() {
        let directory = std::env::temp_dir().join(format!("frontdesk-kept-{}", std::process::id()));
        let mut kept = Kept::open(directory.clone(), 10_000).unwrap();
        let put = Put::Value("value".into(), Duration::from_secs(60));
        let change = Change { key: "key".into(), expect: Expect::Absent, put };
        kept.carry_out(&[Asked::Commit(vec![change], 1)]).unwrap();
        // As if the record had been made an hour later.
        kept.database.connection.execute("UPDATE records SET ends = ends + 3600000", []).unwrap();
        kept.clock.1 += 3_600_000;
        kept.carry_out(&[Asked::Sweep { probing: false }]).unwrap();
        let ends: i64 = kept.database.connection.query_row("SELECT ends FROM records", [], |row| row.get(0)).unwrap();
        assert!(ends <= wall() + 60_000);
        drop(kept);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
