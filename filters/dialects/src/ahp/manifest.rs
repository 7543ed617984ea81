//! Renders the AHP manifest (AHP §4), within the bounds of the published JSON Schema.

use serde_json::{Map, Value, json};

use super::{
    super::{Occupied, json, mcp::protocol, openapi::published},
    VERSION, converse_path,
    listed::{self, A_QUESTION, ANYTHING, ActionType, Listed, Mode},
};
use frontdesk_config::{AuthKind, Budget, Declaration, Rate, Span};
use frontdesk_discovery::llms;

/// Renders the manifest of a declaration.
pub(super) fn render(declaration: &Declaration, occupied: &Occupied) -> Vec<u8> {
    let s = &declaration.settings;
    let listed = listed::all(declaration);
    let mut out = Vec::new();
    json::object(&mut out, |manifest| {
        manifest.text("ahp", VERSION);
        manifest.value("async", &later(declaration, &listed));
        let closed = !s.policies.anonymous_access;
        let is_demanded = closed || listed.iter().any(|listed| listed.needs_auth);
        manifest.text("authentication", authentication(s.auth.kind, is_demanded));
        if !listed.is_empty() {
            json::array(manifest.key("capabilities"), &listed, capability);
        }
        manifest.value("content_signals", &signals(declaration));
        if let Some(description) = &s.site.description {
            manifest.text("description", description);
        }
        let endpoints = endpoints(declaration, occupied, &listed);
        if !endpoints.is_empty() {
            manifest.value("endpoints", &Value::Object(endpoints));
        }
        let integrations = integrations(declaration, occupied, &listed);
        if !integrations.is_empty() {
            manifest.value("integrations", &Value::Object(integrations));
        }
        manifest.texts("modes", modes(&listed));
        if let Some(name) = &s.site.name {
            manifest.text("name", name);
        }
        let limits = |requests: Rate, budget: Budget| {
            let mut limits = json!({ "requests": requests.to_string() });
            // The schema has no word for other periods, such as a day.
            if budget.span == Span::Session {
                limits["token_budget"] = budget.to_string().into();
            }
            limits
        };
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

/// The endpoints for questions and for the site's text (AHP §4.3).
fn endpoints(declaration: &Declaration, occupied: &Occupied, listed: &[Listed]) -> Map<String, Value> {
    let settings = &declaration.settings;
    let mut endpoints = Map::new();
    if let Some(path) = llms::endpoint(settings, occupied) {
        endpoints.insert("content".into(), path.into());
    }
    if !listed.is_empty() {
        endpoints.insert("converse".into(), converse_path(declaration, occupied).into());
    }
    endpoints
}

/// Other protocols for the same capabilities (AHP §4.4), where they are served.
fn integrations(declaration: &Declaration, occupied: &Occupied, listed: &[Listed]) -> Map<String, Value> {
    let mut integrations = Map::new();
    if listed.is_empty() {
        return integrations;
    }
    if let Some(path) = protocol::path(declaration, occupied) {
        // The version that AHP §4.4.1 names. Clients of later versions negotiate when they connect.
        integrations.insert("mcp".into(), json!({ "url": path, "version": protocol::HANDSHAKES[0] }));
    }
    if let Some(path) = published::path(declaration, occupied) {
        integrations.insert("openapi".into(), json!({ "url": path, "version": published::VERSION }));
    }
    integrations
}

/// The permitted uses of the content (AHP §7). Of training nothing is said unless the operator says it.
pub(super) fn signals(declaration: &Declaration) -> Value {
    let signals = &declaration.settings.signals;
    let mut told = json!({
        "ai_input": signals.ai_input,
        "search": signals.search,
        "attribution_required": signals.attribution_required,
    });
    if let Some(ai_train) = signals.ai_train {
        told["ai_train"] = ai_train.into();
    }
    told
}

/// Whether there are later answers, and how much later (AHP §9).
fn later(declaration: &Declaration, listed: &[Listed]) -> Value {
    let etas = listed.iter().filter(|c| c.action_type == ActionType::Async);
    let etas = etas.map(|c| declaration.settings.capability(c.index).and_then(|c| c.ahp.eta)).collect::<Vec<_>>();
    let mut later = json!({ "supported": !etas.is_empty() });
    if let Some(most) = etas.into_iter().flatten().max() {
        later["max_eta_seconds"] = most.as_secs().into();
    }
    later
}

/// A mode includes the lower ones (AHP §5).
fn modes(listed: &[Listed]) -> Vec<&'static str> {
    let highest = listed.iter().map(|c| c.mode).max().unwrap_or(Mode::One);
    [Mode::One, Mode::Two, Mode::Three].into_iter().filter(|mode| *mode <= highest).map(Mode::word).collect()
}

/// The authentication scheme (AHP §8.2). A token from an OAuth server is a bearer token. Where a credential is
/// required the scheme is never none (§5.3), even if no credentials are configured.
fn authentication(kind: AuthKind, is_demanded: bool) -> &'static str {
    match kind {
        AuthKind::None if !is_demanded => "none",
        AuthKind::None | AuthKind::Bearer | AuthKind::Oauth2 => "bearer",
        AuthKind::ApiKey => "api_key",
    }
}

fn capability(out: &mut Vec<u8>, c: &Listed) {
    // An agent needs the shape even where none is declared (AHP §5.3).
    let shaped = c.mode == Mode::Three;
    json::object(out, |members| {
        members.value("accept_fallback", &c.accept_fallback.into());
        // Only the third mode has actions (§5.2).
        if shaped || c.action_type != ActionType::Action {
            members.text("action_type", c.action_type.word());
        }
        members.text("description", &c.description);
        if shaped {
            members.value("input_schema", c.input_schema.as_ref().unwrap_or(&A_QUESTION));
        }
        members.text("mode", c.mode.word());
        members.text("name", &c.name);
        if shaped {
            members.value("output_schema", c.output_schema.as_ref().unwrap_or(&ANYTHING));
        }
        members.texts("response_types", c.response_types.iter().map(String::as_str));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifest of a site with these lines.
    fn published(lines: &str) -> Value {
        let text = format!("[upstream]\nurl = 'http://127.0.0.1:1'\n{lines}");
        let path = std::path::Path::new("/x.toml");
        let declaration =
            frontdesk_config::testing::declare_text(path, &text, &frontdesk_config::testing::Nowhere).unwrap();
        serde_json::from_slice(&render(&declaration, &Occupied::default())).unwrap()
    }

    #[test]
    fn only_what_a_session_has_is_its_budget() {
        let manifest = published("[token_budget]\nanonymous = '5000/day'");
        let limits = &manifest["rate_limits"];
        assert_eq!(limits["unauthenticated"], json!({ "requests": "30/minute" }));
        assert_eq!(limits["authenticated"]["token_budget"], "20000/session");
    }

    #[test]
    fn what_is_demanded_is_announced() {
        let one = |lines: &str| format!("[[capabilities]]\nid = 'a'\n{lines}");
        for (lines, told) in [
            (String::new(), "none"),
            (one("type = 'query'\nauth = 'none'"), "none"),
            (one("type = 'query'\nauth = 'required'"), "bearer"),
            (one("type = 'commit_action'\nauth = 'none'"), "bearer"),
            (one("type = 'query'\nauth = 'none'\nahp = { action_type = 'async' }"), "bearer"),
            ("[policies]\nanonymous_access = false".to_owned(), "bearer"),
            ("[auth]\ntype = 'api_key'\n".to_owned() + &one("type = 'commit_action'"), "api_key"),
        ] {
            assert_eq!(published(&lines)["authentication"], told, "{lines}");
        }
    }

    #[test]
    fn no_mode_but_the_third_takes_actions() {
        for (mode, told) in [("MODE1", Value::Null), ("MODE2", Value::Null), ("MODE3", "action".into())] {
            let lines = format!("[[capabilities]]\nid = 'a'\ntype = 'commit_action'\nahp = {{ mode = '{mode}' }}");
            let manifest = published(&lines);
            let all = manifest["capabilities"].as_array().unwrap();
            assert_eq!(all.iter().find(|c| c["name"] == "a").unwrap()["action_type"], told, "{mode}");
        }
    }
}
