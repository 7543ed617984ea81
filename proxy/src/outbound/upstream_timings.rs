//! Upstream timings of one request to the desk: the last upstream, and the total time of all exchanges.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The outbound code writes it, and the access log reads it at the end of the request.
#[derive(Debug, Default)]
pub struct UpstreamTimings(Mutex<Visited>);

/// The totals.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Visited {
    /// The last upstream, by its index in the pool.
    pub upstream: Option<usize>,
    /// The total time of all exchanges, each until it had an answer or failed; `None` without one.
    pub took: Option<Duration>,
}

impl UpstreamTimings {
    /// Records the upstream: it accepted a connection or refused one.
    pub(super) fn at(&self, upstream: usize) {
        self.0.lock().upstream = Some(upstream);
    }

    /// Records the end of an exchange that began then.
    pub(super) fn over(&self, began: Instant) {
        let mut visited = self.0.lock();
        // Exchanges with other services do not count.
        if visited.upstream.is_some() {
            visited.took = Some(visited.took.unwrap_or_default() + began.elapsed());
        }
    }

    /// The totals.
    pub fn came_to(&self) -> Visited {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_told_and_how_long_all_took() {
        let visits = UpstreamTimings::default();
        let began = Instant::now() - Duration::from_secs(1);
        visits.over(began);
        assert_eq!(visits.came_to(), Visited::default(), "another service was asked, and no upstream");
        visits.at(1);
        visits.over(began);
        visits.at(0);
        visits.over(began);
        let Visited { upstream, took } = visits.came_to();
        assert_eq!(upstream, Some(0));
        assert!(took.is_some_and(|took| took >= Duration::from_secs(2)), "{took:?}");
    }
}
