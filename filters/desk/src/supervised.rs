//! Supervision has its say: whoever the operator wants asked decides before the site hears of a call, and is told after
//! it what became of it.
//!
//! What may be changed is the arguments, and they are checked again as if the caller had sent them. Whatever is not a
//! decision is none: the site hears nothing.

use std::mem::{replace, take};

use serde_json::{Value, json};

use super::{
    composition::Composition,
    escalated::{ESCALATED, Permission},
    plan::Way,
    step::{Step, Stop},
};
use crate::harness::{ALLOWED, Action, Decided, Harness, Verdict, kinds::Kind};
use frontdesk_base::fault::{Fault, Refusal};

/// What is written down of what went on though nobody decided.
pub(super) const OPEN: &str = "open_on_error";
/// `reason` of what nobody decided on.
const AWAY: &str = "harness_away";
/// `reason` of what is to be done later.
const DEFERRED: &str = "harness_deferred";
/// Seconds until somebody who was told that nobody decides may try again.
const SOON: u64 = 5;

/// What a question is about: a permission for one is none for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Action,
    Prompt,
    Confirmation,
}

/// A permission that the operator's people have yet to give.
pub(super) struct Owed {
    about: About,
    /// In the words of whoever wants them asked.
    why: String,
    /// Somebody else should have decided, and did not.
    unasked: bool,
}

impl Step<'_> {
    /// Whoever is asked about this call, where somebody is: it is risky enough, by itself or as a part of something.
    fn harness(&self) -> Option<&Harness> {
        self.desk.harness.filter(|harness| harness.wants(self.risk))
    }

    /// The same of a call that goes upstream.
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

    /// Asks. `true`: the arguments are others now, and were checked.
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
        // A plain yes to one question hides nothing of what came of another.
        if self.account.supervision.is_empty() || decided.word() != ALLOWED {
            self.account.supervision = decided.word();
        }
        let mut changed = false;
        if let Some(arguments) = decided.arguments.filter(|arguments| *arguments != self.ask.input) {
            let ours = replace(&mut self.ask.input, arguments);
            if self.validate().is_err() {
                // The caller is told of the call they sent, not of one that somebody made of it.
                self.ask.input = ours;
                self.account.supervision = "block";
                return Err(blocked().into());
            }
            changed = true;
        }
        match decided.verdict {
            Verdict::Go => Ok(changed),
            Verdict::Deferred(seconds) => {
                let detail = "Whoever supervises this desk wants this done later. Nothing was done; try again then.";
                let refusal = Refusal { reason: DEFERRED, retry_after: Some(seconds), ..Fault::Unavailable.into() };
                Err(refusal.saying(detail).into())
            }
            Verdict::Escalated(why) => {
                self.owed.push(Owed { about, why, unasked: decided.unasked });
                Ok(changed)
            }
            Verdict::Blocked => Err(blocked().into()),
            Verdict::Undecided => Err(undecided().into()),
        }
    }

    /// Has the operator's people asked where somebody wants them to be. They come last: what they allow is the call as it
    /// would be carried out, and as its user confirmed it.
    pub(super) async fn permitted(&mut self) -> Result<(), Stop> {
        for owed in take(&mut self.owed) {
            let permission = self.given(owed).await?;
            self.permissions.push(permission);
        }
        Ok(())
    }

    async fn given(&mut self, owed: Owed) -> Result<Permission, Stop> {
        let permission = self.escalated(owed.about, &owed.why).await?;
        // That somebody else gave no decision is not made good by it.
        self.account.supervision = if owed.unasked { OPEN } else { "approved" };
        Ok(permission)
    }

    /// Whether its user may be asked to confirm the call at all, and what the operator's people said where they were asked
    /// that. The user still has to.
    pub(super) async fn may_be_confirmed(&mut self, summary: &str) -> Result<Option<Permission>, Stop> {
        let Some(harness) = self.harness() else { return Ok(None) };
        let session = Harness::session(self.ask.caller);
        let decided = harness.approve(summary, &self.action(&session)).await;
        if let Verdict::Escalated(why) = decided.verdict {
            self.account.supervision = "escalate";
            return self.given(Owed { about: About::Confirmation, why, unasked: decided.unasked }).await.map(Some);
        }
        self.heed(&decided, "reject").map(|()| None)
    }

    /// Whether several steps may be carried out as one.
    pub(super) async fn may_be_composed(&mut self, all: &Composition) -> Result<(), Stop> {
        let Some(harness) = self.harness() else { return Ok(()) };
        let session = Harness::session(self.ask.caller);
        let steps: Vec<&str> = all.parts.iter().map(|part| part.called.capability().id.as_str()).collect();
        let task = format!("{}: {}", self.capability.id, steps.join(", then "));
        let decided = harness.may_plan(&task, &self.action(&session)).await;
        self.heed(&decided, "block")
    }

    /// Does as was decided on what is no call by itself. `no`: how a no is written down; of a plain yes nothing is.
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

    /// Tells how far the steps have come (`task_list`): so many are done, and the next is under way or failed.
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

    /// Tells what became of a call that somebody was asked about.
    pub(super) fn tell_outcome(&self, refused: Option<&Refusal>) {
        let Some(harness) = self.desk.harness.filter(|_| !self.account.supervision.is_empty()) else { return };
        let session = Harness::session(self.ask.caller);
        let name = self.capability.id.as_str();
        let duration = u64::try_from(self.account.duration.as_millis()).unwrap_or(u64::MAX);
        let status = match refused {
            None => "ok",
            // It was on its way to the site, or further.
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
            // What was not allowed is no failure of anybody's.
            Some(_) => {}
        }
    }
}

/// What whoever calls is told of a block: that there was one, and nothing of why.
pub(super) fn blocked() -> Refusal {
    let detail = "Whoever supervises this desk does not want this call carried out. Nothing was done.";
    Refusal { reason: "harness_blocked", ..Refusal::from(Fault::Forbidden).saying(detail) }
}

/// Whether a refusal may be none when the call is repeated: somebody may decide otherwise by then.
pub(super) fn may_be_allowed_later(refusal: &Refusal) -> bool {
    let within = refusal.details.as_ref().is_some_and(|details| details["may_go_on"] == true);
    within || [AWAY, DEFERRED, ESCALATED].contains(&refusal.reason)
}

/// What whoever calls is told where nobody decides.
fn undecided() -> Refusal {
    let detail =
        "This call has to be decided on first, and nobody decides at the moment. Nothing was done; try again later.";
    Refusal { reason: AWAY, retry_after: Some(SOON), ..Fault::Unavailable.into() }.saying(detail)
}
