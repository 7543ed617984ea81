//! In-memory stores for tests, which can be made unavailable.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Instant,
};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{
    Amount, Away, Change, Committed, Counters, Expect, Limit, NotKept, Put, Record, Records, Settlement, Slab, Taken,
    wall_seconds,
};

/// Counters in memory, with a switch.
pub struct Home {
    pub slab: Slab,
    began: Instant,
    /// Whether every call fails with [`Away`].
    pub away: AtomicBool,
}

impl Home {
    /// An empty one that is available.
    pub fn new() -> Self {
        Self { slab: Slab::new(1024), began: Instant::now(), away: AtomicBool::new(false) }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Counters for Home {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        if self.away.load(Ordering::Relaxed) {
            return Err(Away);
        }
        Ok(self.slab.take(limits, amount, self.began.elapsed()))
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        self.slab.settle(settlements, self.began.elapsed());
        Ok(())
    }
}

/// Records in memory, kept for ever.
#[derive(Default)]
pub struct Shelf {
    /// The records by their keys.
    pub kept: Mutex<BTreeMap<String, Record>>,
    /// How the next call behaves.
    pub state: Mutex<Shelving>,
    /// The number of commits; also the version of the last stored records.
    pub commits: AtomicUsize,
    /// The number of round trips that a remote store would have needed.
    pub trips: AtomicUsize,
    /// Seconds by which its clock is ahead.
    pub ahead: AtomicUsize,
}

/// The behaviour of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shelving {
    #[default]
    Well,
    Away,
    Full,
    /// Calls are carried out, and their replies are lost.
    Mute,
    /// The same for commits; reads work.
    MuteToCommits,
}

#[async_trait]
impl Records for Shelf {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.trips.fetch_add(1, Ordering::Relaxed);
        match *self.state.lock() {
            Shelving::Away | Shelving::Mute => Err(NotKept::Away),
            _ => Ok(self.kept.lock().get(key).cloned()),
        }
    }

    async fn get_all(&self, keys: &[&str]) -> Result<Vec<Option<Record>>, NotKept> {
        let mut found = Vec::new();
        for key in keys {
            found.push(self.get(key).await?);
        }
        self.trips.fetch_sub(keys.len().saturating_sub(1), Ordering::Relaxed);
        Ok(found)
    }

    /// Caches the record.
    async fn get_lasting(&self, key: &str) -> Result<Option<Record>, NotKept> {
        let found = self.get(key).await?;
        self.trips.fetch_sub(usize::from(found.is_some()), Ordering::Relaxed);
        Ok(found)
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        self.trips.fetch_add(1, Ordering::Relaxed);
        let state = *self.state.lock();
        match state {
            Shelving::Away => return Err(NotKept::Away),
            Shelving::Full => return Err(NotKept::Full),
            _ => {}
        }
        let mut kept = self.kept.lock();
        let version = self.commits.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        for (index, change) in changes.iter().enumerate() {
            assert!(changes[..index].iter().all(|other| other.key != change.key), "{} stands twice", change.key);
            let found = kept.get(&change.key);
            let holds = match change.expect {
                Expect::Absent => found.is_none(),
                Expect::Version(version) => found.is_some_and(|record| record.version == version),
                Expect::Anything => true,
            };
            if !holds {
                return Ok(Committed::Conflict(index, found.cloned()));
            }
        }
        for change in changes {
            match &change.put {
                Put::Value(value, _) => drop(kept.insert(change.key.clone(), Record { value: value.clone(), version })),
                Put::Nothing => drop(kept.remove(&change.key)),
            }
        }
        let is_mute = matches!(state, Shelving::Mute | Shelving::MuteToCommits);
        if is_mute { Err(NotKept::Unsure(version)) } else { Ok(Committed::Done(version)) }
    }

    fn now(&self) -> u64 {
        wall_seconds() + self.ahead.load(Ordering::Relaxed) as u64
    }
}

/// Runs a future that waits for in-memory stores only.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}
