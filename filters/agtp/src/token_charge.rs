//! Charges answers from the site's pages to the token budget, as a conversation does, so that another protocol does
//! not get them for free.

use serde_json::Value;

use super::{Spoken, calling::Calling, error, response::AgtpError};
use frontdesk_caller::limits::{
    budget::{LEAST, NotReserved, Reserved},
    store_away, tokens,
};
use frontdesk_config::Capability;
use frontdesk_desk::{Desk, Outcome};

/// A reservation for a question and its answer.
pub(super) struct Charged {
    reserved: Reserved,
    /// Tokens of the question.
    asked: u64,
}

impl Spoken {
    /// Reserves the tokens of a question and its answer; `None`: this capability is not charged. A session's share is
    /// counted by the claimed session id, else the claimed Agent-ID, together with the client address, since anyone
    /// can claim an id.
    ///
    /// # Errors
    ///
    /// The budget is exhausted, or the counters are unavailable.
    pub(super) async fn reserve(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        capability: &Capability,
        input: &Value,
    ) -> Result<Option<Charged>, AgtpError> {
        if capability.built_in.is_none() {
            return Ok(None);
        }
        let words = input.as_object().into_iter().flat_map(|members| members.values()).filter_map(Value::as_str);
        let asked = words.map(|text| u64::from(tokens::count(text))).sum();
        let caller = calling.incoming.caller;
        let named = calling.head.session.or(calling.head.agent).unwrap_or_default();
        let session = format!("{} {named}", caller.address);
        let budgets = &desk.compiled.budgets;
        let answer = budgets.ceiling(None);
        let wanted = (asked, answer, LEAST.min(answer));
        let refusal = match budgets.reserve((desk.counters, desk.under_way), caller, &session, wanted).await {
            Ok(reserved) => return Ok(Some(Charged { reserved, asked })),
            Err(NotReserved::Exhausted(refusal)) => *refusal,
            Err(NotReserved::Away) => store_away(),
        };
        Err(error::wrong(&refusal, None, self.scope_violation))
    }
}

impl Charged {
    /// Maximum tokens of the answer.
    pub(super) fn answer(&self) -> u64 {
        self.reserved.answer
    }

    /// Charges the tokens spent. A refusal costs nothing.
    pub(super) async fn settle(self, desk: &Desk<'_>, outcome: &Outcome) {
        let spent = match outcome {
            Outcome::Done(done) => {
                self.asked + u64::from(tokens::count(&String::from_utf8_lossy(&done.told.data.text())))
            }
            Outcome::NeedsConfirmation(_) | Outcome::Fault(_) => 0,
        };
        // If the counters are unavailable now, the full reservation stays charged.
        let _ = self.reserved.settle(desk.counters, spent).await;
    }
}
