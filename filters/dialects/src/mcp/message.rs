//! Parses a client's message: JSON-RPC, with MCP's `_meta` among the parameters.

use http::StatusCode;
use serde_json::{Map, Value};

use super::{
    super::jsonrpc::{self, Malformed},
    envelope::{INVALID_PARAMS, Problem},
};
use frontdesk_desk::Incoming;

pub(super) use super::super::jsonrpc::{Message, Request};

/// What a person did with a request of ours: `accept`, `decline` or `cancel`.
pub(super) fn action(answer: &Map<String, Value>) -> Option<&str> {
    answer.get("action").and_then(Value::as_str)
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

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Self {
        let Malformed { code, message, status, id } = malformed;
        Self::new(code, message).with_status(status).with_id(id)
    }
}

/// Parses a body.
///
/// # Errors
///
/// The error, in any generation.
pub(super) fn read(request: &Incoming<'_>) -> Result<Message, Problem> {
    let message = jsonrpc::read(request)?;
    match &message {
        Message::Request(request) => is_meta(request).map(|()| message),
        Message::Nothing => Ok(message),
    }
}

fn is_meta(request: &Request) -> Result<(), Problem> {
    match request.params.get("_meta").is_none_or(Value::is_object) {
        true => Ok(()),
        false => {
            let wrong = Problem::new(INVALID_PARAMS, "`_meta` has to be an object.".into()).to(request);
            Err(wrong.with_status(StatusCode::BAD_REQUEST))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn meta_has_to_be_an_object() {
        let with = |meta: Value| {
            let params = Map::from_iter([("_meta".to_owned(), meta)]);
            is_meta(&Request { id: json!(1), method: "ping".into(), params }).map_err(|problem| problem.code)
        };
        assert_eq!((with(json!([])), with(json!({}))), (Err(INVALID_PARAMS), Ok(())));
    }
}
