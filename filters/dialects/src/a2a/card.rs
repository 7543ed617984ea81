//! The agent card: one document that clients of 1.0 and of 0.3 both read.

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Value, json};

use super::{
    super::{
        Document, Variant,
        ahp::listed::{ActionType, Listed, Mode},
    },
    CARD,
    form::Form,
    problem::{self, Problem},
};
use frontdesk_base::{fault::Fault, text::fitted};
use frontdesk_caller::limits::Counted;
use frontdesk_config::{AuthKind, Capability, Declaration, Settings};
use frontdesk_desk::{Desk, Incoming, Serve, Served, count};

/// Stands for the origin in a card that is completed for each client. No declared text has this character.
const ORIGIN: &str = "\u{0}";
/// Maximum characters of a description.
const DESCRIPTION: usize = 512;
pub(super) const MEDIA_TYPE: &str = "application/json";

/// The card, prepared.
#[derive(Debug)]
pub(super) struct Card {
    /// With [`ORIGIN`] where the operator named no origin.
    text: String,
    has_origin: bool,
}

impl Card {
    pub(super) fn new(listed: &[Listed], declaration: &Declaration, path: &str) -> Self {
        let settings = &declaration.settings;
        let origin = settings.site.origin.as_deref().map(|origin| origin.trim_end_matches('/'));
        let mut text = render(listed, settings, &format!("{}{path}", origin.unwrap_or(ORIGIN)), origin).to_string();
        text.push('\n');
        Self { text, has_origin: origin.is_some() }
    }

    /// The document, where it is the same for every client.
    pub(super) fn document(&self, cache_control: &HeaderValue) -> Option<Document> {
        self.has_origin.then(|| document(self.text.clone(), cache_control))
    }

    /// The card as `frontdesk export` prints it.
    pub(super) fn exported(&self) -> Option<Bytes> {
        Some(self.text.replace(&escaped(ORIGIN), "").into())
    }

    /// The card for a client that asked this address.
    fn asked_at(&self, settings: &Settings, request: &Incoming<'_>) -> String {
        let said = request.headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        let is_tls = settings.tls.is_some() || said.is_some_and(|said| said.eq_ignore_ascii_case("https"));
        let scheme = if is_tls { "https" } else { "http" };
        self.text.replace(&escaped(ORIGIN), &escaped(&format!("{scheme}://{}", request.authority)))
    }
}

#[async_trait]
impl Serve for Card {
    fn counts_messages(&self) -> bool {
        true
    }

    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let standing = match count(desk, Counted::Content, request.caller).await {
            Ok(standing) => standing,
            Err((refusal, standing)) => {
                let mut reply = Problem::refused(&refusal).reply(Form::V1);
                reply.headers.extend(standing.fields);
                return Served { reason: Some(refusal.reason), near: standing.near, ..reply.into() };
            }
        };
        // It depends on the Host header, so no shared cache may keep it.
        let age = desk.compiled.settings.discovery.manifest_max_age.as_secs();
        let cache_control = HeaderValue::try_from(format!("private, max-age={age}"))
            .unwrap_or_else(|_| HeaderValue::from_static("no-store"));
        let document = document(self.asked_at(&desk.compiled.settings, request), &cache_control);
        let not_allowed = || problem::refused(&Fault::MethodNotAllowed.into(), None, None);
        let mut reply = document.respond(request.method, request.headers, &String::new).unwrap_or_else(not_allowed);
        reply.headers.extend(standing.fields);
        Served { near: standing.near, ..reply.into() }
    }
}

fn document(text: String, cache_control: &HeaderValue) -> Document {
    let variant = Variant::new(MEDIA_TYPE, text, cache_control);
    Document { path: CARD.to_owned(), variants: vec![variant], negotiate: None, versions: Vec::new() }
}

/// A text as it stands within a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

fn render(listed: &[Listed], settings: &Settings, url: &str, origin: Option<&str>) -> Value {
    let site = &settings.site;
    let name = site.name.as_deref().unwrap_or("This site");
    let interface = |version: &str| json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version });
    let modes = json!(["text/plain", "application/json"]);
    let mut card = json!({
        "name": name,
        "description": site.description.as_deref().unwrap_or("Answers questions about this site, and does what it offers."),
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [interface("1.0"), interface("0.3")],
        "capabilities": { "streaming": false, "pushNotifications": false, "extendedAgentCard": false },
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": listed.iter().map(|listed| skill(listed, settings)).collect::<Value>(),
        // What 0.3 reads.
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
    });
    if let (Some(operator), Some(origin)) = (&site.operator, origin) {
        card["provider"] = json!({ "organization": operator, "url": origin });
    }
    if let Some((scheme, declared)) = scheme(settings.auth.kind) {
        card["securitySchemes"] = json!({ scheme: declared });
        // Whether a credential is needed depends on the skill.
        if listed.iter().all(|listed| needs_credential(listed, settings)) {
            card["security"] = json!([{ scheme: [] }]);
            card["securityRequirements"] = json!([{ "schemes": { scheme: { "list": [] } } }]);
        }
    }
    card
}

fn skill(listed: &Listed, settings: &Settings) -> Value {
    let capability = settings.capability(listed.index);
    let kind = capability.map_or("query", |capability| capability.kind.word());
    let mut tags = vec![kind];
    if listed.mode != Mode::Three {
        tags.push("questions");
    }
    if listed.action_type == ActionType::Async {
        tags.push("later");
    }
    if capability.is_some_and(Capability::is_confirmed) {
        tags.push("confirmed");
    }
    let mut skill = json!({
        "id": listed.name,
        "name": listed.name.replace('_', " "),
        "description": fitted(&listed.description, DESCRIPTION),
        "tags": tags,
    });
    if let Some((scheme, _)) = scheme(settings.auth.kind).filter(|_| needs_credential(listed, settings)) {
        skill["security"] = json!([{ scheme: [] }]);
        skill["securityRequirements"] = json!([{ "schemes": { scheme: { "list": [] } } }]);
    }
    skill
}

/// Without anonymous access every skill needs a credential.
fn needs_credential(listed: &Listed, settings: &Settings) -> bool {
    listed.needs_auth || !settings.policies.anonymous_access
}

/// The security scheme, as both versions write it.
fn scheme(kind: AuthKind) -> Option<(&'static str, Value)> {
    match kind {
        AuthKind::None => None,
        AuthKind::ApiKey => Some((
            "apiKey",
            json!({
                "type": "apiKey", "in": "header", "name": "X-AHP-Key",
                "apiKeySecurityScheme": { "location": "header", "name": "X-AHP-Key" },
            }),
        )),
        AuthKind::Bearer | AuthKind::Oauth2 => Some((
            "bearer",
            json!({ "type": "http", "scheme": "bearer", "httpAuthSecurityScheme": { "scheme": "Bearer" } }),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(site: &str) -> Value {
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:1'\n{site}\n[[auth.api_keys]]\nname = 'x'\nsha256 = '{}'\n[[capabilities]]\nid = 'a.b'\n\
             type = 'query'\nauth = 'required'\ndescription = 'Holds it.'\n[[capabilities]]\nid = 'c'\ntype = 'query'\nexposed = false",
            "0f".repeat(32)
        );
        let path = std::path::Path::new("/x.toml");
        let declaration =
            frontdesk_config::testing::declare_text(path, &text, &frontdesk_config::testing::Nowhere).unwrap();
        let listed = crate::ahp::listed::all(&declaration);
        let card = Card::new(&listed, &declaration, "/a2a");
        serde_json::from_str(&card.text).unwrap()
    }

    #[test]
    fn both_versions_find_their_address() {
        let card = card("[site]\nname = 'Acme'\norigin = 'https://acme.test/'\noperator = 'Acme Ltd'");
        let url = "https://acme.test/a2a";
        assert_eq!((&card["url"], &card["protocolVersion"]), (&json!(url), &json!("0.3.0")));
        let interfaces = card["supportedInterfaces"].as_array().unwrap();
        let versions: Vec<_> = interfaces.iter().map(|i| (&i["url"], &i["protocolVersion"])).collect();
        assert_eq!(versions, [(&json!(url), &json!("1.0")), (&json!(url), &json!("0.3"))]);
        assert_eq!((&card["name"], &card["provider"]["organization"]), (&json!("Acme"), &json!("Acme Ltd")));
        assert_eq!(card["capabilities"]["streaming"], false);
    }

    #[test]
    fn skills_are_what_agents_may_see() {
        let card = card("");
        let ids: Vec<_> = card["skills"].as_array().unwrap().iter().filter_map(|skill| skill["id"].as_str()).collect();
        assert_eq!(ids, ["a_b", "site_info", "content_search"]);
        let skill = &card["skills"][0];
        assert_eq!((&skill["security"], &skill["description"]), (&json!([{ "apiKey": [] }]), &json!("Holds it.")));
        assert!(card["skills"][1].get("security").is_none() && card.get("security").is_none());
        assert_eq!(card["url"], format!("{ORIGIN}/a2a"));
    }
}
