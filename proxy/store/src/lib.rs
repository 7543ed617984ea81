//! The store of shared state that `[store]` declares: memory, a file, or Redis, behind the two traits `Counters` and
//! `Records`.
//!
//! A store outlives configuration swaps. Only a change of `[store]` itself opens another one.

#![forbid(unsafe_code)]

mod breaker;
mod file;
mod guarded;
mod late;
mod marker;
mod memory;
mod redis;
#[cfg(test)]
mod suite;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use frontdesk_caller::limits::budget::UnderWay;
use frontdesk_config::{self as site, StoreHome};
use frontdesk_state::{Committed, Counters, NotKept, Records, Settlement};
use ring::rand::{SecureRandom, SystemRandom};

use self::{file::File, guarded::Guarded, late::Late, marker::Marker, memory::Memory, redis::Redis};

/// A duration in milliseconds, as stores count it; at most a hundred years.
fn millis(length: Duration) -> i64 {
    const FOR_EVER: u128 = 100 * 365 * 24 * 3600 * 1000;
    length.as_millis().clamp(1, FOR_EVER) as i64
}

/// Counters, records, and the parts that maintain them.
pub struct Store {
    pub counters: Arc<dyn Counters>,
    pub records: Arc<dyn Records>,
    /// The reserved part of token budgets in the counts.
    pub under_way: UnderWay,
    home: Arc<dyn Home>,
    /// `None` where the backend cannot be away.
    guarded: Option<Arc<Guarded>>,
    /// The records, with results that wait for an outage to end.
    late: Arc<Late>,
    marker: Arc<Marker>,
    settings: ArcSwap<site::Store>,
    /// The process was ready before it opened this store.
    follows: AtomicBool,
}

/// The store's state, for metrics and readiness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Whether the backend answers. Memory always does.
    pub reachable: bool,
    /// Whether the backend refused new data for lack of room, and has accepted none since.
    pub full: bool,
    /// Operations decided without the backend since the store was opened.
    pub without: u64,
    /// Counters in this process's memory or in the file.
    pub tracked: u64,
    /// Results of calls that wait to be stored.
    pub waiting: usize,
    /// How often the backend was found to have lost its data since the store was opened.
    pub losses: u64,
    /// How many seconds the backend's clock is ahead of this machine's; negative if it is behind. `None` while unknown.
    pub clock_ahead: Option<f64>,
}

impl Store {
    /// Opens the store that `[store]` declares. May block while it checks a file. Needs no runtime: it spawns nothing
    /// before [`Store::tend`]. Does not wait for Redis, which counts as away until the first `tend`.
    pub fn open(settings: &site::Store) -> Result<Arc<Self>, String> {
        match &settings.home {
            StoreHome::Memory => {
                let memory = Arc::new(Memory::new(settings.max_keys, settings.max_records));
                Ok(Self::new(memory.clone(), memory.clone(), memory, None, settings))
            }
            StoreHome::File(directory) => Ok(Self::guard(Arc::new(File::open(directory, settings)?), settings)),
            StoreHome::Redis(url) => Ok(Self::guard(Redis::open(url, settings)?, settings)),
        }
    }

    /// Maintains the store; a background job calls this about every second. Sweeps expired entries, probes a backend
    /// that is away, and hands it waiting results. `Err` is a message for the operator. Connections live on the calling
    /// runtime.
    pub async fn tend(&self) -> Result<(), String> {
        let tended = self.home.tend().await;
        if let Some(guarded) = &self.guarded {
            guarded.tend().await;
        }
        self.late.tend().await;
        self.marker.look(self.records.as_ref()).await;
        tended
    }

    /// The current state, without asking the backend.
    pub fn status(&self) -> Status {
        Status {
            reachable: self.home.reachable(),
            full: self.home.full().is_some(),
            without: self.home.without(),
            tracked: self.home.tracked() + self.guarded.as_ref().map_or(0, |guarded| guarded.tracked()),
            waiting: self.late.waiting(),
            losses: self.marker.losses(),
            clock_ahead: self.home.clock_ahead(),
        }
    }

    /// Why the backend is away; `None` while it is not.
    pub fn away(&self) -> Option<String> {
        self.home.away()
    }

    /// What to do about a full backend; `None` while it has room.
    pub fn full(&self) -> Option<String> {
        self.home.full()
    }

    /// Why a process with this store is not ready: the backend has refused it since the start, so a rolling update had
    /// better stop. An outage of a backend that worked before is no reason.
    pub fn unready(&self) -> Option<String> {
        self.home.unready().filter(|_| !self.follows.load(Ordering::Relaxed))
    }

    /// Marks the store as a successor: a process that was ready stays so, because all processes get the new store at
    /// once.
    pub fn follow(&self, before: &Self) {
        self.follows.store(before.unready().is_none(), Ordering::Relaxed);
    }

    /// Whether the store satisfies a declaration, or can adopt it ([`Store::adopt`]). Memory does not depend on the
    /// settings of a shared backend and keeps its data; a shared backend stays the same with another password.
    pub fn fits(&self, settings: &site::Store) -> bool {
        let (own, bounds) = (self.settings.load(), |s: &site::Store| (s.max_keys, s.max_records));
        match (&own.home, &settings.home) {
            (StoreHome::Memory, StoreHome::Memory) => bounds(&own) == bounds(settings),
            (StoreHome::Redis(_), StoreHome::Redis(_)) => {
                own.is_same_place(settings) && own.max_keys == settings.max_keys
            }
            _ => **own == *settings,
        }
    }

    /// Whether it can adopt such settings. The error names the file or URL that cannot be used.
    pub fn check(&self, settings: &site::Store) -> Result<(), String> {
        redis::check(settings)
    }

    /// Adopts such settings: credentials, TLS, and what happens to counts during an outage.
    pub fn adopt(&self, settings: &site::Store) {
        if **self.settings.load() == *settings {
            return;
        }
        if let Err(why) = self.home.adopt(settings) {
            tracing::error!("[store] was not changed, the current store stays in use: {why}");
            return;
        }
        if let Some(guarded) = &self.guarded {
            guarded.set_on_error(settings.on_error);
        }
        self.settings.store(Arc::new(settings.clone()));
    }

    /// Whether the store ends with this process, so that no other process knows its records.
    pub fn is_of_this_process(&self) -> bool {
        self.settings.load().home == StoreHome::Memory
    }

    /// The settings that it was opened with or adopted last.
    pub fn settings(&self) -> Arc<site::Store> {
        self.settings.load_full()
    }

    fn guard<H: Home + Records + 'static>(home: Arc<H>, settings: &site::Store) -> Arc<Self> {
        let guarded = Arc::new(Guarded::new(home.clone(), settings.on_error, settings.max_keys));
        Self::new(guarded.clone(), home.clone(), home, Some(guarded), settings)
    }

    fn new(
        counters: Arc<dyn Counters>,
        records: Arc<dyn Records>,
        home: Arc<dyn Home>,
        guarded: Option<Arc<Guarded>>,
        settings: &site::Store,
    ) -> Arc<Self> {
        let settings = ArcSwap::from_pointee(settings.clone());
        let (under_way, follows) = (UnderWay::default(), AtomicBool::default());
        let marker = Arc::new(Marker::default());
        let late = Arc::new(Late::new(records, marker.clone()));
        Arc::new(Self { counters, records: late.clone(), under_way, home, guarded, late, marker, settings, follows })
    }
}

/// What a backend offers besides counters and records.
#[async_trait]
trait Home: Counters {
    async fn tend(&self) -> Result<(), String>;
    /// [`Counters::settle`] that also says, on failure, whether the settlements may have been applied.
    async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled>;
    /// Whether counters and records both answer.
    fn reachable(&self) -> bool;
    /// Whether the counters answer.
    fn counts_reachable(&self) -> bool {
        self.reachable()
    }
    /// Why it is away; `None` while it is not, or cannot be.
    fn away(&self) -> Option<String> {
        None
    }
    /// Adopts other settings of the same place.
    fn adopt(&self, _: &site::Store) -> Result<(), String> {
        Ok(())
    }
    /// What to do about it, if it refused new data for lack of room and has accepted none since.
    fn full(&self) -> Option<String>;
    /// Why a process with this backend alone is not ready.
    fn unready(&self) -> Option<String> {
        None
    }
    /// How many seconds its clock is ahead of this machine's; `None` while unknown.
    fn clock_ahead(&self) -> Option<f64> {
        Some(0.0)
    }
    fn without(&self) -> u64;
    fn tracked(&self) -> u64;
}

/// Whether the backend had room for the last new data.
#[derive(Default)]
struct Room {
    missing: AtomicBool,
}

impl Room {
    fn note(&self, committed: &Result<Committed, NotKept>) {
        match committed {
            Ok(Committed::Done(_)) => self.missing.store(false, Ordering::Relaxed),
            Err(NotKept::Full) => self.missing.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    /// What to do about it, if it had none.
    fn missing(&self, advice: &str) -> Option<String> {
        self.missing.load(Ordering::Relaxed).then(|| format!("there is no room: new records are refused; {advice}"))
    }
}

/// What is known about settlements that the backend did not confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsettled {
    /// They were not applied and will not be.
    NotDone,
    /// They may have been applied.
    Unknown,
}

/// A random, unique number for versions and periods. Never 0.
fn fresh() -> u64 {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).expect("the kernel gives random numbers once it has begun to");
    u64::from_le_bytes(bytes).max(1)
}
