//! The store in this process's memory: fast, bounded, and lost with the process.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_state::{
    Amount, Away, Change, Committed, Counters, Expect, Limit, NotKept, Put, Record, Records, Settlement, Slab, Taken,
};
use parking_lot::Mutex;

use super::{Home, Room, Unsettled, fresh};

/// The bytes of a record besides its key and its value: its entries in both indexes.
const OVERHEAD: usize = 200;
/// How many expired records are removed under one lock.
const SWEPT: usize = 256;

/// Counters and records in memory.
pub struct Memory {
    counts: Slab,
    records: Mutex<Kept>,
    room: Room,
    began: Instant,
}

impl Memory {
    /// Room for so many counters, and so many bytes of records.
    pub fn new(max_keys: usize, max_records: usize) -> Self {
        let records = Mutex::new(Kept { most: max_records, ..Kept::default() });
        Self { counts: Slab::new(max_keys), records, room: Room::default(), began: Instant::now() }
    }

    /// See [`Counters::take`].
    pub fn take_now(&self, limits: &[Limit], amount: Amount) -> Taken {
        self.counts.take(limits, amount, self.began.elapsed())
    }

    /// See [`Counters::settle`].
    pub fn settle_now(&self, settlements: &[Settlement]) {
        self.counts.settle(settlements, self.began.elapsed());
    }
}

#[async_trait]
impl Counters for Memory {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        Ok(self.take_now(limits, amount))
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        self.settle_now(settlements);
        Ok(())
    }
}

#[async_trait]
impl Records for Memory {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        Ok(self.records.lock().find(key, self.began.elapsed()))
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        let committed = self.records.lock().commit(changes, self.began.elapsed());
        self.room.note(&committed);
        committed
    }
}

#[async_trait]
impl Home for Memory {
    async fn tend(&self) -> Result<(), String> {
        while self.records.lock().drop_expired(self.began.elapsed(), SWEPT) == SWEPT {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled> {
        self.settle_now(settlements);
        Ok(())
    }

    fn reachable(&self) -> bool {
        true
    }

    fn full(&self) -> Option<String> {
        self.room.missing("raise store.max_records")
    }

    fn without(&self) -> u64 {
        0
    }

    fn tracked(&self) -> u64 {
        self.counts.tracked() as u64
    }
}

/// Records, and the order in which they expire.
#[derive(Default)]
struct Kept {
    by_key: HashMap<Arc<str>, Entry>,
    by_end: BTreeSet<(Duration, Arc<str>)>,
    held: usize,
    most: usize,
}

struct Entry {
    record: Record,
    ends: Duration,
}

impl Kept {
    fn find(&self, key: &str, now: Duration) -> Option<Record> {
        self.by_key.get(key).filter(|entry| entry.ends > now).map(|entry| entry.record.clone())
    }

    fn commit(&mut self, changes: &[Change], now: Duration) -> Result<Committed, NotKept> {
        for (index, change) in changes.iter().enumerate() {
            let is = |version| move |record: &Record| record.version == version;
            let found = || self.find(&change.key, now);
            let conflict = match change.expect {
                Expect::Absent => found().map(Some),
                Expect::Version(version) => Some(found()).filter(|found| !found.as_ref().is_some_and(is(version))),
                Expect::Anything => None,
            };
            if let Some(found) = conflict {
                return Ok(Committed::Conflict(index, found));
            }
        }
        while self.held_after(changes) > self.most.max(self.held) {
            if self.drop_expired(now, SWEPT) == 0 {
                return Err(NotKept::Full);
            }
        }
        let version = fresh();
        for change in changes {
            self.remove(&change.key);
            if let Put::Value(value, length) = &change.put {
                // Copy the value: a slice would keep its whole buffer alive.
                let record = Record { value: Bytes::copy_from_slice(value), version };
                self.insert(&change.key, Entry { record, ends: now.saturating_add(*length) });
            }
        }
        Ok(Committed::Done(version))
    }

    fn held_after(&self, changes: &[Change]) -> usize {
        changes.iter().fold(self.held, |held, change| {
            let old = self.by_key.get(change.key.as_str()).map_or(0, |entry| weight(&change.key, &entry.record.value));
            let new = match &change.put {
                Put::Value(value, _) => weight(&change.key, value),
                Put::Nothing => 0,
            };
            // `held` already includes the replaced records.
            held + new - old
        })
    }

    fn insert(&mut self, key: &str, entry: Entry) {
        let key: Arc<str> = key.into();
        self.held += weight(&key, &entry.record.value);
        self.by_end.insert((entry.ends, key.clone()));
        self.by_key.insert(key, entry);
    }

    fn remove(&mut self, key: &str) {
        if let Some((key, entry)) = self.by_key.remove_entry(key) {
            self.held -= weight(&key, &entry.record.value);
            self.by_end.remove(&(entry.ends, key));
        }
    }

    /// Removes expired records and returns their number.
    fn drop_expired(&mut self, now: Duration, most: usize) -> usize {
        for dropped in 0..most {
            match self.by_end.first() {
                Some((ends, key)) if *ends <= now => {
                    let key = key.clone();
                    self.remove(&key);
                }
                _ => return dropped,
            }
        }
        most
    }
}

fn weight(key: &str, value: &[u8]) -> usize {
    key.len() + value.len() + OVERHEAD
}
