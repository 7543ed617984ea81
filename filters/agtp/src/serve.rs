//! Answers AGTP requests and attributes every answer: who asked for what, with which outcome, in one signed chain.
//!
//! Room for the record is reserved first, so that nothing is done that cannot be recorded.

use async_trait::async_trait;
use http::{HeaderValue, StatusCode, header};
use ring::digest::{Context, SHA256};
use serde_json::Value;

use super::{
    Spoken,
    attribution::{Contract, Record},
    calling::Around,
    discover::API_VERSION,
    gate::Seen,
    manifest::VERSION,
    response::{AgtpError, AgtpResponse, Body, Lineage},
};
use frontdesk_base::{fresh_id, reply::Reply};
use frontdesk_desk::{
    Desk, {Incoming, Serve, Served},
};
use frontdesk_state::chain::Room;

#[async_trait]
impl Serve for Spoken {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let mut seen = Seen::default();
        let room = match desk.chains.room(desk.records, self.signing.chain()).await {
            Ok(room) => room,
            Err(why) => {
                let said = AgtpError::from(why)
                    .said(request.method.as_str(), request.target.split(['?', '#']).next().unwrap_or_default());
                return Served { reason: said.reason, ..self.named(self.told(request, said)).into() };
            }
        };
        let mut said = match self.answer(desk, request, &mut seen).await {
            Ok(said) => said,
            Err(wrong) => wrong.said(&seen.method, &seen.path),
        };
        let (reason, account) = (said.reason, said.account.take());
        let more = More {
            requested_method: seen.requested.take(),
            acted: said.acted,
            upstream_status: account.as_ref().and_then(|account| account.upstream_status),
            contract: said.lineage.take(),
            around: seen.around,
        };
        let mut reply = self.told(request, said);
        self.attributed(room, request, &mut reply, &more);
        Served { reason, account, ..reply.into() }
    }

    /// A refusal that came before verb and path were read is recorded like any other answer.
    async fn finished(&self, desk: &Desk<'_>, request: &Incoming<'_>, mut reply: Reply) -> Reply {
        self.warn(request, &mut reply);
        self.version(&mut reply);
        self.about(request, &mut reply);
        // A rate-limited request was not processed any further, and recording it would let it consume shared
        // resources.
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            return self.named(reply);
        }
        match desk.chains.room(desk.records, self.signing.chain()).await {
            Ok(room) => {
                self.attributed(room, request, &mut reply, &More::default());
                reply
            }
            Err(_) => self.named(reply),
        }
    }
}

/// The parts of a record that the request does not contain.
#[derive(Default)]
struct More {
    requested_method: Option<String>,
    acted: bool,
    upstream_status: Option<u16>,
    contract: Option<Lineage>,
    around: Around,
}

impl Spoken {
    /// A reply that is not recorded: adds only the server's name.
    pub fn named(&self, mut reply: Reply) -> Reply {
        self.signing.name(&mut reply, &fresh_id().to_string());
        reply
    }

    /// Adds verb and path to a refusal that was written without them.
    fn about(&self, request: &Incoming<'_>, reply: &mut Reply) {
        let Ok(mut body) = serde_json::from_slice::<Value>(&reply.body) else { return };
        let Some(error) = body.get_mut("error").and_then(Value::as_object_mut) else { return };
        if error.get("path").is_some_and(|path| path == "") {
            error.insert("method".into(), self.policy.resolve(request.method.as_str()).method.into());
            error.insert("path".into(), request.target.split(['?', '#']).next().unwrap_or_default().into());
            reply.body = body.to_string().into();
        }
    }

    /// Adds the version header where negotiation is possible; the manifest always has it.
    fn version(&self, reply: &mut Reply) {
        if self.negotiable && reply.headers.iter().all(|(name, _)| *name != API_VERSION) {
            reply.headers.push((API_VERSION, HeaderValue::from_static(VERSION)));
        }
    }

    /// Turns an answer into a reply.
    fn told(&self, incoming: &Incoming<'_>, said: AgtpResponse) -> Reply {
        let status = StatusCode::from_u16(said.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = Reply::empty(status);
        reply.headers.extend(said.headers);
        self.warn(incoming, &mut reply);
        self.version(&mut reply);
        if incoming.framed.is_none() {
            // AGTP's status codes are not HTTP's, so no HTTP cache may store them.
            reply.headers.retain(|(name, _)| *name != header::CACHE_CONTROL);
            reply = reply.with(header::CACHE_CONTROL, "no-store");
        }
        if let Body::Of(kind, body) = said.body {
            reply.headers.push((header::CONTENT_TYPE, kind));
            reply.body = body;
        }
        reply
    }

    /// Records an answer and adds the attribution headers.
    fn attributed(&self, room: Room<'_>, request: &Incoming<'_>, reply: &mut Reply, more: &More) {
        let response_id = fresh_id().to_string();
        let action_id = more.acted.then(|| fresh_id().to_string());
        let mut record = Record::of(request.headers, request.caller, digest(request), &response_id, reply.status);
        record.session_id = record.session_id.or(more.around.session.as_deref());
        record.task_id = record.task_id.or(more.around.task.as_deref());
        record.requested_method = more.requested_method.as_deref();
        record.action_id = action_id.as_deref();
        record.upstream_status = more.upstream_status.filter(|status| *status != reply.status.as_u16());
        record.contract = more.contract.as_ref().map(|lineage| Contract {
            synthesis_id: &lineage.synthesis_id,
            contract_hash: &lineage.contract_hash,
            negotiation_origin: lineage.negotiation_origin,
        });
        let appended = room.append(|previous| self.signing.sign(&record, previous));
        self.signing.attribute(reply, &record, &appended);
    }
}

/// SHA-256 of the request: of its bytes where they came as a frame, else of the frame that verb, target and body would
/// make.
fn digest(request: &Incoming<'_>) -> [u8; 32] {
    if let Some(framed) = request.framed {
        return framed.digest;
    }
    let mut context = Context::new(&SHA256);
    let line = ["AGTP/1.0 ", request.method.as_str(), " ", request.target, "\r\n\r\n"];
    line.iter().for_each(|part| context.update(part.as_bytes()));
    context.update(&request.body);
    context.finish().as_ref().try_into().unwrap_or_default()
}
