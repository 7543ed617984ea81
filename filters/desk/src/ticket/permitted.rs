//! Background calls that need an approval first: the task waits in the process that took it, and runs once when it is
//! approved.

use serde_json::{Value, json};

use super::{State, Ticket, Tickets, key};
use crate::{Told, caller_urls::Outside, promised::kept, promised::told_again};
use frontdesk_base::fault::Refusal;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

/// Seconds within which the waiting process starts an approved call.
const SOON: u64 = 30;
/// How often storing the outcome is retried while the store is unavailable, one second apart.
const RETRIES: u32 = 120;

/// The decision on a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Waits,
    Given,
    /// It was rejected, used by another call, or not decided in time.
    Over,
}

impl Ticket {
    /// Whether the call was allowed and is carried out now, or will be in a moment.
    pub fn is_being_carried_out(&self) -> bool {
        self.is_carried
    }

    /// What became of the call, once it was carried out.
    pub fn carried(&self) -> Option<Result<Told, Refusal>> {
        told_again(&mut self.value["carried"].get("told")?.clone())
    }

    /// Whether that may be told whole.
    pub fn is_carried_whole(&self) -> bool {
        self.value["carried"]["whole"] == true
    }

    /// Somebody began to carry it out, and is gone.
    pub fn is_lost(&self) -> bool {
        self.value.get("claimed").is_some() && self.value.get("carried").is_none() && !self.is_carried
    }
}

impl Tickets<'_> {
    /// Whether the process that claimed the call is alive, as far as is known.
    pub(super) fn is_carried(&self, value: &Value, now: u64) -> bool {
        let is_there = |name: &str| value[name].as_str().is_some_and(|holder| !self.holders.is_gone(holder));
        let is_over = value["until"].as_u64().is_none_or(|until| until <= now);
        let decided = value["decided_at"].as_u64();
        let is_claimed = value.get("claimed").is_some();
        let is_soon = is_there("errand") && decided.is_some_and(|at| now < at + SOON);
        let is_open = value.get("carried").is_none() && value.get("rejected").is_none();
        is_open && if is_claimed { is_there("claimed") && !is_over } else { is_soon }
    }

    /// Records that this process runs the call once it is approved.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn wait_for_permission(&self, id: &str) -> Result<(), NotKept> {
        let Some(ticket) = self.find(id).await? else { return Ok(()) };
        if ticket.state != State::Waiting {
            return Ok(());
        }
        let mut value = ticket.value.clone();
        value["errand"] = self.holders.name().into();
        self.rewrite(&ticket, value, self.lasts * 2).await.map(drop)
    }

    /// The person's decision.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn permission(&self, id: &str) -> Result<Permission, NotKept> {
        let Some(ticket) = self.find(id).await? else { return Ok(Permission::Over) };
        Ok(match ticket.state {
            State::Waiting => Permission::Waits,
            State::Ended if ticket.is_approved() && self.is_unused(&ticket).await? => Permission::Given,
            _ => Permission::Over,
        })
    }

    /// Whether the approval is unused: neither the waiting task nor a retry of its caller has begun.
    async fn is_unused(&self, ticket: &Ticket) -> Result<bool, NotKept> {
        let Some(key) = ticket.wish.manner["key"].as_str() else { return Ok(false) };
        let is_given = self.records.get(key).await?.is_some_and(|record| record.value == ticket.id.as_bytes());
        Ok(is_given && ticket.value.get("claimed").is_none())
    }

    /// Claims the call for this process; `false`: another process has it.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn claim(&self, id: &str) -> Result<bool, NotKept> {
        let Some(ticket) = self.find(id).await? else { return Ok(false) };
        if !(ticket.state == State::Ended && ticket.is_approved() && self.is_unused(&ticket).await?) {
            return Ok(false);
        }
        let mut value = ticket.value.clone();
        value["claimed"] = self.holders.name().into();
        value["until"] = (self.records.now() + self.lasts.as_secs().max(1)).into();
        self.rewrite(&ticket, value, self.lasts * 2).await
    }

    /// Stores the outcome of an approved call, and updates its ticket.
    ///
    /// # Errors
    ///
    /// The store was unavailable for too long.
    pub async fn carried_out(
        &self,
        outside: &dyn Outside,
        id: &str,
        told: &Result<Told, Refusal>,
        whole: bool,
    ) -> Result<Option<Ticket>, NotKept> {
        let carried = json!({ "told": kept(told.as_ref()), "whole": whole });
        let mut last = Err(NotKept::Away);
        for _ in 0..RETRIES {
            last = self.carried(id, &carried).await;
            if !matches!(last, Err(NotKept::Away | NotKept::Unsure(_))) {
                break;
            }
            outside.pause(super::RETRY).await;
        }
        last
    }

    async fn carried(&self, id: &str, carried: &Value) -> Result<Option<Ticket>, NotKept> {
        let Some(ticket) = self.find(id).await? else { return Ok(None) };
        let mut value = ticket.value.clone();
        value["carried"] = carried.clone();
        // The first write may have been stored although its reply was lost; write again.
        self.rewrite(&ticket, value, self.lasts).await?;
        self.find(id).await
    }

    /// Rewrites a ticket; `false`: another writer was first.
    async fn rewrite(&self, ticket: &Ticket, value: Value, lasts: std::time::Duration) -> Result<bool, NotKept> {
        let put = Put::Value(value.to_string().into(), lasts);
        let change = Change { key: key(&ticket.id), expect: Expect::Version(ticket.version), put };
        Ok(matches!(self.records.commit(&[change]).await?, Committed::Done(_)))
    }
}
