//! The audit line of a call (AICP §8.10): one JSON line with names and numbers, and no content.

use crate::Compiled;
use std::time::{Duration, SystemTime};

use ring::digest;
use serde_json::json;

use super::{Turned, audit::LONGEST, date::rfc3339};
use frontdesk_base::text::{fitted, hex};
use frontdesk_caller::limits::Near;
use frontdesk_config::Capability;
use frontdesk_firewall::Flags;

/// The account of one call, filled in while the call is carried out.
#[derive(Debug)]
pub struct Account {
    /// The capability's id.
    pub capability: String,
    /// The dialect of the request; empty where it is not known here.
    pub dialect: &'static str,
    /// `done`, `replayed`, `cached`, or why not.
    pub decision: &'static str,
    pub duration: Duration,
    /// The accounts of the acting steps, where the call is a composition.
    pub steps: Vec<Account>,
    /// The result could not be stored, so a retry will get `outcome_unknown`.
    pub unkept: bool,
    /// The site may or may not have carried out the call.
    pub in_doubt: bool,
    /// The value of `response` that would read the site's answer, where the declared one does not.
    pub fits: Option<&'static str>,
    /// What of the site's page or form is not as declared, in words of our own.
    pub changed: Option<&'static str>,
    /// The site's cookies could not be stored, so the conversation goes on without them.
    pub unkept_cookies: bool,
    /// The question, where the site's pages do not answer it.
    pub unanswered: Option<String>,
    /// What was found in what leaves; not what was found when it was first told.
    pub flags: Flags,
    /// The same as the caller gets it, also for a replay.
    pub flagged: Vec<String>,
    pub(super) confirmed: bool,
    /// The harness's decision; empty where no harness was asked.
    pub supervision: &'static str,
    pub upstream_status: Option<u16>,
    /// The name that the operator gave to a failure.
    pub(super) named: Option<String>,
    /// A budget that the caller has almost used up. For the operator's eyes.
    pub near: Option<Near>,
}

impl Account {
    /// The account of a call to a capability that does not exist.
    pub(super) fn nothing() -> Box<Self> {
        Box::new(Self {
            capability: String::new(),
            dialect: "",
            decision: "",
            duration: Duration::ZERO,
            steps: Vec::new(),
            unkept: false,
            in_doubt: false,
            fits: None,
            changed: None,
            unkept_cookies: false,
            unanswered: None,
            flags: Flags::default(),
            flagged: Vec::new(),
            confirmed: false,
            supervision: "",
            upstream_status: None,
            named: None,
            near: None,
        })
    }

    /// Records the findings in the words that the caller gets.
    pub(super) fn told_of(&mut self, words: Vec<String>) {
        for word in words {
            if !self.flagged.contains(&word) {
                self.flagged.push(word);
            }
        }
    }

    /// The account of a call that goes on in the background. The background task writes the audit line.
    pub fn accepted(compiled: &Compiled, index: usize) -> Box<Self> {
        let capability = compiled.settings.capability(index).map(|capability| capability.id.clone());
        let mut account = Self::nothing();
        (account.capability, account.decision) = (capability.unwrap_or_default(), "accepted");
        account
    }

    pub(super) fn of(capability: &Capability) -> Box<Self> {
        let mut account = Self::nothing();
        account.capability.clone_from(&capability.id);
        account
    }

    /// The audit line, ending in a newline, at most [`LONGEST`] bytes.
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
            // Scopes have no bound, neither those that are declared nor those of a caller, and escapes lengthen names.
            // The line keeps who called, what, and how it ended.
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

/// SHA-256 of a key in hex, without a secret, so that anyone can recompute it.
fn hashed(key: &str) -> String {
    hex(digest::digest(&digest::SHA256, key.as_bytes()).as_ref())
}

/// A name, cut with an ellipsis where it is too long.
fn short(text: &str) -> String {
    fitted(text, 120)
}
