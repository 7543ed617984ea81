//! What waits to be stored, what is stored, and the commits that bring the one to the other.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Chain, Id};
use crate::{Change, Expect, Put};

/// Records of one commit.
const BATCH: usize = 128;
/// Records that are taken away in one commit: more than are added, so that there come to be fewer.
const MOST_GONE: usize = 2 * BATCH;
/// Records of this process, and those before it that it found, that are kept.
const MOST_KEPT: usize = 10_000;
/// How long a record is kept that nobody takes away.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// How long it is known where a chain goes on.
const HEAD_KEPT: Duration = Duration::from_secs(365 * 24 * 3600);
/// What a record takes of a store besides its value: its key, and its places in the store's indexes.
const OVERHEAD: usize = 270;

/// Where it is kept which record of a chain was stored last.
pub(super) fn head_key(name: &str) -> String {
    format!("j:head:{name}")
}

/// A record as it is stored: after the id of the one before it.
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

    /// The id of the one before it, and the record.
    pub(in super::super) fn read(value: &Bytes) -> Option<(Id, Bytes)> {
        let before = Id::read(value.get(..HEX)?)?;
        Some((before, value.slice(HEX..)))
    }

    /// What it takes of a store.
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

/// A record that is.
#[derive(Clone, Copy)]
struct Stored {
    id: Id,
    weight: usize,
}

/// In the order in which records were added.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Waiting>,
    stored: VecDeque<Stored>,
    /// What is stored takes.
    held: usize,
}

/// What goes into one commit.
pub(super) struct Batch {
    pub(super) waiting: Vec<Waiting>,
    gone: Vec<Stored>,
}

impl Queue {
    /// Whether there was nothing before it.
    pub(super) fn add(&mut self, waiting: Waiting) -> bool {
        self.waiting.push_back(waiting);
        self.waiting.len() == 1
    }

    pub(super) fn find(&self, id: Id) -> Option<Bytes> {
        self.waiting.iter().find(|waiting| waiting.id == id).map(|waiting| waiting.record.clone())
    }

    /// What comes first, and of what is stored the oldest that is too much with it. All of it stays where it is.
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

    /// Takes note of a commit that was made.
    pub(super) fn done(&mut self, batch: &Batch) {
        // Nobody else takes anything away, and what is new comes at the other end.
        for gone in self.stored.drain(..batch.gone.len()) {
            self.held -= gone.weight;
        }
        for waiting in self.waiting.drain(..batch.waiting.len()) {
            let stored = Stored { id: waiting.id, weight: link::weight(&waiting.record) };
            self.held += stored.weight;
            self.stored.push_back(stored);
        }
    }

    /// Takes note of a record from before this process, older than all that are known.
    pub(super) fn is_there(&mut self, id: Id, length: usize) {
        let weight = length + OVERHEAD;
        self.held += weight;
        self.stored.push_front(Stored { id, weight });
    }
}

impl Batch {
    /// The records, where their chains go on, and what goes.
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
