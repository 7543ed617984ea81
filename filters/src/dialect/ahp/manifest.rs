//! The AHP manifest (AHP §4), within the bounds of the published JSON Schema.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{
    super::{Occupied, json},
    VERSION,
};
use crate::site::{AuthKind, Budget, Capability, Declaration, Rate};

/// Bounds of the schema, in characters.
const NAME: usize = 128;
const DESCRIPTION: usize = 512;
const CAPABILITY_NAME: usize = 64;
const CAPABILITY_DESCRIPTION: usize = 256;

/// Renders the manifest from what was declared.
pub(super) fn render(declaration: &Declaration, occupied: &Occupied) -> Vec<u8> {
    let s = &declaration.settings;
    let listed: Vec<&Capability> = s.capabilities.iter().filter(|c| c.exposed).collect();
    let mut out = Vec::new();
    json::object(&mut out, |manifest| {
        manifest.text("ahp", VERSION);
        let supported = listed.iter().any(|c| c.ahp.action_type.as_deref() == Some("async"));
        manifest.value("async", &json!({ "supported": supported }));
        manifest.text("authentication", authentication(s.auth.kind));
        if !listed.is_empty() {
            json::array(manifest.key("capabilities"), &listed, |out, c| capability(out, c));
        }
        manifest.value(
            "content_signals",
            &json!({
                "ai_train": s.signals.ai_train,
                "ai_input": s.signals.ai_input,
                "search": s.signals.search,
                "attribution_required": s.signals.attribution_required,
            }),
        );
        if let Some(description) = &s.site.description {
            manifest.text("description", clip(description, DESCRIPTION));
        }
        if !listed.is_empty() && occupied.leaves(&s.paths.converse) {
            manifest.value("endpoints", &json!({ "converse": s.paths.converse.path }));
        }
        manifest.texts("modes", modes(&listed));
        if let Some(name) = &s.site.name {
            manifest.text("name", clip(name, NAME));
        }
        let limits = |requests: Rate, budget: Budget| json!({ "requests": requests.to_string(), "token_budget": budget.to_string() });
        manifest.value(
            "rate_limits",
            &json!({
                "unauthenticated": limits(s.rate_limits.anonymous, s.token_budget.anonymous),
                "authenticated": limits(s.rate_limits.authenticated, s.token_budget.authenticated),
            }),
        );
    });
    out
}

/// Higher modes list the lower ones too (AHP §5: each builds on the last).
fn modes(listed: &[&Capability]) -> Vec<&'static str> {
    const ALL: [&str; 3] = ["MODE1", "MODE2", "MODE3"];
    let highest = listed.iter().filter_map(|c| ALL.iter().position(|m| *m == mode(c))).max().unwrap_or(0);
    ALL[..=highest].to_vec()
}

fn mode(capability: &Capability) -> &str {
    capability.ahp.mode.as_deref().unwrap_or("MODE3")
}

/// The scheme an agent has to use (AHP §8.2); a token from an OAuth server is a bearer token.
fn authentication(kind: AuthKind) -> &'static str {
    match kind {
        AuthKind::None => "none",
        AuthKind::Bearer | AuthKind::Oauth2 => "bearer",
        AuthKind::ApiKey => "api_key",
    }
}

fn capability(out: &mut Vec<u8>, c: &Capability) {
    let action = c.kind.is_action();
    // Declared or not, an agent needs to know the shape (AHP §5.3).
    let shaped = mode(c) == "MODE3";
    json::object(out, |members| {
        members.value("accept_fallback", &c.ahp.accept_fallback.unwrap_or(false).into());
        let default = if action { "action" } else { "query" };
        members.text("action_type", c.ahp.action_type.as_deref().unwrap_or(default));
        let description = c.description.as_deref().unwrap_or(&c.id);
        members.text("description", clip(description, CAPABILITY_DESCRIPTION));
        if shaped {
            members.value("input_schema", c.input_schema.as_ref().unwrap_or(&A_QUESTION));
        }
        members.text("mode", mode(c));
        members.text("name", &name(c));
        if shaped {
            members.value("output_schema", c.output_schema.as_ref().unwrap_or(&ANYTHING));
        }
        match c.ahp.response_types.as_slice() {
            [] if action => members.texts("response_types", ["application/action-result", "text/answer"]),
            [] => members.texts("response_types", ["application/data", "text/answer"]),
            declared => members.texts("response_types", declared.iter().map(String::as_str)),
        }
    });
}

/// The plainest input: a question in words.
static A_QUESTION: LazyLock<Value> = LazyLock::new(
    || json!({ "type": "object", "required": ["query"], "properties": { "query": { "type": "string" } } }),
);

/// The plainest output.
static ANYTHING: LazyLock<Value> = LazyLock::new(|| json!({ "type": "object" }));

/// What a capability is called here.
pub(super) fn name(c: &Capability) -> String {
    let name = c.ahp.name.clone().unwrap_or_else(|| name_from_id(&c.id));
    clip(&name, CAPABILITY_NAME).to_owned()
}

/// `flights.search` → `flights_search`: lower case, no dots or hyphens, begins with a letter.
fn name_from_id(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("c_{name}") }
}

fn clip(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_schema() {
        for (id, name) in [("flights.search", "flights_search"), ("A-b.C", "a_b_c"), ("1x", "c_1x"), ("_x", "c__x")] {
            assert_eq!(name_from_id(id), name);
        }
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("äöü", 2), "äö");
        assert_eq!(clip("ab", 2), "ab");
    }
}
