//! Detects clients that read a response too slowly.
//!
//! Only time counts in which the socket takes nothing. Progress is measured by acknowledged bytes: the system buffers
//! megabytes, and accepts more only in large steps. A timer exists only once a write has to wait.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::client_pace::Pace;

/// The pace of the client during a response.
#[derive(Debug)]
pub(super) struct WritePace {
    pace: Pace,
    timer: Pin<Box<Sleep>>,
    /// Since when the socket takes nothing.
    since: Option<Instant>,
    /// Earlier waiting time that the pace does not include yet.
    waited: Duration,
    /// The acknowledged bytes at the last look.
    acknowledged: u64,
}

impl WritePace {
    /// `lowest`: bytes a second. `pause`: how long the client may pause. `acknowledged`: what it had before this answer.
    pub(super) fn new(lowest: u64, pause: Duration, acknowledged: u64) -> Self {
        let mut pace = Pace::new(lowest, pause);
        let timer = Box::pin(sleep_until(Instant::now() + pace.allowed()));
        Self { pace, timer, since: None, waited: Duration::ZERO, acknowledged }
    }

    /// The socket has taken data.
    pub(super) fn goes_on(&mut self) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
    }

    /// Called when the socket takes nothing. Ready once the client is too slow. `acknowledged`: reads the current
    /// number.
    pub(super) fn poll_too_slow(&mut self, cx: &mut Context<'_>, acknowledged: impl Fn() -> u64) -> Poll<()> {
        let mut since = *self.since.get_or_insert_with(Instant::now);
        loop {
            let due = since + self.pace.allowed().saturating_sub(self.waited);
            // A timer that fires too early costs less than setting it for each wait.
            if self.timer.is_elapsed() || self.timer.deadline() > due {
                self.timer.as_mut().reset(due);
            }
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if now < due {
                continue;
            }
            let had = std::mem::replace(&mut self.acknowledged, acknowledged());
            self.pace.moved(self.acknowledged.saturating_sub(had));
            if self.pace.is_too_slow_after(self.waited + (now - since)) {
                return Poll::Ready(());
            }
            (self.waited, self.since, since) = (Duration::ZERO, Some(now), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::poll_fn};

    use tokio::time::{sleep, timeout};

    use super::*;

    const PAUSE: Duration = Duration::from_secs(60);

    /// Whether it is too slow within so many seconds in which the socket takes nothing.
    async fn too_slow(pace: &mut WritePace, seconds: u64, acknowledged: &Cell<u64>) -> bool {
        let waiting = poll_fn(|cx| pace.poll_too_slow(cx, || acknowledged.get()));
        let ended = timeout(Duration::from_secs(seconds), waiting).await.is_ok();
        pace.goes_on();
        ended
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_too_slow_after_ten_seconds_of_waiting_for_it() {
        let (acknowledged, began) = (Cell::new(7), Instant::now());
        let mut pace = WritePace::new(500, PAUSE, 7);
        assert!(!too_slow(&mut pace, 4, &acknowledged).await);
        // The site sends nothing, so no write waits for the client.
        sleep(Duration::from_secs(3600)).await;
        assert!(!too_slow(&mut pace, 4, &acknowledged).await);
        assert!(too_slow(&mut pace, 60, &acknowledged).await);
        assert_eq!(began.elapsed().as_secs(), 3610);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_client_acknowledges_counts_and_not_what_the_socket_takes() {
        let acknowledged = Cell::new(0);
        let mut pace = WritePace::new(500, PAUSE, 0);
        // The socket takes nothing for minutes, but the client reads.
        for _ in 0..60 {
            acknowledged.set(acknowledged.get() + 3000);
            assert!(!too_slow(&mut pace, 5, &acknowledged).await);
        }
        // Now it pauses, and is ended as soon as that has lasted too long.
        let began = Instant::now();
        assert!(!too_slow(&mut pace, 45, &acknowledged).await);
        assert!(too_slow(&mut pace, 600, &acknowledged).await);
        assert!((45..=75).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_below_the_lowest_rate_is_too_slow() {
        let (acknowledged, began) = (Cell::new(0), Instant::now());
        let mut pace = WritePace::new(500, PAUSE, 0);
        while !too_slow(&mut pace, 2, &acknowledged).await {
            acknowledged.set(acknowledged.get() + 1);
        }
        assert!((10..=12).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    }
}
