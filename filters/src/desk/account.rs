//! What is written down of a call (AICP §8.10): one JSON line, with names and numbers and nothing of what was said.

use std::time::{Duration, SystemTime};

use ring::digest;
use serde_json::json;

use super::{Turned, audit::LONGEST};
use crate::site::Capability;

/// One call, as far as it has come.
#[derive(Debug)]
pub struct Account {
    /// The capability's id.
    pub capability: String,
    /// `done`, `replayed`, `cached`, or why not.
    pub decision: &'static str,
    pub duration: Duration,
    /// What was promised of it could not be kept: a retry will be told that nobody knows.
    pub unkept: bool,
    pub(super) confirmed: bool,
    pub(super) upstream_status: Option<u16>,
    /// The name that the operator gave to a failure.
    pub(super) named: Option<String>,
}

impl Account {
    /// Of no capability that there is.
    pub(super) fn nothing() -> Self {
        Self {
            capability: String::new(),
            decision: "",
            duration: Duration::ZERO,
            unkept: false,
            confirmed: false,
            upstream_status: None,
            named: None,
        }
    }

    pub(super) fn of(capability: &Capability) -> Self {
        Self { capability: capability.id.clone(), ..Self::nothing() }
    }

    /// The line, ending in a newline, at most [`LONGEST`] bytes.
    pub(super) fn line(&self, ask: &Turned<'_>, capability: &Capability) -> Vec<u8> {
        let caller = ask.caller;
        let agent = caller.agent.as_ref();
        let scopes: Vec<&str> = caller.scopes().iter().take(32).map(|scope| short(scope)).collect();
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
            "error": self.named,
            "upstream_status": self.upstream_status,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "tokens": null,
        });
        let mut line = line.to_string().into_bytes();
        if line.len() >= LONGEST {
            // Only scopes can be so many; who and what stays.
            line = json!({
                "timestamp": rfc3339(SystemTime::now()), "request_id": short(ask.request_id),
                "caller": caller.name.as_deref().map(short), "capability": short(&capability.id),
                "risk_level": capability.risk(), "decision": self.decision, "shortened": true,
                "upstream_status": self.upstream_status,
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
    digest::digest(&digest::SHA256, key.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The beginning of a name.
fn short(text: &str) -> &str {
    text.char_indices().nth(120).map_or(text, |(end, _)| &text[..end])
}

/// A time as RFC 3339 has it, to the second, in UTC.
pub fn rfc3339(time: SystemTime) -> String {
    let text = httpdate::HttpDate::from(time).to_string();
    // "Sun, 06 Nov 1994 08:49:37 GMT"
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let month = MONTHS.iter().position(|month| *month == part(8..11)).map_or(1, |at| at + 1);
    format!("{}-{month:02}-{}T{}Z", part(12..16), part(5..7), part(17..25))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)), "1994-11-06T08:49:37Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
    }
}
