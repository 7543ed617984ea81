//! What the site's pages answer is charged to the token budget, as in a conversation: the same answers may not be had
//! for nothing in another protocol's words.

use super::{
    Spoken,
    call::Given,
    calling::Calling,
    endpoint::Endpoint,
    error,
    said::{Body, Said, Wrong},
};
use crate::{
    desk::Desk,
    limits::{
        budget::{NotReserved, Reserved},
        store_away, tokens,
    },
};

/// An answer of fewer tokens is none.
const LEAST: u64 = 16;

impl Spoken {
    /// Reserves what a question and its answer may take; `None`: nothing of this endpoint is charged. What a session may
    /// spend is counted by what the agent calls its session, else by its id, and by where it calls from.
    ///
    /// # Errors
    ///
    /// The budget is used up, or nobody can say what is left.
    pub(super) async fn reserve(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        endpoint: &Endpoint,
        given: &Given<'_>,
    ) -> Result<Option<(Reserved, u64)>, Wrong> {
        if endpoint.capability(&desk.snapshot.settings).is_none_or(|capability| capability.built_in.is_none()) {
            return Ok(None);
        }
        let asked: u64 = match given {
            Given::Sent(..) => u64::from(tokens::count(&String::from_utf8_lossy(&calling.incoming.body))),
            Given::Input(input, ..) => {
                input.values().filter_map(|value| value.as_str()).map(|text| u64::from(tokens::count(text))).sum()
            }
        };
        // Anybody can claim a name: what is spent under it is spent by who calls from there.
        let caller = calling.incoming.caller;
        let named = calling.head.session.or(calling.head.agent).unwrap_or_default();
        let session = format!("{} {named}", caller.address);
        let budgets = &desk.snapshot.budgets;
        let answer = budgets.ceiling(None);
        let wanted = (asked, answer, LEAST.min(answer));
        match budgets.reserve(desk.counters, caller, &session, wanted).await {
            Ok(reserved) => Ok(Some((reserved, asked))),
            Err(NotReserved::Exhausted(refusal)) => Err(error::wrong(&refusal, None, self.scope_violation)),
            Err(NotReserved::Away) => Err(error::wrong(&store_away(), None, self.scope_violation)),
        }
    }
}

/// Charges what was spent; a refusal costs nothing.
pub(super) async fn settle(desk: &Desk<'_>, (reserved, asked): (Reserved, u64), said: &Said) {
    let spent = match &said.body {
        _ if said.reason.is_some() => 0,
        Body::Of(_, body) => asked + u64::from(tokens::count(&String::from_utf8_lossy(body))),
        Body::Nothing => asked,
    };
    // Who cannot be counted with now has what was reserved charged.
    let _ = reserved.settle(desk.counters, spent).await;
}
