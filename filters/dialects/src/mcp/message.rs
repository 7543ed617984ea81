//! Parses a client's message: one JSON-RPC 2.0 message per body.

use http::StatusCode;
use serde_json::{Map, Value};

use super::envelope::{INVALID_PARAMS, INVALID_REQUEST, PARSE, Problem};
use frontdesk_base::strict;
use frontdesk_desk::Incoming;

/// Maximum bytes of a request id, since the reply repeats it.
const LONGEST_ID: usize = 256;

/// The content of a body.
#[derive(Debug)]
pub(super) enum Message {
    Request(Request),
    /// A notification, or a reply to a request that was never sent: gets no answer.
    Nothing,
}

/// A request, which gets an answer.
#[derive(Debug)]
pub(super) struct Request {
    /// A string or an integer; the reply repeats it.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl Request {
    /// The name of the called tool.
    pub(super) fn tool(&self) -> Option<&str> {
        self.params.get("name").and_then(Value::as_str).filter(|_| self.method == "tools/call")
    }

    /// Turns the call of a tool that calls another one into a call of that one.
    ///
    /// # Errors
    ///
    /// What is wrong with the arguments.
    pub(super) fn call_by_name(&mut self) -> Result<(), Problem> {
        let wrong = |what: &str| Problem::new(INVALID_PARAMS, what.to_owned());
        let Some(Value::Object(mut arguments)) = self.params.remove("arguments") else {
            return Err(wrong("`arguments` has to have a `name`."));
        };
        let Some(name @ Value::String(_)) = arguments.remove("name") else {
            return Err(wrong("`name` has to be a string."));
        };
        let input = match arguments.remove("input") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(input)) => input,
            Some(_) => return Err(wrong("`input` has to be an object.")),
        };
        let meta = self.params.entry("_meta").or_insert_with(|| Map::new().into());
        for key in ["confirmation", "idempotency_key", "session_id"] {
            if let (Some(value), Some(meta)) = (arguments.remove(key), meta.as_object_mut()) {
                meta.insert(key.to_owned(), value);
            }
        }
        self.params.insert("name".into(), name);
        self.params.insert("arguments".into(), input.into());
        Ok(())
    }

    /// `params._meta`, if present.
    pub(super) fn meta(&self) -> Option<&Map<String, Value>> {
        self.params.get("_meta").and_then(Value::as_object)
    }
}

/// Parses a body.
///
/// # Errors
///
/// The error, in any generation.
pub(super) fn read(request: &Incoming<'_>) -> Result<Message, Problem> {
    typed(request)?;
    let malformed = |why: &str| Problem::new(INVALID_REQUEST, why.to_owned()).with_status(StatusCode::BAD_REQUEST);
    let body = match strict::value(&request.body) {
        Ok(Value::Object(body)) => body,
        Ok(Value::Array(_)) => return Err(malformed("Send one message at a time; batches are not taken.")),
        Ok(_) => return Err(malformed("A message is a JSON object.")),
        Err(why) => return Err(Problem::new(PARSE, why).with_status(StatusCode::BAD_REQUEST)),
    };
    sorted(body).map_err(|problem| problem.with_status(StatusCode::BAD_REQUEST))
}

fn sorted(mut body: Map<String, Value>) -> Result<Message, Problem> {
    let malformed = |why: &str| Problem::new(INVALID_REQUEST, why.to_owned());
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
        Some(Value::Object(params)) => {
            let is_meta = params.get("_meta").is_none_or(Value::is_object);
            let request = Request { id, method, params };
            let wrong = || Problem::new(INVALID_PARAMS, "`_meta` has to be an object.".into()).to(&request);
            if is_meta { Ok(Message::Request(request)) } else { Err(wrong()) }
        }
        Some(_) => {
            let request = Request { id, method, params: Map::new() };
            Err(Problem::new(INVALID_PARAMS, "`params` has to be an object.".into()).to(&request))
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

fn typed(request: &Incoming<'_>) -> Result<(), Problem> {
    request.takes_json().map_err(|unfit| {
        let problem = Problem::new(INVALID_REQUEST, unfit.detail("application/json"));
        problem.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sort(body: Value) -> Result<Message, i32> {
        sorted(body.as_object().cloned().unwrap()).map_err(|problem| problem.code)
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
        for params in [json!([]), json!("x"), json!({ "_meta": [] })] {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": params });
            assert_eq!(sort(body).err(), Some(INVALID_PARAMS), "{params}");
        }
    }
}
