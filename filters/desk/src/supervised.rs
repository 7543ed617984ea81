//! Supervision: the harness decides before the site gets a call, and gets the outcome afterwards.
//!
//! The harness may change the arguments, which are then validated as if the caller had sent them. Anything but a valid
//! decision counts as none, and the site gets nothing.

use std::mem::{replace, take};

use serde_json::{Value, json};

use super::{
    approval::{About, ESCALATED, GrantedApproval, PendingApproval, blocked},
    plan::{Composition, Way},
    step::{Step, Stop},
};
use crate::harness::{ALLOWED, Action, Decided, Harness, Verdict, kinds::Kind};
use frontdesk_base::fault::{Fault, Refusal};

/// `supervision` in the audit log for calls that went ahead without a decision.
pub(super) const OPEN: &str = "open_on_error";
/// `reason` of a call without a decision.
const AWAY: &str = "harness_away";
/// `reason` of a call that the harness deferred.
const DEFERRED: &str = "harness_deferred";
/// `Retry-After` in seconds where the harness is unreachable.
const SOON: u64 = 5;

impl Step<'_> {
    /// The harness for this call; `None` where its risk, or that of its composition, is below the threshold.
    fn harness(&self) -> Option<&Harness> {
        self.desk.harness.filter(|harness| harness.wants(self.risk))
    }

    /// The harness for a call that goes upstream.
    pub(super) fn supervisor(&self) -> Option<&Harness> {
        self.harness().filter(|_| matches!(self.plan.way, Way::Call(_)))
    }

    fn action<'s>(&'s self, session: &'s str) -> Action<'s> {
        Action {
            name: &self.capability.id,
            arguments: &self.ask.input,
            beside: &self.ask.beside,
            side_effects: self.capability.kind.word(),
            risk: self.risk,
            caller: self.ask.caller,
            session,
            request_id: self.ask.request_id,
            entry: self.ask.dialect,
            depth: self.depth,
        }
    }

    /// Asks for a decision. `true`: the harness changed the arguments, and they are valid.
    pub(super) async fn supervised(&mut self) -> Result<bool, Stop> {
        let session = Harness::session(self.ask.caller);
        let mut changed = false;
        if let Some(harness) = self.supervisor() {
            let decided = harness.decide(&self.action(&session)).await;
            changed = self.follow(decided, About::Action)?;
        }
        if let Some(harness) = self.desk.harness.filter(|_| self.plan.is_concierge)
            && let Some(decided) = harness.decide_prompt(&self.action(&session)).await
        {
            changed |= self.follow(decided, About::Prompt)?;
        }
        Ok(changed)
    }

    fn follow(&mut self, decided: Decided, about: About) -> Result<bool, Stop> {
        // A plain yes to one question must not overwrite the result of another one.
        if self.account.supervision.is_empty() || decided.word() != ALLOWED {
            self.account.supervision = decided.word();
        }
        let mut changed = false;
        if let Some(arguments) = decided.arguments.filter(|arguments| *arguments != self.ask.input) {
            let ours = replace(&mut self.ask.input, arguments);
            if self.validate().is_err() {
                // The caller gets the call that they sent, not the changed one.
                self.ask.input = ours;
                self.account.supervision = "block";
                return Err(blocked().into());
            }
            changed = true;
        }
        match decided.verdict {
            Verdict::Go => Ok(changed),
            Verdict::Deferred(seconds) => {
                let detail = "The harness defers this call. Nothing was done; try again later.";
                let refusal = Refusal { reason: DEFERRED, retry_after: Some(seconds), ..Fault::Unavailable.into() };
                Err(refusal.saying(detail).into())
            }
            Verdict::Escalated(why) => {
                self.owed.push(PendingApproval { about, why, unasked: decided.unasked });
                Ok(changed)
            }
            Verdict::Blocked => Err(blocked().into()),
            Verdict::Undecided => Err(undecided().into()),
        }
    }

    /// Gets the missing approvals. They come last, so that a person approves the call as it will run and as its user
    /// confirmed it.
    pub(super) async fn permitted(&mut self) -> Result<(), Stop> {
        for owed in take(&mut self.owed) {
            let permission = self.given(owed).await?;
            self.permissions.push(permission);
        }
        Ok(())
    }

    async fn given(&mut self, owed: PendingApproval) -> Result<GrantedApproval, Stop> {
        let permission = self.escalated(owed.about, &owed.why).await?;
        // An approval does not make up for a missing decision of the harness.
        self.account.supervision = if owed.unasked { OPEN } else { "approved" };
        Ok(permission)
    }

    /// Whether the user may be asked to confirm the call, and the operator's approval where one was needed for that.
    /// The user still has to confirm.
    pub(super) async fn may_be_confirmed(&mut self, summary: &str) -> Result<Option<GrantedApproval>, Stop> {
        let Some(harness) = self.harness() else { return Ok(None) };
        let session = Harness::session(self.ask.caller);
        let decided = harness.approve(summary, &self.action(&session)).await;
        if let Verdict::Escalated(why) = decided.verdict {
            self.account.supervision = "escalate";
            return self
                .given(PendingApproval { about: About::Confirmation, why, unasked: decided.unasked })
                .await
                .map(Some);
        }
        self.heed(&decided, "reject").map(|()| None)
    }

    /// Whether the steps of a composition may run as one call.
    pub(super) async fn may_be_composed(&mut self, all: &Composition) -> Result<(), Stop> {
        let Some(harness) = self.harness() else { return Ok(()) };
        let session = Harness::session(self.ask.caller);
        let steps: Vec<&str> = all.parts.iter().map(|part| part.called.capability().id.as_str()).collect();
        let task = format!("{}: {}", self.capability.id, steps.join(", then "));
        let decided = harness.may_plan(&task, &self.action(&session)).await;
        self.heed(&decided, "block")
    }

    /// Applies a decision on something that is no call by itself. `no`: the audit log's word for a rejection. A plain
    /// yes is not logged.
    fn heed(&mut self, decided: &Decided, no: &'static str) -> Result<(), Stop> {
        match decided.verdict {
            Verdict::Go => {
                if decided.unasked {
                    self.account.supervision = OPEN;
                }
                Ok(())
            }
            Verdict::Undecided => {
                self.account.supervision = decided.word();
                Err(undecided().into())
            }
            _ => {
                self.account.supervision = no;
                Err(blocked().into())
            }
        }
    }

    /// Reports the progress of a composition (`task_list`): `done` steps are done, the next is running or failed.
    pub(super) fn tell_steps(&self, all: &Composition, done: usize, failed: bool) {
        let Some(harness) = self.desk.harness.filter(|harness| harness.offers(Kind::TaskList)) else { return };
        let session = Harness::session(self.ask.caller);
        let tasks = all.parts.iter().enumerate().map(|(at, part)| {
            let status = match at {
                at if at < done => "completed",
                at if at == done && failed => "failed",
                at if at == done => "in_progress",
                _ if failed => "skipped",
                _ => "pending",
            };
            json!({ "id": format!("step-{at}"), "title": part.called.capability().id, "status": status })
        });
        let payload = json!({
            "run_id": self.ask.request_id, "session_id": session, "tasks": tasks.collect::<Value>(),
            "updated_at": crate::harness::wire::now(),
        });
        harness.note(Kind::TaskList, &session, payload);
    }

    /// Reports the outcome of a supervised call.
    pub(super) fn tell_outcome(&self, refused: Option<&Refusal>) {
        let Some(harness) = self.desk.harness.filter(|_| !self.account.supervision.is_empty()) else { return };
        let session = Harness::session(self.ask.caller);
        let name = self.capability.id.as_str();
        let duration = u64::try_from(self.account.duration.as_millis()).unwrap_or(u64::MAX);
        let status = match refused {
            None => "ok",
            // The call was on its way to the site, or further.
            Some(_) if self.has_begun => "error",
            Some(_) => "blocked",
        };
        let after = if self.plan.is_concierge { Kind::PostResponse } else { Kind::PostAction };
        harness.note(
            after,
            &session,
            json!({
                "tool_name": name, "status": status, "http_status": self.account.upstream_status,
                "duration_ms": duration, "request_id": self.ask.request_id,
            }),
        );
        match refused {
            None => harness.note(
                Kind::Success,
                &session,
                json!({
                    "session_id": session, "action_type": "capability",
                    "action_summary": format!("{name} was carried out"), "duration_ms": duration,
                }),
            ),
            Some(refusal) if self.has_begun => harness.note(
                Kind::Error,
                &session,
                json!({
                    "tool_name": name, "error": refusal.reason, "http_status": self.account.upstream_status,
                    "request_id": self.ask.request_id,
                }),
            ),
            // A rejected call is no failure.
            Some(_) => {}
        }
    }
}

/// Whether a retry of a refused call may succeed, because another decision is possible.
pub(super) fn may_be_allowed_later(refusal: &Refusal) -> bool {
    let within = refusal.details.as_ref().is_some_and(|details| details["may_go_on"] == true);
    within || [AWAY, DEFERRED, ESCALATED].contains(&refusal.reason)
}

/// The refusal where no decision can be had.
fn undecided() -> Refusal {
    let detail = "This call needs a decision of the harness, which is unreachable. Nothing was done; try again later.";
    Refusal { reason: AWAY, retry_after: Some(SOON), ..Fault::Unavailable.into() }.saying(detail)
}
