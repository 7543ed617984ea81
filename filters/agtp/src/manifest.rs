//! The server manifest (AGTP-API §8): endpoints and policies, signed where there is a key.

use std::{collections::VecDeque, sync::LazyLock};

use http::HeaderValue;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{
    attribution::server_id,
    catalog::{Catalog, FLOOR},
    endpoint::Endpoint,
    policy::Policy,
};
use frontdesk_base::etag;
use frontdesk_config::Declaration;
use frontdesk_desk::{records, rfc3339};
use frontdesk_dialects::{ahp, cache_control, openapi};

/// Its media type (§17.2).
pub(super) const TYPE: &str = "application/vnd.agtp.manifest+json";
/// The version of the wire protocol and of the contract layer.
pub(super) const VERSION: &str = "1.0";

/// The start of the process, since the declaration carries no date.
static STARTED: LazyLock<String> = LazyLock::new(|| rfc3339(std::time::SystemTime::now()));

/// The latest versions and when each was first rendered, so that a reload of the same content keeps its date. Outlives
/// a reload.
static UPDATED: Mutex<VecDeque<(String, String)>> = Mutex::new(VecDeque::new());
/// Maximum versions that are remembered.
const MOST_KNOWN: usize = 16;

/// The parts of the manifest that contracts do not change.
#[derive(Debug)]
pub(super) struct Manifest {
    base: Map<String, Value>,
    pub(super) cache_control: HeaderValue,
}

/// One rendering of the manifest.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    pub(super) body: bytes::Bytes,
    pub(super) etag: HeaderValue,
}

impl Manifest {
    /// Everything but the endpoints.
    pub(super) fn new(declaration: &Declaration, catalog: &Catalog, policy: &Policy, hosted: Vec<Value>) -> Self {
        let settings = &declaration.settings;
        let (agtp, site) = (&settings.agtp, &settings.site);
        let rules = &agtp.policies;
        let server_id = server_id(&declaration.settings);
        let mut features = vec!["endpoint-registry", "attribution"];
        if rules.synthesis_enabled {
            features.push("synthesis");
        }
        if rules.rcns.enabled && rules.synthesis_enabled {
            features.push("rcns");
        }
        let mut policies = json!({
            "wildcards_accepted": rules.wildcards_accepted,
            "anonymous_discovery": rules.anonymous_discovery,
            "scope_required_for_invocation": rules.scope_required_for_invocation,
            "synthesis_enabled": rules.synthesis_enabled,
            "max_synthesis_depth": rules.max_synthesis_depth,
        });
        policies["methods"] = policy.manifest().clone();
        let embedded: Vec<Value> = FLOOR.iter().map(|name| embedded(name)).collect();
        let base = json!({
            "agtp_version": VERSION,
            "agtp_api_version": VERSION,
            "catalog_version": catalog.version,
            "catalog_versions_supported": [catalog.version],
            "server": {
                "server_id": server_id,
                "domain": domain(declaration),
                "operator": site.operator.as_ref().or(site.name.as_ref()),
                "contact": site.contact,
                "supported_features": features,
                "issued": STARTED.as_str(),
            },
            "embedded_methods": embedded,
            "custom_methods": policy.custom(),
            "agent_disclosure": "public",
            "hosted_agents": hosted,
            "agent_disclosure_notice": null,
            "apis": apis(declaration),
            "hosted_protocols": hosted_protocols(declaration),
            "policies": policies,
        });
        let base = match base {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Self { base, cache_control: cache_control(declaration) }
    }

    /// The whole document; `sign` makes its `manifest_signature`, where there is a key.
    pub(super) fn render<'e>(
        &self,
        endpoints: impl Iterator<Item = &'e Endpoint>,
        builtins: Vec<Value>,
        sign: impl FnOnce(&Value) -> Value,
    ) -> Rendered {
        let mut document = self.base.clone();
        let endpoints = builtins.into_iter().chain(endpoints.map(|endpoint| endpoint.definition.clone()));
        document.insert("endpoints".into(), endpoints.collect::<Vec<Value>>().into());
        // The version depends on the content and not on the date.
        let mut timeless = document.clone();
        if let Some(server) = timeless.get_mut("server").and_then(Value::as_object_mut) {
            server.remove("issued");
        }
        let version = records::fingerprint(&[Value::Object(timeless).to_string().as_bytes()]);
        document.insert("document_version".into(), version[..16].into());
        let mut document = Value::Object(document);
        document["server"]["updated"] = updated(&version).into();
        document["manifest_signature"] = sign(&document);
        let body = bytes::Bytes::from(document.to_string());
        Rendered { etag: etag::strong(&body), body }
    }
}

/// When a version was first rendered.
fn updated(version: &str) -> String {
    let mut known = UPDATED.lock();
    if let Some((_, at)) = known.iter().find(|(known, _)| known == version) {
        return at.clone();
    }
    let at = rfc3339(std::time::SystemTime::now());
    known.truncate(MOST_KNOWN - 1);
    known.push_front((version.to_owned(), at.clone()));
    at
}

/// The document at [`super::BOOTSTRAP`], which tells HTTP clients where AGTP is served.
pub(super) fn bootstrap(declaration: &Declaration) -> Value {
    let settings = &declaration.settings;
    let host = domain(declaration);
    let endpoint = settings.listen.agtp.map(|address| {
        let host = host.clone().unwrap_or_else(|| address.ip().to_string());
        format!("agtp://{host}:{}", address.port())
    });
    json!({
        "agtp_version": VERSION,
        "agtp_api_version": VERSION,
        "endpoint": endpoint,
        "namespace_root": host.as_ref().map(|host| format!("agtp://{host}")),
        "verification": { "dns_anchor": null, "log_anchor": null },
        "issuer": server_id(&declaration.settings),
        "discovery": { "manifest": "DISCOVER /", "well_known_updated_at": null },
    })
}

fn domain(declaration: &Declaration) -> Option<String> {
    let origin = declaration.settings.site.origin.as_deref()?;
    url::Url::parse(origin).ok()?.host_str().map(str::to_owned)
}

/// A floor verb in the form that clients read: by its name.
fn embedded(name: &str) -> Value {
    let group = match FLOOR.iter().position(|floor| *floor == name) {
        Some(0..7) => "cognitive",
        Some(7..13) => "mechanics",
        _ => "lifecycle",
    };
    let idempotent = !matches!(name, "PROPOSE" | "EXECUTE" | "DELEGATE" | "SUSPEND" | "NOTIFY");
    let modifies = !matches!(name, "QUERY" | "DISCOVER" | "DESCRIBE" | "INSPECT" | "SUMMARIZE" | "PLAN");
    json!({ "name": name, "group": group, "idempotent": idempotent, "state_modifying": modifies })
}

/// The APIs over HTTP (§8.6).
pub(super) fn apis(declaration: &Declaration) -> Vec<Value> {
    let base = declaration.settings.site.origin.as_deref().map(|origin| origin.trim_end_matches('/'));
    let nothing = frontdesk_dialects::Occupied::default();
    let path = openapi::published::path(declaration, &nothing);
    let name = declaration.settings.site.name.as_deref().unwrap_or("The site");
    let mut api = json!({ "name": format!("{name} over HTTP"), "description": "The same capabilities as operations of an OpenAPI document." });
    if let Some(base) = base {
        api["base_url"] = base.into();
    }
    path.map(|path| {
        api["openapi"] = format!("{}{path}", base.unwrap_or_default()).into();
        api
    })
    .into_iter()
    .collect()
}

/// The other protocols for the same capabilities (§8.6).
fn hosted_protocols(declaration: &Declaration) -> Vec<Value> {
    let paths = &declaration.settings.paths;
    vec![
        json!({ "name": "AHP", "http": ahp::MANIFEST }),
        json!({ "name": "AICP", "http": frontdesk_dialects::aicp::CONTRACT }),
        json!({ "name": "MCP", "http": paths.mcp.path }),
    ]
}
