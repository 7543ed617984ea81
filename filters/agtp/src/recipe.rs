//! A recipe as an endpoint that is not declared (AGTP-API §12.1): its inputs are those that its steps use, and all
//! other properties are as strict as the strictest step's.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    catalog::Catalog,
    endpoint::{Behind, Endpoint},
    source::Captured,
    template::Template,
};
use frontdesk_config::{Capability, Recipe, Settings};
use frontdesk_desk::{Pattern, Prepared, Referred, Schema, records};

/// The endpoint of a recipe with a verb and a path; `None` where it has none, or cannot be carried out at present.
pub(super) fn endpoint(recipe: &Recipe, settings: &Settings, catalog: &Catalog) -> Option<Endpoint> {
    let (method, path) = (recipe.method.as_deref()?, recipe.path.as_deref()?);
    if catalog.is_removed(method) {
        return None;
    }
    let template = Template::parse(path, catalog).ok()?;
    let inputs = inputs(recipe, settings);
    // The id covers the content, so another version has idempotency records of its own.
    let text = serde_json::to_vec(&Captured::from(recipe)).unwrap_or_default();
    let digest = records::fingerprint(&[&text]);
    let id = format!("recipe:{}@{}:{}", recipe.name, recipe.version, &digest[..16]);
    let own = Capability {
        input: Schema::compile(&inputs, &Referred::new(Map::new(), None)).ok().map(Arc::new),
        input_schema: Some(inputs),
        ..Capability::of_recipe(id, recipe)
    };
    let prepared = Arc::new(Prepared::composed(own, recipe, settings).ok()?);
    let behind = Behind::Composed(prepared.clone());
    Some(Endpoint::new(behind, prepared.capability(), (method, path), template, catalog))
}

/// The inputs that the steps use. An input that is passed on unchanged has the step's schema; one that a step requires
/// is required here.
fn inputs(recipe: &Recipe, settings: &Settings) -> Value {
    let (mut properties, mut required) = (Map::new(), BTreeSet::new());
    for step in &recipe.steps {
        let called = settings.capabilities.iter().find(|capability| capability.id == step.capability);
        let schema = called.and_then(|capability| capability.input_schema.as_ref());
        let needed = |member: &str| {
            let all = schema.and_then(|schema| schema["required"].as_array());
            all.is_some_and(|all| all.iter().any(|name| name == member))
        };
        for (member, value) in step.input.as_object().into_iter().flatten() {
            let Pattern::Reference(reference) = Pattern::compile(value) else { continue };
            let (true, [name]) = (reference.root() == "input", reference.way()) else { continue };
            let described = schema.and_then(|schema| schema["properties"].get(member)).filter(|it| stands_alone(it));
            properties.entry(name.clone()).or_insert_with(|| described.cloned().unwrap_or_else(|| json!({})));
            if needed(member) {
                required.insert(name.clone());
            }
        }
        for reference in Pattern::compile(&step.input).references() {
            if let ("input", Some(name)) = (reference.root(), reference.way().first()) {
                properties.entry(name.clone()).or_insert_with(|| json!({}));
            }
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Whether a schema has the same meaning outside its document.
fn stands_alone(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => !members.contains_key("$ref") && members.values().all(stands_alone),
        Value::Array(items) => items.iter().all(stands_alone),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SHOP: &str = r#"
[upstream]
url = "http://127.0.0.1:1"
[agtp]
[[capabilities]]
id = "find"
type = "query"
endpoint = "/find"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["kind"], properties = { kind = { type = "string" }, most = { type = "integer" } } }
[[capabilities]]
id = "buy"
type = "commit_action"
endpoint = "/buy"
risk_level = "high"
auth = "required"
required_scopes = ["shop:buy"]
input_schema = { type = "object", required = ["id"], properties = { id = { type = "string" }, note = { type = "string" } } }
[[agtp.recipes]]
name = "first"
version = "3"
method = "PURCHASE"
path = "/first/{kind}"
steps = [
  { capability = "find", input = { kind = "{input.kind}", most = "{input.most}" } },
  { capability = "buy", input = { id = "{steps.0.data.items.0.id}", note = "for {input.whom.name}" } },
]
"#;

    #[test]
    fn it_takes_what_its_steps_take_and_is_as_strict_as_they_are() {
        let declaration =
            crate::declared::declare_text(Path::new("/x.toml"), SHOP, &frontdesk_config::testing::Nowhere).unwrap();
        let settings = &declaration.settings;
        let recipe = &settings.agtp.recipes[0];
        let made = endpoint(recipe, settings, &Catalog::built_in()).unwrap();
        let input = &made.definition["input_schema"];
        assert_eq!(input["required"], json!(["kind"]));
        assert_eq!(
            input["properties"],
            json!({ "kind": { "type": "string" }, "most": { "type": "integer" }, "whom": {} })
        );
        assert_eq!(made.definition["handler"], json!({ "type": "composition" }));
        assert_eq!(made.definition["required_scopes"], json!(["shop:buy"]));
        assert_eq!(made.definition["semantic"]["impact"], "irreversible");
        assert!(made.definition["errors"].as_array().unwrap().contains(&json!("composition_failed")));
        assert!(made.acts && made.needs_agent);
        let capability = made.capability(settings).unwrap();
        assert!(capability.is_confirmed() && capability.risk() == "high");
        // Another version has idempotency records of its own.
        let next = Recipe { version: "4".into(), ..recipe.clone() };
        let next = endpoint(&next, settings, &Catalog::built_in()).unwrap();
        assert_ne!(next.capability(settings).unwrap().id, capability.id);
        // A recipe with a removed step is unusable.
        let mut gone = recipe.clone();
        gone.steps[0].capability = "nowhere".into();
        assert!(endpoint(&gone, settings, &Catalog::built_in()).is_none());
    }
}
