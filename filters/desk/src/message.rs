//! A message whose body says what it counts as: counted once the body is read.
//!
//! An endpoint with one address for many methods (MCP) cannot tell a call from a list by the head of a request.

use http::{HeaderName, HeaderValue};

use crate::{Compiled, Desk};
use frontdesk_base::fault::Refusal;
use frontdesk_caller::{
    Caller,
    limits::{Counted, Near, store_away},
};
use frontdesk_state::{Amount, Away, Counters};

/// Where the limits stand that a message was counted against.
#[derive(Debug, Default)]
pub struct Standing {
    /// For the reply.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// A limit that is almost used up; for the operator.
    pub near: Option<Near>,
}

/// Counts one message.
///
/// # Errors
///
/// It is over a limit; or it is a call, and the store of the counts cannot be reached. What is published stays readable
/// then.
pub async fn count(desk: &Desk<'_>, counted: Counted, caller: &Caller) -> Result<Standing, (Box<Refusal>, Standing)> {
    let (mut refusal, standing) = match take(desk.compiled, desk.counters, counted, caller).await {
        Ok(standing) => return Ok(standing),
        Err(refused) => refused,
    };
    let is_away = refusal.reason == store_away().reason;
    if let Some(harness) = desk.harness.filter(|_| !is_away) {
        let wait = refusal.retry_after.unwrap_or(1);
        refusal.retry_after = harness.wait_longer(caller, wait).await.or(refusal.retry_after);
    }
    Err((refusal, standing))
}

/// Counts a message whose body could not be had: it was too long, malformed or late. Its method is unknown,
/// so it counts as the least.
///
/// # Errors
///
/// It is over a limit.
pub async fn count_unread(
    compiled: &Compiled,
    counters: &dyn Counters,
    caller: &Caller,
) -> Result<Standing, (Box<Refusal>, Standing)> {
    take(compiled, counters, Counted::Content, caller).await
}

async fn take(
    compiled: &Compiled,
    counters: &dyn Counters,
    counted: Counted,
    caller: &Caller,
) -> Result<Standing, (Box<Refusal>, Standing)> {
    let held = compiled.policies.held(counted, caller);
    let taken = match held.take(counters, Amount::ONE).await {
        Ok(taken) => taken,
        Err(Away) if counted == Counted::Content => return Ok(Standing::default()),
        Err(Away) => return Err((store_away().into(), Standing::default())),
    };
    let standing = Standing { fields: held.fields(&taken), near: held.near(&taken) };
    match taken.granted {
        Some(_) => Ok(standing),
        None => Err((held.exceeded(&taken).into(), standing)),
    }
}
