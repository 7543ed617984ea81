//! The Agent Interaction Contract (AICP 0.1 §5 and §6): so far its publication and its negotiation.

mod contract;
mod toml;

use http::StatusCode;

use super::{Announcement, Dialect, Document, Occupied, Publication, Variant, json};
use crate::{accept, endpoint::Endpoint, problem, reply::Reply, site::Declaration};

/// Where the contract is, as TOML (AICP §6.1).
pub const CONTRACT: &str = "/.well-known/agent-interface.toml";
/// Where it is in the representation asked for (AICP §6.2).
pub const NEGOTIATED: &str = "/.well-known/agent-interface";
/// Where the TOML is when the site has a document of its own there.
const MOVED: &str = "/.well-known/aicp.toml";

const TOML: &str = "application/aicp+toml";
const JSON: &str = "application/aicp+json";

/// The row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "aicp", publish, explain: problem::reply };

fn publish(declaration: &Declaration, occupied: &Occupied) -> Publication {
    let path = occupied.or_moved(CONTRACT, MOVED).to_owned();
    let contract = contract::published(declaration);
    let versions = contract::versions(&contract);
    let cache_control = super::cache_control(declaration);
    let mut as_json = Vec::new();
    json::node(&mut as_json, &contract);
    let variants =
        vec![Variant::new(TOML, toml::write(&contract), &cache_control), Variant::new(JSON, as_json, &cache_control)];
    let mut documents = Vec::new();
    if !occupied.contains(NEGOTIATED) {
        documents.push(Document {
            path: NEGOTIATED.to_owned(),
            variants: variants.iter().cloned().map(Variant::varying).collect(),
            negotiate: Some(toml_or_json),
            versions: versions.clone(),
        });
    }
    documents.push(Document { path: path.clone(), variants, negotiate: Some(only_toml), versions });
    Publication {
        announcement: Announcement { rel: "agent-interface", legacy_rel: None, media_type: TOML, path },
        documents,
        endpoints: endpoints(declaration),
    }
}

/// Where the capabilities said they are called (AICP §5.5).
fn endpoints(declaration: &Declaration) -> Vec<Endpoint> {
    let exposed = declaration.settings.capabilities.iter().filter(|c| c.exposed);
    exposed
        .filter_map(|c| {
            let method = c.method.as_deref().unwrap_or("POST").parse().ok()?;
            Some(Endpoint::call(c.endpoint.as_deref()?, method, c.kind.is_action(), problem::reply))
        })
        .collect()
}

/// The address ends in `.toml`: TOML it is, unless only versions are asked for that there are none of.
fn only_toml(accept: Option<&str>, document: &Document) -> Result<usize, Reply> {
    toml_or_json(accept, document).map(|_| 0)
}

/// TOML is the canonical representation and the default; JSON for whoever prefers it (AICP §5.3).
fn toml_or_json(accept: Option<&str>, document: &Document) -> Result<usize, Reply> {
    let Some(accept) = accept else { return Ok(0) };
    let mut best = (0u16, 0usize);
    let mut refused = None;
    for member in accept::members(accept).filter(|m| m.weight > 0) {
        let variant = match member.media.to_ascii_lowercase().as_str() {
            TOML | "application/toml" => 0,
            JSON | "application/json" => 1,
            _ => continue,
        };
        match member.parameter("version") {
            Some(version) if !document.versions.iter().any(|v| v == version) => refused = Some(version),
            _ if member.weight > best.0 => best = (member.weight, variant),
            _ => {}
        }
    }
    match refused {
        Some(version) if best.0 == 0 && accept::members(accept).all(|m| m.media != "*/*") => {
            Err(unsupported(version, &document.versions))
        }
        _ => Ok(best.1),
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
    }

    #[test]
    fn an_unknown_version_is_refused_unless_something_else_will_do() {
        assert_eq!(chosen("application/aicp+toml;version=9.9"), Err(406));
        assert_eq!(chosen("application/aicp+toml; version=\"9.9\", application/aicp+json;version=9.8"), Err(406));
        assert_eq!(chosen("application/aicp+toml;version=9.9, application/aicp+json"), Ok(1));
        assert_eq!(chosen("application/aicp+toml;version=9.9, */*;q=0.1"), Ok(0));
    }
}
