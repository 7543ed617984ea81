//! Ends of calls that wait for the store: what became of a call is kept once the store is back.
//!
//! What waits here expects the version that its call began with, or an absence. So it may come late, or twice, and changes
//! nothing that somebody else has decided since. It is in memory, and bounded; what is lost with the process leaves a call
//! of which nobody knows how it ended.

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
use frontdesk_filters::state::{Change, Committed, Expect, NotKept, Put, Record, Records};
use parking_lot::Mutex;

use super::marker::Marker;

/// As many may wait; a further end is not kept.
const MOST: usize = 10_000;
/// And as many bytes of keys and values.
const MOST_BYTES: usize = 32 << 20;
/// What was begun so long ago is forgotten, and so is how it ended.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// A record of nobody's.
const SPACER: &str = "k:spacer";
/// Commits of one end that may have been made: of so many in a row one has arrived, or none will.
const MOST_LEFT_BEHIND: usize = 8;
/// How many are made at a time once the store is back.
const LANES: usize = 16;

/// Records, of which ends may come late.
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
    /// Some of them are being made.
    under_way: usize,
}

struct End {
    /// Of commits that may have been made: which of the attempts, and under which version.
    left_behind: VecDeque<(usize, u64)>,
    attempts: Vec<Vec<Change>>,
    bytes: usize,
    since: Instant,
}

impl Late {
    /// Nothing waits yet.
    pub fn new(home: Arc<dyn Records>, marker: Arc<Marker>) -> Self {
        Self { home, marker, waiting: Mutex::default(), is_draining: AtomicBool::new(false) }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        let waiting = self.waiting.lock();
        waiting.ends.len() + waiting.under_way
    }

    /// Makes what waits, if the store is back. What has been begun goes on if nobody waits for this.
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
                    "what became of calls was kept, now that the store is back"
                );
            }
        };
        let _ = tokio::spawn(draining).await;
    }

    /// Until nothing waits, or the store is away; how many were made.
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

    /// Makes the first commit that finds what it expects, so that a failover does not undo it. Of one that may have been made,
    /// or that no replica has, it is kept under which version: what it has left behind is written once more.
    async fn attempt(&self, end: &mut End) -> Result<(), NotKept> {
        let again = end.left_behind.iter().map(|&(which, version)| (which, left_behind(&end.attempts[which], version)));
        let attempts: Vec<_> = again.chain(end.attempts.iter().cloned().enumerate()).collect();
        for (which, changes) in attempts {
            match self.home.commit_safely(&changes).await {
                Ok(Committed::Done(_)) => return Ok(()),
                Ok(Committed::Conflict(..)) => {}
                Err(why) => {
                    if let NotKept::Unsure(version) = why {
                        // The one that was made last is there, and it may be any of them.
                        end.left_behind.push_front((which, version));
                        end.left_behind.truncate(MOST_LEFT_BEHIND);
                    }
                    return Err(why);
                }
            }
        }
        // Somebody else has decided. But a server that was cut off from its replicas says so too, of what will be gone: once a
        // replica has what is written after it, it has that as well.
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

    /// Whether there was room.
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
            // It was sent; what nobody can say, where there is no room to try again, is whether it arrived or is on a replica.
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

/// The same changes to what they have made themselves, under this version.
fn left_behind(changes: &[Change], version: u64) -> Vec<Change> {
    let again = changes.iter().map(|change| {
        let expect = match change.put {
            Put::Value(..) => Expect::Version(version),
            Put::Nothing => Expect::Absent,
        };
        Change { expect, ..change.clone() }
    });
    // What was deleted is not deleted again, and only what is written can be waited for.
    again.chain([spacer()]).collect()
}

/// Writes what nobody reads.
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
    use crate::store::{fresh, memory::Memory};

    const WELL: u8 = 0;
    const AWAY: u8 = 1;
    /// It does what it is asked, and does not answer for it.
    const MUTE: u8 = 2;
    /// What it is asked is lost on the way.
    const DEAF: u8 = 3;

    struct Moody {
        records: Memory,
        mood: AtomicU8,
        /// Commits that were made, and answered for.
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
        // What was made last before the store was well, and how often something was asked of it in vain since.
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
