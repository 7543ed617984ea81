//! Counters whose home may be away: what `store.on_error` says happens then.
//!
//! A count belongs to whoever counted it. What this process counted for itself is marked in the level's period, so that
//! its settlement finds the way back and never touches the shared count. What the shared home counted and can only be
//! settled once it is back waits here, if it is certain that the home has not seen it; a settlement whose answer was
//! lost is not repeated, for applying it twice would make a count wrong, and losing it makes one only late.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use frontdesk_filters::{
    site::OnError,
    state::{Amount, Away, Counters, Level, Limit, Settlement, TOGETHER, Taken},
};
use parking_lot::{Mutex, RwLock};

use super::{Home, Unsettled, memory::Memory};

/// Set in the period of a window of this process's own. No home uses it.
const OWN: u64 = 1 << 63;
/// Settlements that wait; beyond it they are dropped, and counts stay higher than they should for their window.
const WAITING: usize = 10_000;

/// Counters that know what to do without their home.
pub struct Guarded {
    home: Arc<dyn Home>,
    on_error: RwLock<OnError>,
    own: Memory,
    waiting: Mutex<VecDeque<Settlement>>,
    dropped: AtomicUsize,
}

impl Guarded {
    /// Room for so many counts of this process's own.
    pub fn new(home: Arc<dyn Home>, on_error: OnError, max_keys: usize) -> Self {
        let own = Memory::new(max_keys, 0);
        Self { home, on_error: RwLock::new(on_error), own, waiting: Mutex::default(), dropped: AtomicUsize::new(0) }
    }

    /// Sends what waited for the home, once its counts are back.
    pub async fn tend(&self) {
        while self.home.counts_reachable() {
            let some: Vec<_> = {
                let mut waiting = self.waiting.lock();
                let count = waiting.len().min(TOGETHER * 16);
                waiting.drain(..count).collect()
            };
            if some.is_empty() {
                break;
            }
            if self.home.settle_or_say(&some).await == Err(Unsettled::NotDone) {
                self.keep(&some);
                break;
            }
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(dropped, "more settlements waited for the store than are kept; some limits stay stricter");
        }
    }

    /// What is done without the home from now on.
    pub fn set_on_error(&self, on_error: OnError) {
        *self.on_error.write() = on_error;
    }

    /// Counts of this process's own.
    pub fn tracked(&self) -> u64 {
        self.own.tracked()
    }

    fn keep(&self, settlements: &[Settlement]) {
        let mut waiting = self.waiting.lock();
        let room = (WAITING - waiting.len()).min(settlements.len());
        waiting.extend(&settlements[..room]);
        self.dropped.fetch_add(settlements.len() - room, Ordering::Relaxed);
    }
}

#[async_trait]
impl Counters for Guarded {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        // What may be taken once is remembered here too: while the home is away it is not had a second time.
        let once = limits.iter().any(|limit| limit.key.is_once());
        let own = if once { Some(self.own.take_now(limits, amount)) } else { None };
        if let Some(own @ Taken { granted: None, .. }) = own {
            return Ok(own);
        }
        if let Ok(taken) = self.home.take(limits, amount).await {
            return Ok(taken);
        }
        let on_error = *self.on_error.read();
        if let Some(own) = own.filter(|_| on_error != OnError::Deny) {
            return Ok(own);
        }
        match on_error {
            OnError::Local => {
                let mut taken = self.own.take_now(limits, amount);
                taken.levels[..limits.len().min(TOGETHER)].iter_mut().for_each(|level| level.period |= OWN);
                Ok(taken)
            }
            OnError::Allow => Ok(Taken { granted: Some(amount.wanted), levels: [Level::default(); TOGETHER] }),
            OnError::Deny => Err(Away),
        }
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for settlement in settlements {
            match settlement.period {
                // Granted while nothing was counted.
                0 => {}
                period if period & OWN != 0 => own.push(Settlement { period: period & !OWN, ..*settlement }),
                _ => shared.push(*settlement),
            }
        }
        self.own.settle_now(&own);
        if shared.is_empty() {
            return Ok(());
        }
        match self.home.settle_or_say(&shared).await {
            Ok(()) => Ok(()),
            Err(Unsettled::NotDone) => {
                self.keep(&shared);
                Ok(())
            }
            Err(Unsettled::Unknown) => Err(Away),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use frontdesk_filters::state::{Class, Key, Subject, Window};

    use super::*;
    use crate::store::Unsettled;

    /// Counts in memory, and settles as it was told to: with the answer lost, the settlements are applied.
    struct Moody {
        counts: Memory,
        settles: Mutex<Result<(), Unsettled>>,
    }

    #[async_trait]
    impl Counters for Moody {
        async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
            self.counts.take(limits, amount).await
        }

        async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
            self.settle_or_say(settlements).await.map_err(|_| Away)
        }
    }

    #[async_trait]
    impl Home for Moody {
        async fn tend(&self) -> Result<(), String> {
            Ok(())
        }

        async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled> {
            let settles = *self.settles.lock();
            if settles != Err(Unsettled::NotDone) {
                self.counts.settle_now(settlements);
            }
            settles
        }

        /// Its records are away all the time.
        fn reachable(&self) -> bool {
            false
        }

        fn counts_reachable(&self) -> bool {
            true
        }

        fn full(&self) -> Option<String> {
            None
        }

        fn without(&self) -> u64 {
            0
        }

        fn tracked(&self) -> u64 {
            0
        }
    }

    #[tokio::test]
    async fn a_settlement_is_applied_once_whatever_happens() {
        let home = Arc::new(Moody { counts: Memory::new(100, 0), settles: Mutex::new(Ok(())) });
        let guarded = Guarded::new(home.clone(), OnError::Local, 100);
        let key = Key::new(Class::Actions, Subject::named(&[b"one"]));
        let window = Window::Fixed(Duration::from_secs(600));
        let limits = [Limit { key, most: 100, window }];
        let taken = guarded.take(&limits, Amount { wanted: 90, least: 90 }).await.unwrap();
        let settlement = [Settlement { key, window, period: taken.levels[0].period, by: -10 }];
        let used = async || guarded.take(&limits, Amount::NOTHING).await.unwrap().levels[0].used;

        assert_eq!(guarded.settle(&settlement).await, Ok(()));
        guarded.tend().await;
        assert_eq!(used().await, 80);

        *home.settles.lock() = Err(Unsettled::Unknown);
        assert_eq!(guarded.settle(&settlement).await, Err(Away));
        guarded.tend().await;
        assert_eq!(used().await, 70);

        *home.settles.lock() = Err(Unsettled::NotDone);
        assert_eq!(guarded.settle(&settlement).await, Ok(()));
        assert_eq!(used().await, 70);
        // Tried in vain, it waits on.
        guarded.tend().await;
        assert_eq!(used().await, 70);
        *home.settles.lock() = Ok(());
        guarded.tend().await;
        guarded.tend().await;
        assert_eq!(used().await, 60);
    }
}
