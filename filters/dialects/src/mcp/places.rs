//! How many calls wait for a person's answer at a time: each holds a connection.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use frontdesk_caller::Caller;
use frontdesk_state::Subject;

/// Calls that wait in this process, and those of one caller.
const MOST: usize = 256;
const OF_ONE: usize = 8;
/// Those of all anonymous callers together: an address costs little, so the others have places that no address takes.
const ANONYMOUS: usize = MOST / 2;

static WAITING: LazyLock<Places> = LazyLock::new(Places::default);

/// Places for calls that wait, a share of them for each caller.
#[derive(Default)]
pub(super) struct Places(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    of: HashMap<Subject, usize>,
    all: usize,
    anonymous: usize,
}

/// A place that is taken until this is dropped.
pub(super) struct Place<'p> {
    places: &'p Places,
    of: Subject,
    is_anonymous: bool,
}

/// Takes a place in this process; `None`: there is none left for this caller.
pub(super) fn take(caller: &Caller) -> Option<Place<'static>> {
    WAITING.take(caller.counted_as(), caller.subject.is_none())
}

impl Places {
    fn take(&self, of: Subject, is_anonymous: bool) -> Option<Place<'_>> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.of.get(&of).copied().unwrap_or(0);
        if own >= OF_ONE || taken.all >= MOST || is_anonymous && taken.anonymous >= ANONYMOUS {
            return None;
        }
        taken.of.insert(of, own + 1);
        taken.all += 1;
        taken.anonymous += usize::from(is_anonymous);
        Some(Place { places: self, of, is_anonymous })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        taken.anonymous -= usize::from(self.is_anonymous);
        match taken.of.get_mut(&self.of) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.of.remove(&self.of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_every_place() {
        let places = Places::default();
        let who = |n: u16| Subject::named(&[b"test", &n.to_be_bytes()]);
        let mut taken: Vec<Place<'_>> = (0..100).filter_map(|_| places.take(who(1), false)).collect();
        assert_eq!(taken.len(), OF_ONE);
        taken.pop();
        assert!(places.take(who(1), false).is_some(), "what is given back can be had again");
        taken.extend((2..200).flat_map(|n| (0..OF_ONE).filter_map(|_| places.take(who(n), false)).collect::<Vec<_>>()));
        assert!(places.take(who(500), false).is_none());
        assert_eq!(taken.len(), MOST);
        taken.clear();
        let left = places.0.lock().unwrap();
        assert!(left.of.is_empty() && left.all == 0 && left.anonymous == 0);
    }

    #[test]
    fn anonymous_callers_leave_half_of_the_places_to_others() {
        let places = Places::default();
        let who = |n: u16| Subject::named(&[b"test", &n.to_be_bytes()]);
        let mut taken: Vec<Place<'_>> = (0..1000).filter_map(|n| places.take(who(n), true)).collect();
        assert_eq!(taken.len(), ANONYMOUS);
        taken.extend((1000..2000).filter_map(|n| places.take(who(n), false)));
        assert_eq!(taken.len(), MOST);
        assert!(places.take(who(1), true).is_none());
        taken.clear();
        assert!(places.take(who(1), true).is_some());
    }
}
