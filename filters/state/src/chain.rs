//! Chains of records: each holds the hash of the one before it, so that none can be taken out or changed later without
//! it being seen.
//!
//! A chain belongs to a name. It grows in the memory of this process, under a lock for as long as the next record takes
//! to be made, and is stored in that order by a job, many records at a time. Whoever is about to do something that has
//! to be recorded asks for room first: when records cannot be stored and no more may wait, there is none, and nothing is
//! done. With room a record can always be added.
//!
//! A process goes on from the head that was stored last, and looks after what is stored behind it: it takes away the
//! oldest records when there are more than are kept.

mod queue;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use frontdesk_base::text::{hex, unhex};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};

use crate::{NotKept, Records};
use queue::{Queue, Waiting, head_key, link};

/// Records that wait to be stored, those among them that have room and are not there yet.
pub const MOST_WAITING: usize = 4096;
/// Records that are looked at in one turn, on the way back along what was stored before this process began.
const LOOKED_AT: usize = 64;

/// What a record is known by: SHA-256 of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id([u8; 32]);

impl Id {
    /// Before the first record.
    const NONE: Self = Self([0; 32]);

    fn of(record: &[u8]) -> Self {
        let mut id = Self::NONE;
        id.0.copy_from_slice(digest(&SHA256, record).as_ref());
        id
    }

    /// 64 lower-case hex digits.
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| !text.bytes().any(|b| b.is_ascii_uppercase()))?;
        unhex(text)?.try_into().ok().map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex(&self.0))
    }
}

/// The chains of this process, and what of them waits to be stored. It outlives every configuration.
#[derive(Default)]
pub struct Chains {
    /// Names are the operator's: there is one for each that was ever configured.
    chains: Mutex<HashMap<Box<str>, Arc<Chain>>>,
    queue: Mutex<Queue>,
    /// Places of the queue that are taken, by records or by room for them.
    taken: AtomicUsize,
    /// Somebody is storing.
    storing: AtomicBool,
    told: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// One chain.
struct Chain {
    name: Box<str>,
    /// The record that comes next links to it. Locked while that one is made.
    head: Mutex<Id>,
    /// The last one that this process has stored.
    stored: Mutex<Option<Id>>,
    /// Of the records that were stored before this process began, the next to be looked at.
    behind: Mutex<Option<Id>>,
}

/// A record that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    pub record: Bytes,
    /// SHA-256 of it: 64 lower-case hex digits.
    pub id: String,
}

/// Room for one record. Dropped unused, it is given back.
pub struct Room<'a> {
    chains: &'a Chains,
    chain: Arc<Chain>,
    used: bool,
}

impl Chains {
    /// Asks to be told when there is something to be stored and there was nothing before. Only the first who asks is.
    pub fn on_append(&self, told: impl Fn() + Send + Sync + 'static) {
        let _ = self.told.set(Box::new(told));
    }

    /// Makes sure that a record can be added later, to the chain of a name of at most 128 bytes of printable ASCII. The
    /// first time, what was stored last is looked up.
    ///
    /// # Errors
    ///
    /// It cannot be looked up, or too many records wait already: nothing must be done that would need one.
    pub async fn room(&self, records: &dyn Records, name: &str) -> Result<Room<'_>, NotKept> {
        let known = self.chains.lock().get(name).cloned();
        let chain = match known {
            Some(chain) => chain,
            None => self.begin(records, name).await?,
        };
        let free = |taken: usize| (taken < MOST_WAITING).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free) {
            Ok(_) => Ok(Room { chains: self, chain, used: false }),
            Err(_) => Err(NotKept::Full),
        }
    }

    async fn begin(&self, records: &dyn Records, name: &str) -> Result<Arc<Chain>, NotKept> {
        let stored = records.get(&head_key(name)).await?.and_then(|record| Id::read(&record.value));
        let chain = Chain {
            name: name.into(),
            head: Mutex::new(stored.unwrap_or(Id::NONE)),
            stored: Mutex::new(None),
            behind: Mutex::new(stored),
        };
        // Whoever came first in the meantime may have added to it.
        Ok(self.chains.lock().entry(name.into()).or_insert_with(|| Arc::new(chain)).clone())
    }

    /// Stores what waits, the oldest first, and as much of it as one commit takes; how many records that was. `most` is
    /// what all of them together may take of the store, in bytes. If somebody is storing already, none are.
    ///
    /// # Errors
    ///
    /// Nothing is lost: it waits for the next time.
    pub async fn store(&self, records: &dyn Records, most: usize) -> Result<usize, NotKept> {
        let Some(_alone) = Alone::with(&self.storing) else { return Ok(0) };
        let batch = self.queue.lock().batch(most);
        let changes = batch.changes();
        if !changes.is_empty() {
            // Nothing is expected of what is there; if the answer was lost, the same is written once more.
            records.commit(&changes).await?;
        }
        self.queue.lock().done(&batch);
        for (chain, id) in batch.heads() {
            *chain.stored.lock() = Some(id);
        }
        self.taken.fetch_sub(batch.waiting.len(), Ordering::Relaxed);
        // It goes on from where it was next time.
        let _ = self.look_behind(records).await;
        Ok(batch.waiting.len())
    }

    /// Goes back some way along what was stored before this process began, so that it is taken away in time too: whoever
    /// stored it may be gone. What waits to be stored comes first.
    async fn look_behind(&self, records: &dyn Records) -> Result<(), NotKept> {
        let chains: Vec<_> = self.chains.lock().values().cloned().collect();
        for chain in chains {
            for _ in 0..LOOKED_AT {
                let Some(id) = chain.behind.lock().filter(|_| self.waiting() == 0) else { break };
                let found = records.get(&link::key(id)).await?;
                let before = found.as_ref().and_then(|record| Some((link::read(&record.value)?.0, record.value.len())));
                if let Some((_, length)) = before {
                    self.queue.lock().is_there(id, length);
                }
                *chain.behind.lock() = before.map(|(before, _)| before).filter(|before| *before != Id::NONE);
            }
        }
        Ok(())
    }

    /// How many records wait to be stored.
    pub fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// The last record of a name's chain that is stored: of this process, or else of whoever stored one before.
    ///
    /// # Errors
    ///
    /// It cannot be looked up.
    pub async fn head(&self, records: &dyn Records, name: &str) -> Result<Option<String>, NotKept> {
        let own = self.chains.lock().get(name).and_then(|chain| *chain.stored.lock());
        let head = match own {
            Some(id) => Some(id),
            None => records.get(&head_key(name)).await?.and_then(|record| Id::read(&record.value)),
        };
        Ok(head.map(|id| id.to_string()))
    }

    /// A record, by its id: one that is still kept, or waits to be stored.
    ///
    /// # Errors
    ///
    /// It cannot be looked up.
    pub async fn find(&self, records: &dyn Records, id: &str) -> Result<Option<String>, NotKept> {
        let Some(id) = Id::read(id.as_bytes()) else { return Ok(None) };
        let waiting = self.queue.lock().find(id);
        let record = match waiting {
            Some(record) => Some(record),
            None => {
                let found = records.get(&link::key(id)).await?;
                found.and_then(|record| link::read(&record.value).map(|(_, record)| record))
            }
        };
        Ok(record.and_then(|record| String::from_utf8(record.into()).ok()))
    }
}

impl Room<'_> {
    /// Adds a record. `make` is given the id of the one before it, in hex, and nobody else adds one to this chain in the
    /// meantime: it has to be quick.
    pub fn append(mut self, make: impl FnOnce(&str) -> String) -> Appended {
        let mut head = self.chain.head.lock();
        let record = Bytes::from(make(&head.to_string()));
        let id = Id::of(&record);
        let waiting = Waiting { chain: self.chain.clone(), before: *head, id, record: record.clone() };
        *head = id;
        // Before the next one can be: their order is that of the chain.
        let is_first = self.chains.queue.lock().add(waiting);
        drop(head);
        // The place is the record's from now on.
        self.used = true;
        if let Some(told) = self.chains.told.get().filter(|_| is_first) {
            told();
        }
        Appended { record, id: id.to_string() }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.chains.taken.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Room<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Room({})", self.chain.name)
    }
}

impl fmt::Debug for Chains {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Chains({} waiting)", self.waiting())
    }
}

/// Nobody else stores as long as this lives.
struct Alone<'a>(&'a AtomicBool);

impl<'a> Alone<'a> {
    fn with(taken: &'a AtomicBool) -> Option<Self> {
        // Made only where it was free: what is dropped gives it back.
        (!taken.swap(true, Ordering::Acquire)).then(|| Self(taken))
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
