//! Capabilities from the caller's side: declarations, calls, and checks of answers and refusals.

use super::ask::{Ask, Via};
use super::desk::Desk;
use super::jwks::{AUDIENCE, ISSUER, TokenKey, claims, jwks};
use super::message::{Request, Response};
use super::origin::Origin;
use super::rates::api_key;
use super::setup::Setup;
use serde_json::{Value, json};

pub const AOM: &str = "application/aom+json";
/// A key with every scope that the tests use.
pub const FULL: &str = "key-with-all";
/// A key with no scope at all.
pub const BARE: &str = "key-with-none";

/// A capability with these lines of its own; its endpoint is `/agent/ID` with dots as slashes.
pub fn declare(id: &str, kind: &str, lines: &str) -> String {
    let path = id.replace('.', "/");
    let endpoint = if lines.contains("endpoint =") { String::new() } else { format!("endpoint = \"/agent/{path}\"\n") };
    let method = if lines.contains("\nmethod =") { "" } else { "method = \"POST\"\n" };
    format!(
        "\n[[capabilities]]\nid = \"{id}\"\ntype = \"{kind}\"\ndescription = \"It is {id}.\"\n{method}{endpoint}{lines}\n"
    )
}

/// A low-risk query without a credential, with more lines.
pub fn query(id: &str, lines: &str) -> String {
    declare(id, "query", &format!("\nrisk_level = \"low\"\nauth = \"optional\"{lines}"))
}

/// An action that needs a credential, but neither confirmation nor an idempotency key, with more lines.
pub fn action(id: &str, lines: &str) -> String {
    let own = "\nrisk_level = \"medium\"\nauth = \"required\"\nrequires_user_confirmation = false";
    declare(id, "commit_action", &format!("{own}{lines}"))
}

/// A site with a name, both keys and these capabilities.
pub fn site(origin: &Origin, capabilities: &str) -> Setup {
    let scopes = "scopes = [\"flights:read\", \"bookings:hold\", \"bookings:purchase\"]";
    Setup::before(origin)
        .set("site", "name = \"Example Travel\"\norigin = \"https://site.test\"")
        .tail(&api_key("full", FULL, scopes))
        .tail(&api_key("bare", BARE, "scopes = []"))
        .tail(capabilities)
}

/// Trusts tokens of this key, and treats the factor "mfa" as strong.
pub fn believing(setup: Setup, key: &TokenKey) -> Setup {
    let lines =
        format!("issuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"jwks.json\"\nstrong_acr = [\"mfa\"]");
    setup.set("auth", &lines).file("jwks.json", &jwks(&[key]))
}

/// A token with these scopes and these additional claims.
pub fn token(key: &TokenKey, subject: &str, scopes: &str, more: Value) -> String {
    let mut claims = claims(subject);
    claims["scope"] = json!(scopes);
    let all = claims.as_object_mut().expect("claims");
    all.extend(more.as_object().cloned().unwrap_or_default());
    key.token(&claims)
}

/// A call with this input.
pub fn call(endpoint: &str, input: &Value) -> Ask {
    Ask::post(endpoint, input.to_string()).header("Content-Type", "application/json")
}

/// The desk's requests to the site's API.
pub fn upstream_calls(origin: &Origin) -> Vec<Request> {
    origin.requests().into_iter().filter(|r| r.target.starts_with("/api/")).collect()
}

/// The desk's single request to the site's API since the last call of this function.
#[track_caller]
pub fn last_upstream(origin: &Origin) -> Request {
    upstream_calls(origin).pop().expect("the site was not called")
}

impl Desk {
    pub async fn call(&self, ask: Ask) -> Response {
        self.ask(Via::H1, ask).await
    }
}

/// The confirmation token of a 428.
#[track_caller]
pub fn confirmation_token(response: &Response) -> String {
    let body = assert_fault(response, 428, "confirmation_required", "before it was confirmed");
    let asked = &body["confirmation"];
    assert_eq!(asked["required"], true, "{body}");
    for name in ["summary", "consequence", "expires_at"] {
        assert!(asked[name].as_str().is_some_and(|s| !s.is_empty()), "{name}: {body}");
    }
    asked["token"].as_str().unwrap_or_else(|| panic!("a token: {body}")).to_owned()
}

/// Checks an AOM answer with all its planes and returns it.
#[track_caller]
pub fn assert_answer(response: &Response, status: u16, what: &str) -> Value {
    assert_eq!((response.status, response.media_type().as_str()), (status, AOM), "{what}: {}", response.text());
    let body = response.json();
    let mut planes: Vec<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    planes.sort_unstable();
    let all = ["actions", "agent_hints", "data", "freshness", "policies", "privacy", "provenance", "warnings"];
    assert_eq!(planes, all, "{what}: {body}");
    for plane in ["agent_hints", "freshness", "policies", "privacy", "provenance"] {
        assert!(body[plane].is_object(), "{what}: {plane}: {body}");
    }
    assert!(body["warnings"].is_array(), "{what}: {body}");
    assert_actions(&body, what);
    body
}

/// Checks an AOM error and returns its body.
#[track_caller]
pub fn assert_fault(response: &Response, status: u16, code: &str, what: &str) -> Value {
    assert_eq!((response.status, response.media_type().as_str()), (status, AOM), "{what}: {}", response.text());
    let body = response.json();
    assert_eq!(body["error"]["code"], code, "{what}: {body}");
    assert!(body["error"]["message"].as_str().is_some_and(|m| m.len() > 10), "{what}: {body}");
    assert!(body.get("data").is_none(), "{what}: {body}");
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
    assert_actions(&body, what);
    body
}

/// Checks that every offered action can be called as it is (AICP paper, §7.4).
#[track_caller]
fn assert_actions(body: &Value, what: &str) {
    for action in body["actions"].as_array().unwrap_or_else(|| panic!("{what}: no actions: {body}")) {
        for name in ["id", "label", "method", "endpoint", "risk_level"] {
            assert!(action[name].as_str().is_some_and(|s| !s.is_empty()), "{what}: {name} of {action}");
        }
        assert!(action["requires_user_confirmation"].is_boolean(), "{what}: {action}");
    }
}

/// The ids of the actions that an answer offers.
pub fn action_ids(body: &Value) -> Vec<String> {
    let actions = body["actions"].as_array().expect("actions");
    actions.iter().map(|a| a["id"].as_str().expect("an id").to_owned()).collect()
}

/// Seconds since 1970 of "2026-05-09T12:00:00Z", with or without a fraction.
#[track_caller]
pub fn seconds(time: &Value) -> u64 {
    let text = time.as_str().unwrap_or_else(|| panic!("a time: {time}"));
    let number = |range: std::ops::Range<usize>| -> u64 {
        text.get(range).and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("a time: {text}"))
    };
    assert!(text.ends_with('Z') || text.ends_with("+00:00"), "in UTC: {text}");
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    // Days of the civil calendar, with March as the first month.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
    days * 86_400 + number(11..13) * 3_600 + number(14..16) * 60 + number(17..19)
}

/// What `frontdesk check` says about a setup.
pub fn checked(setup: &Setup) -> String {
    let dir = super::dir::Dir::new();
    setup.write_files(&dir);
    dir.write("frontdesk.toml", setup.text(&super::setup::Ports::free()));
    let (_, out, err) = super::desk::run_to_end(&["check", "frontdesk.toml"], dir.path());
    format!("{out}{err}")
}
