//! `DISCOVER`: the manifest, and the server's lists (AGTP-API §5.8, §8.10).

use std::sync::Arc;

use http::{HeaderName, HeaderValue, header};
use serde_json::{Map, Value, json};

use super::{
    Spoken,
    calling::Calling,
    describe::SUPPORTED,
    endpoint::Endpoint,
    error,
    genesis::Hosted,
    lifecycle,
    manifest::{TYPE, VERSION, apis},
    native::RESERVED,
    path::Asked,
    response::{AgtpError, AgtpResponse, JSON},
    warning::ENDPOINT_WARNING,
};
use frontdesk_base::{
    etag,
    fault::{Fault, Refusal},
};
use frontdesk_config::Declaration;
use frontdesk_desk::{Desk, Referred, Schema};

/// The version of the contract layer (§17.4).
pub(super) const API_VERSION: HeaderName = HeaderName::from_static("agtp-api-version");

/// The static lists, rendered once, and their input schemas.
#[derive(Debug)]
pub(super) struct Lists {
    apis: String,
    directory: String,
    /// The schemas of the root and of a list.
    inputs: [Option<Schema>; 2],
}

impl Lists {
    pub(super) fn new(declaration: &Declaration) -> Self {
        let reserved = RESERVED.iter().map(|name| json!({ "path": format!("/{name}"), "tier": "A" }));
        let directory = json!({ "directory": reserved.collect::<Vec<_>>() });
        let inputs =
            ["/", "/methods"].map(|path| Schema::compile(&input_schema(path), &Referred::new(Map::new(), None)).ok());
        Self { apis: Value::from(apis(declaration)).to_string(), directory: directory.to_string(), inputs }
    }

    /// The request's parameters, validated against the published schema (§13.3).
    fn given(&self, calling: &Calling<'_>, is_root: bool) -> Result<Map<String, Value>, AgtpError> {
        let schema = self.inputs[usize::from(!is_root)].as_ref();
        let read = |name: &str, text: String| match schema {
            Some(schema) => schema.read(name, vec![text]),
            None => text.into(),
        };
        let members = Value::Object(calling.given_as(read)?.members);
        if let Some(Err(violations)) = schema.map(|schema| schema.check(&members)) {
            return Err(error::wrong(&Refusal { violations, ..Fault::InvalidInput.into() }, None, 455));
        }
        Ok(match members {
            Value::Object(members) => members,
            _ => Map::new(),
        })
    }
}

/// The parameters of `DISCOVER` at a path. The root accepts the floor's form too.
fn input_schema(path: &str) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "agent_id": { "type": "string", "description": "The agent that is addressed." },
            // The deprecated form (§5.10).
            "target": { "type": "string", "description": "The same as the path.", "deprecated": true },
        },
        "additionalProperties": false,
    });
    if path == "/" {
        schema["properties"]["intent"] = json!({ "type": "string" });
        schema["properties"]["max_results"] = json!({ "type": "integer", "minimum": 1 });
        for name in ["criteria", "filter", "context"] {
            schema["properties"][name] = json!({});
        }
    }
    schema
}

/// The hosted agent's entry in lists.
pub(super) fn listed(hosted: &Hosted, endpoints: &[Arc<Endpoint>]) -> Value {
    /// Maximum endpoints in the summary.
    const TOLD: usize = 5;
    let mut listing = hosted.listing();
    listing["methods_count"] = endpoints.len().into();
    let skills: Vec<&str> = endpoints.iter().take(TOLD).map(|endpoint| endpoint.description.as_str()).collect();
    listing["skills_summary"] = hosted.description.clone().unwrap_or_else(|| skills.join(" ")).into();
    listing
}

/// The built-in endpoints, which the manifest lists beside the operator's (§5.8).
pub(super) fn builtins() -> Vec<Value> {
    let described = [
        ("/", "Lists what can be discovered here.", "A directory of paths is returned."),
        ("/methods", "Lists all registered endpoints on this server.", "A list of verbs and paths is returned."),
        ("/agents", "Lists the agents that this server hosts.", "A list of agents is returned."),
        (
            "/genesis",
            "Returns the Genesis of the agent that is addressed.",
            "The Genesis is returned as it was signed.",
        ),
        ("/tools", "Lists the tools of the hosted agent.", "A list of tools is returned."),
        ("/apis", "Lists what is had over HTTP beside this.", "A list of interfaces is returned."),
        ("/patterns", "Lists what would be synthesised here.", "The patterns are returned."),
        ("/contracts", "Lists the contracts that were synthesised for you.", "The contracts are returned."),
    ];
    described
        .iter()
        .map(|(path, description, outcome)| {
            json!({
                "method": "DISCOVER",
                "path": path,
                "description": description,
                "semantic": {
                    "intent": description, "actor": "agent", "outcome": outcome, "capability": "discovery",
                    "confidence": 1.0, "impact": "informational", "is_idempotent": true,
                },
                "input_schema": input_schema(path),
                "output_schema": { "type": ["object", "array"], "additionalProperties": true },
                "errors": [],
                "handler": { "type": "registered_function" },
            })
        })
        .collect()
}

/// Answers `DISCOVER`.
pub(super) async fn discover(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    path: &Asked<'_>,
) -> Result<AgtpResponse, AgtpError> {
    let asked = path.segments.first().map(|segment| &**segment);
    let members = spoken.lists.given(calling, asked.is_none())?;
    let target = members.get("target").and_then(Value::as_str).map(|target| target.trim_start_matches('/'));
    let list = match (asked, target) {
        (Some(asked), Some(target)) if asked != target => {
            let message = "The path and the body's target name different things. Send one of them.";
            return Err(AgtpError::new(400, "target-conflict", message)
                .with("path", calling.path)
                .with("target", target));
        }
        (Some(asked), _) => Some(asked),
        (None, target) => target,
    };
    let mut said = match list {
        None => root(spoken, desk, calling, &members).await,
        Some("methods") => Ok(methods(spoken, desk).await),
        Some("agents") => agents(spoken, path, lifecycle::status(spoken, desk).await?.word()),
        Some("genesis") => genesis(spoken, &members),
        Some("tools") => Ok(tools(spoken)),
        Some("apis") => Ok(AgtpResponse::text(200, JSON, spoken.lists.apis.clone())),
        Some("patterns") => Ok(patterns(spoken, desk)),
        Some("contracts") => spoken.contracts(desk, calling).await,
        Some(other) => {
            let message = format!("There is no such target. Known are {}.", RESERVED.join(", "));
            let other: String = other.chars().take(64).collect();
            Err(AgtpError::new(404, "not-found", message).with("target", other))
        }
    }?;
    if let (None, Some(target)) = (asked, target) {
        // The deprecated form (§5.10).
        let warning = format!("deprecated; successor=DISCOVER /{}", target.split('/').next().unwrap_or_default());
        said.headers.extend(HeaderValue::try_from(warning).ok().map(|warning| (ENDPOINT_WARNING, warning)));
    }
    Ok(said)
}

/// The manifest for a request without Agent-ID, the directory for one with it.
async fn root(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    members: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let wants_manifest = calling.incoming.accept().is_some_and(|accept| accept.contains(TYPE));
    if calling.head.agent.is_some() && !wants_manifest {
        let asks = ["criteria", "filter", "intent", "max_results"].iter().any(|name| members.contains_key(*name));
        let said = match asks {
            true => candidates(spoken),
            false => AgtpResponse::text(200, JSON, spoken.lists.directory.clone()),
        };
        return Ok(said.with(SUPPORTED, spoken.supported.clone()));
    }
    let rendered = spoken.manifest(desk).await;
    let said = match etag::matches(calling.incoming.headers, &rendered.etag) && calling.incoming.framed.is_none() {
        true => AgtpResponse { status: 304, ..AgtpResponse::nothing() },
        false => AgtpResponse::text(200, TYPE, rendered.body),
    };
    let said = said.with(SUPPORTED, spoken.supported.clone());
    let said =
        said.with(header::ETAG, rendered.etag).with(header::CACHE_CONTROL, spoken.manifest.cache_control.clone());
    Ok(said.with(API_VERSION, HeaderValue::from_static(VERSION)))
}

/// The floor's form of discovery: matching agents. This server hosts one at most.
fn candidates(spoken: &Spoken) -> AgtpResponse {
    let listed = spoken.hosted.iter().map(|hosted| {
        let listing = listed(hosted, spoken.routes.all());
        json!({
            "agent_id": listing["agent_id"], "name": listing["name"], "description": listing["skills_summary"],
            "principal": listing["owner_id"], "score": 1.0,
        })
    });
    AgtpResponse::json(200, &json!({ "results": listed.collect::<Vec<_>>() }))
}

/// A summary of every endpoint (§5.8).
async fn methods(spoken: &Spoken, desk: &Desk<'_>) -> AgtpResponse {
    let short = |value: &Value, tier: &str| json!({ "method": value["method"], "path": value["path"], "description": value["description"], "tier": tier });
    let mut all: Vec<Value> = spoken.routes.all().iter().map(|endpoint| short(&endpoint.definition, "B")).collect();
    // If the published contracts cannot be read, use the last known ones.
    let published = spoken.published(desk).await.unwrap_or_else(|_| spoken.last_published());
    all.extend(published.iter().flat_map(|published| published.endpoints().map(|it| short(&it.definition, "C"))));
    all.extend(builtins().iter().map(|builtin| short(builtin, "A")));
    AgtpResponse::json(200, &all.into())
}

fn agents(spoken: &Spoken, path: &Asked<'_>, status: &str) -> Result<AgtpResponse, AgtpError> {
    let listed = |hosted| {
        let mut listed = listed(hosted, spoken.routes.all());
        listed["status"] = status.into();
        listed
    };
    let all: Vec<Value> = spoken.hosted.iter().map(listed).collect();
    match path.segments.get(1) {
        None => Ok(AgtpResponse::json(200, &all.into())),
        Some(wanted) => {
            let is_it = |agent: &&Value| agent["name"] == **wanted || agent["agent_id"] == **wanted;
            let found = all.iter().find(is_it).map(|agent| AgtpResponse::json(200, agent));
            found.ok_or_else(|| {
                AgtpError::new(404, "not-found", "No such agent is hosted here. DISCOVER /agents lists them.")
            })
        }
    }
}

/// The signed Genesis of the addressed agent (§5.8.1).
fn genesis(spoken: &Spoken, members: &Map<String, Value>) -> Result<AgtpResponse, AgtpError> {
    let wanted = members.get("agent_id").and_then(Value::as_str);
    let hosted = spoken.hosted.as_ref().filter(|hosted| wanted.is_none_or(|wanted| wanted == hosted.agent_id));
    let hosted = hosted.ok_or_else(|| AgtpError::new(404, "not-found", "No Genesis is loaded for such an agent."))?;
    Ok(AgtpResponse::text(200, JSON, hosted.document.clone()))
}

fn tools(spoken: &Spoken) -> AgtpResponse {
    let owner = spoken.hosted.as_ref().map(|hosted| &hosted.agent_id);
    let tool = |endpoint: &std::sync::Arc<super::endpoint::Endpoint>| {
        let mut tool = json!({
            "name": format!("{} {}", endpoint.method, endpoint.path), "description": endpoint.description,
            "inputSchema": endpoint.definition["input_schema"],
        });
        if let Some(owner) = owner {
            tool["agent_id"] = owner.as_str().into();
        }
        tool
    };
    AgtpResponse::json(200, &spoken.routes.all().iter().map(tool).collect::<Vec<_>>().into())
}

/// What could be synthesised (§5.8.6); empty where nothing could.
fn patterns(_: &Spoken, desk: &Desk<'_>) -> AgtpResponse {
    let agtp = &desk.compiled.settings.agtp;
    let pattern = |recipe: &frontdesk_config::Recipe| {
        let (method, path) = (recipe.method.as_ref()?, recipe.path.as_ref()?);
        let mut pattern = json!({
            "recipe_name": recipe.name, "recipe_version": recipe.version, "method": method,
        });
        match path.contains('{') {
            true => pattern["path_regex"] = path_regex(path).into(),
            false => pattern["path_exact"] = path.as_str().into(),
        }
        if let Some(description) = &recipe.description {
            pattern["description"] = description.as_str().into();
        }
        Some(pattern)
    };
    let patterns: Vec<Value> = agtp.recipes.iter().filter_map(pattern).collect();
    let enabled = agtp.policies.rcns.enabled && agtp.policies.synthesis_enabled;
    AgtpResponse::json(200, &json!({ "rcns_enabled": enabled, "patterns": patterns }))
}

/// A path with placeholders as a regular expression, for clients that match paths themselves.
fn path_regex(path: &str) -> String {
    let segment = |segment: &str| match segment.starts_with('{') {
        true => "[^/]+".to_owned(),
        false => regex::escape(segment),
    };
    format!("^{}$", path.split('/').map(segment).collect::<Vec<_>>().join("/"))
}
