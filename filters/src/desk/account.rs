//! What is written down of a call (AICP §8.10): one JSON line, with names and numbers and nothing of what was said.

use std::time::{Duration, SystemTime};

use ring::digest;
use serde_json::json;

use super::{Turned, audit::LONGEST};
use crate::{
    firewall::Flags,
    limits::Near,
    site::{Capability, Snapshot},
    text::{clip, hex},
};

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
    /// What was promised of it could not be kept: a retry will be told that nobody knows.
    pub unkept: bool,
    /// What was found in what leaves; not what was found when it was first told.
    pub flags: Flags,
    /// The same, as whoever called hears of it, also of what is told again.
    pub(crate) flagged: Vec<String>,
    pub(super) confirmed: bool,
    /// What a harness said of it; empty: none was asked.
    pub supervision: &'static str,
    pub(crate) upstream_status: Option<u16>,
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
            flags: Flags::default(),
            flagged: Vec::new(),
            confirmed: false,
            supervision: "",
            upstream_status: None,
            named: None,
            near: None,
        }
    }

    /// Of a call that goes on in the background: whoever carries it out writes it down.
    pub(crate) fn accepted(snapshot: &Snapshot, index: usize) -> Self {
        let capability = snapshot.settings.capability(index).map(|capability| capability.id.clone());
        Self { capability: capability.unwrap_or_default(), decision: "accepted", ..Self::nothing() }
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
            "supervision": Some(self.supervision).filter(|said| !said.is_empty()),
            "error": self.named,
            "upstream_status": self.upstream_status,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "tokens": null,
            "flags": self.flagged,
        });
        let mut line = line.to_string().into_bytes();
        if line.len() >= LONGEST {
            // Only scopes can be so many; who and what stays.
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

/// The beginning of a name.
fn short(text: &str) -> &str {
    clip(text, 120)
}

/// A time as RFC 3339 has it, to the second, in UTC.
pub fn rfc3339(time: SystemTime) -> String {
    let date = date(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let mut text = String::with_capacity(date.len() + 1);
    text.extend(date.map(char::from));
    text.push('Z');
    text
}

/// The same as digits, without the zone.
pub fn date(since_1970: Duration) -> [u8; 19] {
    let (days, seconds) = (since_1970.as_secs() / 86_400, since_1970.as_secs() % 86_400);
    // Civil date from days, by the usual arithmetic on 400-year eras that begin in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let mut text = *b"0000-00-00T00:00:00";
    let parts = [(0, year / 100), (2, year), (5, month), (8, day), (11, seconds / 3600), (14, seconds / 60 % 60)];
    for (at, part) in parts.into_iter().chain([(17, seconds % 60)]) {
        // Two digits are less than 100.
        let part = (part % 100) as u8;
        text[at] = b'0' + part / 10;
        text[at + 1] = b'0' + part % 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)), "1994-11-06T08:49:37Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
        for seconds in [951_782_399, 951_782_400, 1_735_689_599, 1_795_305_599, 4_107_542_400] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let http = httpdate::HttpDate::from(time).to_string();
            let ours = rfc3339(time);
            assert_eq!((&ours[..4], &ours[8..10], &ours[11..19]), (&http[12..16], &http[5..7], &http[17..25]));
        }
    }
}
