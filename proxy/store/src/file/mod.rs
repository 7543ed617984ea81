//! The store that survives a crash: two SQLite files in a directory, which several processes of one host may share.
//!
//! There are two files, because a counter must not wait for the disk and an idempotency record must. The system buffers
//! counters (`synchronous=NORMAL`: kill -9 loses none, a loss of power loses the last moments). Records are confirmed
//! once they are on the disk (`FULL`). Each file has a thread of its own. The clock is the wall clock, because
//! processes share it. The directory must be on a local disk.

mod counter_txn;
mod counts;
mod database;
mod kept;
#[cfg(test)]
mod tests;
mod writer_thread;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use frontdesk_config as site;
use frontdesk_state::{Amount, Away, Change, Committed, Counters, Limit, NotKept, Record, Records, Settlement, Taken};

use self::{
    counts::Counts,
    kept::Kept,
    writer_thread::{Swept, Unanswered, WriterThread},
};
use super::{Home, Room, Unsettled, breaker::Breaker, fresh};

/// Both files of a directory.
pub struct File {
    counts: WriterThread<Counts>,
    counts_breaker: Arc<Breaker<()>>,
    records: WriterThread<Kept>,
    records_breaker: Arc<Breaker<()>>,
    tracked: AtomicU64,
    room: Room,
}

impl File {
    /// Opens the files in the directory and creates missing ones.
    pub fn open(directory: &Path, settings: &site::Store) -> Result<Self, String> {
        let breaker = |name: &str| Arc::new(Breaker::closed(directory.join(name).display().to_string(), ()));
        let (counts_breaker, records_breaker) = (breaker(counts::LAYOUT.name), breaker(kept::LAYOUT.name));
        let counts = Counts::open(directory.into(), settings.max_keys)?;
        let records = Kept::open(directory.into(), settings.max_records)?;
        Ok(Self {
            counts: WriterThread::start("store-counters", counts, counts_breaker.clone())?,
            counts_breaker,
            records: WriterThread::start("store-records", records, records_breaker.clone())?,
            records_breaker,
            tracked: AtomicU64::new(0),
            room: Room::default(),
        })
    }

    async fn tend_counts(&self) {
        let heard = |answer| match answer {
            counts::Answer::Swept(held, more) => {
                self.tracked.store(held, Ordering::Relaxed);
                if more { Swept::More } else { Swept::All }
            }
            _ => Swept::Full,
        };
        self.counts.tend(|probing| counts::Asked::Sweep { probing }, heard).await;
    }

    async fn tend_records(&self) {
        let heard = |answer| match answer {
            kept::Answer::Swept(true) => Swept::More,
            kept::Answer::Swept(false) => Swept::All,
            _ => Swept::Full,
        };
        self.records.tend(|probing| kept::Asked::Sweep { probing }, heard).await;
    }
}

#[async_trait]
impl Home for File {
    /// Removes expired entries, and probes files that were away.
    async fn tend(&self) -> Result<(), String> {
        tokio::join!(self.tend_counts(), self.tend_records());
        self.away().map_or(Ok(()), Err)
    }

    async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled> {
        match self.counts.ask(counts::Asked::Settle(settlements.to_vec())).await {
            Ok(counts::Answer::Settled) => Ok(()),
            Ok(_) | Err(Unanswered::NotDone) => Err(Unsettled::NotDone),
            Err(Unanswered::Unknown) => Err(Unsettled::Unknown),
        }
    }

    fn reachable(&self) -> bool {
        self.counts_breaker.is_closed() && self.records_breaker.is_closed()
    }

    fn counts_reachable(&self) -> bool {
        self.counts_breaker.is_closed()
    }

    fn away(&self) -> Option<String> {
        self.counts_breaker.away().or(self.records_breaker.away())
    }

    fn full(&self) -> Option<String> {
        self.room.missing("make some on its disk, or raise store.max_records")
    }

    fn without(&self) -> u64 {
        self.counts_breaker.without() + self.records_breaker.without()
    }

    /// As of the last sweep.
    fn tracked(&self) -> u64 {
        self.tracked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Counters for File {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        match self.counts.ask(counts::Asked::Take(limits.to_vec(), amount)).await {
            Ok(counts::Answer::Taken(taken)) => Ok(taken),
            Ok(_) => {
                self.counts_breaker.decided_without();
                Err(Away)
            }
            Err(_) => Err(Away),
        }
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        self.settle_or_say(settlements).await.map_err(|_| Away)
    }
}

#[async_trait]
impl Records for File {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        match self.records.ask(kept::Asked::Get(key.into())).await {
            Ok(kept::Answer::Got(found)) => Ok(found),
            _ => Err(NotKept::Away),
        }
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        let version = fresh();
        match self.records.ask(kept::Asked::Commit(changes.to_vec(), version)).await {
            Ok(kept::Answer::Committed(committed)) => {
                self.room.note(&committed);
                committed
            }
            Err(Unanswered::Unknown) => Err(NotKept::Unsure(version)),
            _ => Err(NotKept::Away),
        }
    }
}
