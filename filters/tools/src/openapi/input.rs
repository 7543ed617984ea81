//! The input of an operation as one object: its parameters and the fields of its body side by side.
//!
//! Agents give it in this form. Which parts go into the path, the query or the body is decided when the site is
//! called.

use serde_json::{Map, Value, json};

use super::{
    name,
    operation::{self, Operation},
    pointer::{At, shown},
    schemas::Schemas,
};

/// The input of an operation.
#[derive(Default)]
pub(super) struct Input {
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// Other keywords of the body's schema.
    more: Map<String, Value>,
    /// The names in the path.
    in_path: Vec<String>,
    in_query: Vec<String>,
    /// The names of parameters.
    parameters: Vec<String>,
    /// The body is a form.
    pub(super) form: bool,
    /// Why it cannot be called as it is.
    pub(super) unfit: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Headers that a caller may not set.
const OURS: [&str; 3] = ["accept", "content-type", "authorization"];
/// Keywords of a body's schema that do not concern its fields.
const TOLD: [&str; 7] = ["type", "title", "description", "default", "deprecated", "readOnly", "writeOnly"];

impl Input {
    pub(super) fn of<'d>(operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> Self {
        let mut input = Self::default();
        for (parameter, place) in parameters(operation, schemas) {
            input.parameter(parameter, &At::Pointer(&place), schemas);
        }
        input.path(operation.path);
        input.parameters = input.properties.keys().cloned().collect();
        if let Some(body) = operation.own.get("requestBody") {
            let at = At::Pointer(&operation.place);
            match operation.method {
                "GET" | "HEAD" => input.notes.push("the body is left out: a GET has none".into()),
                _ => input.body(body, &at.key("requestBody"), schemas),
            }
        }
        if !matches!(operation.method, "GET" | "HEAD" | "DELETE") && !input.in_query.is_empty() {
            let what = format!("the site expects {} in the query; say so in upstream.path", input.in_query.join(", "));
            input.notes.push(what);
        }
        input
    }

    /// The input as a schema.
    pub(super) fn schema(mut self) -> Value {
        let mut schema = std::mem::take(&mut self.more);
        schema.insert("type".into(), "object".into());
        self.required.retain(|name| self.properties.contains_key(name.as_str().unwrap_or_default()));
        if !self.required.is_empty() {
            schema.insert("required".into(), self.required.into());
        }
        if !self.properties.is_empty() {
            schema.insert("properties".into(), self.properties.into());
        }
        Value::Object(schema)
    }

    fn parameter<'d>(&mut self, parameter: &'d Value, at: &At, schemas: &mut Schemas<'d>) {
        let (Some(name), Some(place)) = (parameter["name"].as_str(), parameter["in"].as_str()) else {
            return schemas.mistake(at, "is a parameter without name or in");
        };
        let required = parameter["required"] == true;
        match place {
            "path" | "query" => {}
            "header" if OURS.contains(&name.to_ascii_lowercase().as_str()) => return,
            _ => {
                let must = if required { ", which the site requires," } else { "" };
                let what = format!("the {place} {}{must} is left out; see upstream.headers", shown(name));
                return self.notes.push(name::one_line(&what, 300));
            }
        }
        let (schema, at_schema) = match parameter.get("schema") {
            Some(schema) => (Some(schema), at.key("schema")),
            None => {
                let content = parameter["content"].as_object().and_then(|content| content.values().next());
                (content.and_then(|media| media.get("schema")), at.key("content"))
            }
        };
        let mut value = schema.map_or(json!({}), |schema| schemas.expand(schema, &at_schema, &mut self.notes));
        if let (Value::Object(map), Some(text)) = (&mut value, parameter["description"].as_str()) {
            let text = name::one_line(text, 500);
            if !text.is_empty() {
                map.insert("description".into(), text.into());
            }
        }
        let name = if place == "path" { name::of_placeholder(name) } else { name.to_owned() };
        if place == "path" {
            self.in_path.push(name.clone());
        }
        if self.properties.contains_key(&name) {
            // A path parameter takes precedence over a query parameter. Both come in the document's order.
            let what = format!("{} is in the path and in the query; the document means two things by it", shown(&name));
            self.notes.push(what);
            if place != "path" {
                return;
            }
        } else if place == "query" {
            self.in_query.push(name.clone());
        }
        if required || place == "path" {
            self.require(&name);
        }
        self.properties.insert(name, value);
    }

    fn require(&mut self, name: &str) {
        if name.contains("${") {
            self.notes.push(format!(
                "{} is not said to be required: its name cannot be written as a text",
                name::one_line(name, 80)
            ));
        } else if !self.required.iter().any(|there| there == name) {
            self.required.push(name.into());
        }
    }

    /// Makes every placeholder of the path an input, and every path input a placeholder.
    fn path(&mut self, path: &str) {
        let wanted: Vec<String> =
            name::pieces(path).into_iter().filter_map(Result::err).map(name::of_placeholder).collect();
        for name in std::mem::take(&mut self.in_path) {
            if !wanted.contains(&name) {
                self.notes.push(format!("{} is left out: the path has no {{{name}}}", shown(&name)));
                self.properties.remove(&name);
            }
        }
        for name in wanted {
            if !self.properties.contains_key(&name) {
                self.notes.push(format!("the document does not describe {{{name}}}"));
                self.properties.insert(name.clone(), json!({"type": "string"}));
            }
            self.require(&name);
        }
    }

    fn body<'d>(&mut self, body: &'d Value, at: &At, schemas: &mut Schemas<'d>) {
        let (body, place) = schemas.resolved(body, at);
        let at = At::Pointer(&place);
        let Some(content) = body["content"].as_object().filter(|content| !content.is_empty()) else { return };
        let (key, media) = match (operation::in_json(content), operation::in_form(content)) {
            (Some(found), _) => found,
            (None, Some(found)) => {
                self.form = true;
                found
            }
            (None, None) => {
                let kinds: Vec<&str> = content.keys().map(String::as_str).collect();
                let what = format!("the body is {}, which cannot be sent yet", kinds.join(" or "));
                self.unfit = Some(name::one_line(&what, 200));
                return;
            }
        };
        let Some(schema) = media.get("schema") else {
            return self.notes.push("the document does not say what the body has in it".into());
        };
        let (at, schema_key) = (at.key("content"), "schema");
        let at = at.key(key);
        let at = at.key(schema_key);
        // The fields are needed, not a name for all of them.
        let only_reference =
            schema.as_object().is_some_and(|map| map.contains_key("$ref") && (schemas.old || map.len() == 1));
        let (schema, place) = if only_reference { schemas.resolved(schema, &at) } else { (schema, at.to_string()) };
        let value = schemas.expand(schema, &At::Pointer(&place), &mut self.notes);
        self.fields(value);
    }

    /// Adds the fields of an object schema.
    fn fields(&mut self, value: Value) {
        let mut map = match value {
            Value::Object(map) => map,
            _ => return self.notes.push("the document does not say what the body has in it".into()),
        };
        if let Some(inner) = not_null(&mut map) {
            return self.fields(inner);
        }
        if !is_object(&map) {
            self.unfit = Some("the body is not an object, and an input is one".into());
            return;
        }
        if let Some(parts) = parts(&mut map) {
            parts.into_iter().for_each(|part| self.fields(part));
        }
        let properties = map.remove("properties");
        let required = map.remove("required");
        for (name, schema) in properties.as_ref().and_then(Value::as_object).into_iter().flatten() {
            if schema["readOnly"] == true {
                continue;
            }
            if self.parameters.contains(name) {
                let what =
                    format!("{} is in the path or the query and in the body; the body's is left out", shown(name));
                self.notes.push(what);
                continue;
            }
            self.properties.insert(name.clone(), schema.clone());
        }
        for name in required.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str) {
            if self.properties.contains_key(name) && !self.parameters.iter().any(|taken| taken == name) {
                self.require(name);
            }
        }
        if properties.is_none() && map.keys().all(|key| TOLD.contains(&key.as_str()) || key == "additionalProperties") {
            self.notes.push("the body may have any field".into());
        }
        map.retain(|key, _| !TOLD.contains(&key.as_str()));
        self.more.extend(map);
    }
}

/// The parameters of an operation and of its path, the operation's own first.
fn parameters<'d>(operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> Vec<(&'d Value, String)> {
    let mut found: Vec<(&Value, String)> = Vec::new();
    for (table, place) in [(operation.own, &operation.place), (operation.item, &operation.item_place)] {
        let place = At::Pointer(place);
        let place = place.key("parameters");
        for (index, parameter) in table.get("parameters").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (parameter, at) = schemas.resolved(parameter, &place.index(index));
            let same =
                |(other, _): &(&Value, String)| other["name"] == parameter["name"] && other["in"] == parameter["in"];
            if !parameter.is_null() && !found.iter().any(same) {
                found.push((parameter, at));
            }
        }
    }
    found
}

/// The other alternative of a choice with null.
fn not_null(map: &mut Map<String, Value>) -> Option<Value> {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else { return None };
    let null = choices.iter().position(|choice| *choice == json!({"type": "null"}))?;
    (choices.len() == 2).then(|| choices.swap_remove(1 - null))
}

fn is_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => !map.contains_key("enum") && !map.contains_key("const") && !map.contains_key("items"),
    }
}

/// The parts of an object described by `allOf`, if they can be merged.
fn parts(map: &mut Map<String, Value>) -> Option<Vec<Value>> {
    let known = |part: &Value| {
        let plain = |key: &String| TOLD.contains(&key.as_str()) || matches!(key.as_str(), "properties" | "required");
        part.as_object().is_some_and(|part| is_object(part) && part.keys().all(plain))
    };
    if !map.get("allOf")?.as_array()?.iter().all(known) {
        return None;
    }
    match map.remove("allOf") {
        Some(Value::Array(parts)) => Some(parts),
        _ => None,
    }
}
