//! What one request of the desk's asked the site: whom last, and for how long in all.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Told by those who ask, read when the request is over.
#[derive(Debug, Default)]
pub struct Visits(Mutex<Visited>);

/// What the visits came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Visited {
    /// The upstream that was asked last, by its place in the pool.
    pub upstream: Option<usize>,
    /// Until there was a whole answer or none, of all questions together; `None`: nobody was asked.
    pub took: Option<Duration>,
}

impl Visits {
    /// An upstream is asked: it has been connected to, or refuses.
    pub(super) fn at(&self, upstream: usize) {
        self.0.lock().upstream = Some(upstream);
    }

    /// A question is over that began then.
    pub(super) fn over(&self, began: Instant) {
        let mut visited = self.0.lock();
        // Of another service nothing is told.
        if visited.upstream.is_some() {
            visited.took = Some(visited.took.unwrap_or_default() + began.elapsed());
        }
    }

    /// What they came to.
    pub fn came_to(&self) -> Visited {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_told_and_how_long_all_took() {
        let visits = Visits::default();
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
