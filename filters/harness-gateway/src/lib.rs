//! The gateway through which other agents reach the operator's harnesses (Agent Harness Protocol 2.4 over HTTP, one
//! message per request).
//!
//! It identifies the sender, validates the message, and combines the answers of several harnesses into one. It makes
//! no decision of its own and changes nothing on the way. Where a harness gives no answer, the gateway answers with
//! the strictest decision of that kind; `on_error` applies to Frontdesk's own calls only.

#![forbid(unsafe_code)]

mod combined;
mod contract;
mod declaration;
mod envelope;
mod passing;
mod payload;
mod record;
mod shape;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use http::{HeaderName, Method};

use self::{envelope::Problem, passing::Passing};
pub use declaration::EXTENSION;
use frontdesk_base::{
    fault::{CHALLENGE, Fault, Refusal},
    text,
};
use frontdesk_caller::{Caller, Proven, prove};
use frontdesk_config::Settings;
use frontdesk_desk::{Desk, Endpoint, Incoming, Serve, Served, harness::wire::HANDLER_FAILED};

/// Maximum bytes of a message.
const MOST: usize = 256 * 1024;
/// `reason` of a refused message.
const WRONG: &str = "bad_request";
/// The header in which clients of this protocol send an API key.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The endpoint at a path.
pub fn endpoint(path: &str) -> Endpoint {
    Endpoint::call(path, Method::POST, false, envelope::refused).proving_later().served(Arc::new(Gateway))
}

#[derive(Debug)]
struct Gateway;

#[async_trait]
impl Serve for Gateway {
    async fn serve(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let refused = |refusal: &Refusal| Served {
            reason: Some(refusal.reason),
            ..envelope::refused(refusal, incoming.accept().as_deref(), None).into()
        };
        let presented = match presented(incoming) {
            Ok(presented) => presented,
            Err(refusal) => return refused(&refusal),
        };
        let Proven { caller, standing } =
            match prove(desk.compiled.judge(), desk.counters, incoming.caller, presented).await {
                Ok(proven) => proven,
                Err(disproved) => {
                    let mut served = Served { wants_keys: disproved.wants_keys, ..refused(&disproved.refusal) };
                    served.reply.headers.extend(disproved.standing);
                    return served;
                }
            };
        let caller = caller.as_ref().unwrap_or(incoming.caller);
        let incoming = Incoming { caller, body: incoming.body.clone(), ..*incoming };
        let mut served = match known(caller).and_then(|()| envelope::typed(incoming.headers)) {
            Ok(()) => passed(desk, &incoming).await,
            Err(refusal) => refused(&refusal),
        };
        served.reply.headers.extend(standing);
        served
    }

    fn most(&self, _: &Settings) -> usize {
        MOST
    }
}

/// Handles a message of an authenticated sender.
async fn passed(desk: &Desk<'_>, incoming: &Incoming<'_>) -> Served {
    let wrong = |problem: Problem, id: Option<&str>| Served { reason: Some(WRONG), ..problem.reply(id).into() };
    let message = match envelope::read(&incoming.body) {
        Ok(message) => message,
        Err((problem, id)) => return wrong(problem, id.as_deref()),
    };
    let Some(harness) = desk.harness else {
        return wrong(Problem::new(HANDLER_FAILED, "No harness is configured here."), message.id.as_deref());
    };
    let id = message.id.clone();
    match Passing::new(harness, desk, incoming).answered(message).await {
        Ok(reply) => reply.into(),
        Err(problem) => wrong(problem, id.as_deref()),
    }
}

/// The API key in this protocol's own header.
fn presented<'r>(incoming: &'r Incoming<'_>) -> Result<Option<&'r str>, Refusal> {
    text::once(incoming.headers, &X_API_KEY).map_err(|twice| unknown(twice.to_string()))
}

/// Checks that the sender has a credential.
fn known(caller: &Caller) -> Result<(), Refusal> {
    if caller.has_credential() {
        return Ok(());
    }
    Err(unknown("This endpoint needs a credential. Send an API key in x-api-key, or a credential as Bearer."))
}

fn unknown(detail: impl Into<Cow<'static, str>>) -> Refusal {
    let challenge = Some(CHALLENGE);
    Refusal { challenge, ..Fault::Unauthenticated.into() }.saying(detail)
}
