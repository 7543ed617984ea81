//! Reads and writes the JSON-RPC envelope: one message per request, a string id, and errors that carry the id of their
//! message.

use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use frontdesk_base::{
    fault::{Fault, Refusal},
    media,
    reply::Reply,
    strict,
};
use frontdesk_desk::{
    harness::wire::{HANDLER_FAILED, NO_MESSAGE},
    problem,
};
use frontdesk_page::Insertion;

/// Maximum bytes of a message id, since the reply repeats it.
const LONGEST_ID: usize = 256;

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    /// `None`: a notification, which gets no reply.
    pub(super) id: Option<String>,
    pub(super) method: String,
    pub(super) params: Value,
}

/// A JSON-RPC error.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) code: i64,
    pub(super) message: String,
    /// The HTTP status; 200 for every parsable message.
    status: StatusCode,
}

impl Problem {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: StatusCode::OK }
    }

    /// The reply. Its id is an empty string where the message's id is unknown, because some clients accept only
    /// strings.
    pub(super) fn reply(&self, id: Option<&str>) -> Reply {
        let error = json!({ "code": self.code, "message": self.message });
        let body = json!({ "jsonrpc": "2.0", "id": id.unwrap_or_default(), "error": error });
        Reply::new(self.status, "application/json", body.to_string()).with(header::CACHE_CONTROL, "no-store")
    }
}

/// A successful reply.
pub(super) fn result(id: &str, result: &Value) -> Reply {
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    Reply::new(StatusCode::OK, "application/json", body.to_string()).with(header::CACHE_CONTROL, "no-store")
}

/// Checks that the body is declared as JSON. A page of another site can send only other types without a preflight.
///
/// # Errors
///
/// A 415.
pub(super) fn typed(headers: &HeaderMap) -> Result<(), Refusal> {
    if media::said_json(headers) == Ok(true) {
        return Ok(());
    }
    let fault = Fault::Named(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let refusal = Refusal { reason: "content_type", ..Refusal::from(fault) };
    Err(refusal.saying("Send one message as it is, once with Content-Type: application/json."))
}

/// Parses a body.
///
/// # Errors
///
/// The error, and the id of the message where it has one.
pub(super) fn read(body: &[u8]) -> Result<Message, (Problem, Option<String>)> {
    let value = strict::value(body).map_err(|why| {
        let status = StatusCode::BAD_REQUEST;
        (Problem { status, ..Problem::new(NO_MESSAGE, why) }, None)
    })?;
    let malformed = |why: &str| Problem::new(NO_MESSAGE, why);
    let Value::Object(mut body) = value else {
        return Err((malformed("Send one message at a time, which is a JSON object."), None));
    };
    let id = match body.remove("id") {
        None => None,
        Some(Value::String(id)) if id.len() <= LONGEST_ID => Some(id),
        Some(_) => return Err((malformed("An id is a string of at most 256 bytes."), None)),
    };
    match sorted(body) {
        Ok((method, params)) => Ok(Message { id, method, params }),
        Err(why) => Err((malformed(why), id)),
    }
}

fn sorted(mut body: Map<String, Value>) -> Result<(String, Value), &'static str> {
    if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("A message has \"jsonrpc\": \"2.0\".");
    }
    let Some(Value::String(method)) = body.remove("method") else { return Err("A message names its method.") };
    match body.remove("params") {
        Some(params @ Value::Object(_)) => Ok((method, params)),
        _ => Err("A message has `params`, which is an object."),
    }
}

/// The reply to a request that is refused before its message is parsed.
pub(super) fn refused(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A browser gets an HTML page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    let status = refusal.fault.status();
    let code = if status.is_server_error() { HANDLER_FAILED } else { NO_MESSAGE };
    let mut reply = Problem { status, ..Problem::new(code, refusal.detail.clone()) }.reply(None);
    reply.headers.retain(|(name, _)| *name != header::CACHE_CONTROL);
    refusal.dress(reply.with(header::VARY, "Accept"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_id_is_a_string_or_there_is_none() {
        let read = |id: &str| read(format!(r#"{{"jsonrpc":"2.0",{id}"method":"m","params":{{}}}}"#).as_bytes());
        assert_eq!(read(r#""id":"a","#).unwrap().id.as_deref(), Some("a"));
        assert_eq!(read(r#""id":"","#).unwrap().id.as_deref(), Some(""));
        assert_eq!(read("").unwrap().id, None);
        for wrong in ["1", "0", "null", "true", "[\"a\"]", "{}", "1.5", &format!("{:?}", "x".repeat(257))] {
            let (problem, id) = read(&format!("\"id\":{wrong},")).unwrap_err();
            assert_eq!((problem.code, problem.status, id), (NO_MESSAGE, StatusCode::OK, None), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_message_is_told_by_its_id() {
        for (wrong, id, status) in [
            (r#"{"jsonrpc":"1.0","id":"a","method":"m","params":{}}"#, Some("a"), 200),
            (r#"{"id":"a","method":"m","params":{}}"#, Some("a"), 200),
            (r#"{"jsonrpc":"2.0","id":"a","method":1,"params":{}}"#, Some("a"), 200),
            (r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#, Some("a"), 200),
            (r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[]}"#, Some("a"), 200),
            (r#"[{"jsonrpc":"2.0","id":"a","method":"m","params":{}}]"#, None, 200),
            (r#"{"jsonrpc":"2.0","id":"a","id":"b","method":"m","params":{}}"#, None, 400),
            (r#"{"jsonrpc":"2.0""#, None, 400),
        ] {
            let (problem, of) = read(wrong.as_bytes()).unwrap_err();
            assert_eq!((problem.code, of.as_deref()), (NO_MESSAGE, id), "{wrong}");
            assert_eq!(problem.status.as_u16(), status, "{wrong}");
        }
        let deep = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{}{}}}"#, "{\"a\":".repeat(200), "}".repeat(200));
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn only_json_as_it_is_is_taken() {
        let typed = |fields: &[(header::HeaderName, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, HeaderValue::from_static(value));
            }
            typed(&headers).is_ok()
        };
        let json = (header::CONTENT_TYPE, "application/json; charset=utf-8");
        assert!(typed(std::slice::from_ref(&json)) && typed(&[json.clone(), (header::CONTENT_ENCODING, "identity")]));
        assert!(!typed(&[]) && !typed(&[(header::CONTENT_TYPE, "text/plain")]));
        assert!(!typed(&[json.clone(), json.clone()]) && !typed(&[json, (header::CONTENT_ENCODING, "gzip")]));
    }
}
