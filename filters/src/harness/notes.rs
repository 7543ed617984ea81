//! What the harnesses are told without being asked anything: sessions, configurations, that we are still here.
//!
//! It is noted, and sent when there is time for it; nobody waits.

use serde_json::{Value, json};

use super::{
    Harness,
    kinds::Kind,
    question::{Action, agent},
    wire::{self, Around},
};

impl Harness {
    /// Tells all of them of an event, when there is time for it.
    pub fn note(&self, kind: Kind, session: &str, payload: Value) {
        if !self.links.is_empty() {
            let around = Around { session_id: session, agent_id: &self.agent_id, depth: 0, metadata: None };
            self.telemetry.put(kind, wire::event(kind, &around, &payload));
        }
    }

    /// Tells of an event of the process.
    pub fn note_own(&self, kind: Kind, mut payload: Value) {
        if payload.get("session_id").is_some() {
            payload["session_id"] = self.session_id.as_str().into();
        }
        self.note(kind, &self.session_id, payload);
    }

    /// Tells that a configuration was checked and taken into use, and what is to be said against it.
    pub fn checked(&self, hash: &str, warnings: &[String]) {
        let status = if warnings.is_empty() { "passed" } else { "needs_review" };
        self.note_own(
            Kind::Verification,
            json!({
                "run_id": hash, "session_id": "", "status": status, "updated_at": wire::now(),
                "checks": [{ "id": "configuration", "subject": "the configuration in use", "status": status }],
                "residual_risks": warnings,
            }),
        );
    }

    /// Sends what was noted.
    pub async fn send(&self) {
        while let Some((kind, event)) = self.telemetry.take() {
            for link in &self.links {
                // A harness that is away has missed it: nobody waits, and nothing is kept for it.
                let _ = link.tell(kind, &event).await;
            }
        }
    }

    pub(super) fn met(&self, action: &Action<'_>) {
        if self.sessions.meets(action.session) {
            self.note(Kind::SessionStart, action.session, json!({ "agent": agent(action.caller) }));
        }
    }

    /// Tells of the sessions that are over, and that we are still here.
    pub fn beat(&self) {
        for session in self.sessions.over() {
            self.note(Kind::SessionEnd, &session, json!({ "reason": "idle" }));
        }
        let beat = self.telemetry.heartbeat();
        self.note_own(Kind::Heartbeat, beat);
    }
}
