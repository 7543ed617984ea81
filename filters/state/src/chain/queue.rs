//! The queue of unstored records, the list of stored ones, and the commits between the two.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Chain, Id};
use crate::{Change, Expect, Put};

/// Records per commit.
const BATCH: usize = 128;
/// Maximum removed records per commit: more than are added, so that the number shrinks.
const MOST_GONE: usize = 2 * BATCH;
/// Maximum kept records of this process and of earlier ones that it traced.
const MOST_KEPT: usize = 10_000;
/// How long a record is kept that no process removes.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// How long a chain's head is kept.
const HEAD_KEPT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Bytes that a record takes in a store besides its value: its key and index entries.
const OVERHEAD: usize = 270;

/// The key of a chain's stored head.
pub(super) fn head_key(name: &str) -> String {
    format!("j:head:{name}")
}

/// The stored form of a record, with its predecessor's id.
pub(super) mod link {
    use super::*;

    const HEX: usize = 64;

    pub(in super::super) fn key(id: Id) -> String {
        format!("j:{id}")
    }

    pub(super) fn written(before: Id, record: &[u8]) -> Bytes {
        let mut value = Vec::with_capacity(HEX + record.len());
        value.extend_from_slice(before.to_string().as_bytes());
        value.extend_from_slice(record);
        value.into()
    }

    /// The predecessor's id and the record.
    pub(in super::super) fn read(value: &Bytes) -> Option<(Id, Bytes)> {
        let before = Id::read(value.get(..HEX)?)?;
        Some((before, value.slice(HEX..)))
    }

    /// The bytes that it takes in a store.
    pub(super) fn weight(record: &[u8]) -> usize {
        HEX + record.len() + OVERHEAD
    }
}

/// A record that is not stored yet.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) chain: Arc<Chain>,
    pub(super) before: Id,
    pub(super) id: Id,
    pub(super) record: Bytes,
}

/// A stored record.
#[derive(Clone, Copy)]
struct Stored {
    id: Id,
    weight: usize,
}

/// Records in the order they were added.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Waiting>,
    stored: VecDeque<Stored>,
    /// Bytes of the stored records.
    held: usize,
}

/// The contents of a commit.
pub(super) struct Batch {
    pub(super) waiting: Vec<Waiting>,
    gone: Vec<Stored>,
}

impl Queue {
    /// Whether the queue was empty before.
    pub(super) fn add(&mut self, waiting: Waiting) -> bool {
        self.waiting.push_back(waiting);
        self.waiting.len() == 1
    }

    pub(super) fn find(&self, id: Id) -> Option<Bytes> {
        self.waiting.iter().find(|waiting| waiting.id == id).map(|waiting| waiting.record.clone())
    }

    /// The next records to store, and the stored ones to remove for them. Changes nothing.
    pub(super) fn batch(&self, most: usize) -> Batch {
        let waiting: Vec<_> = self.waiting.iter().take(BATCH).cloned().collect();
        let mut count = self.stored.len() + waiting.len();
        let mut held = self.held + waiting.iter().map(|waiting| link::weight(&waiting.record)).sum::<usize>();
        let too_much = |stored: &&Stored| {
            let too_much = count > MOST_KEPT || held > most;
            count -= 1;
            held -= stored.weight;
            too_much
        };
        let gone = self.stored.iter().take(MOST_GONE).take_while(too_much).copied().collect();
        Batch { waiting, gone }
    }

    /// Applies a successful commit.
    pub(super) fn done(&mut self, batch: &Batch) {
        // Only this removes records, and new ones are added at the other end.
        for gone in self.stored.drain(..batch.gone.len()) {
            self.held -= gone.weight;
        }
        for waiting in self.waiting.drain(..batch.waiting.len()) {
            let stored = Stored { id: waiting.id, weight: link::weight(&waiting.record) };
            self.held += stored.weight;
            self.stored.push_back(stored);
        }
    }

    /// Adds a record of an earlier process, older than all known ones.
    pub(super) fn is_there(&mut self, id: Id, length: usize) {
        let weight = length + OVERHEAD;
        self.held += weight;
        self.stored.push_front(Stored { id, weight });
    }
}

impl Batch {
    /// The changes: records, heads and removals.
    pub(super) fn changes(&self) -> Vec<Change> {
        let change = |key: String, put: Put| Change { key, expect: Expect::Anything, put };
        let records = self.waiting.iter().map(|waiting| {
            change(link::key(waiting.id), Put::Value(link::written(waiting.before, &waiting.record), KEPT))
        });
        let heads = self
            .heads()
            .into_iter()
            .map(|(chain, id)| change(head_key(&chain.name), Put::Value(id.to_string().into(), HEAD_KEPT)));
        let gone = self.gone.iter().map(|gone| change(link::key(gone.id), Put::Nothing));
        records.chain(heads).chain(gone).collect()
    }

    /// The last record of each chain.
    pub(super) fn heads(&self) -> Vec<(&Arc<Chain>, Id)> {
        let mut heads: Vec<(&Arc<Chain>, Id)> = Vec::new();
        for waiting in self.waiting.iter().rev() {
            if !heads.iter().any(|(chain, _)| Arc::ptr_eq(chain, &waiting.chain)) {
                heads.push((&waiting.chain, waiting.id));
            }
        }
        heads
    }
}
