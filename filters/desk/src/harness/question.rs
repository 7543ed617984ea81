//! Builds the request about one action, and reads the changed arguments. A harness can change nothing else.

use serde_json::{Map, Value, json};

use super::wire::Around;
use frontdesk_caller::Caller;

/// An action before it goes upstream. It contains no credential.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// The capability.
    pub name: &'a str,
    /// The validated arguments.
    pub arguments: &'a Value,
    /// The extra parameters that go upstream beside the arguments. The harness sees them and cannot change them.
    pub beside: &'a Map<String, Value>,
    /// The capability's type, as the declaration names it.
    pub side_effects: &'a str,
    pub risk: &'a str,
    pub caller: &'a Caller,
    pub session: &'a str,
    pub request_id: &'a str,
    /// The dialect of the request.
    pub entry: &'a str,
    /// Depth of nested compositions.
    pub depth: u32,
}

impl Action<'_> {
    /// `payload` of `pre_action`, with `tool_name` and `arguments` first, where policies look for them.
    pub(super) fn payload(&self) -> Value {
        let mut payload = json!({
            "tool_name": self.name,
            "arguments": self.arguments,
            "action_type": "capability",
            "side_effects": self.side_effects,
            "risk_level": self.risk,
            "agent": agent(self.caller),
        });
        if !self.beside.is_empty() {
            payload["beside"] = Value::Object(self.beside.clone());
        }
        payload
    }

    pub(super) fn metadata(&self) -> Value {
        json!({
            "request_id": self.request_id,
            "frontdesk_version": env!("CARGO_PKG_VERSION"),
            "entry": self.entry,
        })
    }

    pub(super) fn around<'a>(&'a self, agent_id: &'a str, metadata: &'a Value) -> Around<'a> {
        Around { session_id: self.session, agent_id, depth: self.depth, metadata: Some(metadata) }
    }
}

/// The caller's names for the harness, never its credentials.
pub(super) fn agent(caller: &Caller) -> Value {
    json!({
        "requesting_agent": caller.agent.as_ref().map(|agent| &*agent.name),
        "verified": caller.proof.word(),
        "key_id": caller.name.as_deref(),
    })
}

/// The arguments that an answer puts in place of ours.
///
/// # Errors
///
/// The answer changes something else, or gives no valid arguments. This counts as a block.
pub(super) fn arguments(ours: &Value, theirs: &Value) -> Result<Value, &'static str> {
    let theirs = theirs.as_object().ok_or("`modified_payload` is no object")?;
    if theirs.iter().any(|(name, value)| name != "arguments" && ours.get(name) != Some(value)) {
        return Err("`modified_payload` changes more than the arguments");
    }
    match theirs.get("arguments") {
        Some(arguments) if arguments.is_object() => Ok(arguments.clone()),
        _ => Err("`modified_payload` has no arguments"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arguments_may_be_changed() {
        let ours = json!({"tool_name": "buy", "arguments": {"qty": 9}, "risk_level": "high"});
        let read = |theirs: Value| arguments(&ours, &theirs);
        assert_eq!(read(json!({"arguments": {"qty": 1}})), Ok(json!({"qty": 1})));
        assert_eq!(read(json!({"tool_name": "buy", "arguments": {"qty": 1}})), Ok(json!({"qty": 1})));
        for wrong in [
            json!({"tool_name": "sell", "arguments": {"qty": 1}}),
            json!({"arguments": {"qty": 1}, "url": "http://evil"}),
            json!({"arguments": [1]}),
            json!({"arguments": null}),
            json!({"tool_name": "buy"}),
            json!({"qty": 1}),
            json!("x"),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
