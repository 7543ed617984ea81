//! JSON-RPC 2.0 results and errors, and the refusals of the endpoint itself in that form.

use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use super::protocol::Era;
use crate::{ahp, jsonrpc::Request};
use frontdesk_base::{fault::Refusal, reply::Reply};
use frontdesk_desk::problem;
use frontdesk_page::Insertion;

pub(super) use super::super::jsonrpc::{INTERNAL, INVALID_PARAMS, NO_METHOD};
/// Unknown resource, before 2026-07-28.
pub(super) const NO_RESOURCE: i32 = -32002;
/// The headers contradict the body (2026-07-28).
pub(super) const MISMATCH: i32 = -32020;
/// Unsupported version (2026-07-28).
pub(super) const NO_VERSION: i32 = -32022;
/// Any other refusal.
const REFUSED: i32 = -32000;

/// A protocol error. An error of the called tool is a result instead.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) code: i32,
    message: String,
    data: Option<Value>,
    /// The id of the request, where it is known.
    id: Option<Value>,
    status: Option<StatusCode>,
}

impl Problem {
    pub(super) fn new(code: i32, message: String) -> Self {
        Self { code, message, data: None, id: None, status: None }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    pub(super) fn with_id(self, id: Option<Value>) -> Self {
        Self { id, ..self }
    }

    pub(super) fn to(self, request: &Request) -> Self {
        Self { id: Some(request.id.clone()), ..self }
    }

    /// With the handshake an error has status 200; in the stateless protocol the HTTP status reports it too.
    pub(super) fn in_era(self, era: Era) -> Self {
        let status = match (era, self.code) {
            (Era::Handshake, _) => StatusCode::OK,
            (Era::Stateless, NO_METHOD) => StatusCode::NOT_FOUND,
            (Era::Stateless, _) => StatusCode::BAD_REQUEST,
        };
        Self { status: self.status.or(Some(status)), ..self }
    }

    pub(super) fn reply(self) -> Reply {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        Reply::new(self.status.unwrap_or(StatusCode::OK), "application/json", body.to_string())
            .with(header::CACHE_CONTROL, "no-store")
    }
}

/// A result, from serialised members without their braces.
pub(super) fn result(id: &Value, members: &str) -> Reply {
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{members}}}}}");
    Reply::new(StatusCode::OK, "application/json", body).with(header::CACHE_CONTROL, "no-store")
}

/// The members of an object, without its braces.
pub(super) fn members(object: Map<String, Value>) -> String {
    let text = Value::Object(object).to_string();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned()
}

/// The refusal of a request before its message is parsed.
pub(super) fn refused(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A browser gets an HTML page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    refused_to(None, refusal)
}

/// The refusal of a message; `id`: the request's, where there is one.
pub(super) fn refused_to(id: Option<&Value>, refusal: &Refusal) -> Reply {
    let problem = Problem::new(REFUSED, refusal.detail.clone().into_owned())
        .with_data(ahp::error::body(refusal))
        .with_status(refusal.fault.status());
    let mut reply = Problem { id: id.cloned(), ..problem }.reply();
    reply.headers.retain(|(name, _)| *name != header::CACHE_CONTROL);
    refusal.dress(reply.with(header::VARY, "Accept"))
}
