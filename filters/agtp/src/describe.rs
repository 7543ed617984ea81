//! `DESCRIBE`: the hosted agent's identity, or the server's capabilities.

use http::HeaderName;
use serde_json::{Map, Value, json};

use super::{
    Spoken,
    calling::Calling,
    catalog::FLOOR,
    lifecycle,
    native::is_answered,
    path::Asked,
    response::{AgtpError, AgtpResponse},
};
use frontdesk_config::{Declaration, Settings};
use frontdesk_desk::Desk;

/// The media type of an Agent Identity Document.
const IDENTITY: &str = "application/vnd.agtp.identity+json";
/// A short list of the supported verbs.
pub(super) const SUPPORTED: HeaderName = HeaderName::from_static("supported-methods");
/// The header in which older clients name the addressed agent.
const TARGET_AGENT: HeaderName = HeaderName::from_static("target-agent");
/// The version of the Capability Document.
const VERSION: &str = "1.0";

/// Answers `DESCRIBE`.
pub(super) async fn describe(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    path: &Asked<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    addressed(spoken, calling, path)?;
    let identity = calling.incoming.accept().is_some_and(|accept| accept.contains("identity"));
    if identity || given.is_empty() {
        let status = lifecycle::status(spoken, desk).await?;
        let mut document = spoken.identity.clone();
        document["status"] = status.word().into();
        return Ok(AgtpResponse::text(200, IDENTITY, document.to_string()).with(SUPPORTED, spoken.supported.clone()));
    }
    Ok(AgtpResponse::json(200, &capabilities(spoken, given)?))
}

/// Checks that the request is about the agent hosted here.
fn addressed(spoken: &Spoken, calling: &Calling<'_>, path: &Asked<'_>) -> Result<(), AgtpError> {
    let target = calling.incoming.headers.get(TARGET_AGENT).and_then(|target| target.to_str().ok());
    let named = path.segments.get(1).map(|segment| &**segment).or(target);
    let is_it = |named: &str| match &spoken.hosted {
        Some(hosted) => named == hosted.agent_id || named == hosted.name,
        None => false,
    };
    match named {
        // A name that is no Agent-ID may be any spelling of this server's address.
        Some(named) if !is_it(named) && (path.segments.len() == 2 || super::head::is_canonical(named)) => {
            Err(AgtpError::new(404, "agent-not-found", "No such agent is hosted here. DISCOVER /agents lists them."))
        }
        _ => Ok(()),
    }
}

/// Every verb that gets an answer here: the supported floor verbs and the endpoints'.
pub(super) fn supported(endpoints: &[std::sync::Arc<super::endpoint::Endpoint>]) -> Vec<&str> {
    let mut methods: Vec<&str> = FLOOR.into_iter().filter(|name| is_answered(name)).collect();
    methods.extend(endpoints.iter().map(|endpoint| endpoint.method.as_str()));
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// The Agent Identity Document without the agent's status.
pub(super) fn identity(declaration: &Declaration, spoken: &Spoken) -> Value {
    let settings = &declaration.settings;
    let endpoints = spoken.routes.all();
    let mut methods: Vec<&str> = endpoints.iter().map(|endpoint| endpoint.method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    let scopes = scopes(settings);
    let hosted = spoken.hosted.as_ref();
    let owner = hosted.and_then(|hosted| hosted.owner.as_ref());
    let principal = settings.site.operator.as_ref().or(settings.site.name.as_ref());
    json!({
        "agent_id": hosted.map(|hosted| &hosted.agent_id),
        "name": hosted.map_or(&spoken.server_id, |hosted| &hosted.name),
        "principal": hosted.and_then(|hosted| hosted.principal.as_ref()).or(principal).unwrap_or(&spoken.server_id),
        "principal_id": hosted.and_then(|hosted| hosted.principal_id.as_ref().or(owner)).unwrap_or(&spoken.server_id),
        "description": hosted.and_then(|hosted| hosted.description.as_ref()).or(settings.site.description.as_ref()),
        "skills": endpoints.iter().map(|endpoint| &endpoint.description).collect::<Vec<_>>(),
        "requires": { "methods": methods, "scopes": scopes, "wildcards": false },
        "scopes_accepted": scopes,
        "issued_at": hosted.and_then(|hosted| hosted.issued_at.as_ref()),
        "issuer": hosted.and_then(|hosted| hosted.issuer.as_ref()).or(owner).unwrap_or(&spoken.server_id),
        "trust_tier": hosted.map_or(2, |hosted| hosted.tier),
        "verification_path": hosted.map_or("org-asserted", |hosted| hosted.path),
    })
}

fn scopes(settings: &Settings) -> Vec<&String> {
    let mut scopes: Vec<&String> = settings.offered().flat_map(|(_, capability)| &capability.required_scopes).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// The Capability Document, of the requested parts or in full.
fn capabilities(spoken: &Spoken, asked: &Map<String, Value>) -> Result<Value, AgtpError> {
    let endpoints = spoken.routes.all();
    let methods = supported(endpoints);
    let tools = endpoints.iter().map(|endpoint| json!({ "name": format!("{} {}", endpoint.method, endpoint.path) }));
    let all = json!({
        "methods": methods,
        "modalities": ["text"],
        "tools": tools.collect::<Vec<_>>(),
        "version": VERSION,
        "trust_score": null,
        "budget_units_accepted": [],
        "zones_accepted": [],
    });
    let wanted: Vec<&str> = match asked.get("capability_domains") {
        None => Vec::new(),
        Some(Value::Array(domains)) => domains.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(domains)) => domains.split(',').map(str::trim).collect(),
        Some(_) => {
            let message = "capability_domains has to be a list: methods, modalities, tools, version, budget, zones.";
            return Err(AgtpError::new(422, "schema-validation-failed", message));
        }
    };
    let mut told = Map::new();
    for (domain, member) in [
        ("methods", "methods"),
        ("modalities", "modalities"),
        ("tools", "tools"),
        ("version", "version"),
        ("trust", "trust_score"),
        ("budget", "budget_units_accepted"),
        ("zones", "zones_accepted"),
    ] {
        if wanted.is_empty() || wanted.contains(&domain) {
            told.insert(member.to_owned(), all[member].clone());
        }
    }
    if told.is_empty() {
        let message = "None of capability_domains is known: methods, modalities, tools, version, trust, budget, zones.";
        return Err(AgtpError::new(404, "not-found", message));
    }
    if let Some(least) = asked.get("version_min").and_then(Value::as_str) {
        told.insert("version_min_satisfied".into(), (numbers(least) <= numbers(VERSION)).into());
    }
    Ok(told.into())
}

/// A version in a comparable form.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("0.9") <= numbers(VERSION) && numbers("1.0") <= numbers(VERSION));
        assert!(
            numbers("1.1") > numbers(VERSION) && numbers("10") > numbers(VERSION) && numbers("x") > numbers(VERSION)
        );
    }
}
