//! Hash chains of records: each record contains the hash of the one before it, so that no record can be removed or
//! changed unnoticed.
//!
//! A chain has a name. It grows in this process's memory, under a lock that is held while the next record is made. A
//! background task stores the records in order, many at a time. Before an action that has to be recorded, the caller
//! reserves room. While records cannot be stored and the queue is full, there is no room, and the action is not
//! carried out. With room a record can always be added.
//!
//! A process continues a chain from its stored head. It also removes the oldest stored records beyond the maximum,
//! including those of earlier processes.

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

/// Maximum records in the queue, reserved room included.
pub const MOST_WAITING: usize = 4096;
/// Records per round that are read while tracing the chain back to those of earlier processes.
const LOOKED_AT: usize = 64;

/// A record's id: its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id([u8; 32]);

impl Id {
    /// The predecessor of the first record.
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

/// The chains of this process and the queue of unstored records. Outlives every configuration.
#[derive(Default)]
pub struct Chains {
    /// One entry for each name that was ever configured; names come from the operator only.
    chains: Mutex<HashMap<Box<str>, Arc<Chain>>>,
    queue: Mutex<Queue>,
    /// Occupied places of the queue: records and reserved room.
    taken: AtomicUsize,
    /// A task is storing.
    storing: AtomicBool,
    told: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// One chain.
struct Chain {
    name: Box<str>,
    /// The predecessor of the next record. Locked while that one is made.
    head: Mutex<Id>,
    /// The last record that this process stored.
    stored: Mutex<Option<Id>>,
    /// The next record to trace among those of earlier processes.
    behind: Mutex<Option<Id>>,
}

/// An added record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    pub record: Bytes,
    /// Its SHA-256: 64 lower-case hex digits.
    pub id: String,
}

/// Room for one record. Dropping it unused gives the room back.
pub struct Room<'a> {
    chains: &'a Chains,
    chain: Arc<Chain>,
    used: bool,
}

impl Chains {
    /// Sets the callback that runs when the queue becomes non-empty. Only the first call has an effect.
    pub fn on_append(&self, told: impl Fn() + Send + Sync + 'static) {
        let _ = self.told.set(Box::new(told));
    }

    /// Reserves room for a record in the chain of this name (at most 128 bytes of printable ASCII). The first call
    /// reads the stored head.
    ///
    /// # Errors
    ///
    /// The head cannot be read, or the queue is full. An action that needs a record must not be carried out.
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
        // A concurrent caller may have created it and added records.
        Ok(self.chains.lock().entry(name.into()).or_insert_with(|| Arc::new(chain)).clone())
    }

    /// Stores queued records, oldest first, as many as fit into one commit; returns their number. `most`: maximum
    /// bytes of all stored records. Returns 0 while another task is storing.
    ///
    /// # Errors
    ///
    /// Nothing is lost: the records stay in the queue.
    pub async fn store(&self, records: &dyn Records, most: usize) -> Result<usize, NotKept> {
        let Some(_alone) = Alone::with(&self.storing) else { return Ok(0) };
        let batch = self.queue.lock().batch(most);
        let changes = batch.changes();
        if !changes.is_empty() {
            // The changes expect nothing, so if the reply is lost they are written again.
            records.commit(&changes).await?;
        }
        self.queue.lock().done(&batch);
        for (chain, id) in batch.heads() {
            *chain.stored.lock() = Some(id);
        }
        self.taken.fetch_sub(batch.waiting.len(), Ordering::Relaxed);
        // On failure it continues from the same place next time.
        let _ = self.look_behind(records).await;
        Ok(batch.waiting.len())
    }

    /// Traces the chain back to the records of earlier processes, so that they are removed in time too. Queued records
    /// come first.
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

    /// The number of queued records.
    pub fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// The last stored record of a chain, by this process or an earlier one.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn head(&self, records: &dyn Records, name: &str) -> Result<Option<String>, NotKept> {
        let own = self.chains.lock().get(name).and_then(|chain| *chain.stored.lock());
        let head = match own {
            Some(id) => Some(id),
            None => records.get(&head_key(name)).await?.and_then(|record| Id::read(&record.value)),
        };
        Ok(head.map(|id| id.to_string()))
    }

    /// A record by its id, stored or queued.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
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
    /// Adds a record. `make` gets the id of its predecessor in hex. The chain is locked meanwhile, so `make` has to be
    /// fast.
    pub fn append(mut self, make: impl FnOnce(&str) -> String) -> Appended {
        let mut head = self.chain.head.lock();
        let record = Bytes::from(make(&head.to_string()));
        let id = Id::of(&record);
        let waiting = Waiting { chain: self.chain.clone(), before: *head, id, record: record.clone() };
        *head = id;
        // Queued before the next record can be made, so that the queue has the chain's order.
        let is_first = self.chains.queue.lock().add(waiting);
        drop(head);
        // The record now occupies the place.
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

/// Held by the one task that stores.
struct Alone<'a>(&'a AtomicBool);

impl<'a> Alone<'a> {
    fn with(taken: &'a AtomicBool) -> Option<Self> {
        // Created only if the flag was free; dropping it frees the flag.
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
