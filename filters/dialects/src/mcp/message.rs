//! Parses a client's message: JSON-RPC, with MCP's `_meta` among the parameters.

use http::StatusCode;
use serde_json::{Map, Value};

use super::{
    super::jsonrpc::{self, Malformed},
    envelope::{INVALID_PARAMS, Problem},
};
use frontdesk_desk::Incoming;

pub(super) use super::super::jsonrpc::{Message, Request};

impl Request {
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
