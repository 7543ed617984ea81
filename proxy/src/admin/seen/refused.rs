//! What agents asked and were refused, the latest kinds of it.
//!
//! Refusals of one kind (what was asked for, and why not) are one entry that counts: whoever sends a million bad requests
//! does not push out what happened to others. What was asked for is a name out of the declaration, never what was sent.

use std::{collections::VecDeque, time::Duration};

use frontdesk_filters::caller::{Caller, Proof};

use super::short;

/// Kinds that are remembered.
const KINDS: usize = 64;

/// A refusal, where it happens.
pub struct What<'a> {
    /// The capability's id, or the address as it was declared; `None`: nothing that is declared.
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
    /// How many there were since it is remembered.
    pub times: u64,
    /// The last one, since 1970.
    pub at: Duration,
    /// Who the last one was, as they call themselves or are called here.
    pub who: Option<Box<str>>,
    /// How the last one proved it: `none`, `key`, `token` or `signature`.
    pub proof: &'static str,
}

/// The latest kinds, the stalest first.
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
                // An extension method is whatever was sent; the field's names are short.
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

    /// The latest first.
    pub(super) fn latest(&self) -> Vec<Refused> {
        self.0.iter().rev().cloned().collect()
    }
}

/// What somebody is called: a key by the operator's name for it, an agent by its own. The subject of a token is a person's,
/// and is not shown to whoever may read this.
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
