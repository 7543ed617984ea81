//! The read-only HTTP service: one address for the index, and one for each file below it.
//!
//! It is not in the table of dialects, because it serves no capabilities and no document announces it.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};

use super::{
    answer::{Answer, JSON, answer},
    leaving,
    query::Wanted,
    reading::{Integrity, State, View},
    snapshot_cache::Source,
};
use frontdesk_base::{
    etag,
    fault::{CHALLENGE, Fault, Refusal},
    reply::Reply,
    text::hex,
};
use frontdesk_config::Handoff;
use frontdesk_desk::{
    Desk, Endpoint, problem, {Incoming, Serve, Served},
};
use frontdesk_firewall::{Flags, blocked};

const STATE: HeaderName = HeaderName::from_static("x-aahp-state");
const CHECKSUM: HeaderName = HeaderName::from_static("x-aahp-checksum");
const INTEGRITY: HeaderName = HeaderName::from_static("x-aahp-integrity");
const WARNING: HeaderName = HeaderName::from_static("x-aahp-warning");
/// A project's internal notes must not be used for training, whatever the site allows.
const SIGNALS: [(HeaderName, &str); 2] = [
    (HeaderName::from_static("content-signal"), "ai-train=no"),
    (HeaderName::from_static("content-usage"), "train-ai=n"),
];
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// The endpoints: the path with and without a slash, a name below it, and everything deeper.
pub fn endpoints(handoff: &Handoff) -> [Endpoint; 3] {
    let serve: Arc<dyn Serve> = Arc::new(Service { handoff: handoff.clone() });
    let call = |path: &str| Endpoint::call(path, Method::GET, false, problem::reply).served(serve.clone());
    let below = format!("{}/{{name}}", handoff.path);
    [call(&handoff.path).slashed(), call(&below), call(&handoff.path).below()]
}

#[derive(Debug)]
struct Service {
    handoff: Handoff,
}

#[async_trait]
impl Serve for Service {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        let (mut state, mut flags) = (None, Flags::default());
        let firewall = &desk.compiled.firewall;
        let (reply, reason) = match self.look(desk, request, places, &mut state, &mut flags).await {
            Ok(reply) => (reply, None),
            Err(mut refusal) => {
                // The details may quote a file.
                let details =
                    refusal.details.take().map(|details| leaving::leave(firewall, JSON, details.to_string().into()));
                refusal.details = details.and_then(|left| serde_json::from_slice(&left.ok()?.body).ok());
                let insertion = desk.compiled.insertion.as_ref().map(|(insertion, _)| insertion.as_ref());
                (problem::reply(&refusal, request.accept().as_deref(), insertion), Some(refusal.reason))
            }
        };
        let reply = match state {
            Some(state) => reply.with(STATE, state.word()),
            None => reply,
        };
        Served { reason, flags, ..reply.with(ROBOTS, "noindex").into() }
    }
}

impl Service {
    async fn look(
        &self,
        desk: &Desk<'_>,
        request: &Incoming<'_>,
        places: &[(String, String)],
        state: &mut Option<State>,
        found: &mut Flags,
    ) -> Result<Reply, Refusal> {
        if self.handoff.needs_credential && !request.caller.has_credential() {
            let challenge = Some(CHALLENGE);
            let detail = "This address needs a credential: an API key or a token of this site.";
            return Err(Refusal { challenge, ..Refusal::from(Fault::Unauthenticated).saying(detail) });
        }
        let name = places.first().map(|(_, name)| name.as_str());
        let path = request.target.split(['?', '#']).next().unwrap_or_default();
        if name.is_none() && path.trim_end_matches('/') != self.handoff.path {
            return Err(Fault::NotFound.into());
        }
        let wanted = Wanted::read(name, request.query())?;
        let view = self.view(desk).await?;
        *state = view.state();
        let answer = answer(&view, &wanted, &self.handoff, SystemTime::now())?;
        told(desk, request, answer, found).await
    }

    async fn view(&self, desk: &Desk<'_>) -> Result<View, Refusal> {
        let busy = || {
            let detail = "The handoff cannot be read at the moment. Try again later.";
            Refusal { reason: "handoff_busy", ..Refusal::from(Fault::Unavailable).saying(detail) }
        };
        match desk.handoff.and_then(|source| source.downcast_ref::<Arc<dyn Source>>()) {
            Some(source) => source.view().await.map_err(|_| busy()),
            None => Err(busy()),
        }
    }
}

/// The response, with an entity tag over exactly these bytes: a file's checksum ignores line endings. `found`: the
/// findings.
async fn told(desk: &Desk<'_>, request: &Incoming<'_>, answer: Answer, found: &mut Flags) -> Result<Reply, Refusal> {
    let Answer { kind, body, checksum, mut integrity, mut warnings, is_core } = answer;
    let leaves = body.clone();
    let left = desk.looked_through(body.len(), move |firewall| leaving::leave(firewall, kind, leaves)).await;
    let left = left.ok_or_else(Refusal::unread)?;
    found.merge(left.as_ref().map_or_else(|found| found, |left| &left.flags));
    let mut left = left.map_err(|_| blocked())?;
    if left.is_changed {
        warnings.insert("redacted");
        if is_core {
            left.body = leaving::doubted(&body, left.body);
        }
        integrity = integrity.map(|known| if known == Integrity::Verified { Integrity::Assumed } else { known });
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, &left.body);
    let tag = HeaderValue::try_from(format!("\"{}\"", hex(digest.as_ref()))).map_err(|_| Fault::Internal)?;
    let reply = match etag::matches(request.headers, &tag) {
        true => Reply::empty(StatusCode::NOT_MODIFIED),
        false => Reply::new(StatusCode::OK, kind, left.body).with(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    };
    let mut reply = reply.with_value(header::ETAG, tag).with(header::CACHE_CONTROL, "private, no-cache");
    reply.headers.extend(left.flags.header());
    reply.headers.extend(SIGNALS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    if let Some(checksum) = checksum.and_then(|checksum| HeaderValue::try_from(checksum).ok()) {
        reply = reply.with_value(CHECKSUM, checksum);
    }
    if let Some(integrity) = integrity {
        reply = reply.with(INTEGRITY, integrity.word());
    }
    let warnings: Vec<&str> = warnings.into_iter().collect();
    if let (false, Ok(warnings)) = (warnings.is_empty(), HeaderValue::try_from(warnings.join(", "))) {
        reply = reply.with_value(WARNING, warnings);
    }
    Ok(reply)
}
