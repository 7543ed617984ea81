//! The two interfaces of state, as traits that the proxy's stores implement.
//!
//! This is a crate of its own, so that counters and records have the same semantics everywhere. It knows no limit,
//! caller or call, and does no I/O; a store supplies time and storage.
//!
//! Counters say how much of a limit is used. While their store is unavailable, the operator's choice applies
//! (`store.on_error`). Records hold what was promised to a caller; without their store nothing is promised. All stores
//! have the same semantics, and one test suite runs against each.

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

/// Maximum limits of one request.
pub const TOGETHER: usize = 4;

/// The assumed maximum difference between the clocks of replicas and store. A single-use value is remembered this much
/// longer, so that no replica accepts it twice.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(24 * 3600);

/// How long to keep a record that must outlive `moment` on every replica's clock. Both arguments are seconds since
/// 1970; `now` is by this machine's clock.
pub fn keep_past(moment: u64, now: u64) -> Duration {
    Duration::from_secs(moment.saturating_sub(now)).saturating_add(CLOCK_MARGIN)
}

/// Seconds since 1970, by this machine's clock.
pub fn wall_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The window of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Begins with the first use and ends this long after it.
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

/// A maximum per window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub key: Key,
    pub most: u64,
    pub window: Window,
}

/// The amount to take: `wanted`, or what is left if that is at least `least`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub wanted: u64,
    pub least: u64,
}

impl Amount {
    /// One request.
    pub const ONE: Self = Self { wanted: 1, least: 1 };
    /// Takes nothing; reads the state.
    pub const NOTHING: Self = Self { wanted: 0, least: 0 };
}

/// The state of a limit after an attempt to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    /// The amount used in this window.
    pub used: u64,
    /// When the window ends; its full length where nothing is counted yet.
    pub resets_in: Duration,
    /// The window, for [`Counters::settle`]. Has no other meaning.
    pub period: u64,
}

impl Level {
    /// Whether anything was counted. Nothing is while the store is unavailable and limits are not enforced.
    pub fn is_counted(&self) -> bool {
        *self != Self::default()
    }
}

/// The result of [`Counters::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The amount taken from every limit; `None`: a limit had less than `least` left, and nothing was taken.
    pub granted: Option<u64>,
    /// One for each limit, in order; defaults beyond that, and for all where nothing was counted.
    pub levels: [Level; TOGETHER],
}

/// A correction: `by` is the amount really used less the amount granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    pub key: Key,
    pub window: Window,
    /// The window of the grant. A window that has ended since is left alone.
    pub period: u64,
    pub by: i64,
}

/// The store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away;

/// Counters that concurrent calls cannot exceed.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Atomically takes the same amount from at most [`TOGETHER`] limits with different keys, from all or none. If a
    /// limit's window was shortened, a window that would end later than now plus its present length ends then, whether
    /// or not anything is taken.
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away>;

    /// Applies corrections atomically. A count never falls below zero.
    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away>;
}

/// A record as it was read. `version` changes with every commit and is never reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub value: Bytes,
    pub version: u64,
}

/// The condition of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Version(u64),
    Anything,
}

/// What a change writes.
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

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// All changes were made; the version of the written records.
    Done(u64),
    /// None was made: the change with this index did not meet its condition; the record it found.
    Conflict(usize, Option<Record>),
}

/// Why a record could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// The store is unavailable. Nothing was done.
    Away,
    /// The store is full; it never drops live records for new ones. Nothing was done.
    Full,
    /// The reply to a commit was lost. Either it was made and its records have this version, or it was not made and
    /// never will be.
    Unsure(u64),
}

/// Makes the first of several commits whose conditions hold.
pub async fn first_that_holds<R: Records + ?Sized>(records: &R, attempts: &[Vec<Change>]) -> Result<(), NotKept> {
    for changes in attempts {
        if let Committed::Done(_) = records.commit(changes).await? {
            break;
        }
    }
    Ok(())
}

/// Records: sessions, idempotency, results. A write is confirmed only when it is durable.
#[async_trait]
pub trait Records: Send + Sync {
    /// The record, unless it has expired.
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept>;

    /// Several records, in order, in the time of one read.
    async fn get_all(&self, keys: &[&str]) -> Result<Vec<Option<Record>>, NotKept> {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(self.get(key).await?);
        }
        Ok(found)
    }

    /// A record that never changes once it is made. It may be cached for half a minute.
    async fn get_lasting(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.get(key).await
    }

    /// Empties the cache of such records, because the store was emptied.
    fn forget_lasting(&self) {}

    /// Makes all changes or none, atomically. Their keys differ.
    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept>;

    /// The same, but confirmed only once the records would survive the loss of a server, as far as possible.
    async fn commit_safely(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        self.commit(changes).await
    }

    /// Completes an earlier commit: makes the first of these commits whose conditions hold, if any. While the store is
    /// unavailable it is queued and made later. So each change must expect a version or an absence, and be safe to
    /// make late or twice.
    ///
    /// # Errors
    ///
    /// The queue is full, and it will not be made.
    async fn finish(&self, attempts: Vec<Vec<Change>>) -> Result<(), NotKept> {
        first_that_holds(self, &attempts).await
    }

    /// Seconds since 1970 by the clock that all users of the store share. Deadlines in records use this clock.
    fn now(&self) -> u64 {
        wall_seconds()
    }

    /// When the store lost its records, in seconds since 1970, if that is known and less than a day ago.
    fn lost_at(&self) -> Option<u64> {
        None
    }
}
