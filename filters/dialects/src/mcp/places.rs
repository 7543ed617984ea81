//! How many calls wait for a person's answer at a time: each holds a connection.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use frontdesk_state::Subject;

/// Calls that wait in this process, and those of one caller.
const MOST: usize = 256;
const OF_ONE: usize = 8;

static WAITING: LazyLock<Places> = LazyLock::new(Places::default);

/// Places for calls that wait, a share of them for each caller.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<Subject, usize>>);

/// A place that is taken until this is dropped.
pub(super) struct Place<'p>(&'p Places, Subject);

/// Takes a place in this process; `None`: there is none left for this caller.
pub(super) fn take(holder: Subject) -> Option<Place<'static>> {
    WAITING.take(holder)
}

impl Places {
    fn take(&self, holder: Subject) -> Option<Place<'_>> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&holder).copied().unwrap_or(0);
        if own >= OF_ONE || taken.values().sum::<usize>() >= MOST {
            return None;
        }
        taken.insert(holder, own + 1);
        Some(Place(self, holder))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.1) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.remove(&self.1)),
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
        let mut taken: Vec<Place<'_>> = (0..100).filter_map(|_| places.take(who(1))).collect();
        assert_eq!(taken.len(), OF_ONE);
        taken.pop();
        assert!(places.take(who(1)).is_some(), "what is given back can be had again");
        taken.extend((2..200).flat_map(|n| (0..OF_ONE).filter_map(|_| places.take(who(n))).collect::<Vec<_>>()));
        assert!(places.take(who(500)).is_none());
        assert!(taken.len() <= MOST && taken.len() > MOST - OF_ONE, "{}", taken.len());
        taken.clear();
        assert!(places.0.lock().unwrap().is_empty());
    }
}
