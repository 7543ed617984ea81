//! The counters in a SQLite file. One batch of operations is one transaction.
//!
//! A failed write undoes the whole batch, and every caller in it gets the error. If only disk space is missing, callers
//! that merely read still get an answer.

use std::path::PathBuf;

use frontdesk_state::{Amount, Limit, Settlement, Taken};
use rusqlite::{Connection, TransactionBehavior};

use super::{
    counter_txn::{SWEPT, Turn},
    database::{self, Database, Layout, wall},
    writer_thread::Work,
};

pub const LAYOUT: Layout = Layout {
    name: "counters.db",
    synchronous: "NORMAL",
    wait: database::briefly,
    tables: "CREATE TABLE counts (
                 key BLOB PRIMARY KEY, used INTEGER NOT NULL, period INTEGER NOT NULL,
                 ends INTEGER NOT NULL, touched INTEGER NOT NULL
             ) WITHOUT ROWID;
             CREATE INDEX counts_by_end ON counts (ends);
             CREATE INDEX counts_by_touch ON counts (touched);
             CREATE TABLE total (held INTEGER NOT NULL);
             INSERT INTO total VALUES (0);",
};

/// A request to the counters.
pub enum Asked {
    Take(Vec<Limit>, Amount),
    Settle(Vec<Settlement>),
    /// Removes expired counters. Always writes something, to find out whether the disk takes it.
    Sweep {
        probing: bool,
    },
}

/// The answer to it.
pub enum Answer {
    Taken(Taken),
    Settled,
    /// Nothing was done: the disk has no room.
    Full,
    /// The number of counters that are left, and whether more have expired.
    Swept(u64, bool),
}

/// The counters of one file, kept below a maximum number.
pub struct Counts {
    directory: PathBuf,
    pub database: Database,
    most: i64,
}

impl Counts {
    /// Opens the file.
    pub fn open(directory: PathBuf, most: usize) -> Result<Self, String> {
        let database = Database::open(&directory, &LAYOUT)?;
        Ok(Self { directory, database, most: i64::try_from(most).unwrap_or(i64::MAX) })
    }
}

impl Work for Counts {
    type Asked = Asked;
    type Answer = Answer;

    fn carry_out(&mut self, asked: &[Asked]) -> Result<Vec<Answer>, String> {
        if asked.iter().any(|one| matches!(one, Asked::Sweep { .. })) && self.database.is_elsewhere() {
            self.database.open_again(&self.directory, &LAYOUT)?;
        }
        let done = batch(&mut self.database.connection, asked, self.most);
        let done = match done {
            Err(error) if database::is_full(&error) => {
                self.database.tell_that_it_is_full();
                attempt(&mut self.database.connection, asked, self.most, Leave::Read)
            }
            done => done,
        };
        match done {
            Ok(Some(answers)) => Ok(answers),
            Ok(None) => Err("it was refused what it was given".into()),
            Err(error) => Err(self.database.explain(&error, &self.directory, &LAYOUT)),
        }
    }
}

/// What one attempt at a batch may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// For reads only. It gives up if it finds something to correct.
    Look,
    Write,
    /// The disk is full: reads are answered, and nothing else is done.
    Read,
}

fn is_look(one: &Asked) -> bool {
    matches!(one, Asked::Take(_, amount) if amount.wanted == 0)
}

fn batch(connection: &mut Connection, asked: &[Asked], most: i64) -> rusqlite::Result<Option<Vec<Answer>>> {
    if asked.iter().all(is_look)
        && let Some(answers) = attempt(connection, asked, most, Leave::Look)?
    {
        return Ok(Some(answers));
    }
    attempt(connection, asked, most, Leave::Write)
}

/// `None` if it needs permission to write, from the start.
fn attempt(
    connection: &mut Connection,
    asked: &[Asked],
    most: i64,
    leave: Leave,
) -> rusqlite::Result<Option<Vec<Answer>>> {
    let may_write = leave == Leave::Write;
    let behaviour = if may_write { TransactionBehavior::Immediate } else { TransactionBehavior::Deferred };
    let transaction = connection.transaction_with_behavior(behaviour)?;
    let before: i64 = transaction.prepare_cached("SELECT held FROM total")?.query_row([], |row| row.get(0))?;
    let mut turn = Turn { transaction: &transaction, now: wall(), most, held: before, may_write, must_write: false };
    let mut probing = false;
    let answers = asked
        .iter()
        .map(|one| match one {
            one if leave == Leave::Read && !is_look(one) => Ok(Answer::Full),
            Asked::Take(limits, amount) => turn.take(limits, *amount).map(Answer::Taken),
            Asked::Settle(settlements) => turn.settle(settlements).map(|()| Answer::Settled),
            Asked::Sweep { probing: writes } => {
                probing |= writes;
                let more = turn.drop_expired()? == SWEPT;
                Ok(Answer::Swept(turn.held.unsigned_abs(), more))
            }
        })
        .collect::<rusqlite::Result<Vec<_>>>()?;
    if leave == Leave::Look && turn.must_write {
        return Ok(None);
    }
    if turn.held != before || probing {
        transaction.prepare_cached("UPDATE total SET held = ?1")?.execute([turn.held])?;
    }
    transaction.commit()?;
    Ok(Some(answers))
}
