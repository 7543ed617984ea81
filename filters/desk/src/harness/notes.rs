//! Notifications to the harnesses: sessions, configurations, heartbeats.
//!
//! They are queued for each harness that offers the kind, and sent in the background; no request waits for them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Harness, Link, NoAnswer,
    kinds::Kind,
    question::{Action, agent},
    wire::{self, Around},
};

/// Maximum time for one round of sending to a harness.
const TURN: Duration = Duration::from_secs(1);

impl Harness {
    /// Queues a notification for all harnesses.
    pub fn note(&self, kind: Kind, session: &str, payload: Value) {
        self.note_for(|_| true, kind, session, &payload);
    }

    /// Queues a notification about this process.
    pub fn note_own(&self, kind: Kind, payload: Value) {
        self.note_own_for(|_| true, kind, payload);
    }

    fn note_own_for(&self, whom: impl Fn(&Link) -> bool, kind: Kind, mut payload: Value) {
        if payload.get("session_id").is_some() {
            payload["session_id"] = self.session_id.as_str().into();
        }
        self.note_for(whom, kind, &self.session_id, &payload);
    }

    fn note_for(&self, whom: impl Fn(&Link) -> bool, kind: Kind, session: &str, payload: &Value) {
        let mut hearing = self.links.iter().filter(|link| link.offers(kind) && whom(link)).peekable();
        if hearing.peek().is_none() {
            return;
        }
        let around = Around { session_id: session, agent_id: &self.agent_id, depth: 0, metadata: None };
        let event = Arc::new(wire::event(kind, &around, payload));
        hearing.for_each(|link| link.queue.put(kind, event.clone()));
        self.telemetry.put();
    }

    /// Notifies that a configuration was checked and activated, with its warnings: each harness once, as soon as it is
    /// reachable.
    pub fn checked(&self, hash: &str, warnings: impl FnOnce() -> Vec<String>) {
        let news: Vec<&Arc<Link>> = self.links.iter().filter(|link| link.is_news(hash)).collect();
        if news.is_empty() {
            return;
        }
        let warnings = warnings();
        let status = if warnings.is_empty() { "passed" } else { "needs_review" };
        self.note_own_for(
            |link| news.iter().any(|new| std::ptr::eq(&***new, link)),
            Kind::Verification,
            json!({
                "run_id": hash, "session_id": "", "status": status, "updated_at": wire::now(),
                "checks": [{ "id": "configuration", "subject": "the configuration in use", "status": status }],
                "residual_risks": warnings,
            }),
        );
    }

    /// Events dropped since the last call, because a queue was full or sending failed.
    pub fn dropped(&self) -> u64 {
        self.links.iter().map(|link| link.queue.dropped()).sum()
    }

    pub(super) fn met(&self, action: &Action<'_>) {
        if self.sessions.meets(action.session) {
            self.note(Kind::SessionStart, action.session, json!({ "agent": agent(action.caller) }));
        }
    }

    /// Queues the end of sessions that were quiet for this long, and a heartbeat.
    pub fn beat(&self, quiet: Duration) {
        for session in self.sessions.over(quiet) {
            self.note(Kind::SessionEnd, &session, json!({ "reason": "idle" }));
        }
        let waiting = self.links.iter().map(|link| link.queue.len()).max().unwrap_or(0);
        self.note_own(Kind::Heartbeat, self.telemetry.heartbeat(waiting));
    }
}

impl Link {
    /// Sends queued notifications for a limited time; the rest follows in the next round.
    pub async fn send(&self) {
        let began = Instant::now();
        while began.elapsed() < TURN
            && let Some((kind, event)) = self.queue.take()
        {
            // An unreachable harness misses the event: it is not kept.
            if let Err(NoAnswer::Broken(_)) = self.tell(kind, &event).await {
                self.queue.lost();
            }
        }
    }
}
