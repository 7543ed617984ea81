//! One replica crawls for all: the one with the lease. The others, and a later start, take its results from the store.
//!
//! Without the store it is unknown which replica crawls. Then a replica that has pages does nothing, and one without
//! pages crawls for itself.

#[cfg(test)]
mod tests;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use frontdesk_filters::{
    content::crawl::{Books, Rules, shared},
    site::StoreHome,
    state::{Change, Committed, Expect, NotKept, Put, Records},
};
use serde_json::{Value, json};
use uuid::Uuid;

use frontdesk_store::Store;

/// How long a lease lasts, and the age at which it is renewed.
const LEASE: Duration = Duration::from_secs(60);
const RENEWED: Duration = Duration::from_secs(15);
/// How long results are kept without a new crawl: so many crawls, and at least this long. A crash may leave results
/// behind that no replica knows of. After half of the time they are written again.
pub(super) const KEPT_READINGS: u32 = 4;
const KEPT_AT_LEAST: Duration = Duration::from_secs(3600);
/// The most bytes and the largest part of the store that results may use.
const MOST: usize = 16 * 1024 * 1024;
const MOST_SHARE: usize = 4;
/// The most pieces of one result.
const MOST_PIECES: u64 = 1_000;
/// How often other replicas look for new results.
pub(super) const LOOKED: Duration = Duration::from_secs(5);

/// The crawl results of one site in the store.
pub(super) struct Shared {
    store: Arc<Store>,
    rules: Rules,
    /// How long a result is kept.
    kept: Duration,
    /// The common prefix of its keys.
    name: String,
    /// The id of this process, for the lease.
    holder: Bytes,
    lease: Option<(u64, Instant)>,
    /// The result that this replica knows.
    known: Option<Reading>,
}

/// The description of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    /// The number in the keys of its pieces.
    number: String,
    pieces: u64,
    /// When the crawl was completed, in seconds since 1970; 0 if it is not yet.
    pub(super) at: u64,
    /// When its pieces were written.
    written: u64,
    /// The rules of the crawl.
    rules: String,
}

/// Which replica crawls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Ours,
    Anothers,
}

impl Shared {
    /// `kept`: how long a result is kept. `None` if the store belongs to this process alone.
    pub(super) fn of(store: &Arc<Store>, rules: &Rules, kept: Duration) -> Option<Self> {
        if matches!(store.settings().home, StoreHome::Memory) {
            return None;
        }
        let holder = Bytes::from(Uuid::now_v7().to_string());
        Some(Self {
            store: store.clone(),
            rules: rules.clone(),
            kept: kept.max(KEPT_AT_LEAST),
            name: format!("content:{}", rules.site()),
            holder,
            lease: None,
            known: None,
        })
    }

    /// Whether it is in this store.
    pub(super) fn is_in(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Takes or renews the lease. `Err`: unknown, because the store does not answer.
    pub(super) async fn turn(&mut self) -> Result<Turn, NotKept> {
        if self.lease.is_some_and(|(_, since)| since.elapsed() < RENEWED) {
            return Ok(Turn::Ours);
        }
        let expect = self.lease.map_or(Expect::Absent, |(version, _)| Expect::Version(version));
        let put = Put::Value(self.holder.clone(), LEASE);
        let committed = self.commit(Change { key: self.key("lease"), expect, put }).await?;
        self.lease = match committed {
            Committed::Done(version) => Some((version, Instant::now())),
            Committed::Conflict(..) => None,
        };
        Ok(if self.lease.is_some() { Turn::Ours } else { Turn::Anothers })
    }

    /// Releases the lease.
    pub(super) async fn let_go(&mut self) {
        if let Some((version, _)) = self.lease.take() {
            // Without the store it expires by itself.
            let expect = Expect::Version(version);
            let _ = self.commit(Change { key: self.key("lease"), expect, put: Put::Nothing }).await;
        }
    }

    /// A newer result of another replica, if there is one, and when its crawl was completed under these rules (or 0).
    pub(super) async fn news(&mut self) -> Result<(Option<Books>, u64), NotKept> {
        let Some(reading) = self.reading().await? else { return Ok((None, 0)) };
        let at = if reading.rules == self.rules.name() { reading.at } else { 0 };
        if self.known.as_ref().is_some_and(|known| known.number == reading.number) {
            self.known = Some(reading);
            return Ok((None, at));
        }
        let mut pieces = Vec::new();
        for index in 0..reading.pieces {
            match self.records().get(&self.piece(&reading.number, index)).await? {
                Some(record) => pieces.push(record.value),
                // Another result replaces it at this moment.
                None => return Ok((None, 0)),
            }
        }
        let rules = self.rules.clone();
        let books = tokio::task::spawn_blocking(move || shared::books(&pieces, &rules)).await.ok().flatten();
        if books.is_some() {
            self.known = Some(reading);
        }
        Ok((books, at))
    }

    /// Writes the result. `at`: when the crawl was completed; 0 if it is not yet. `changed`: the pages differ from
    /// those of the last result.
    pub(super) async fn write(&mut self, books: &Books, at: u64, changed: bool) -> Result<(), NotKept> {
        let before = self.reading().await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let same = before.clone().filter(|before| {
            let known = self.known.as_ref().is_some_and(|known| known.number == before.number);
            known && !changed && now.saturating_sub(before.written) < self.kept.as_secs() / 2
        });
        let reading = match same {
            Some(same) => Reading { at, rules: self.rules.name(), ..same },
            None => {
                let (books, most) = (books.clone(), MOST.min(self.store.settings().max_records / MOST_SHARE));
                let pieces = tokio::task::spawn_blocking(move || shared::pieces(&books, most)).await;
                let pieces = pieces.unwrap_or_default();
                let number = Uuid::now_v7().simple().to_string();
                for (index, piece) in (0..).zip(&pieces) {
                    let put = Put::Value(piece.clone(), self.kept);
                    let key = self.piece(&number, index);
                    self.commit(Change { key, expect: Expect::Anything, put }).await?;
                }
                Reading { number, pieces: pieces.len() as u64, at, written: now, rules: self.rules.name() }
            }
        };
        let put = Put::Value(reading.to_bytes(), self.kept);
        self.commit(Change { key: self.key("reading"), expect: Expect::Anything, put }).await?;
        if let Some(before) = before.filter(|before| before.number != reading.number) {
            for index in 0..before.pieces {
                let key = self.piece(&before.number, index);
                self.commit(Change { key, expect: Expect::Anything, put: Put::Nothing }).await?;
            }
        }
        self.known = Some(reading);
        Ok(())
    }

    async fn reading(&self) -> Result<Option<Reading>, NotKept> {
        let record = self.records().get(&self.key("reading")).await?;
        Ok(record.and_then(|record| Reading::from_bytes(&record.value)))
    }

    async fn commit(&self, change: Change) -> Result<Committed, NotKept> {
        self.records().commit(&[change]).await
    }

    fn records(&self) -> &dyn Records {
        self.store.records.as_ref()
    }

    fn key(&self, what: &str) -> String {
        format!("{}:{what}", self.name)
    }

    fn piece(&self, number: &str, index: u64) -> String {
        format!("{}:{number}:{index}", self.name)
    }
}

impl Reading {
    fn to_bytes(&self) -> Bytes {
        let Self { number, pieces, at, written, rules } = self;
        json!({ "number": number, "pieces": pieces, "at": at, "written": written, "rules": rules }).to_string().into()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let read: Value = serde_json::from_slice(bytes).ok()?;
        let number = |key: &str| read.get(key).and_then(Value::as_u64);
        let name = |key: &str| read.get(key)?.as_str().filter(|name| name.len() <= 64).map(str::to_owned);
        Some(Self {
            number: name("number")?,
            rules: name("rules")?,
            pieces: number("pieces").filter(|pieces| *pieces <= MOST_PIECES)?,
            at: number("at")?,
            written: number("written")?,
        })
    }
}
