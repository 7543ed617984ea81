//! The Agent Interaction Contract (AICP 0.1): its publication and negotiation (§5, §6), the capabilities' own
//! endpoints, and their responses in the Agent Object Model (§7).

mod aom;
mod capability;
mod contract;
mod error;
mod interface;
pub mod toml;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_config::{Extension, unchecked};
use http::{HeaderValue, Method, StatusCode};

use self::{aom::Planes, capability::AtEndpoint, interface::Interface};
use super::{Announcement, Dialect, Document, Occupied, Publication, Publishing, Variant, json};
use frontdesk_base::{accept, reply::Reply};
use frontdesk_caller::signing::Signer;
use frontdesk_config::{AuthNeed, Capability, Declaration};
use frontdesk_desk::Endpoint;

/// The path of the contract in TOML (AICP §6.1).
pub const CONTRACT: &str = "/.well-known/agent-interface.toml";
/// The path of the contract in a negotiated format (AICP §6.2).
pub const NEGOTIATED: &str = "/.well-known/agent-interface";
/// The path of the TOML where the site has a document of its own at the usual one.
pub(super) const MOVED: &str = "/.well-known/aicp.toml";

use frontdesk_base::media::{AICP_JSON as JSON, AICP_TOML as TOML};

/// The path of the contract's signature (AICP §8.11).
const SIGNATURE: &str = "/.well-known/agent-interface.sig";
const MOVED_SIGNATURE: &str = "/.well-known/aicp.sig";
/// Where a caller finds the capabilities that it may call (AICP §6.7).
pub(crate) const INTERFACE: &str = "/agent/interface";

/// The paths of AICP itself, which no capability may use.
pub const DOCUMENTS: [&str; 4] = [CONTRACT, NEGOTIATED, SIGNATURE, INTERFACE];

/// AICP's configuration checks.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &DOCUMENTS, check: unchecked };

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "aicp", publish, explain: error::reply };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let path = occupied.or_moved(CONTRACT, MOVED).to_owned();
    let settings = &declaration.settings;
    // An unusable key was reported by the configuration check.
    let signer = settings.integrity.as_ref().and_then(|integrity| Signer::new(integrity).ok());
    let signature = if path == CONTRACT { occupied.or_moved(SIGNATURE, MOVED_SIGNATURE) } else { MOVED_SIGNATURE };
    let origin = settings.site.origin.as_deref().unwrap_or_default().trim_end_matches('/');
    let (url, public_key) = (format!("{origin}{signature}"), signer.as_ref().map(|s| STANDARD.encode(s.public_key())));
    let signed = signer.as_ref().zip(public_key.as_deref()).map(|(signer, public_key)| contract::Signed {
        url: &url,
        key_id: signer.key_id.as_deref(),
        public_key,
    });
    let contract = contract::published(&declaration.contract, signed);
    let versions = contract::versions(&contract);
    let cache_control = cache_control(declaration);
    let mut as_json = Vec::new();
    json::node(&mut as_json, &contract);
    let as_toml = toml::write(&contract);
    let mut documents = Vec::new();
    if let Some(signer) = &signer {
        // Over exactly the bytes of the TOML (AICP §8.11).
        let signature_of = STANDARD.encode(signer.sign(as_toml.as_bytes()));
        documents.push(Document {
            path: signature.to_owned(),
            variants: vec![Variant::new("text/plain; charset=us-ascii", signature_of, &cache_control)],
            negotiate: None,
            versions: Vec::new(),
        });
    }
    let variants = vec![Variant::new(TOML, as_toml, &cache_control), Variant::new(JSON, as_json, &cache_control)];
    if !occupied.contains(NEGOTIATED) {
        documents.push(Document {
            path: NEGOTIATED.to_owned(),
            variants: variants.iter().cloned().map(Variant::varying).collect(),
            negotiate: Some(toml_or_json),
            versions: versions.clone(),
        });
    }
    documents.push(Document { path: path.clone(), variants, negotiate: Some(only_toml), versions: versions.clone() });
    Publication {
        announcement: Some(Announcement {
            rel: "agent-interface",
            legacy_rel: None,
            media_type: TOML,
            path: path.clone(),
        }),
        documents,
        entries: Vec::new(),
        endpoints: endpoints(declaration, occupied, &path, versions),
        exported: None,
    }
}

/// The declared endpoints of capabilities (AICP §5.5), and the caller's interface.
fn endpoints(declaration: &Declaration, occupied: &Occupied, contract: &str, versions: Vec<String>) -> Vec<Endpoint> {
    let settings = &declaration.settings;
    let ids = capability::all_ids(&settings.capabilities);
    let mut endpoints = Vec::new();
    for (index, declared) in settings.capabilities.iter().enumerate().filter(|(_, c)| c.exposed) {
        let (Some(path), Ok(method)) = (declared.endpoint.as_deref(), declared.method().parse()) else { continue };
        let serve = AtEndpoint {
            index,
            planes: Planes::new(declared, declaration, |id| ids.get(id).copied()),
            authorization_url: settings.auth.authorization_url.clone(),
            strong_acr: settings.auth.strong_acr.clone(),
            contract: contract.to_owned(),
        };
        let endpoint = Endpoint::call(path, method, declared.kind.is_action(), error::reply);
        // A watch streams, so HEAD would not end it.
        let endpoint = if declared.kind.is_read() { endpoint } else { endpoint.headless() };
        let endpoint = if guards_handler(declared, path) { endpoint.guarding() } else { endpoint };
        endpoints.push(endpoint.served(Arc::new(serve)));
    }
    let somebody_may_ask = !endpoints.is_empty() || settings.verifies_tokens() || !settings.auth.api_keys.is_empty();
    if somebody_may_ask && !occupied.contains(INTERFACE) {
        let authorization_url = settings.auth.authorization_url.clone();
        let interface = Interface { contract: declaration.contract.clone(), versions, authorization_url };
        let endpoint = Endpoint::call(INTERFACE, Method::GET, false, error::reply);
        endpoints.push(endpoint.served(Arc::new(interface)));
    }
    endpoints
}

/// Whether a capability wraps the site's own handler at the same path and needs a credential.
fn guards_handler(capability: &Capability, path: &str) -> bool {
    let of_site = capability.upstream.as_ref().is_none_or(|call| {
        let target = call.path.as_deref().unwrap_or(path);
        let is_site = call.url.is_none() && call.recipe.is_none() && !call.desk;
        is_site && target.split('?').next() == Some(path)
    });
    of_site && capability.auth_need() == AuthNeed::Required
}

/// `Cache-Control` of the contract: its `[cache]` table (§6.9), else the usual value.
fn cache_control(declaration: &Declaration) -> HeaderValue {
    let Some(cache) = &declaration.settings.contract_cache else { return super::cache_control(declaration) };
    let (fresh, stale) = (cache.max_age_seconds, cache.stale_while_revalidate_seconds);
    let value = HeaderValue::try_from(format!("public, max-age={fresh}, stale-while-revalidate={stale}"));
    value.unwrap_or_else(|_| HeaderValue::from_static("no-cache"))
}

/// The path ends in `.toml`, so the answer is TOML, unless the client accepts only unsupported versions.
fn only_toml(accept: Option<&str>, document: &Document) -> Result<usize, Reply> {
    toml_or_json(accept, document).map(|_| 0)
}

fn toml_or_json(accept: Option<&str>, document: &Document) -> Result<usize, Reply> {
    negotiate(accept, &document.versions)
}

/// TOML is the canonical format and the default; JSON for clients that prefer it (AICP §5.3).
fn negotiate(accept: Option<&str>, versions: &[String]) -> Result<usize, Reply> {
    let Some(accept) = accept else { return Ok(0) };
    // By exact name; a type that is not named gets the weight of a wildcard.
    let mut weights = [None; 2];
    let mut refused = None;
    for member in accept::members(accept) {
        let variant = match member.media.to_ascii_lowercase().as_str() {
            TOML | "application/toml" => 0,
            JSON | "application/json" => 1,
            _ => continue,
        };
        match member.parameter("version") {
            Some(version) if !versions.iter().any(|v| v == version) => {
                refused = Some(version).filter(|_| member.weight > 0).or(refused);
            }
            _ => weights[variant] = weights[variant].max(Some(member.weight)),
        }
    }
    let anything = accept::weight_of(accept, "application/*");
    match weights.map(|weight| weight.unwrap_or(anything)) {
        [0, 0] => match refused {
            Some(version) => Err(unsupported(version, versions)),
            // Neither is acceptable: the format that was not ruled out.
            None => Ok(usize::from(accept::rules_out(accept, TOML) && !accept::rules_out(accept, JSON))),
        },
        [toml, json] => Ok(usize::from(json > toml)),
    }
}

/// The refusal of AICP §6.5.
fn unsupported(version: &str, supported: &[String]) -> Reply {
    let version: String = version.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').take(16).collect();
    let body = serde_json::json!({ "error": {
        "code": "unsupported_aicp_version",
        "message": format!("This site does not speak AICP version {version}; it speaks {}.", supported.join(", ")),
        "supported_versions": supported,
    }});
    Reply::new(StatusCode::NOT_ACCEPTABLE, "application/aom+json", body.to_string())
        .with(http::header::CACHE_CONTROL, "no-store")
        .with(http::header::VARY, "Accept")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: &str) -> Result<usize, u16> {
        let document = Document {
            path: NEGOTIATED.into(),
            variants: Vec::new(),
            negotiate: None,
            versions: vec!["0.1".into(), "0.2".into()],
        };
        toml_or_json(Some(accept), &document).map_err(|r| r.status.as_u16())
    }

    #[test]
    fn the_representation_asked_for_is_given() {
        assert_eq!(chosen("application/aicp+toml"), Ok(0));
        assert_eq!(chosen("application/aicp+json"), Ok(1));
        assert_eq!(chosen("application/json"), Ok(1));
        assert_eq!(chosen("*/*"), Ok(0));
        assert_eq!(chosen("text/html"), Ok(0));
        assert_eq!(chosen("application/aicp+toml;q=0.5, application/aicp+json"), Ok(1));
        assert_eq!(chosen("application/aicp+json;version=0.2"), Ok(1));
        assert_eq!(chosen("application/aicp+toml;q=0, */*"), Ok(1));
        assert_eq!(chosen("application/aicp+json;q=0.1, */*"), Ok(0));
        assert_eq!(chosen("application/aicp+json;q=0.5, */*;q=0.1"), Ok(1));
        assert_eq!(chosen("application/aicp+toml;q=0.1, application/*;q=0.5, */*;q=0"), Ok(1));
        assert_eq!(chosen("application/json;q=0, application/*"), Ok(0));
        assert_eq!(chosen("application/aicp+toml;q=0, application/aicp+json;q=0"), Ok(0));
    }

    #[test]
    fn an_unknown_version_is_refused_unless_something_else_will_do() {
        assert_eq!(chosen("application/aicp+toml;version=9.9"), Err(406));
        assert_eq!(chosen("application/aicp+toml; version=\"9.9\", application/aicp+json;version=9.8"), Err(406));
        assert_eq!(chosen("application/aicp+toml;version=9.9, application/aicp+json"), Ok(1));
        assert_eq!(chosen("application/aicp+toml;version=9.9, */*;q=0.1"), Ok(0));
        assert_eq!(chosen("application/aicp+toml;version=9.9, */*;q=0"), Err(406));
    }
}
