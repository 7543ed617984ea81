//! A request after the gates, with its body, bare or in an envelope.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::{
    error,
    head::{Head, passed},
    path,
    policy::Legacy,
    response::{AgtpError, JSON},
};
use frontdesk_desk::{Incoming, body_of};

/// The members of an envelope.
const ENVELOPE: [&str; 5] = ["method", "task_id", "session_id", "parameters", "context"];

/// A request that has passed every gate before its endpoint.
pub(super) struct Calling<'a> {
    pub(super) incoming: &'a Incoming<'a>,
    pub(super) head: &'a Head<'a>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    /// The HTTP verb that it was sent with (§3.6).
    pub(super) legacy: Option<Legacy>,
    /// Set when the body is taken out of an envelope.
    pub(super) around: OnceLock<Around>,
}

/// The envelope's members that the head may contain too. The envelope's value takes precedence.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) session: Option<String>,
    pub(super) task: Option<String>,
}

impl Around {
    fn of(envelope: &Map<String, Value>) -> Self {
        let said = |name: &str| passed(envelope.get(name)?.as_str()).map(str::to_owned);
        Self { session: said("session_id"), task: said("task_id") }
    }
}

/// A body without its envelope.
pub(super) struct Parameters {
    pub(super) members: Map<String, Value>,
    /// The envelope's other members; `None`: there was no envelope.
    pub(super) envelope: Option<Map<String, Value>>,
}

impl Parameters {
    /// The body's members. Those of these names that it lacks are taken from the envelope, because a verb's parameter
    /// may have the same name as a member of the envelope.
    pub(super) fn with_envelopes(&self, names: &[&str]) -> Map<String, Value> {
        let mut members = self.members.clone();
        for (name, value) in self.envelope.iter().flatten().filter(|(name, _)| names.contains(&name.as_str())) {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
        members
    }
}

impl Calling<'_> {
    /// The body's members, without the envelope where one is allowed.
    ///
    /// # Errors
    ///
    /// The body is no JSON object, is compressed, or names another method than the request line.
    pub(super) fn parameters(&self, enveloped: bool) -> Result<Parameters, AgtpError> {
        self.incoming.takes_json().map_err(|unfit| AgtpError::new(400, "bad-request", unfit.detail(JSON)))?;
        let members = body_of(&self.incoming.body).map_err(|refusal| error::wrong(&refusal, None, 455))?;
        if !enveloped {
            return Ok(Parameters { members, envelope: None });
        }
        let parameters = unwrapped(members);
        if let Some(envelope) = &parameters.envelope {
            self.around.get_or_init(|| Around::of(envelope));
        }
        Ok(parameters)
    }

    /// The parameters of a built-in verb: the body's members, and those of the query that the body lacks (§5.5).
    ///
    /// # Errors
    ///
    /// As above, or the query is malformed.
    pub(super) fn given(&self) -> Result<Parameters, AgtpError> {
        self.given_as(|_, text| text.into())
    }

    /// The same, converting the query's texts with `read`.
    ///
    /// # Errors
    ///
    /// As above.
    pub(super) fn given_as(&self, read: impl Fn(&str, String) -> Value) -> Result<Parameters, AgtpError> {
        let mut parameters = self.own_parameters()?;
        for (name, text) in path::inputs(self.query)? {
            if !parameters.members.contains_key(&name) {
                let value = read(&name, text.as_str().unwrap_or_default().to_owned());
                parameters.members.insert(name, value);
            }
        }
        Ok(parameters)
    }

    /// The parameter that an HTTP verb implies (§3.6).
    pub(super) fn added(&self) -> Option<(String, Value)> {
        let action = self.legacy.and_then(Legacy::action)?;
        Some(("action".to_owned(), action.into()))
    }

    /// The body's members, where its `method` is absent or equals the request line's.
    pub(super) fn own_parameters(&self) -> Result<Parameters, AgtpError> {
        let parameters = self.parameters(true)?;
        let named = parameters.envelope.as_ref().and_then(|envelope| envelope.get("method"));
        if let Some(named) = named
            && named.as_str() != Some(self.method)
            && named.as_str() != Some(self.incoming.method.as_str())
        {
            let message = "The body names another method than the request line.";
            return Err(AgtpError::new(400, "method-mismatch", message));
        }
        Ok(parameters)
    }
}

/// Takes a body out of its envelope. An object with other members than an envelope's is no envelope.
fn unwrapped(mut members: Map<String, Value>) -> Parameters {
    let enveloped = members.get("parameters").is_some_and(Value::is_object)
        && members.keys().all(|name| ENVELOPE.contains(&name.as_str()));
    if !enveloped {
        return Parameters { members, envelope: None };
    }
    let inner = match members.remove("parameters") {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    };
    Parameters { members: inner, envelope: Some(members) }
}
