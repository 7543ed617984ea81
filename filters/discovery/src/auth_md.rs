//! /auth.md: how an agent gets access to this site. It says what can be had without a credential, which credentials
//! there are, how to get one, which scopes, and an example; all of it follows from the declaration.

use std::{collections::BTreeSet, fmt::Write};

use http::HeaderValue;

use frontdesk_config::{AuthKind, AuthNeed, Capability, Settings, names::SITE_NAME};
use frontdesk_desk::{Document, Variant, origin};

use crate::{Entry, Occupied, llms::line};

/// Its path.
pub const PATH: &str = "/auth.md";
const MEDIA_TYPE: &str = "text/markdown";
/// Maximum capabilities that are listed.
const MOST: usize = 100;
/// Maximum characters of what is said of one.
const LONGEST: usize = 200;

/// Whether there is one, ours or the site's.
pub fn is_there(settings: &Settings, occupied: &Occupied) -> bool {
    settings.discovery.auth_md || occupied.contains(PATH)
}

/// Its entry in lists.
pub fn entry(settings: &Settings, occupied: &Occupied) -> Option<Entry> {
    is_there(settings, occupied).then(|| Entry {
        name: "auth",
        rel: None,
        path: PATH.to_owned(),
        media_type: MEDIA_TYPE,
        title: "What needs a credential, and how to get one",
    })
}

/// What else it leads to.
#[derive(Debug, Clone, Copy, Default)]
pub struct LlmsAddresses<'a> {
    pub manifest: &'a str,
    pub contract: &'a str,
    pub llms: Option<&'a str>,
    /// The metadata of the protected resource (RFC 9728).
    pub metadata: Option<&'a str>,
}

/// Ours; `None` where the site has one, or it is off.
pub fn document(
    settings: &Settings,
    occupied: &Occupied,
    ways: LlmsAddresses<'_>,
    cache_control: &HeaderValue,
) -> Option<Document> {
    if !settings.discovery.auth_md || occupied.contains(PATH) {
        return None;
    }
    let text = render(settings, ways);
    let variant = Variant::new("text/markdown; charset=utf-8", text, cache_control).generated();
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

fn render(settings: &Settings, ways: LlmsAddresses<'_>) -> String {
    let origin = origin(settings);
    let name = settings.site.name.as_deref().map_or_else(|| "this site".to_owned(), |name| line(name, SITE_NAME));
    let mut out = format!("# auth.md: access for agents to {name}\n");
    open(&mut out, settings, origin, ways);
    let closed: Vec<&Capability> =
        settings.offered().map(|(_, c)| c).filter(|c| needs_credential(c, settings)).collect();
    list(&mut out, "With a credential", &closed);
    let has_credentials = credentials(&mut out, settings, origin, ways.metadata);
    how_to_get_one(&mut out, settings, has_credentials, !closed.is_empty() || !settings.policies.anonymous_access);
    scopes(&mut out, settings);
    example(&mut out, settings, origin, ways, &closed, has_credentials);
    out
}

/// Whether a call of a capability is refused without a credential.
fn needs_credential(capability: &Capability, settings: &Settings) -> bool {
    !settings.policies.anonymous_access
        || capability.auth_need() == AuthNeed::Required
        || !capability.required_scopes.is_empty()
        || capability.requires_strong_authentication
}

/// What can be had without a credential.
fn open(out: &mut String, settings: &Settings, origin: &str, ways: LlmsAddresses<'_>) {
    out.push_str("\n## Without a credential\n\n");
    let mut pages = String::from("the pages of the site that people can read without signing in");
    if settings.content.markdown {
        pages.push_str(", and each of them as Markdown (`Accept: text/markdown`, or its path with `.md`)");
    }
    let _ = writeln!(out, "- Reading: {pages}.");
    if let Some(llms) = ways.llms {
        let _ = writeln!(out, "- An overview of the pages: {origin}{llms}");
    }
    let _ =
        writeln!(out, "- What can be asked and called here: {origin}{} and {origin}{}", ways.manifest, ways.contract);
    let limits = &settings.rate_limits;
    if !settings.policies.anonymous_access {
        out.push_str("- Nothing can be asked or called.\n");
        return;
    }
    let free: Vec<&Capability> =
        settings.offered().map(|(_, c)| c).filter(|c| !needs_credential(c, settings)).collect();
    for capability in free.iter().take(MOST) {
        let _ = writeln!(out, "- {}", item(capability));
    }
    let _ = writeln!(out, "- Limit: {} calls from one address, {} documents.", limits.anonymous, limits.content);
}

fn list(out: &mut String, title: &str, capabilities: &[&Capability]) {
    if capabilities.is_empty() {
        return;
    }
    let _ = write!(out, "\n## {title}\n\n");
    for capability in capabilities.iter().take(MOST) {
        let _ = write!(out, "- {}", item(capability));
        if !capability.required_scopes.is_empty() {
            let scopes: Vec<String> =
                capability.required_scopes.iter().map(|scope| format!("`{}`", code(scope))).collect();
            let _ = write!(out, " Scopes: {}.", scopes.join(", "));
        }
        if capability.requires_strong_authentication {
            out.push_str(" The person has to be authenticated strongly.");
        }
        out.push('\n');
    }
}

/// A capability in a line.
fn item(capability: &Capability) -> String {
    let described = capability.description.as_deref().map(|text| line(text, LONGEST)).filter(|text| !text.is_empty());
    let described = described.map(|text| format!(": {}.", text.trim_end_matches('.'))).unwrap_or_else(|| ".".into());
    format!("`{}`{described}", code(&capability.id))
}

/// Without what would end a code span.
fn code(text: &str) -> String {
    line(text, LONGEST).replace('`', "'")
}

/// Which credentials are taken. Says whether there are any.
fn credentials(out: &mut String, settings: &Settings, origin: &str, metadata: Option<&str>) -> bool {
    let auth = &settings.auth;
    let mut kinds = String::new();
    if !auth.api_keys.is_empty() || auth.kind == AuthKind::ApiKey {
        kinds.push_str("- An API key: `X-AHP-Key: KEY`, or `Authorization: Bearer KEY`.\n");
    }
    let takes_tokens = auth.jwks.is_some() || !auth.authorization_servers.is_empty();
    if takes_tokens || matches!(auth.kind, AuthKind::Bearer | AuthKind::Oauth2) && auth.api_keys.is_empty() {
        // Our own authorization server gives tokens that only it can read.
        let kind = if auth.login.is_some() && auth.jwks.is_none() { "OAuth 2.1" } else { "JWT" };
        let _ = write!(kinds, "- An access token ({kind}): `Authorization: Bearer TOKEN`.");
        if let Some(issuer) = auth.authorization_servers.first().or(auth.issuer.as_ref()) {
            let _ = write!(kinds, " Issuer: {}.", line(issuer, LONGEST));
        }
        if let Some(audience) = &auth.audience {
            let _ = write!(kinds, " Audience: `{}`.", code(audience));
        }
        if let Some(path) = metadata {
            let _ = write!(kinds, " Metadata (RFC 9728): {origin}{path}");
        }
        kinds.push('\n');
    }
    if !auth.signed_agents.keys.is_empty() {
        kinds
            .push_str("- A signature of the request (RFC 9421, tag `web-bot-auth`) with a key that this site knows.\n");
    }
    if auth.signed_agents.require {
        kinds.push_str("- Every call has to be signed so.\n");
    }
    out.push_str("\n## Credentials\n\n");
    out.push_str(if kinds.is_empty() { "None are issued for this site, and none is taken.\n" } else { &kinds });
    !kinds.is_empty()
}

fn how_to_get_one(out: &mut String, settings: &Settings, has_credentials: bool, is_needed: bool) {
    out.push_str("\n## How to get one\n\n");
    let auth = &settings.auth;
    if let Some(url) = &auth.registration_url {
        let _ = writeln!(out, "The owner of an agent gets a credential at {}", line(url, 500));
    } else if let Some(server) = auth.authorization_servers.first() {
        let _ = writeln!(out, "From the authorization server {}", line(server, 500));
    } else if let Some(url) = &auth.authorization_url {
        let _ = writeln!(out, "A person grants access at {}", line(url, 500));
    } else if let (Some(contact), true) = (&settings.site.contact, has_credentials || is_needed) {
        let _ = writeln!(out, "Write to {}", line(contact, LONGEST));
    } else if has_credentials || is_needed {
        out.push_str("Ask the operator of the site; how is not declared.\n");
    } else {
        out.push_str("No credential is needed: everything that agents can use here is open to all.\n");
    }
}

fn scopes(out: &mut String, settings: &Settings) {
    let wanted = settings.offered().flat_map(|(_, capability)| &capability.required_scopes);
    let scopes: BTreeSet<&String> = settings.auth.available_scopes.iter().chain(wanted).collect();
    if scopes.is_empty() {
        return;
    }
    out.push_str("\n## Scopes\n\n");
    for scope in scopes.into_iter().take(MOST) {
        let _ = writeln!(out, "- `{}`", code(scope));
    }
}

/// A request that works as it stands, or with the credential in its place.
fn example(
    out: &mut String,
    settings: &Settings,
    origin: &str,
    ways: LlmsAddresses<'_>,
    closed: &[&Capability],
    has_credentials: bool,
) {
    let header = match settings.auth.kind {
        AuthKind::ApiKey => "X-AHP-Key: KEY",
        _ => "Authorization: Bearer TOKEN",
    };
    out.push_str("\n## Example\n\n```sh\n");
    let called = closed.iter().find_map(|capability| {
        let endpoint = capability.endpoint.as_deref().filter(|endpoint| !endpoint.contains(['{', '\'', '\n']))?;
        Some((capability.method.as_deref().unwrap_or(capability.kind.usual_method()), endpoint))
    });
    match called.filter(|_| has_credentials) {
        Some(("GET", endpoint)) => {
            let _ = writeln!(out, "curl '{origin}{endpoint}' -H '{header}'");
        }
        Some((method, endpoint)) => {
            let _ = writeln!(
                out,
                "curl -X {method} '{origin}{endpoint}' -H '{header}' -H 'Content-Type: application/json' -d '{{}}'"
            );
        }
        None => {
            let _ = writeln!(out, "curl '{origin}{}'", ways.manifest);
        }
    }
    out.push_str("```\n");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};

    fn told(more: &str) -> String {
        let text = format!("[upstream]\nurl = 'http://a'\n{more}");
        let settings = declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap_or_else(|e| panic!("{e}")).settings;
        let ways = LlmsAddresses { manifest: "/m.json", contract: "/c.toml", llms: Some("/llms.txt"), metadata: None };
        render(&settings, ways)
    }

    #[test]
    fn a_plain_site_is_open_to_all() {
        let text = told("[site]\norigin = 'https://acme.test'\n");
        assert!(text.starts_with("# auth.md: access for agents to this site\n"), "{text}");
        for part in [
            "## Without a credential",
            "https://acme.test/llms.txt",
            "None are issued",
            "No credential is needed",
            "curl 'https://acme.test/m.json'",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("## With a credential") && !text.contains("## Scopes"), "{text}");
    }

    #[test]
    fn credentials_scopes_and_the_way_to_them_are_told() {
        let key = format!("[[auth.api_keys]]\nname = 'a'\nsha256 = '{}'\n", "0f".repeat(32));
        let order = "[[capabilities]]\nid = 'tea.order'\ntype = 'commit_action'\nmethod = 'POST'\n\
                     description = 'Orders tea.'\nendpoint = '/agent/order'\nrisk_level = 'low'\nauth = 'required'\n\
                     required_scopes = ['tea.write']\n[capabilities.upstream]\nmethod = 'POST'\npath = '/order'\n";
        let text = told(&format!(
            "[site]\norigin = 'https://acme.test'\nname = 'Acme'\n[auth]\nregistration_url = \
             'https://acme.test/agents'\n{key}{order}"
        ));
        for part in [
            "# auth.md: access for agents to Acme",
            "## With a credential\n\n- `tea.order`: Orders tea. Scopes: `tea.write`.",
            "X-AHP-Key: KEY",
            "gets a credential at https://acme.test/agents",
            "## Scopes\n\n- `tea.write`",
            "curl -X POST 'https://acme.test/agent/order' -H 'X-AHP-Key: KEY'",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_site_that_serves_no_strangers_says_so() {
        let text = told("[policies]\nanonymous_access = false\n[site]\ncontact = 'ops@acme.test'\n");
        assert!(
            text.contains("- Nothing can be asked or called.") && text.contains("Write to ops@acme.test"),
            "{text}"
        );
    }
}
