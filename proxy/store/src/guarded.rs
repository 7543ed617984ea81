//! Counters whose store may be away; `store.on_error` decides what happens then.
//!
//! A count is settled where it was counted. A mark in the level's period says that this process counted it locally, so
//! its settlement never touches the shared count. A settlement of a shared count waits here during an outage, if the
//! store certainly did not see it. A settlement whose answer was lost is not repeated: applied twice it would make the
//! count wrong, lost it makes the count only late.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use frontdesk_config::OnError;
use frontdesk_state::{Amount, Away, Counters, Level, Limit, Settlement, TOGETHER, Taken};
use parking_lot::{Mutex, RwLock};

use super::{Home, Unsettled, memory::Memory};

/// The bit in a window's period that marks a local count. No store uses it.
const OWN: u64 = 1 << 63;
/// The most waiting settlements. Further ones are dropped, and their counts stay too high until their window ends.
const WAITING: usize = 10_000;

/// Counters with a fallback for outages of their store.
pub struct Guarded {
    home: Arc<dyn Home>,
    on_error: RwLock<OnError>,
    own: Memory,
    waiting: Mutex<VecDeque<Settlement>>,
    dropped: AtomicUsize,
}

impl Guarded {
    /// Guards a store, with room for so many local counts.
    pub fn new(home: Arc<dyn Home>, on_error: OnError, max_keys: usize) -> Self {
        let own = Memory::new(max_keys, 0);
        Self { home, on_error: RwLock::new(on_error), own, waiting: Mutex::default(), dropped: AtomicUsize::new(0) }
    }

    /// Sends waiting settlements once the store's counters are back.
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
            tracing::warn!(
                dropped,
                "store outage: dropped budget refunds; budgets stay overcharged until their windows end"
            );
        }
    }

    /// Changes what happens during an outage.
    pub fn set_on_error(&self, on_error: OnError) {
        *self.on_error.write() = on_error;
    }

    /// The number of local counts.
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
        // Also remember one-time keys locally, so that an outage does not grant them twice.
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
                // Granted during an outage without counting.
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

    use frontdesk_state::{Class, Key, Subject, Window};

    use super::*;
    use crate::Unsettled;

    /// Counters in memory whose failure mode is set by the test. With a lost answer the settlements are still applied.
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

        /// Its records are always away.
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
        // A failed attempt leaves it waiting.
        guarded.tend().await;
        assert_eq!(used().await, 70);
        *home.settles.lock() = Ok(());
        guarded.tend().await;
        guarded.tend().await;
        assert_eq!(used().await, 60);
    }
}
