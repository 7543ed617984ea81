//! Counts a message once its body is read, where only the body says what it counts as.
//!
//! An endpoint with one address for many methods (MCP) cannot tell a call from a list by the request's head.

use http::{HeaderName, HeaderValue};

use crate::{
    caller::Caller,
    desk::Desk,
    fault::Refusal,
    limits::{Counted, Near, store_away},
    state::{Amount, Away},
};

/// The limits that a message was counted against.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// The rate-limit headers of the reply.
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
    /// A limit that is almost used up. For the operator's eyes.
    pub(crate) near: Option<Near>,
}

/// Counts one message.
///
/// # Errors
///
/// The caller is over a limit; or the message is a call and the counters are unavailable. Published documents stay
/// readable then.
pub(crate) async fn count(
    desk: &Desk<'_>,
    counted: Counted,
    caller: &Caller,
) -> Result<Standing, (Box<Refusal>, Standing)> {
    let held = desk.compiled.policies.held(counted, caller);
    let taken = match held.take(desk.counters, Amount::ONE).await {
        Ok(taken) => taken,
        Err(Away) if counted == Counted::Content => return Ok(Standing::default()),
        Err(Away) => return Err((store_away().into(), Standing::default())),
    };
    let standing = Standing { fields: held.fields(&taken), near: held.near(&taken) };
    if taken.granted.is_some() {
        return Ok(standing);
    }
    let mut refusal: Box<Refusal> = held.exceeded(&taken).into();
    if let Some(harness) = desk.harness {
        let wait = refusal.retry_after.unwrap_or(1);
        refusal.retry_after = harness.wait_longer(caller, wait).await.or(refusal.retry_after);
    }
    Err((refusal, standing))
}
