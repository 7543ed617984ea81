//! What is written down of a call (AICP §8.10): one JSON line, with names and numbers and nothing of what was said.

use crate::Compiled;
use std::time::{Duration, SystemTime};

use ring::digest;
use serde_json::json;

use super::{Turned, audit::LONGEST, date::rfc3339};
use frontdesk_base::text::{fitted, hex};
use frontdesk_caller::limits::Near;
use frontdesk_config::Capability;
use frontdesk_firewall::Flags;

/// One call, as far as it has come.
#[derive(Debug)]
pub struct Account {
    /// The capability's id.
    pub capability: String,
    /// In whose words it was called; empty where that is not known here.
    pub dialect: &'static str,
    /// `done`, `replayed`, `cached`, or why not.
    pub decision: &'static str,
    pub duration: Duration,
    /// The steps of it that act, where it was several calls in one.
    pub steps: Vec<Account>,
    /// Its result could not be stored: a retry will get `outcome_unknown`.
    pub unkept: bool,
    /// It may have been carried out, and nobody knows.
    pub in_doubt: bool,
    /// It was a question that the site's pages do not answer.
    pub unanswered: bool,
    /// What was found in what leaves; not what was found when it was first told.
    pub flags: Flags,
    /// The same, as whoever called hears of it, also of what is told again.
    pub flagged: Vec<String>,
    pub(super) confirmed: bool,
    /// What a harness said of it; empty: none was asked.
    pub supervision: &'static str,
    pub upstream_status: Option<u16>,
    /// The name that the operator gave to a failure.
    pub(super) named: Option<String>,
    /// A budget that the caller has almost used up; for the operator.
    pub near: Option<Near>,
}

impl Account {
    /// Of no capability that there is.
    pub(super) fn nothing() -> Self {
        Self {
            capability: String::new(),
            dialect: "",
            decision: "",
            duration: Duration::ZERO,
            steps: Vec::new(),
            unkept: false,
            in_doubt: false,
            unanswered: false,
            flags: Flags::default(),
            flagged: Vec::new(),
            confirmed: false,
            supervision: "",
            upstream_status: None,
            named: None,
            near: None,
        }
    }

    /// Takes note of the words in which whoever called hears of what was found.
    pub(super) fn told_of(&mut self, words: Vec<String>) {
        for word in words {
            if !self.flagged.contains(&word) {
                self.flagged.push(word);
            }
        }
    }

    /// Of a call that goes on in the background: whoever carries it out writes it down.
    pub fn accepted(compiled: &Compiled, index: usize) -> Self {
        let capability = compiled.settings.capability(index).map(|capability| capability.id.clone());
        Self { capability: capability.unwrap_or_default(), decision: "accepted", ..Self::nothing() }
    }

    pub(super) fn of(capability: &Capability) -> Self {
        Self { capability: capability.id.clone(), ..Self::nothing() }
    }

    /// The line, ending in a newline, at most [`LONGEST`] bytes.
    pub(super) fn line(&self, ask: &Turned<'_>, capability: &Capability) -> Vec<u8> {
        let caller = ask.caller;
        let agent = caller.agent.as_ref();
        let scopes: Vec<String> = caller.scopes().iter().take(32).map(|scope| short(scope)).collect();
        let line = json!({
            "timestamp": rfc3339(SystemTime::now()),
            "request_id": short(ask.request_id),
            "dialect": ask.dialect,
            "caller": caller.name.as_deref().map(short),
            "proof": caller.proof.word(),
            "address": caller.address.to_string(),
            "agent": agent.map(|agent| short(&agent.name)),
            "agent_verified": agent.is_some_and(|agent| agent.verified),
            "capability": short(&capability.id),
            "risk_level": capability.risk(),
            "scopes": scopes,
            "required_scopes": capability.required_scopes,
            "confirmation_required": capability.is_confirmed(),
            "confirmation_received": self.confirmed,
            "idempotency_key": ask.idempotency_key.map(hashed),
            "decision": self.decision,
            "supervision": Some(self.supervision).filter(|said| !said.is_empty()),
            "error": self.named,
            "upstream_status": self.upstream_status,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "tokens": null,
            "flags": self.flagged,
        });
        let mut line = line.to_string().into_bytes();
        if line.len() >= LONGEST {
            // What a declaration and a caller name has no bound (scopes), and escapes make names longer; who, what and how
            // it ended stays.
            line = json!({
                "timestamp": rfc3339(SystemTime::now()), "request_id": short(ask.request_id),
                "caller": caller.name.as_deref().map(short), "capability": short(&capability.id),
                "risk_level": capability.risk(), "decision": self.decision, "shortened": true,
                "upstream_status": self.upstream_status, "flags": self.flagged,
            })
            .to_string()
            .into_bytes();
        }
        line.push(b'\n');
        line
    }
}

/// SHA-256 of a key, as anyone can work it out.
fn hashed(key: &str) -> String {
    hex(digest::digest(&digest::SHA256, key.as_bytes()).as_ref())
}

/// A name, or its beginning and a sign that there is more of it.
fn short(text: &str) -> String {
    fitted(text, 120)
}
