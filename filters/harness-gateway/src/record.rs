//! The audit lines of the gateway: the sender, the kind of event, the tool, the decision and the harness. They never
//! contain the payload.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::envelope::Problem;
use frontdesk_base::text::fitted;
use frontdesk_desk::{
    Desk, Incoming,
    audit::{NotWritten, Place},
    harness::{Passed, wire::HANDLER_FAILED},
    rfc3339,
};

/// One audit line.
pub(super) struct Line<'a> {
    /// The kind of event, or the last word of the method.
    pub(super) kind: &'static str,
    pub(super) tool_name: Option<&'a str>,
    pub(super) decision: &'a str,
    /// The deciding harness.
    pub(super) harness: &'a str,
    pub(super) duration: Duration,
}

/// The audit lines of one request.
pub(super) struct Record<'a> {
    desk: &'a Desk<'a>,
    incoming: &'a Incoming<'a>,
    passed: Option<&'a Passed>,
    /// The reserved lines.
    places: Vec<Box<dyn Place>>,
}

impl<'a> Record<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, incoming: &'a Incoming<'a>) -> Self {
        let passed = desk.harness.map(|harness| &harness.passed);
        Self { desk, incoming, passed, places: Vec::new() }
    }

    /// Reserves lines: an event that cannot be recorded is not allowed.
    pub(super) async fn reserve(&mut self, lines: usize) -> Result<(), Problem> {
        if let Some(audit) = self.desk.audit {
            for _ in 0..lines {
                self.places.push(audit.reserve().await.map_err(|NotWritten| unwritten())?);
            }
        }
        Ok(())
    }

    /// Writes a line that was reserved.
    pub(super) async fn write(&mut self, line: &Line<'_>) -> Result<(), Problem> {
        self.count(line);
        match self.places.pop() {
            Some(place) => place.write(self.line(line)).await.map_err(|NotWritten| unwritten()),
            None => Ok(()),
        }
    }

    /// Queues a line without waiting.
    pub(super) fn note(&self, line: &Line<'_>) {
        self.count(line);
        if let Some(audit) = self.desk.audit {
            audit.note(self.line(line));
        }
    }

    fn count(&self, line: &Line<'_>) {
        if let Some(passed) = self.passed {
            passed.count(line.kind, line.decision);
        }
    }

    fn line(&self, line: &Line<'_>) -> Vec<u8> {
        let caller = self.incoming.caller;
        let mut text = json!({
            "timestamp": rfc3339(SystemTime::now()),
            "request_id": short(self.incoming.request_id),
            "dialect": "harness",
            "caller": caller.name.as_deref().map(short),
            "proof": caller.proof.word(),
            "address": caller.address.to_string(),
            "event": line.kind,
            "tool_name": line.tool_name.map(short),
            "decision": line.decision,
            "harness": Some(line.harness).filter(|name| !name.is_empty()).map(short),
            "duration_ms": u64::try_from(line.duration.as_millis()).unwrap_or(u64::MAX),
        })
        .to_string()
        .into_bytes();
        text.push(b'\n');
        text
    }
}

fn unwritten() -> Problem {
    Problem::new(HANDLER_FAILED, "The audit log cannot be written at the moment, and nothing is decided without it.")
}

/// A name, cut with an ellipsis where it is too long.
fn short(text: &str) -> String {
    fitted(text, 120)
}
