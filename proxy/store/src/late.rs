//! Results of calls that wait for the store during an outage and are stored once it is back.
//!
//! A waiting commit expects the version that its call started with, or an absent record. So it may come late or twice
//! without overwriting a newer decision. The queue is in memory and bounded. If the process ends first, the outcome of
//! its calls stays unknown.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record, Records};
use parking_lot::Mutex;

use super::marker::Marker;

/// The most waiting results. Further ones are not kept.
const MOST: usize = 10_000;
/// The most bytes of their keys and values.
const MOST_BYTES: usize = 32 << 20;
/// How long a result waits. After that the call's own record has expired too.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The key of a record without meaning.
const SPACER: &str = "k:spacer";
/// The most attempts of one commit that may have arrived. After so many in a row, more attempts are pointless.
const MOST_LEFT_BEHIND: usize = 8;
/// How many commits run in parallel once the store is back.
const LANES: usize = 16;

/// Records, with a queue for results that come late.
pub struct Late {
    home: Arc<dyn Records>,
    marker: Arc<Marker>,
    waiting: Mutex<Waiting>,
    is_draining: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    ends: VecDeque<End>,
    bytes: usize,
    /// Commits under way.
    under_way: usize,
}

struct End {
    /// Earlier attempts that may have arrived: which attempt, and under which version.
    left_behind: VecDeque<(usize, u64)>,
    attempts: Vec<Vec<Change>>,
    bytes: usize,
    since: Instant,
}

impl Late {
    /// An empty queue.
    pub fn new(home: Arc<dyn Records>, marker: Arc<Marker>) -> Self {
        Self { home, marker, waiting: Mutex::default(), is_draining: AtomicBool::new(false) }
    }

    /// The number of waiting results.
    pub fn waiting(&self) -> usize {
        let waiting = self.waiting.lock();
        waiting.ends.len() + waiting.under_way
    }

    /// Stores waiting results if the store is back. The work goes on if the caller stops waiting.
    pub async fn tend(self: &Arc<Self>) {
        if self.waiting() == 0 || self.is_draining.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.clone();
        let draining = async move {
            let lanes: Vec<_> = (0..LANES.min(this.waiting())).map(|_| tokio::spawn(this.clone().drain())).collect();
            let mut kept = 0;
            for lane in lanes {
                kept += lane.await.unwrap_or(0);
            }
            this.is_draining.store(false, Ordering::Release);
            if kept > 0 {
                tracing::info!(
                    kept,
                    waiting = this.waiting(),
                    "the store is back: stored the results of the calls that waited"
                );
            }
        };
        let _ = tokio::spawn(draining).await;
    }

    /// Works until the queue is empty or the store is away. Returns the number of stored results.
    async fn drain(self: Arc<Self>) -> usize {
        let mut made = 0;
        while let Some(mut end) = self.next() {
            let done = self.attempt(&mut end).await;
            let mut waiting = self.waiting.lock();
            waiting.under_way -= 1;
            if done.is_err() {
                waiting.bytes += end.bytes;
                waiting.ends.push_front(end);
                break;
            }
            made += 1;
        }
        made
    }

    /// Makes the first commit whose expectation holds, so that a failover does not undo it. If a commit may have
    /// arrived, or no replica has it, remembers its version, so that its changes can be written once more.
    async fn attempt(&self, end: &mut End) -> Result<(), NotKept> {
        let again = end.left_behind.iter().map(|&(which, version)| (which, left_behind(&end.attempts[which], version)));
        let attempts: Vec<_> = again.chain(end.attempts.iter().cloned().enumerate()).collect();
        for (which, changes) in attempts {
            match self.home.commit_safely(&changes).await {
                Ok(Committed::Done(_)) => return Ok(()),
                Ok(Committed::Conflict(..)) => {}
                Err(why) => {
                    if let NotKept::Unsure(version) = why {
                        // Any of the earlier attempts may be the one that is there; the last one made counts.
                        end.left_behind.push_front((which, version));
                        end.left_behind.truncate(MOST_LEFT_BEHIND);
                    }
                    return Err(why);
                }
            }
        }
        // Another writer has decided. A server cut off from its replicas may say so too, about data that a failover
        // will discard. Once a replica has a write that follows, it has this record too.
        self.home.commit_safely(&[spacer()]).await.map(drop)
    }

    fn next(&self) -> Option<End> {
        let mut waiting = self.waiting.lock();
        loop {
            let end = waiting.ends.pop_front()?;
            waiting.bytes -= end.bytes;
            if end.since.elapsed() < LONGEST {
                waiting.under_way += 1;
                return Some(end);
            }
        }
    }

    /// Adds a result. Returns whether there was room.
    fn keep(&self, end: End) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.ends.len() >= MOST || waiting.bytes + end.bytes > MOST_BYTES {
            return false;
        }
        waiting.bytes += end.bytes;
        waiting.ends.push_back(end);
        true
    }
}

#[async_trait]
impl Records for Late {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.home.get(key).await
    }

    async fn get_all(&self, keys: &[&str]) -> Result<Vec<Option<Record>>, NotKept> {
        self.home.get_all(keys).await
    }

    async fn get_lasting(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.home.get_lasting(key).await
    }

    fn forget_lasting(&self) {
        self.home.forget_lasting();
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        self.home.commit(changes).await
    }

    async fn commit_safely(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        self.home.commit_safely(changes).await
    }

    async fn finish(&self, attempts: Vec<Vec<Change>>) -> Result<(), NotKept> {
        let bytes = attempts.iter().flatten().map(weight).sum();
        let mut end = End { left_behind: VecDeque::new(), attempts, bytes, since: Instant::now() };
        match self.attempt(&mut end).await {
            Ok(()) => Ok(()),
            Err(why) if self.keep(end) => {
                tracing::debug!(?why, "what became of a call waits for the store");
                Ok(())
            }
            // It was sent. Without room for a retry its outcome stays unknown.
            Err(NotKept::Unsure(_)) => Ok(()),
            Err(why) => Err(why),
        }
    }

    fn now(&self) -> u64 {
        self.home.now()
    }

    fn lost_at(&self) -> Option<u64> {
        self.marker.lost_at()
    }
}

/// The same changes, based on their own earlier result under this version.
fn left_behind(changes: &[Change], version: u64) -> Vec<Change> {
    let again = changes.iter().map(|change| {
        let expect = match change.put {
            Put::Value(..) => Expect::Version(version),
            Put::Nothing => Expect::Absent,
        };
        Change { expect, ..change.clone() }
    });
    // A deletion is not repeated. The spacer gives `WAIT` a write to wait for.
    again.chain([spacer()]).collect()
}

/// A write that no reader uses.
fn spacer() -> Change {
    let put = Put::Value(Bytes::from_static(b"{}"), Duration::from_secs(60));
    Change { key: SPACER.into(), expect: Expect::Anything, put }
}

fn weight(change: &Change) -> usize {
    let value = match &change.put {
        Put::Value(value, _) => value.len(),
        Put::Nothing => 0,
    };
    change.key.len() + value + size_of::<Change>()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, AtomicUsize};

    use super::*;
    use crate::{fresh, memory::Memory};

    const WELL: u8 = 0;
    const AWAY: u8 = 1;
    /// Does what it is asked, but the answer is lost.
    const MUTE: u8 = 2;
    /// Loses the request itself.
    const DEAF: u8 = 3;

    struct Moody {
        records: Memory,
        mood: AtomicU8,
        /// Commits that were made and answered.
        made: AtomicUsize,
    }

    #[async_trait]
    impl Records for Moody {
        async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
            self.records.get(key).await
        }

        async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
            let mood = self.mood.load(Ordering::Relaxed);
            if mood == AWAY {
                return Err(NotKept::Away);
            }
            if mood == DEAF {
                return Err(NotKept::Unsure(fresh()));
            }
            match self.records.commit(changes).await? {
                Committed::Done(version) if mood == MUTE => Err(NotKept::Unsure(version)),
                answer => {
                    self.made.fetch_add(usize::from(matches!(answer, Committed::Done(_))), Ordering::Relaxed);
                    Ok(answer)
                }
            }
        }
    }

    fn put(key: &str, expect: Expect, value: &'static str) -> Vec<Change> {
        let put = Put::Value(Bytes::from_static(value.as_bytes()), Duration::from_secs(60));
        vec![Change { key: key.into(), expect, put }]
    }

    async fn value(late: &Late, key: &str) -> Option<String> {
        let found = late.get(key).await.unwrap()?;
        Some(String::from_utf8_lossy(&found.value).into_owned())
    }

    async fn begun(home: &Moody, key: &str) -> u64 {
        match home.records.commit(&put(key, Expect::Absent, "begun")).await.unwrap() {
            Committed::Done(version) => version,
            conflict => panic!("{conflict:?}"),
        }
    }

    fn late() -> (Arc<Moody>, Arc<Late>) {
        let records = Memory::new(16, 1 << 26);
        let home = Arc::new(Moody { records, mood: AtomicU8::new(WELL), made: AtomicUsize::new(0) });
        (home.clone(), Arc::new(Late::new(home, Arc::default())))
    }

    #[tokio::test]
    async fn an_end_waits_for_the_store_and_is_made_once() {
        let (home, late) = late();
        let mut versions = Vec::new();
        for n in 0..50 {
            versions.push(begun(&home, &format!("{n}")).await);
        }
        for mood in [AWAY, MUTE] {
            home.mood.store(mood, Ordering::Relaxed);
            for (n, version) in versions.iter().enumerate() {
                late.finish(vec![put(&format!("{n}"), Expect::Version(*version), "ended")]).await.unwrap();
            }
            late.tend().await;
            assert_eq!(late.waiting() % 50, 0);
            assert!(late.waiting() >= 50);
        }
        assert_eq!(value(&late, "7").await.as_deref(), Some("ended"), "its answer was lost");
        home.mood.store(WELL, Ordering::Relaxed);
        late.tend().await;
        assert_eq!((late.waiting(), late.waiting.lock().bytes), (0, 0));
        for n in 0..50 {
            assert_eq!(value(&late, &format!("{n}")).await.as_deref(), Some("ended"), "{n}");
        }
    }

    #[tokio::test]
    async fn an_end_is_answered_for_under_whichever_of_its_versions_it_was_made() {
        // The store's failure during the last commit that was made, and the failed attempts after it.
        for moods in [&[MUTE, DEAF][..], &[MUTE, DEAF, DEAF, DEAF], &[DEAF, MUTE, DEAF], &[MUTE, MUTE, DEAF], &[DEAF]] {
            let (home, late) = late();
            let version = begun(&home, "key").await;
            home.mood.store(moods[0], Ordering::Relaxed);
            late.finish(vec![put("key", Expect::Version(version), "ended"), put("key", Expect::Absent, "ended")])
                .await
                .unwrap();
            for mood in &moods[1..] {
                home.mood.store(*mood, Ordering::Relaxed);
                late.tend().await;
                assert_eq!(late.waiting(), 1, "{moods:?}");
            }
            home.mood.store(WELL, Ordering::Relaxed);
            late.tend().await;
            assert_eq!((late.waiting(), value(&late, "key").await.as_deref()), (0, Some("ended")), "{moods:?}");
            assert_eq!(home.made.load(Ordering::Relaxed), 1, "once it was heard that a replica has it: {moods:?}");
        }
    }

    #[tokio::test]
    async fn a_late_end_leaves_alone_what_was_begun_since() {
        let (home, late) = late();
        let version = begun(&home, "key").await;
        home.mood.store(AWAY, Ordering::Relaxed);
        late.finish(vec![put("key", Expect::Version(version), "ended"), put("key", Expect::Absent, "ended")])
            .await
            .unwrap();
        let taken_over = put("key", Expect::Version(version), "taken over");
        home.records.commit(&taken_over).await.unwrap();
        home.mood.store(WELL, Ordering::Relaxed);
        late.tend().await;
        assert_eq!((late.waiting(), value(&late, "key").await.as_deref()), (0, Some("taken over")));
    }

    #[tokio::test]
    async fn what_somebody_else_has_decided_counts_once_it_is_answered_for() {
        let (home, late) = late();
        let version = begun(&home, "key").await;
        home.records.commit(&put("key", Expect::Version(version), "taken over")).await.unwrap();
        home.mood.store(MUTE, Ordering::Relaxed);
        late.finish(vec![put("key", Expect::Version(version), "ended")]).await.unwrap();
        late.tend().await;
        assert_eq!(late.waiting(), 1, "it may be gone after a failover");
        home.mood.store(WELL, Ordering::Relaxed);
        late.tend().await;
        assert_eq!((late.waiting(), value(&late, "key").await.as_deref()), (0, Some("taken over")));
    }

    #[tokio::test]
    async fn what_waits_is_bounded() {
        let (home, late) = late();
        home.mood.store(AWAY, Ordering::Relaxed);
        for n in 0..MOST {
            late.finish(vec![put(&format!("{n}"), Expect::Absent, "")]).await.unwrap();
        }
        assert_eq!(late.finish(vec![put("more", Expect::Absent, "")]).await, Err(NotKept::Away));
        assert_eq!(late.waiting(), MOST);
    }
}
