//! A home of counts for tests of what decides: the slab, which can be taken away.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use async_trait::async_trait;

use super::{Amount, Away, Counters, Limit, Settlement, Slab, Taken};

/// Counts in memory, unless they are away.
pub(crate) struct Home {
    pub(crate) slab: Slab,
    began: Instant,
    pub(crate) away: AtomicBool,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { slab: Slab::new(1024), began: Instant::now(), away: AtomicBool::new(false) }
    }
}

#[async_trait]
impl Counters for Home {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        if self.away.load(Ordering::Relaxed) {
            return Err(Away);
        }
        Ok(self.slab.take(limits, amount, self.began.elapsed()))
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        self.slab.settle(settlements, self.began.elapsed());
        Ok(())
    }
}

/// Runs what only waits for counts in memory.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}
