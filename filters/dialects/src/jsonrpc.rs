//! JSON-RPC 2.0 messages, for the dialects that speak it: one message per body.

use http::StatusCode;
use serde_json::{Map, Value};

use frontdesk_base::strict;
use frontdesk_desk::Incoming;

// The error codes of JSON-RPC itself.
pub(crate) const PARSE: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const NO_METHOD: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL: i32 = -32603;

/// Maximum bytes of a request id, since the reply repeats it.
const LONGEST_ID: usize = 256;

/// The content of a body.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    /// A notification, or a reply to a request that was never sent: gets no answer.
    Nothing,
}

/// A request, which gets an answer.
#[derive(Debug)]
pub(crate) struct Request {
    /// A string or an integer; the reply repeats it.
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

/// Why a body is no message.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) code: i32,
    pub(crate) message: String,
    /// The HTTP status, for a dialect that reports it there too.
    pub(crate) status: StatusCode,
    /// The id of the request, where it is known.
    pub(crate) id: Option<Value>,
}

/// Parses a body.
///
/// # Errors
///
/// It is no JSON, or no message.
pub(crate) fn read(request: &Incoming<'_>) -> Result<Message, Malformed> {
    request.takes_json().map_err(|unfit| Malformed {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ..malformed(INVALID_REQUEST, &unfit.detail("application/json"))
    })?;
    match strict::value(&request.body) {
        Ok(Value::Object(body)) => sorted(body),
        Ok(Value::Array(_)) => Err(malformed(INVALID_REQUEST, "Send one message at a time; batches are not taken.")),
        Ok(_) => Err(malformed(INVALID_REQUEST, "A message is a JSON object.")),
        Err(why) => Err(malformed(PARSE, &why)),
    }
}

fn malformed(code: i32, message: &str) -> Malformed {
    Malformed { code, message: message.to_owned(), status: StatusCode::BAD_REQUEST, id: None }
}

fn sorted(mut body: Map<String, Value>) -> Result<Message, Malformed> {
    let malformed = |why: &str| malformed(INVALID_REQUEST, why);
    if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(malformed("A message has \"jsonrpc\": \"2.0\"."));
    }
    let method = match body.remove("method") {
        Some(Value::String(method)) => method,
        None if body.contains_key("result") || body.contains_key("error") => return Ok(Message::Nothing),
        _ => return Err(malformed("A message names its method.")),
    };
    let id = match body.remove("id") {
        None => return Ok(Message::Nothing),
        Some(id) if is_id(&id) => id,
        Some(_) => return Err(malformed("An id is a whole number or a short string.")),
    };
    match body.remove("params") {
        None => Ok(Message::Request(Request { id, method, params: Map::new() })),
        Some(Value::Object(params)) => Ok(Message::Request(Request { id, method, params })),
        Some(_) => {
            let wrong = malformed("`params` has to be an object.");
            Err(Malformed { code: INVALID_PARAMS, id: Some(id), ..wrong })
        }
    }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= LONGEST_ID,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sort(body: Value) -> Result<Message, i32> {
        sorted(body.as_object().cloned().unwrap()).map_err(|malformed| malformed.code)
    }

    #[test]
    fn a_request_is_told_from_what_nobody_waits_for() {
        for id in [json!(0), json!(-7), json!("x"), json!("")] {
            let message = sort(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).unwrap();
            assert!(matches!(message, Message::Request(request) if request.id == id), "{id}");
        }
        for body in [
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "" } }),
        ] {
            assert!(matches!(sort(body.clone()), Ok(Message::Nothing)), "{body}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for body in [
            json!({ "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": [1], "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": "x".repeat(257), "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": 7 }),
            json!({ "jsonrpc": "2.0", "id": 1 }),
        ] {
            assert_eq!(sort(body.clone()).err(), Some(INVALID_REQUEST), "{body}");
        }
        for params in [json!([]), json!("x")] {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": params });
            assert_eq!(sort(body).err(), Some(INVALID_PARAMS), "{params}");
        }
    }
}
