//! Remembers callers that are close to a limit.
//!
//! The store keeps counts under hashes and cannot list such callers, so a counted request records it.

use std::time::Duration;

use frontdesk_filters::{caller::Caller, limits::Near};

use super::{refused::named, short};

/// The most remembered callers.
const MOST: usize = 32;

/// A caller and the remaining part of a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Close {
    pub policy: &'static str,
    /// The caller's name in the configuration, or its address.
    pub who: String,
    pub used: u64,
    pub most: u32,
    /// The end of the window, since 1970.
    pub until: Duration,
}

impl Close {
    fn left(&self) -> u64 {
        u64::from(self.most).saturating_sub(self.used)
    }
}

#[derive(Default)]
pub(super) struct Table(Vec<Close>);

impl Table {
    pub(super) fn note(&mut self, near: &Near, caller: &Caller, now: Duration) {
        let who = match (named(caller), caller.name.is_some()) {
            (Some(name), true) => short(name),
            // A name that is only claimed is shown with the address.
            (Some(name), false) => format!("{}, says to be {}", caller.address, short(name)),
            (None, _) => caller.address.to_string(),
        };
        let until = now + near.resets_in;
        self.add(Close { policy: near.policy, who, used: near.used, most: near.most, until }, now);
    }

    fn add(&mut self, close: Close, now: Duration) {
        if let Some(known) = self.0.iter_mut().find(|c| c.policy == close.policy && c.who == close.who) {
            *known = close;
            return;
        }
        if self.0.len() >= MOST {
            self.0.retain(|close| close.until > now);
        }
        // Still full: the caller with the most left is dropped.
        if self.0.len() >= MOST
            && let Some((at, _)) = self.0.iter().enumerate().max_by_key(|(_, close)| close.left())
        {
            self.0.swap_remove(at);
        }
        self.0.push(close);
    }

    pub(super) fn now(&self, now: Duration) -> Vec<Close> {
        let mut close: Vec<Close> = self.0.iter().filter(|close| close.until > now).cloned().collect();
        close.sort_by(|a, b| a.left().cmp(&b.left()).then_with(|| a.who.cmp(&b.who)));
        close
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_with_the_least_left_is_remembered() {
        let mut table = Table::default();
        let close = |who: u64, used: u64, until: u64| Close {
            policy: "anonymous",
            who: who.to_string(),
            used,
            most: 100,
            until: Duration::from_secs(until),
        };
        for n in 0..MOST as u64 {
            table.add(close(n, 80 + n % 10, 60), Duration::ZERO);
        }
        table.add(close(1000, 100, 60), Duration::ZERO);
        table.add(close(1000, 99, 60), Duration::ZERO);
        let seen = table.now(Duration::ZERO);
        assert_eq!((seen.len(), seen[0].used, seen[0].who.as_str()), (MOST, 99, "1000"));
        assert!(table.now(Duration::from_secs(60)).is_empty(), "the window is over");
        table.add(close(1, 80, 120), Duration::from_secs(60));
        assert_eq!(table.now(Duration::from_secs(60)).len(), 1);
    }
}
