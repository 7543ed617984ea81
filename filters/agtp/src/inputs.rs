//! The input of an endpoint (AGTP-API §6.4): its schema, and the input names in it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::template::Template;
use frontdesk_config::{BuiltIn, Capability};
use frontdesk_desk::{Referred, Schema};

/// The dialect of JSON Schema (§6.4).
pub(super) const SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// The known inputs; others are refused (§13.3).
#[derive(Debug)]
pub(super) struct Inputs {
    names: BTreeSet<String>,
    /// The schema of other input names, where it allows any.
    like: Option<Schema>,
}

impl Inputs {
    /// The inputs in a schema.
    pub(super) fn new(schema: &Value) -> Self {
        let members = |key: &str| schema.get(key).and_then(Value::as_object).filter(|members| !members.is_empty());
        let names = members("properties").map(|members| members.keys().cloned().collect());
        let like = members("patternProperties").and_then(|patterns| {
            let any: Map<String, Value> = patterns.keys().map(|pattern| (pattern.clone(), true.into())).collect();
            let named = json!({ "patternProperties": any, "additionalProperties": false });
            // An invalid schema was reported by the configuration check.
            Schema::compile(&named, &Referred::new(Map::new(), None)).ok()
        });
        Self { names: names.unwrap_or_default(), like }
    }

    /// Whether there is an input of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        let looks_right = |like: &Schema| like.check(&json!({ name: null })).is_ok();
        self.names.contains(name) || self.like.as_ref().is_some_and(looks_right)
    }
}

/// The published input schema (§6.4): an object with only the described members. Members of composed schemas are
/// gathered at the top; the original schema validates the input.
pub(super) fn input_schema(capability: &Capability, path: &Template) -> Value {
    let mut schema = match (&capability.input_schema, capability.built_in) {
        (Some(Value::Object(schema)), _) => schema.clone(),
        (_, Some(BuiltIn::SiteInfo | BuiltIn::ContentSearch)) => question(),
        _ => Map::new(),
    };
    let gathered = |key: &str| {
        let mut found = Map::new();
        gather(&Value::Object(schema.clone()), key, &mut found, 0);
        found
    };
    let (mut properties, patterns) = (gathered("properties"), gathered("patternProperties"));
    for name in path.names() {
        properties.entry(name.to_owned()).or_insert_with(|| json!({ "type": "string", "minLength": 1 }));
    }
    schema.insert("$schema".into(), SCHEMA.into());
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !patterns.is_empty() {
        schema.insert("patternProperties".into(), patterns.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    Value::Object(schema)
}

/// A question in words.
fn question() -> Map<String, Value> {
    let query = json!({ "type": "string", "minLength": 1, "maxLength": 2000, "description": "What is wanted, in plain words." });
    Map::from_iter([("properties".to_owned(), json!({ "query": query })), ("required".to_owned(), json!(["query"]))])
}

/// Gathers the members of an object, or its name patterns, across composed schemas.
fn gather(schema: &Value, members: &str, found: &mut Map<String, Value>, depth: usize) {
    if depth > 8 {
        return;
    }
    for (name, member) in schema.get(members).and_then(Value::as_object).into_iter().flatten() {
        // Members of composed parts get no description here; their own schema validates them.
        let member = if depth == 0 { member.clone() } else { Value::Object(Map::new()) };
        found.entry(name.clone()).or_insert(member);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            gather(part, members, found, depth + 1);
        }
    }
    for key in ["if", "then", "else"] {
        schema.get(key).into_iter().for_each(|part| gather(part, members, found, depth + 1));
    }
    if let Some(part) = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix("#/$defs/"))
        && let Some(part) = schema.get("$defs").and_then(|defs| defs.get(part))
    {
        gather(part, members, found, depth + 1);
    }
}
