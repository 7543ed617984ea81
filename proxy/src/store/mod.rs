//! The home of state, as `[store]` declares it: memory, a file, or Redis, behind the two traits and nothing more.
//!
//! A store outlives config swaps; only a swap that changes `[store]` itself opens another.

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
use frontdesk_filters::{
    limits::budget::UnderWay,
    site::{self, StoreHome},
    state::{Committed, Counters, NotKept, Records, Settlement},
};
use ring::rand::{SecureRandom, SystemRandom};

use self::{file::File, guarded::Guarded, late::Late, marker::Marker, memory::Memory, redis::Redis};

/// A length of time in milliseconds, as a home counts it; a hundred years is for ever.
fn millis(length: Duration) -> i64 {
    const FOR_EVER: u128 = 100 * 365 * 24 * 3600 * 1000;
    length.as_millis().clamp(1, FOR_EVER) as i64
}

/// Counters and records, and what keeps them well.
pub struct Store {
    pub counters: Arc<dyn Counters>,
    pub records: Arc<dyn Records>,
    /// What is reserved of the token budgets among the counts.
    pub under_way: UnderWay,
    home: Arc<dyn Home>,
    /// `None` where the home cannot be away.
    guarded: Option<Arc<Guarded>>,
    /// The records, with what waits for their home.
    late: Arc<Late>,
    marker: Arc<Marker>,
    settings: ArcSwap<site::Store>,
    /// The process was ready before it had this one.
    follows: AtomicBool,
}

/// How the store is, for metrics and readiness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Whether the home answers; what is in memory always does.
    pub reachable: bool,
    /// Whether it has refused something new for want of room, and nothing was taken since.
    pub full: bool,
    /// Operations decided without the home, since the store was opened.
    pub without: u64,
    /// Counts held in this process's memory, or in the file.
    pub tracked: u64,
    /// Ends of calls that wait to be kept.
    pub waiting: usize,
    /// How often the home was found to have lost what it held, since the store was opened.
    pub losses: u64,
    /// By how many seconds its clock is ahead of this machine's; negative where it is behind. `None`: not known now.
    pub clock_ahead: Option<f64>,
}

impl Store {
    /// Opens what `[store]` declares. May block for as long as it takes to check a file, and needs no runtime: nothing
    /// is spawned on one before [`Store::tend`]. Redis is not waited for: it is away until it was tended.
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

    /// What a background job does every second or so: sweeps what has expired, looks whether a home that was away is
    /// back, and hands it what waited. `Err` is what the operator should know. A connection lives on the runtime that
    /// this is called on.
    pub async fn tend(&self) -> Result<(), String> {
        let tended = self.home.tend().await;
        if let Some(guarded) = &self.guarded {
            guarded.tend().await;
        }
        self.late.tend().await;
        self.marker.look(self.records.as_ref()).await;
        tended
    }

    /// How it is now; costs nothing.
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

    /// Why its home is away; `None` while it is not.
    pub fn away(&self) -> Option<String> {
        self.home.away()
    }

    /// What to do about a home that is full; `None` while it has room.
    pub fn full(&self) -> Option<String> {
        self.home.full()
    }

    /// Why a process that has it is not ready: the home has refused it since the start, so that whoever updates one
    /// process after another had better stop. A home that was used and goes away is no reason.
    pub fn unready(&self) -> Option<String> {
        self.home.unready().filter(|_| !self.follows.load(Ordering::Relaxed))
    }

    /// It comes after another: a process that was ready stays so, for all of them are given the new one at once.
    pub fn follow(&self, before: &Self) {
        self.follows.store(before.unready().is_none(), Ordering::Relaxed);
    }

    /// Whether it is what a declaration asks for, or can become it ([`Store::adopt`]): what is in memory does not depend
    /// on how a shared home is treated, and is not forgotten for it; a shared home stays the same with another password.
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

    /// Whether settings that it fits can be followed: an error says which file or URL cannot be used.
    pub fn check(&self, settings: &site::Store) -> Result<(), String> {
        redis::check(settings)
    }

    /// Follows settings that it fits: who connects to the home, and how, and what becomes of counts without it.
    pub fn adopt(&self, settings: &site::Store) {
        if **self.settings.load() == *settings {
            return;
        }
        if let Err(why) = self.home.adopt(settings) {
            tracing::error!("the store goes on as it was: {why}");
            return;
        }
        if let Some(guarded) = &self.guarded {
            guarded.set_on_error(settings.on_error);
        }
        self.settings.store(Arc::new(settings.clone()));
    }

    /// Whether it ends with this process: nobody else knows what is promised here.
    pub fn is_of_this_process(&self) -> bool {
        self.settings.load().home == StoreHome::Memory
    }

    /// What it was opened with, or has adopted since.
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

/// What a home offers beside counting and keeping.
#[async_trait]
trait Home: Counters {
    async fn tend(&self) -> Result<(), String>;
    /// [`Counters::settle`], and in what state it leaves the settlements if it fails.
    async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled>;
    /// Whether all of it answers.
    fn reachable(&self) -> bool;
    /// Whether what counts does.
    fn counts_reachable(&self) -> bool {
        self.reachable()
    }
    /// Why it is away; `None` while it is not, or cannot be.
    fn away(&self) -> Option<String> {
        None
    }
    /// Follows other settings of the same place.
    fn adopt(&self, _: &site::Store) -> Result<(), String> {
        Ok(())
    }
    /// What to do about it where it has refused something new for want of room, and taken nothing since.
    fn full(&self) -> Option<String>;
    /// Why a process that has no other is not ready.
    fn unready(&self) -> Option<String> {
        None
    }
    /// By how many seconds its clock is ahead of this machine's; `None` while that is not known.
    fn clock_ahead(&self) -> Option<f64> {
        Some(0.0)
    }
    fn without(&self) -> u64;
    fn tracked(&self) -> u64;
}

/// Whether a home had room for what was to be kept last.
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

/// What is known of settlements that were not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsettled {
    /// They were not applied, nor will be.
    NotDone,
    /// They may have been.
    Unknown,
}

/// A number nobody has had or can guess: versions and periods. Never 0.
fn fresh() -> u64 {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).expect("the kernel gives random numbers once it has begun to");
    u64::from_le_bytes(bytes).max(1)
}
