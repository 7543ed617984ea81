//! The description of one capability in a skill: what it does, who may call it, how it is confirmed and retried, and an
//! example.

use std::fmt::Write;

use frontdesk_config::{Capability, Settings, names};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{LlmsAddresses, sample::sample};

/// One capability as a skill describes it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    name: String,
    pub(super) description: String,
    method: String,
    /// Path and query of the example, on the site.
    target: String,
    /// The example's body; `None`: it has none.
    body: Option<String>,
    /// A schema says what the input is.
    has_input: bool,
    is_action: bool,
    needs_credential: bool,
    scopes: Vec<String>,
    confirmed: bool,
    idempotent: bool,
    auth_md: Option<String>,
}

impl Call {
    /// `None` where it has no address of its own.
    pub(super) fn new(capability: &Capability, settings: &Settings, ways: &LlmsAddresses) -> Option<Self> {
        let name = names::name(&capability.id, capability.ahp.name.as_deref());
        let operation = || ways.operations.as_ref().map(|base| format!("{base}/{name}"));
        let (method, path) = match &capability.endpoint {
            Some(endpoint) => {
                let method = capability.method.as_deref().unwrap_or_else(|| capability.kind.usual_method());
                (method.to_owned(), endpoint.clone())
            }
            None => ("POST".to_owned(), operation()?),
        };
        let input = capability.input_schema.as_ref().map(sample);
        let mut input = input.and_then(|input| input.as_object().cloned()).unwrap_or_default();
        let (target, body) = placed(&method, &path, &mut input);
        let is_action = capability.kind.is_action();
        let needs_credential = !settings.policies.anonymous_access
            || match capability.auth.as_deref() {
                Some("none" | "optional") => !capability.required_scopes.is_empty(),
                Some(_) => true,
                None => is_action,
            };
        let usual = || format!("Calls {name}.");
        Some(Self {
            description: capability.description.clone().filter(|text| !text.is_empty()).unwrap_or_else(usual),
            method,
            target,
            body,
            has_input: capability.input_schema.is_some(),
            is_action,
            needs_credential,
            scopes: capability.required_scopes.clone(),
            confirmed: is_action && capability.requires_user_confirmation.unwrap_or(true),
            idempotent: is_action,
            auth_md: ways.auth_md.clone(),
            name,
        })
    }
}

/// The target and the body of an example call.
fn placed(method: &str, path: &str, input: &mut Map<String, Value>) -> (String, Option<String>) {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let encoded = |value: &Value| utf8_percent_encode(&text(value), NON_ALPHANUMERIC).to_string();
    let mut target = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        let value = input.remove(name).unwrap_or_else(|| "1".into());
        target.push_str(before);
        target.push_str(&encoded(&value));
        rest = after;
    }
    target.push_str(rest);
    if method.eq_ignore_ascii_case("GET") {
        for (nth, (name, value)) in input.iter().enumerate() {
            let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
            let _ = write!(target, "{}{name}={}", if nth == 0 { '?' } else { '&' }, encoded(value));
        }
        return (target, None);
    }
    (target, Some(Value::Object(std::mem::take(input)).to_string()))
}

/// The instructions of a skill with these calls.
pub(super) fn render(about: &str, calls: &[Call], origin: &str) -> String {
    let mut out = format!("{about}\n");
    for call in calls {
        call.write(&mut out, origin);
    }
    out.push_str(
        "\n## Errors\n\nAn error is JSON with `code`, `message` and, for a wrong input, `details` by JSON pointer. After \
         429 and 503, wait as long as `Retry-After` says.\n",
    );
    out
}

impl Call {
    fn write(&self, out: &mut String, origin: &str) {
        let Self { name, description, method, target, body, .. } = self;
        let _ = write!(out, "\n## {name}\n\n{description}\n\n");
        let _ = writeln!(out, "- It {}.", if self.is_action { "changes something" } else { "only reads" });
        match (self.needs_credential, &self.auth_md) {
            (true, Some(at)) => {
                let _ = writeln!(out, "- Credential: required, in `Authorization: Bearer`; see `{origin}{at}`.");
            }
            (true, None) => out.push_str("- Credential: required, in `Authorization: Bearer`.\n"),
            (false, _) => out.push_str("- Credential: none needed.\n"),
        }
        if !self.scopes.is_empty() {
            let _ = writeln!(out, "- Scopes: {}.", self.scopes.join(", "));
        }
        if self.confirmed {
            out.push_str(
                "- Confirmation: the first answer asks for one and has a token. Show its summary to the person you act \
                 for. After a yes, send the same call again with the token in `AICP-Confirmation`.\n",
            );
        }
        if self.idempotent {
            out.push_str(
                "- Retry: send a fresh `Idempotency-Key` with each new act, and the same one again with its confirmation \
                 and after a timeout. It then happens once.\n",
            );
        } else {
            out.push_str("- Retry: it may be repeated.\n");
        }
        if self.has_input {
            out.push_str("- Input: the example has the required members; the contract has the whole schema.\n");
        }
        let _ = write!(out, "\n```sh\ncurl -s -X {method} '{origin}{}'", shell(target));
        if self.needs_credential {
            out.push_str(" \\\n  -H \"Authorization: Bearer $TOKEN\"");
        }
        if self.idempotent {
            out.push_str(" \\\n  -H \"Idempotency-Key: $KEY\"");
        }
        if let Some(body) = body {
            let _ = write!(out, " \\\n  -H 'Content-Type: application/json' \\\n  -d '{}'", shell(body));
        }
        out.push_str("\n```\n");
    }
}

/// Text within single quotes of a shell.
fn shell(text: &str) -> String {
    text.replace('\'', "'\\''")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_input_goes_where_it_belongs() {
        let (target, body) = placed("POST", "/a/{id}/b", &mut input(json!({ "id": "x y", "n": 1 })));
        assert_eq!((target.as_str(), body.as_deref()), ("/a/x%20y/b", Some(r#"{"n":1}"#)));
        let (target, body) = placed("GET", "/a", &mut input(json!({ "q": "ä&b" })));
        assert_eq!((target.as_str(), body), ("/a?q=%C3%A4%26b", None));
    }

    #[test]
    fn nothing_ends_the_quotes_of_a_shell() {
        assert_eq!(shell("it's"), "it'\\''s");
    }
}
