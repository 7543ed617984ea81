//! The two kinds of state a decision may need, as traits: stores of the proxy carry them out.
//!
//! A crate of its own, so that what is counted and promised means the same in every crate that counts. It knows no limit, no
//! caller and no call, and does no input or output: a store gives it time and place.
//!
//! Counters say how much of a limit is used; when their home is away the operator chose what happens. Records are what
//! was promised to a caller; without their home nothing is promised. Every home keeps the same semantics, and one suite
//! of tests runs against each.

#![forbid(unsafe_code)]

pub mod chain;
mod key;
mod slab;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;

pub use key::{Class, Key, Subject};
pub use slab::Slab;

/// The most limits that one request is held to.
pub const TOGETHER: usize = 4;

/// How far the clocks of replicas, and of their store, may be apart before something that was used once is forgotten
/// while somebody would still accept it.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(24 * 3600);

/// How long to keep what must outlive a moment on every replica's clock, where `now` is only this one's. Both are
/// seconds since 1970.
pub fn keep_past(moment: u64, now: u64) -> Duration {
    Duration::from_secs(moment.saturating_sub(now)).saturating_add(CLOCK_MARGIN)
}

/// Seconds since 1970, by this machine's clock.
pub fn wall_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How long a limit's count lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Begins with the first use and ends this long after it, whatever happens in between.
    Fixed(Duration),
    /// Ends this long after the last use: a session.
    Idle(Duration),
}

impl Window {
    /// Its length.
    pub fn length(self) -> Duration {
        match self {
            Self::Fixed(length) | Self::Idle(length) => length,
        }
    }
}

/// At most so much in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub key: Key,
    pub most: u64,
    pub window: Window,
}

/// What is asked of a limit: `wanted`, or what is left if that is at least `least`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub wanted: u64,
    pub least: u64,
}

impl Amount {
    /// One request.
    pub const ONE: Self = Self { wanted: 1, least: 1 };
    /// Only a look.
    pub const NOTHING: Self = Self { wanted: 0, least: 0 };
}

/// Where a limit stands once something was taken, or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    /// Taken in this window so far.
    pub used: u64,
    /// When the window ends; its whole length where nothing is counted yet.
    pub resets_in: Duration,
    /// Which window this was, for [`Counters::settle`]. Meaningless elsewhere.
    pub period: u64,
}

impl Level {
    /// Whether anything was counted; it is not while the home is away and nobody is held to limits.
    pub fn is_counted(&self) -> bool {
        *self != Self::default()
    }
}

/// The answer to [`Counters::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// What every limit was charged; `None`: less than `least` was left of one of them, and none was charged.
    pub granted: Option<u64>,
    /// One for each limit, in their order; the rest are defaults, and so are all where nothing was counted.
    pub levels: [Level; TOGETHER],
}

/// A correction of what was taken: `by` is what was really used less what was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    pub key: Key,
    pub window: Window,
    /// Of the level that came with the grant; a window that has ended since is left alone.
    pub period: u64,
    pub by: i64,
}

/// The home of the state cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away;

/// Counts that may not be exceeded by calling concurrently.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Takes the same amount from at most [`TOGETHER`] limits with different keys, from all or from none, in one step.
    /// A shorter window ends the sooner: whether or not anything is taken, one that would end later than now and its
    /// limit's present length ends then, and is kept so.
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away>;

    /// Corrects what was taken, in one step. A count never falls below zero.
    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away>;
}

/// A record as it was found. `version` changes with every commit and never comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub value: Bytes,
    pub version: u64,
}

/// What must be true of a record for a commit to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Version(u64),
    Anything,
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// The value, and how long it is kept.
    Value(Bytes, Duration),
    Nothing,
}

/// One record's part of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Printable ASCII, at most 200 bytes.
    pub key: String,
    pub expect: Expect,
    pub put: Put,
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Every change was made; this is the version of what was put.
    Done(u64),
    /// None was made: the change of this index did not find what it expected, but this.
    Conflict(usize, Option<Record>),
}

/// Why a record could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// The home cannot be reached. Nothing was done.
    Away,
    /// The bound on what is kept is reached; live records are never given up for new ones. Nothing was done.
    Full,
    /// The answer to a commit was lost: it was made, and its records have this version, or it was not made and never
    /// will be.
    Unsure(u64),
}

/// Makes the first of several commits that finds what it expects.
pub async fn first_that_holds<R: Records + ?Sized>(records: &R, attempts: &[Vec<Change>]) -> Result<(), NotKept> {
    for changes in attempts {
        if let Committed::Done(_) = records.commit(changes).await? {
            break;
        }
    }
    Ok(())
}

/// What was promised: sessions, idempotency, results. Answered only when it is safe.
#[async_trait]
pub trait Records: Send + Sync {
    /// The record, unless it has expired.
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept>;

    /// Several of them, in their order, in the time that one takes.
    async fn get_all(&self, keys: &[&str]) -> Result<Vec<Option<Record>>, NotKept> {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(self.get(key).await?);
        }
        Ok(found)
    }

    /// A record that is made once and stays as it is: it may be remembered for half a minute.
    async fn get_lasting(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.get(key).await
    }

    /// What is remembered of records that last is not true any more: the home was emptied.
    fn forget_lasting(&self) {}

    /// Makes all changes or none, in one step. Their keys differ.
    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept>;

    /// The same, answered only once it would outlive the loss of whichever server keeps it, as far as that can be had.
    async fn commit_safely(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        self.commit(changes).await
    }

    /// Ends what an earlier commit began: makes the first of these commits that finds what it expects, and none if none
    /// does. While the home is away it waits, and is made once the home is back; so each change must expect a version or
    /// an absence, and is safe to make late, or to try twice.
    ///
    /// # Errors
    ///
    /// It will not be made: no more can wait.
    async fn finish(&self, attempts: Vec<Vec<Change>>) -> Result<(), NotKept> {
        first_that_holds(self, &attempts).await
    }

    /// Seconds since 1970 by the clock that everybody shares who uses the home: by it deadlines are written into records,
    /// and read.
    fn now(&self) -> u64 {
        wall_seconds()
    }

    /// When the home lost what it had kept, in seconds since 1970, where that is known and less than a day ago.
    fn lost_at(&self) -> Option<u64> {
        None
    }
}
