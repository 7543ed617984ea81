//! Asks all configured harnesses, one after the other; the most restrictive decision wins.
//!
//! A later harness gets the arguments as the earlier ones changed them. Without a valid decision the call is closed,
//! unless the operator chose otherwise (`on_error`).

use std::{fmt, sync::Arc};

use serde_json::{Value, json};

use super::{
    decision::{Approval, Backpressure, Decision, strictness},
    greeting::Hello,
    kinds::{Family, Kind},
    link::{Link, NoAnswer},
    passed::Passed,
    question::{Action, agent, arguments},
    rate_hints::RateHints,
    sessions::Sessions,
    telemetry::Telemetry,
    transport::HarnessTransport,
    verdict::{Decided, Verdict},
    wire::{self, Around},
};
use frontdesk_base::fresh_id;
use frontdesk_caller::Caller;
use frontdesk_config::{Harness as Declared, risk_rank};

/// Maximum `Retry-After` of a deferred call, in seconds.
const LONGEST_AWAY: u64 = 3600;

/// The harnesses that decide on risky calls and are notified of their outcome.
pub struct Harness {
    pub links: Vec<Arc<Link>>,
    declared: Declared,
    /// Id of this instance.
    pub(super) agent_id: String,
    /// Id of this process.
    pub(super) session_id: String,
    pub telemetry: Telemetry,
    pub(super) sessions: Sessions,
    /// Counts of what other agents sent through the gateway.
    pub passed: Passed,
    pressure: RateHints,
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.links.iter().map(|link| &link.name)).finish()
    }
}

/// A harness forbids a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwanted;

impl Harness {
    /// The harnesses of a declaration, before their handshakes. `ways` has one transport for each address, in the same
    /// order.
    pub fn new(declared: Declared, ways: Vec<(String, Arc<dyn HarnessTransport>)>) -> Self {
        let links = ways.into_iter().map(|(name, way)| Arc::new(Link::new(name, way, declared.timeout))).collect();
        let (agent_id, session_id) = (fresh_id().to_string(), fresh_id().to_string());
        let (telemetry, sessions, passed, pressure) = Default::default();
        Self { links, declared, agent_id, session_id, telemetry, sessions, passed, pressure }
    }

    /// The id of a caller's session.
    pub fn session(caller: &Caller) -> String {
        Sessions::of(caller)
    }

    /// The declaration it was made from.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// Greets the harnesses that need it, or all of them with `anew`: a restarted one may offer other kinds.
    ///
    /// # Errors
    ///
    /// Why some are unreachable, one line each.
    pub async fn greet(&self, anew: bool) -> Result<(), Vec<String>> {
        let hello = Hello { session_id: &self.session_id, agent_id: &self.agent_id };
        let mut away = Vec::new();
        for link in self.links.iter().filter(|link| anew || link.wants_greeting()) {
            if let Err(why) = link.greet(&hello, &[Kind::PreAction]).await {
                away.push(format!("{}: {why}", link.name));
            }
        }
        if away.is_empty() { Ok(()) } else { Err(away) }
    }

    /// Whether an action of this risk needs a decision.
    pub fn wants(&self, risk: &str) -> bool {
        risk_rank(risk) >= self.declared.min_risk
    }

    /// Asks about an action before it goes upstream.
    pub async fn decide(&self, action: &Action<'_>) -> Decided {
        self.generic(Kind::PreAction, action).await
    }

    /// Asks about a question before the operator's concierge gets it. `None`: no harness offers this.
    pub async fn decide_prompt(&self, action: &Action<'_>) -> Option<Decided> {
        if self.offers(Kind::PrePrompt) { Some(self.generic(Kind::PrePrompt, action).await) } else { None }
    }

    async fn generic(&self, kind: Kind, action: &Action<'_>) -> Decided {
        self.telemetry.asked();
        self.met(action);
        let metadata = action.metadata();
        let mut payload = action.payload();
        let mut decided = Decided::default();
        for link in self.links.iter().filter(|link| kind == Kind::PreAction || link.offers(kind)) {
            let event = wire::event(kind, &action.around(&self.agent_id, &metadata), &payload);
            let decision = link.ask(kind, &event).await.map_err(NoAnswer::words);
            let decision = decision.and_then(|result| Decision::read(&result));
            let verdict = match decision {
                Ok(Decision::Allow(None)) => Verdict::Go,
                Ok(Decision::Allow(Some(theirs)) | Decision::Modify(theirs)) => match arguments(&payload, &theirs) {
                    Ok(arguments) => {
                        // The next harness gets the changed arguments.
                        payload["arguments"] = arguments.clone();
                        decided.arguments = Some(arguments);
                        Verdict::Go
                    }
                    Err(why) => {
                        // Counts as a block.
                        self.telemetry.trouble(&link.name, why);
                        Verdict::Blocked
                    }
                },
                Ok(Decision::Defer(millis, _)) => Verdict::Deferred(millis.div_ceil(1000).clamp(1, LONGEST_AWAY)),
                Ok(Decision::Escalate(reason, target)) => Verdict::Escalated(match target {
                    Some(target) => format!("{reason} (for {target})"),
                    None => reason,
                }),
                Ok(Decision::Block(_)) => Verdict::Blocked,
                Err(why) => self.without(link, &why, &mut decided),
            };
            decided.verdict = decided.verdict.or_stricter(verdict);
            if decided.is_settled() {
                break;
            }
        }
        decided
    }

    /// The verdict where a harness gave no decision.
    fn without(&self, link: &Link, why: &str, decided: &mut Decided) -> Verdict {
        self.telemetry.trouble(&link.name, why);
        decided.unasked = true;
        if self.declared.goes_on { Verdict::Go } else { Verdict::Undecided }
    }

    /// Asks whether a person may be asked. The answer never replaces the person's.
    pub async fn approve(&self, message: &str, action: &Action<'_>) -> Decided {
        let payload = json!({
            "session_id": action.session, "confirmation_type": "user_confirm", "message": message,
        });
        let read = |said: &Value| {
            Approval::read(said).map(|approval| match approval {
                Approval::Approve => Verdict::Go,
                Approval::Escalate => Verdict::Escalated(String::new()),
                Approval::Reject(_) => Verdict::Blocked,
            })
        };
        self.special(Kind::Confirmation, action, &payload, read).await
    }

    /// Asks whether several steps may run as one composition.
    pub async fn may_plan(&self, task: &str, action: &Action<'_>) -> Decided {
        let payload = json!({
            "session_id": action.session, "task_description": task, "available_strategies": ["step_by_step"],
        });
        // A modified task is not the declared one, so it counts as no decision.
        let read = |said: &Value| {
            strictness(Family::Planning, said).map(|rank| if rank == 0 { Verdict::Go } else { Verdict::Blocked })
        };
        self.special(Kind::Planning, action, &payload, read).await
    }

    /// Asks how long a caller over a limit has to wait, in seconds. The harness can only lengthen it.
    pub async fn wait_longer(&self, caller: &Caller, retry_after: u64) -> Option<u64> {
        // Limited: callers over a limit must not be able to flood the harness.
        if !self.offers(Kind::RateLimit) || !self.pressure.may_ask() {
            return None;
        }
        let session = Sessions::of(caller);
        let payload = json!({
            "session_id": session, "limit_type": "api_request_limit",
            "retry_after_ms": retry_after.saturating_mul(1000), "current_usage": "over the limit",
        });
        let metadata = json!({ "agent": agent(caller) });
        let around = Around { session_id: &session, agent_id: &self.agent_id, depth: 0, metadata: Some(&metadata) };
        let mut longest = None;
        for link in self.links.iter().filter(|link| link.offers(Kind::RateLimit)) {
            let result = link.ask(Kind::RateLimit, &wire::event(Kind::RateLimit, &around, &payload)).await;
            let wait = match result.ok().and_then(|result| Backpressure::read(&result).ok()) {
                Some(Backpressure::Retry(millis)) => millis.div_ceil(1000),
                Some(Backpressure::Skip(_)) => LONGEST_AWAY,
                Some(Backpressure::Queue) | None => continue,
            };
            longest = longest.max(Some(wait.min(LONGEST_AWAY).max(retry_after)));
        }
        longest
    }

    /// Asks for more than a decision: facts, or an intent. `None` where no harness offers it or has an answer.
    ///
    /// # Errors
    ///
    /// The harness forbids the question.
    pub async fn enrich(&self, kind: Kind, caller: &Caller, payload: &Value) -> Result<Option<Value>, Unwanted> {
        let Some(link) = self.links.iter().find(|link| link.offers(kind)) else { return Ok(None) };
        let session = Sessions::of(caller);
        let around = Around { session_id: &session, agent_id: &self.agent_id, depth: 0, metadata: None };
        let mut payload = payload.clone();
        payload["session_id"] = session.as_str().into();
        let Ok(result) = link.ask(kind, &wire::event(kind, &around, &payload)).await else { return Ok(None) };
        match strictness(kind.family(), &result) {
            Ok(0) => Ok(Some(result)),
            Ok(_) => Err(Unwanted),
            Err(_) => Ok(None),
        }
    }

    /// Whether any harness offers this kind.
    pub fn offers(&self, kind: Kind) -> bool {
        self.links.iter().any(|link| link.offers(kind))
    }

    /// The combined decision of all harnesses that offer this kind; each gets the same payload.
    async fn special(
        &self,
        kind: Kind,
        action: &Action<'_>,
        payload: &Value,
        read: impl Fn(&Value) -> Result<Verdict, String>,
    ) -> Decided {
        let metadata = action.metadata();
        let mut decided = Decided::default();
        for link in self.links.iter().filter(|link| link.offers(kind)) {
            let event = wire::event(kind, &action.around(&self.agent_id, &metadata), payload);
            let said = link.ask(kind, &event).await.map_err(NoAnswer::words);
            let verdict = match said.and_then(|result| read(&result)) {
                Ok(verdict) => verdict,
                Err(why) => self.without(link, &why, &mut decided),
            };
            decided.verdict = decided.verdict.or_stricter(verdict);
            if decided.is_settled() {
                break;
            }
        }
        decided
    }
}
