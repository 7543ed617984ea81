//! Approvals: a call that a person of the operator has to allow is put on the human desk once, and goes ahead once.
//!
//! An approval holds for one call of this caller, this capability and these arguments. The caller repeats the call
//! when the approval is there. Without an approval, or after a rejection, nothing is done. No answer means no
//! approval.

use serde_json::json;

use super::{
    approval::{About as Asked, ESCALATED, GrantedApproval, REJECTED},
    records::{self, Promises, Token, unguessable},
    step::{Step, Stop},
    ticket::{About, State, Ticket, Tickets, Wish},
    trouble::not_kept,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

impl Step<'_> {
    /// The approval, where there is one. It is consumed when the call begins.
    ///
    /// # Errors
    ///
    /// There is no approval yet. A person was asked for one, and the error carries the ticket.
    pub(super) async fn escalated(&mut self, about: Asked, why: &str) -> Result<GrantedApproval, Stop> {
        let tickets = Tickets::of(self.desk);
        let key = self.permission_key(about);
        let mut expect = Expect::Absent;
        if let Some((version, ticket)) = self.answered(&key).await.map_err(not_kept)? {
            match ticket {
                Some(ticket) if is_given(&ticket) => return Ok(GrantedApproval { key, version, ticket: ticket.id }),
                Some(ticket) if ticket.state == State::Waiting => return Err(waits(&ticket.id).into()),
                Some(ticket) if ticket.state == State::Ended => return Err(refused(&ticket).into()),
                // No answer in time: ask again.
                _ => expect = Expect::Version(version),
            }
        }
        let mut wish = Wish { id: unguessable().map_err(not_kept)?, ..self.ask.wish.cloned().unwrap_or_default() };
        wish.query = self.plan.say(&self.ask.input);
        if !why.is_empty() {
            wish.query.push_str(&format!(" The harness requires approval: {why}"));
        }
        wish.manner["escalated"] = true.into();
        wish.manner["key"] = key.clone().into();
        let about = About { what: &self.capability.id, dialect: self.ask.dialect, input: &self.ask.input };
        let id = tickets.ask(&about, self.ask.caller, &wish).await?;
        // The record lives as long as the question and its answer.
        let put = Put::Value(id.clone().into(), tickets.lasts * 2);
        let asked = Change { key, expect, put };
        match self.desk.records.commit(&[asked]).await.map_err(not_kept)? {
            Committed::Done(_) => Err(waits(&id).into()),
            Committed::Conflict(..) => {
                // A concurrent equal call asked first; one question is enough.
                let _ = tickets.forget(&id).await;
                let detail = "A person is being asked about this very call. Try again in a moment.";
                Err(Refusal { retry_after: Some(1), ..Fault::InFlight.into() }.saying(detail).into())
            }
        }
    }

    /// The approval that lets the user be asked to confirm this call, where a person gave one, and what the token is
    /// bound to together with it. The confirmed call consumes it.
    pub(super) async fn confirmed_as_permitted(
        &mut self,
        promises: &Promises<'_>,
        token: &str,
        binding: &str,
        now: u64,
    ) -> Result<Option<(Token, String)>, Stop> {
        if self.desk.harness.is_none() {
            return Ok(None);
        }
        let key = self.permission_key(Asked::Confirmation);
        let Some((version, Some(ticket))) = self.answered(&key).await.map_err(not_kept)? else { return Ok(None) };
        if !is_given(&ticket) {
            return Ok(None);
        }
        let permission = GrantedApproval { key, version, ticket: ticket.id };
        let (seen, binding) = (self.seen.as_ref(), permission.binding(binding));
        let token = promises.confirmed(token, seen, &binding, now).await.map_err(not_kept)?;
        self.permissions.extend(token.is_some().then_some(permission));
        Ok(token.map(|token| (token, binding)))
    }

    /// The key of the record that says what a person was asked about this call.
    fn permission_key(&self, about: Asked) -> String {
        let input = records::fingerprint(&[self.ask.input.to_string().as_bytes()]);
        format!("e:{}", records::fingerprint(&[self.binding(&input).as_bytes(), &[about as u8]]))
    }

    /// The record's version, and the state of the question.
    async fn answered(&self, key: &str) -> Result<Option<(u64, Option<Ticket>)>, NotKept> {
        let Some(record) = self.desk.records.get(key).await? else { return Ok(None) };
        let ticket = Tickets::of(self.desk).any(&String::from_utf8_lossy(&record.value)).await?;
        Ok(Some((record.version, ticket)))
    }

    /// Consumes the approvals of a call that reserves nothing else.
    pub(super) async fn use_permissions(&mut self) -> Result<(), Stop> {
        let used: Vec<Change> = self.permissions.iter().map(GrantedApproval::used).collect();
        if used.is_empty() {
            return Ok(());
        }
        match self.desk.records.commit_safely(&used).await {
            Ok(Committed::Done(_)) => Ok(()),
            Ok(Committed::Conflict(..)) => Err(Fault::InFlight.into()),
            Err(why) => {
                if let NotKept::Unsure(_) = why {
                    // The approvals may be consumed although the call is not made, so give them back.
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

fn waits(id: &str) -> Refusal {
    let detail =
        "A person has to approve this call first, and has been asked. Nothing was done; repeat it once approved.";
    let details = Some(json!({ "ticket": id, "status": "waiting" }));
    Refusal { reason: ESCALATED, details, ..Refusal::from(Fault::Forbidden).saying(detail) }
}

fn refused(ticket: &Ticket) -> Refusal {
    let why = ticket.rejected().unwrap_or("They did not say why.");
    let refusal = Refusal::from(Fault::Forbidden).saying(format!("A person did not allow this call. {why}"));
    Refusal { reason: REJECTED, ..refusal }
}
