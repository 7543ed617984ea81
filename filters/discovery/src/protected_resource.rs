//! Metadata of a protected resource (RFC 9728), where an authorization server is declared: which server's tokens are
//! taken here. One document for the site, and one for the MCP endpoint, where MCP's clients look.

use std::collections::BTreeSet;

use frontdesk_base::reply::Reply;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use frontdesk_config::Settings;
use frontdesk_desk::{Document, Variant, origin};

use crate::{Entry, Occupied};

/// Its path.
pub const PATH: &str = "/.well-known/oauth-protected-resource";
const MEDIA_TYPE: &str = "application/json";

/// Where that of a resource of the site is, by the resource's path (RFC 9728 §3.1).
pub fn path_of(resource: &str) -> String {
    format!("{PATH}{resource}")
}

/// Where it is, ours or the site's; `None` where there is none.
pub fn path(settings: &Settings, occupied: &Occupied) -> Option<&'static str> {
    (!settings.auth.authorization_servers.is_empty() || occupied.contains(PATH)).then_some(PATH)
}

/// Its entry in lists.
pub fn entry(settings: &Settings, occupied: &Occupied) -> Option<Entry> {
    path(settings, occupied).map(|path| Entry {
        name: "oauth-protected-resource",
        rel: None,
        path: path.to_owned(),
        media_type: MEDIA_TYPE,
        title: "Which authorization server's tokens are taken here",
    })
}

/// The documents; none where no authorization server is declared. `mcp`: the path of that endpoint.
pub fn documents(
    settings: &Settings,
    occupied: &Occupied,
    mcp: Option<&str>,
    cache_control: &HeaderValue,
) -> Vec<Document> {
    if settings.auth.authorization_servers.is_empty() {
        return Vec::new();
    }
    let at_site = (PATH.to_owned(), "");
    let at_mcp = mcp.map(|path| (path_of(path), path));
    let wanted = [at_site].into_iter().chain(at_mcp).filter(|(path, _)| !occupied.contains(path));
    let documents = wanted.map(|(path, resource)| {
        let body = render(settings, resource).to_string();
        let variant = Variant::new(MEDIA_TYPE, body, cache_control).generated();
        Document { path, variants: vec![variant], negotiate: None, versions: Vec::new() }
    });
    documents.collect()
}

/// Says in a challenge where the metadata of the resource is (RFC 9728 §5.1). `site`: the site's origin.
pub fn name_in(reply: &mut Reply, settings: &Settings, site: &str, target: &str) {
    if settings.auth.authorization_servers.is_empty() {
        return;
    }
    let path = target.split('?').next().unwrap_or_default();
    let resource = if path == settings.paths.mcp.path { path } else { "" };
    let url = format!("{site}{}", path_of(resource));
    for (_, value) in reply.headers.iter_mut().filter(|(name, _)| name == header::WWW_AUTHENTICATE) {
        let said =
            value.to_str().ok().filter(|said| said.starts_with("Bearer") && !said.contains("resource_metadata="));
        let named = said.map(|said| format!("{said}, resource_metadata=\"{url}\""));
        if let Some(Ok(named)) = named.map(HeaderValue::try_from) {
            *value = named;
        }
    }
}

fn render(settings: &Settings, resource: &str) -> Value {
    let auth = &settings.auth;
    let wanted = settings.offered().flat_map(|(_, capability)| &capability.required_scopes);
    let scopes: BTreeSet<&String> = auth.available_scopes.iter().chain(wanted).collect();
    let mut metadata = json!({
        "resource": format!("{}{resource}", origin(settings)),
        "authorization_servers": auth.authorization_servers,
        "bearer_methods_supported": ["header"],
    });
    if !scopes.is_empty() {
        metadata["scopes_supported"] = json!(scopes);
    }
    if let Some(name) = &settings.site.name {
        metadata["resource_name"] = name.as_str().into();
    }
    if settings.discovery.auth_md {
        metadata["resource_documentation"] = format!("{}{}", origin(settings), crate::auth_md::PATH).into();
    }
    metadata
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};

    fn documents(more: &str, occupied: &Occupied) -> Vec<(String, Value)> {
        let text = format!("[upstream]\nurl = 'http://a'\n[site]\norigin = 'https://acme.test/'\n[auth]\n{more}");
        let settings = declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap_or_else(|e| panic!("{e}")).settings;
        let documents = super::documents(&settings, occupied, Some("/mcp"), &HeaderValue::from_static("no-cache"));
        documents
            .into_iter()
            .map(|document| {
                let body = document.variants[0].body();
                (document.path, serde_json::from_slice(&body).unwrap())
            })
            .collect()
    }

    #[test]
    fn the_site_and_mcp_have_their_own() {
        let declared = "authorization_servers = ['https://login.test']\navailable_scopes = ['b', 'a']\n";
        let found = documents(declared, &Occupied::default());
        assert_eq!(found[0].0, "/.well-known/oauth-protected-resource");
        assert_eq!(
            found[0].1,
            json!({
                "resource": "https://acme.test",
                "authorization_servers": ["https://login.test"],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["a", "b"],
                "resource_documentation": "https://acme.test/auth.md",
            })
        );
        assert_eq!(found[1].0, "/.well-known/oauth-protected-resource/mcp");
        assert_eq!(found[1].1["resource"], "https://acme.test/mcp");
        let mut own = Occupied::default();
        own.insert(PATH.into());
        assert_eq!(documents(declared, &own).len(), 1);
    }

    #[test]
    fn without_a_server_there_is_none() {
        assert!(documents("", &Occupied::default()).is_empty());
    }
}
