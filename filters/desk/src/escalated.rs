//! A call that a person of the operator's has to allow: it is put on their desk once, and goes ahead once.
//!
//! The permission holds for this caller, this capability and these arguments, and for one call: whoever repeats it when
//! it is there is let through. Until then, and when it was refused, nothing is done. Silence is no permission.

use std::time::Duration;

use serde_json::json;

use super::{
    records::{self, Promises, Token, unguessable},
    step::{Step, Stop},
    supervised::About as Asked,
    ticket::{About, State, Ticket, Tickets, Wish},
    trouble::not_kept,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

impl Step<'_> {
    /// The permission, where there is one; it is used up when the call begins.
    ///
    /// # Errors
    ///
    /// There is none yet: somebody was asked for it, under a number that the caller is told.
    pub(super) async fn escalated(&mut self, about: Asked, why: &str) -> Result<Permission, Stop> {
        let tickets = Tickets::of(self.desk);
        let key = self.permission_key(about);
        let mut expect = Expect::Absent;
        if let Some((version, ticket)) = self.answered(&key).await.map_err(not_kept)? {
            match ticket {
                Some(ticket) if is_given(&ticket) => return Ok(Permission { key, version, ticket: ticket.id }),
                Some(ticket) if ticket.state == State::Waiting => return Err(waits(&ticket.id).into()),
                Some(ticket) if ticket.state == State::Ended => return Err(refused(&ticket).into()),
                // Nobody answered in time: they are asked again.
                _ => expect = Expect::Version(version),
            }
        }
        let mut wish = Wish { id: unguessable().map_err(not_kept)?, ..self.ask.wish.cloned().unwrap_or_default() };
        wish.query = self.plan.say(&self.ask.input);
        if !why.is_empty() {
            wish.query.push_str(&format!(" The harness wants it allowed first: {why}"));
        }
        wish.manner["escalated"] = true.into();
        wish.manner["key"] = key.clone().into();
        let about = About { what: &self.capability.id, dialect: self.ask.dialect, input: &self.ask.input };
        let id = tickets.ask(&about, self.ask.caller, &wish).await?;
        // As long as the question and its answer are there.
        let put = Put::Value(id.clone().into(), tickets.lasts * 2);
        let asked = Change { key, expect, put };
        match self.desk.records.commit(&[asked]).await.map_err(not_kept)? {
            Committed::Done(_) => Err(waits(&id).into()),
            Committed::Conflict(..) => {
                // Its equal was first; one question is enough.
                let _ = tickets.forget(&id).await;
                let detail = "A person is being asked about this very call. Try again in a moment.";
                Err(Refusal { retry_after: Some(1), ..Fault::InFlight.into() }.saying(detail).into())
            }
        }
    }

    /// The confirmation of this very call that its user could be asked for because a person allowed it; that permission
    /// is used up with it.
    pub(super) async fn confirmed_as_permitted(
        &mut self,
        promises: &Promises<'_>,
        token: &str,
        binding: &str,
        now: u64,
    ) -> Result<Option<Token>, Stop> {
        if self.desk.harness.is_none() {
            return Ok(None);
        }
        let key = self.permission_key(Asked::Confirmation);
        let Some((version, Some(ticket))) = self.answered(&key).await.map_err(not_kept)? else { return Ok(None) };
        if !is_given(&ticket) {
            return Ok(None);
        }
        let permission = Permission { key, version, ticket: ticket.id };
        let (seen, binding) = (self.seen.as_ref(), permission.binding(binding));
        let token = promises.confirmed(token, seen, &binding, now).await.map_err(not_kept)?;
        self.permissions.extend(token.is_some().then_some(permission));
        Ok(token)
    }

    /// Where it is written down what a person was asked about this call.
    fn permission_key(&self, about: Asked) -> String {
        let input = records::fingerprint(&[self.ask.input.to_string().as_bytes()]);
        format!("e:{}", records::fingerprint(&[self.binding(&input).as_bytes(), &[about as u8]]))
    }

    /// The version of that, and what became of the question.
    async fn answered(&self, key: &str) -> Result<Option<(u64, Option<Ticket>)>, NotKept> {
        let Some(record) = self.desk.records.get(key).await? else { return Ok(None) };
        let ticket = Tickets::of(self.desk).any(&String::from_utf8_lossy(&record.value)).await?;
        Ok(Some((record.version, ticket)))
    }

    /// Uses up what was permitted, where nothing else is promised.
    pub(super) async fn use_permissions(&mut self) -> Result<(), Stop> {
        let used: Vec<Change> = self.permissions.iter().map(Permission::used).collect();
        if used.is_empty() {
            return Ok(());
        }
        match self.desk.records.commit_safely(&used).await {
            Ok(Committed::Done(_)) => Ok(()),
            Ok(Committed::Conflict(..)) => Err(Fault::InFlight.into()),
            Err(why) => {
                if let NotKept::Unsure(_) = why {
                    // They may be used up, and nothing is done with them.
                    let given_back = self.permissions.iter().map(|permission| permission.given_back(records::KEPT));
                    let _ = self.desk.records.finish(vec![given_back.collect()]).await;
                }
                Err(not_kept(why).into())
            }
        }
    }
}

fn is_given(ticket: &Ticket) -> bool {
    ticket.state == State::Ended && ticket.is_approved()
}

/// A permission that a person gave, for one call.
#[derive(Debug, Clone)]
pub(super) struct Permission {
    key: String,
    version: u64,
    ticket: String,
}

impl Permission {
    /// What a confirmation holds for that is asked for with it, where that is `binding` without.
    pub(super) fn binding(&self, binding: &str) -> String {
        records::fingerprint(&[binding.as_bytes(), self.ticket.as_bytes()])
    }

    /// It is used up; of two calls that come with it one is too late.
    pub(super) fn used(&self) -> Change {
        Change { key: self.key.clone(), expect: Expect::Version(self.version), put: Put::Nothing }
    }

    /// It was not needed after all, and is good for another call, unless somebody was asked anew meanwhile.
    pub(super) fn given_back(&self, lasts: Duration) -> Change {
        let put = Put::Value(self.ticket.clone().into(), lasts);
        Change { key: self.key.clone(), expect: Expect::Absent, put }
    }
}

/// `reason` of a call that waits for a permission; `details.ticket` is what it waits under.
pub(crate) const ESCALATED: &str = "harness_escalated";

fn waits(id: &str) -> Refusal {
    let detail =
        "A person has to allow this call first, and has been asked. Nothing was done; repeat the call when they have.";
    let details = Some(json!({ "ticket": id, "status": "waiting" }));
    Refusal { reason: ESCALATED, details, ..Refusal::from(Fault::Forbidden).saying(detail) }
}

/// What a call is refused for that a person did not allow.
pub(super) const REJECTED: &str = "harness_rejected";

fn refused(ticket: &Ticket) -> Refusal {
    let why = ticket.rejected().unwrap_or("They did not say why.");
    let refusal = Refusal::from(Fault::Forbidden).saying(format!("A person did not allow this call. {why}"));
    Refusal { reason: REJECTED, ..refusal }
}
