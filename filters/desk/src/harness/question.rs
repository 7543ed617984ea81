//! What a harness is asked about one action, and what it may change of it: the arguments and nothing else.

use serde_json::{Map, Value, json};

use super::wire::Around;
use frontdesk_caller::Caller;

/// An action before it goes upstream. Nothing that proves who calls is in it.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// The capability.
    pub name: &'a str,
    /// As they were validated.
    pub arguments: &'a Value,
    /// What goes upstream beside them: what was said before, what was chosen. It is shown, and not for changing.
    pub beside: &'a Map<String, Value>,
    /// The capability's type, in the declaration's word.
    pub side_effects: &'a str,
    pub risk: &'a str,
    pub caller: &'a Caller,
    pub session: &'a str,
    pub request_id: &'a str,
    /// The dialect it came in.
    pub entry: &'a str,
    /// It is a step of so many that were called as one.
    pub depth: u32,
}

impl Action<'_> {
    /// `payload` of `pre_action`: `tool_name` and `arguments` first, as policies look for them.
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

/// Who calls, as far as a harness is told: names, never what proves them.
pub(super) fn agent(caller: &Caller) -> Value {
    json!({
        "requesting_agent": caller.agent.as_ref().map(|agent| &*agent.name),
        "verified": caller.proof.word(),
        "key_id": caller.name.as_deref(),
    })
}

/// The arguments that an answer puts in the place of ours.
///
/// # Errors
///
/// It changes something else, or nothing that can be carried out: as good as a block.
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
