//! What comes before and after a method: a message is parsed, its refusals are worded and counted.

use serde_json::Value;

use super::{
    super::arguments::Function,
    envelope::{self, Problem},
    era, gate,
    message::{self, Message, Request},
    protocol::{self, Era},
};
use frontdesk_base::fault::Refusal;
use frontdesk_desk::{Account, Desk, Incoming, Served, Standing, Turned};

/// `reason` of a message that is no valid call.
pub(super) const WRONG: &str = "bad_request";

/// Parses a message; `None`: it needs no answer.
///
/// # Errors
///
/// The refusal of a foreign origin, or of a body that is no message.
pub(super) fn read(desk: &Desk<'_>, incoming: &Incoming<'_>) -> Result<Option<(Request, Era)>, Box<Served>> {
    if let Err(refusal) = gate::check(desk.compiled, incoming) {
        let reply = envelope::refused(&refusal, None, None);
        return Err(Box::new(Served { reason: Some(refusal.reason), ..reply.into() }));
    }
    let read = match message::read(incoming) {
        Ok(Message::Request(request)) => era::of(incoming.headers, &request).map(|era| Some((request, era))),
        Ok(Message::Nothing) => era::is_spoken(incoming.headers).map(|()| None),
        Err(problem) => Err(problem),
    };
    read.map_err(|problem| Box::new(refused(problem)))
}

/// Writes the audit line of a call that was refused before its tool.
pub(super) fn record(
    desk: &Desk<'_>,
    incoming: &Incoming<'_>,
    function: &Function,
    reason: &'static str,
) -> Box<Account> {
    let turned = Turned {
        capability: function.index.into(),
        caller: incoming.caller,
        idempotency_key: None,
        request_id: incoming.request_id,
        dialect: protocol::NAME,
    };
    desk.compiled.turned_away(&turned, reason, desk.audit)
}

/// The refusal of a message over a limit.
pub(super) fn over(id: Option<&Value>, refusal: &Refusal) -> Served {
    Served { reason: Some(refusal.reason), ..envelope::refused_to(id, refusal).into() }
}

/// Adds the headers of the limits that a message counted against.
pub(super) fn stand(mut served: Served, standing: Standing) -> Served {
    served.reply.headers.extend(standing.fields);
    Served { near: standing.near, ..served }
}

pub(super) fn refused(problem: Problem) -> Served {
    Served { reason: Some(WRONG), ..problem.reply().into() }
}
