//! A capability as AGTP exposes it: verb and path, meaning, input and output (AGTP-API §6, §7). Prepared once per
//! snapshot.

use std::sync::Arc;

use http::HeaderValue;
use serde_json::{Map, Value, json};

use super::{
    catalog::Catalog,
    error::{COMPOSITION_FAILED, UPSTREAM},
    inputs::{Inputs, SCHEMA, input_schema},
    name,
    template::Template,
};
use frontdesk_config::{Capability, CapabilityKind, DeprecatedEndpoint, Settings};
use frontdesk_desk::{Called, Prepared, Violation};

/// The target behind an endpoint.
#[derive(Debug, Clone)]
pub(super) enum Behind {
    /// A declared capability, by its index.
    Declared(usize),
    /// A composition made at run time.
    Composed(Arc<Prepared>),
}

/// A verb on a path.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) behind: Behind,
    pub(super) method: String,
    /// The path as declared.
    pub(super) path: String,
    pub(super) template: Template,
    pub(super) description: String,
    /// It changes something.
    pub(super) acts: bool,
    /// Calls need an Agent-ID.
    pub(super) needs_agent: bool,
    inputs: Inputs,
    /// The members that the described output requires.
    promises: Vec<String>,
    /// Its entry in the manifest (§8.9).
    pub(super) definition: Value,
    /// The deprecation warning on every answer (§6.5).
    pub(super) warning: Option<HeaderValue>,
}

impl Endpoint {
    /// The endpoint of a capability. Verb and path were checked at load.
    pub(super) fn new(
        behind: Behind,
        capability: &Capability,
        (method, path): (&str, &str),
        template: Template,
        catalog: &Catalog,
    ) -> Self {
        let input = input_schema(capability, &template);
        let inputs = Inputs::new(&input);
        let output = output_schema(capability);
        let promised = output["required"].as_array().into_iter().flatten();
        let promises = promised.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let description = description(capability);
        let own = &capability.agtp;
        let mut definition = json!({
            "method": method,
            "path": path,
            "description": description,
            "semantic": semantic(capability, method, catalog),
            "input_schema": input,
            "output_schema": output,
            "errors": errors(capability),
            "handler": { "type": handler(capability) },
        });
        if let Some(namespace) = &own.namespace {
            definition["namespace"] = namespace.as_str().into();
        }
        if !capability.required_scopes.is_empty() {
            definition["required_scopes"] = capability.required_scopes.clone().into();
        }
        if let Some(deprecated) = &own.deprecated {
            definition["deprecated"] = deprecation(deprecated);
        }
        Self {
            behind,
            method: method.to_owned(),
            path: path.to_owned(),
            template,
            description,
            acts: acts(capability),
            // A key's record belongs to an agent.
            needs_agent: capability.auth.as_deref() != Some("none") || capability.idempotency_required,
            inputs,
            promises,
            definition,
            warning: own.deprecated.as_ref().and_then(|gone| HeaderValue::try_from(warning(gone)).ok()),
        }
    }

    /// The capability behind it; `None` where it no longer exists.
    pub(super) fn capability<'a>(&'a self, settings: &'a Settings) -> Option<&'a Capability> {
        match &self.behind {
            Behind::Declared(index) => settings.capability(*index),
            Behind::Composed(prepared) => Some(prepared.capability()),
        }
    }

    /// The same, in the desk's form.
    pub(super) fn called(&self) -> Called<'_> {
        match &self.behind {
            Behind::Declared(index) => Called::Declared(*index),
            Behind::Composed(prepared) => Called::Composed(prepared),
        }
    }

    /// Whether it has an input of this name.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.inputs.has(name)
    }

    /// The unknown inputs.
    pub(super) fn strange(&self, input: &Map<String, Value>) -> Vec<Violation> {
        let strange = input.keys().filter(|name| !self.takes(name)).take(20);
        strange.map(|name| Violation::of(name, "There is no such input.")).collect()
    }

    /// Whether its output has required members.
    pub(super) fn promises_anything(&self) -> bool {
        !self.promises.is_empty()
    }

    /// The first required member that an answer lacks.
    pub(super) fn lacking(&self, data: &Value) -> Option<&str> {
        self.promises.iter().map(String::as_str).find(|name| data.get(name).is_none())
    }
}

/// Whether a call of it counts as an action.
pub(super) fn acts(capability: &Capability) -> bool {
    capability.kind.is_action()
}

fn description(capability: &Capability) -> String {
    capability.description.clone().unwrap_or_else(|| format!("Calls {}.", capability.id))
}

/// The kind of handler, one of three (§12).
fn handler(capability: &Capability) -> &'static str {
    let call = capability.upstream.as_ref();
    if call.is_some_and(|call| call.recipe.is_some()) {
        "composition"
    } else if capability.built_in.is_some()
        || call.is_some_and(|call| call.desk)
        || call.is_none() && capability.kind == CapabilityKind::Policy
    {
        "registered_function"
    } else {
        "external_service"
    }
}

/// The possible errors (§6.4, §12.1, §12.3).
fn errors(capability: &Capability) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !errors.iter().any(|there| there == name) {
            errors.push(name.to_owned());
        }
    };
    for (_, name) in capability.upstream.iter().flat_map(|call| &call.errors) {
        add(name);
    }
    match handler(capability) {
        "composition" => add(COMPOSITION_FAILED),
        "external_service" => UPSTREAM.iter().for_each(|name| add(name)),
        _ => {}
    }
    errors
}

/// The seven semantic fields (§7.1): as declared, else derived from type, risk and text.
fn semantic(capability: &Capability, method: &str, catalog: &Catalog) -> Value {
    use CapabilityKind::{
        CommitAction, Compare, DestructiveAction, Event, Monitor, Policy, PrepareAction, Query, Resource,
    };
    let own = &capability.agtp;
    let (outcome, category, impact) = match capability.kind {
        Resource | Policy => ("What was asked for is returned.", "retrieval", "informational"),
        Query => ("What matches is returned.", "discovery", "informational"),
        Compare => ("What was compared is returned side by side.", "analysis", "informational"),
        Monitor | Event => ("What changes from now on is told.", "notification", "reversible"),
        PrepareAction => ("It is prepared, and nothing is final yet.", "transaction", "reversible"),
        CommitAction => ("It is done.", "transaction", "irreversible"),
        DestructiveAction => ("What was named is gone.", "modification", "irreversible"),
    };
    let named = catalog.verb(method).and_then(|verb| verb.categories.first()).map(String::as_str);
    let repeatable = capability.upstream.as_ref().is_some_and(|call| call.idempotent);
    json!({
        "intent": own.intent.clone().unwrap_or_else(|| description(capability)),
        "actor": own.actor.as_deref().unwrap_or("agent"),
        "outcome": own.outcome.as_deref().unwrap_or(outcome),
        "capability": own.category.as_deref().or(named).unwrap_or(category),
        "confidence": own.confidence.unwrap_or(if capability.kind.is_read() { 0.9 } else { 0.8 }),
        "impact": own.impact.as_deref().unwrap_or(impact),
        "is_idempotent": own.is_idempotent.unwrap_or(capability.kind.is_read() || repeatable),
    })
}

/// The declared output schema; any object where there is none.
fn output_schema(capability: &Capability) -> Value {
    let mut schema = match &capability.output_schema {
        Some(Value::Object(schema)) => schema.clone(),
        _ => Map::from_iter([("type".to_owned(), "object".into()), ("additionalProperties".to_owned(), true.into())]),
    };
    schema.insert("$schema".into(), SCHEMA.into());
    Value::Object(schema)
}

fn deprecation(gone: &DeprecatedEndpoint) -> Value {
    let mut successor = Map::new();
    for (name, value) in [("method", &gone.method), ("path", &gone.path)] {
        if let Some(value) = value {
            successor.insert(name.into(), value.as_str().into());
        }
    }
    let mut block = Map::new();
    for (name, value) in [("deprecated_in", &gone.deprecated_in), ("removed_in", &gone.removed_in)] {
        if let Some(value) = value {
            block.insert(name.into(), value.as_str().into());
        }
    }
    if !successor.is_empty() {
        block.insert("successor".into(), successor.into());
    }
    block.into()
}

/// `AGTP-Endpoint-Warning` (§6.5).
fn warning(gone: &DeprecatedEndpoint) -> String {
    let mut warning = "deprecated".to_owned();
    let successor: Vec<&str> = gone.method.iter().chain(&gone.path).map(String::as_str).collect();
    if !successor.is_empty() {
        warning.push_str(&format!("; successor={}", successor.join(" ")));
    }
    if let Some(removed_in) = &gone.removed_in {
        warning.push_str(&format!("; removed_in={removed_in}"));
    }
    warning
}

/// The endpoint of a capability; `None` where its verb is removed.
pub(super) fn endpoint_of(index: usize, capability: &Capability, catalog: &Catalog) -> Option<Endpoint> {
    let method = name::method_of(capability.kind, capability.agtp.method.as_deref());
    if catalog.is_removed(method) {
        return None;
    }
    let path = name::path_of(&capability.id, capability.agtp.path.as_deref(), catalog);
    let template = Template::parse(&path, catalog).ok()?;
    Some(Endpoint::new(Behind::Declared(index), capability, (method, &path), template, catalog))
}
