//! A request behind the gates, and what it sends along: a body, bare or in its envelope (A6).

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::{
    error,
    head::{Head, passed},
    path,
    policy::Legacy,
    said::{JSON, Wrong},
};
use frontdesk_desk::{Incoming, body_of};

/// What the members of an envelope are called (notes §1.3).
const ENVELOPE: [&str; 5] = ["method", "task_id", "session_id", "parameters", "context"];

/// A request that has passed every gate up to its endpoint.
pub(super) struct Calling<'a> {
    pub(super) incoming: &'a Incoming<'a>,
    pub(super) head: &'a Head<'a>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    /// The HTTP verb that it was sent with (§3.6).
    pub(super) legacy: Option<Legacy>,
    /// Set when its body is taken out of an envelope.
    pub(super) around: OnceLock<Around>,
}

/// What an envelope says that a head may say as well (notes §1.3); where it does, that is what counts.
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

/// A body, out of its envelope where it came in one (A6).
pub(super) struct Parameters {
    pub(super) members: Map<String, Value>,
    /// The envelope's other members; `None`: it came without one.
    pub(super) envelope: Option<Map<String, Value>>,
}

impl Parameters {
    /// The members, and of the envelope's those by these names that they lack: what a verb asks for may be called as a
    /// member of the envelope is.
    pub(super) fn with_envelopes(&self, names: &[&str]) -> Map<String, Value> {
        let mut members = self.members.clone();
        for (name, value) in self.envelope.iter().flatten().filter(|(name, _)| names.contains(&name.as_str())) {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
        members
    }
}

impl Calling<'_> {
    /// The body's members, out of their envelope where they may come in one.
    ///
    /// # Errors
    ///
    /// It is no JSON object, is compressed, or names another method than the request line (A6).
    pub(super) fn parameters(&self, enveloped: bool) -> Result<Parameters, Wrong> {
        self.incoming.takes_json().map_err(|unfit| Wrong::new(400, "bad-request", unfit.detail(JSON)))?;
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

    /// What the protocol's own is asked with: the body's members, and those of the query that it does not have (§5.5).
    ///
    /// # Errors
    ///
    /// As above, or the query cannot be read.
    pub(super) fn given(&self) -> Result<Parameters, Wrong> {
        self.given_as(|_, text| text.into())
    }

    /// The same, where the query's texts are read as what is due (A32).
    ///
    /// # Errors
    ///
    /// As above.
    pub(super) fn given_as(&self, read: impl Fn(&str, String) -> Value) -> Result<Parameters, Wrong> {
        let mut parameters = self.own_parameters()?;
        for (name, text) in path::inputs(self.query)? {
            if !parameters.members.contains_key(&name) {
                let value = read(&name, text.as_str().unwrap_or_default().to_owned());
                parameters.members.insert(name, value);
            }
        }
        Ok(parameters)
    }

    /// What an HTTP verb says beside what was sent (§3.6).
    pub(super) fn added(&self) -> Option<(String, Value)> {
        let action = self.legacy.and_then(Legacy::action)?;
        Some(("action".to_owned(), action.into()))
    }

    /// What was sent, where the body's `method` is that of the request line or is not there.
    pub(super) fn own_parameters(&self) -> Result<Parameters, Wrong> {
        let parameters = self.parameters(true)?;
        let named = parameters.envelope.as_ref().and_then(|envelope| envelope.get("method"));
        if let Some(named) = named
            && named.as_str() != Some(self.method)
            && named.as_str() != Some(self.incoming.method.as_str())
        {
            let message = "The body names another method than the request line.";
            return Err(Wrong::new(400, "method-mismatch", message));
        }
        Ok(parameters)
    }
}

/// Takes a body out of its envelope; what has other members than an envelope's is none.
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
