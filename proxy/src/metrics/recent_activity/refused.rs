//! Remembers the latest kinds of refused requests of agents.
//!
//! Refusals of one kind (the same target and the same reason) share one entry with a count, so a client that sends a
//! million bad requests does not push out others. The target is a name from the declaration, never a text from the
//! client.

use std::{collections::VecDeque, time::Duration};

use frontdesk_filters::caller::{Caller, Proof};

use super::short;

/// The most remembered kinds.
const KINDS: usize = 64;

/// A refusal at the moment it happens.
pub struct What<'a> {
    /// The capability's id, or the declared path; `None` if nothing declared was requested.
    pub asked: Option<&'a str>,
    pub method: &'a str,
    pub reason: &'static str,
    pub status: u16,
    pub caller: Option<&'a Caller>,
}

/// Refusals of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub asked: Option<Box<str>>,
    pub method: Box<str>,
    pub reason: &'static str,
    pub status: u16,
    /// The number of refusals since the entry exists.
    pub times: u64,
    /// The time of the last one, since 1970.
    pub at: Duration,
    /// The caller of the last one: its name in the configuration, or the name that it gives itself.
    pub who: Option<Box<str>>,
    /// The proof of the last caller: `none`, `key`, `token` or `signature`.
    pub proof: &'static str,
}

/// The latest kinds, least recent first.
#[derive(Default)]
pub(super) struct Ring(VecDeque<Refused>);

impl Ring {
    pub(super) fn note(&mut self, what: &What<'_>, now: Duration) {
        let same = |refused: &Refused| {
            refused.reason == what.reason && refused.asked.as_deref() == what.asked && refused.status == what.status
        };
        let known = self.0.iter().rposition(same).and_then(|at| self.0.remove(at));
        let mut refused = known.unwrap_or_else(|| {
            if self.0.len() == KINDS {
                self.0.pop_front();
            }
            Refused {
                asked: what.asked.map(|asked| short(asked).into()),
                // An extension method is an arbitrary text of the client, so it is filtered and cut.
                method: what.method.chars().filter(char::is_ascii_alphabetic).take(16).collect::<String>().into(),
                reason: what.reason,
                status: what.status,
                times: 0,
                at: now,
                who: None,
                proof: "none",
            }
        });
        refused.times += 1;
        refused.at = now;
        refused.proof = what.caller.map_or("none", |caller| caller.proof.word());
        let who = what.caller.and_then(named);
        if refused.who.as_deref() != who {
            refused.who = who.map(|who| short(who).into());
        }
        self.0.push_back(refused);
    }

    /// The most recent first.
    pub(super) fn latest(&self) -> Vec<Refused> {
        self.0.iter().rev().cloned().collect()
    }
}

/// The caller's name: the operator's name for a key, or the agent's own name. A token's subject is a person and is not
/// shown to everyone who may read this page.
pub(super) fn named(caller: &Caller) -> Option<&str> {
    match caller.proof {
        Proof::Key => caller.name.as_deref(),
        Proof::Token => None,
        Proof::Signature | Proof::None => caller.agent.as_ref().map(|agent| &*agent.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what<'a>(asked: Option<&'a str>, reason: &'static str) -> What<'a> {
        What { asked, method: "POST", reason, status: 403, caller: None }
    }

    #[test]
    fn one_kind_is_one_entry_and_kinds_are_bounded() {
        let mut ring = Ring::default();
        ring.note(&what(Some("a"), "forbidden"), Duration::from_secs(1));
        for n in 0..1000 {
            ring.note(&what(Some("b"), "rate_limited"), Duration::from_secs(n));
        }
        let seen = ring.latest();
        assert_eq!((seen.len(), seen[0].times, seen[1].times), (2, 1000, 1));
        assert_eq!((seen[0].at, seen[0].asked.as_deref()), (Duration::from_secs(999), Some("b")));
        for n in 0..KINDS * 2 {
            let asked = format!("c{n}{}", "x".repeat(500));
            ring.note(&what(Some(&asked), "forbidden"), Duration::ZERO);
        }
        let seen = ring.latest();
        assert_eq!(seen.len(), KINDS);
        assert!(seen.iter().all(|refused| refused.asked.as_ref().is_none_or(|asked| asked.len() < 100)));
    }

    #[test]
    fn a_method_is_letters() {
        let mut ring = Ring::default();
        ring.note(&What { method: "<SCRIPT>\u{202e}", ..what(None, "bad_request") }, Duration::ZERO);
        assert_eq!(&*ring.latest()[0].method, "SCRIPT");
    }
}
