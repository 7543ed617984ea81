//! Converts a Swagger 2.0 document to OpenAPI 3.0, as far as an import reads it.
//!
//! Swagger writes the body as a parameter, a parameter's type beside its name, and lists by `collectionFormat`.
//! References keep their place: a parameter of `/parameters` that is a body is put in where it is referred to.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// Whether a document is Swagger 2.0.
pub(super) fn is_one(document: &Value) -> bool {
    document["swagger"] == "2.0" || document["swagger"].as_f64() == Some(2.0)
}

/// The methods of a path.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Keywords of a parameter that belong to its schema.
const OF_SCHEMA: [&str; 16] = [
    "type",
    "format",
    "items",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "enum",
    "multipleOf",
];
/// Where things moved.
const MOVED: [(&str, &str); 3] = [
    ("#/definitions/", "#/components/schemas/"),
    ("#/parameters/", "#/components/parameters/"),
    ("#/responses/", "#/components/responses/"),
];

/// The same as OpenAPI 3.0.
pub(super) fn converted(mut document: Value) -> Value {
    let old = document.clone();
    let swagger = Swagger { document: &old };
    let mut paths = document["paths"].take();
    for (_, item) in paths.as_object_mut().into_iter().flatten() {
        swagger.item(item);
    }
    let responses = old["responses"].as_object().into_iter().flatten();
    let responses: Map<String, Value> = responses
        .map(|(name, response)| (name.clone(), response_of(response, &swagger.list("produces", &Value::Null))))
        .collect();
    let parameters = old["parameters"].as_object().into_iter().flatten();
    let parameters: Map<String, Value> = parameters.map(|(name, own)| (name.clone(), parameter(own))).collect();
    let schemes = old["securityDefinitions"].as_object().into_iter().flatten();
    let schemes: Map<String, Value> = schemes.map(|(name, own)| (name.clone(), scheme(own))).collect();
    let mut new = json!({
        "openapi": "3.0.3",
        "info": document["info"].take(),
        "paths": paths,
        "components": {
            "schemas": document["definitions"].take(),
            "parameters": parameters,
            "responses": responses,
            "securitySchemes": schemes,
        },
    });
    for key in ["security", "tags"] {
        if let Some(value) = old.get(key) {
            new[key] = value.clone();
        }
    }
    if let Some(servers) = swagger.servers() {
        new["servers"] = servers;
    }
    schemas(&mut new);
    new
}

struct Swagger<'d> {
    document: &'d Value,
}

impl Swagger<'_> {
    /// The address of the site; `None`: the document does not say.
    fn servers(&self) -> Option<Value> {
        let base = self.document["basePath"].as_str().unwrap_or_default();
        let Some(host) = self.document["host"].as_str() else {
            return (!base.is_empty()).then(|| json!([{ "url": base }]));
        };
        let schemes = self.document["schemes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let schemes: Vec<&str> = schemes.collect();
        let scheme = if schemes.contains(&"https") || schemes.is_empty() { "https" } else { "http" };
        Some(json!([{ "url": format!("{scheme}://{host}{base}") }]))
    }

    /// `consumes` or `produces` of an operation, or else of the document.
    fn list(&self, key: &str, operation: &Value) -> Vec<String> {
        let own = operation.get(key).or_else(|| self.document.get(key)).and_then(Value::as_array);
        let kinds: Vec<String> = own.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        if kinds.is_empty() { vec!["application/json".into()] } else { kinds }
    }

    /// A parameter itself, where it is a reference to one.
    fn own<'v>(&'v self, parameter: &'v Value) -> &'v Value {
        let reference = parameter["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(parameter)
    }

    fn item(&self, item: &mut Value) {
        let shared = item.get("parameters").cloned().unwrap_or_default();
        let shared: Vec<Value> = shared.as_array().cloned().unwrap_or_default();
        let is_body = |parameter: &Value| matches!(self.own(parameter)["in"].as_str(), Some("body" | "formData"));
        let Some(map) = item.as_object_mut() else { return };
        if map.contains_key("parameters") {
            let others: Vec<Value> =
                shared.iter().filter(|one| !is_body(one)).map(|one| parameter(self.own(one))).collect();
            map.insert("parameters".into(), others.into());
        }
        for method in METHODS {
            let Some(operation) = map.get_mut(method).filter(|operation| operation.is_object()) else { continue };
            let own = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
            let (bodies, others): (Vec<Value>, Vec<Value>) = own.into_iter().partition(|one| is_body(one));
            let bodies: Vec<&Value> =
                bodies.iter().chain(shared.iter().filter(|one| is_body(one))).map(|one| self.own(one)).collect();
            let consumes = self.list("consumes", operation);
            let produces = self.list("produces", operation);
            let others: Vec<Value> = others.iter().map(|one| parameter(self.own(one))).collect();
            operation["parameters"] = others.into();
            if let Some(body) = body(&bodies, &consumes) {
                operation["requestBody"] = body;
            }
            if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
                responses.iter_mut().for_each(|(_, response)| *response = response_of(response, &produces));
            }
        }
    }
}

/// The body of an operation, from its parameters.
fn body(parameters: &[&Value], consumes: &[String]) -> Option<Value> {
    if let Some(body) = parameters.iter().find(|parameter| parameter["in"] == "body") {
        let schema = body.get("schema").cloned().unwrap_or_else(|| json!({}));
        let content: Map<String, Value> =
            consumes.iter().map(|kind| (kind.clone(), json!({ "schema": schema }))).collect();
        return Some(json!({ "required": body["required"] == true, "content": content }));
    }
    let fields: Vec<&&Value> = parameters.iter().filter(|parameter| parameter["in"] == "formData").collect();
    if fields.is_empty() {
        return None;
    }
    let has_file = fields.iter().any(|field| field["type"] == "file");
    let multipart = has_file || consumes.iter().any(|kind| kind == "multipart/form-data");
    let multipart = multipart && !consumes.iter().any(|kind| kind == URLENCODED && !has_file);
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for field in fields {
        let Some(name) = field["name"].as_str() else { continue };
        let mut schema = schema_of(field);
        if let Some(text) = field.get("description") {
            schema["description"] = text.clone();
        }
        properties.insert(name.to_owned(), schema);
        if let Some((style, explode)) = collection(field).filter(|_| field["type"] == "array") {
            encoding.insert(name.to_owned(), json!({ "style": style, "explode": explode }));
        }
        if field["required"] == true {
            required.push(name);
        }
    }
    let kind = if multipart { "multipart/form-data" } else { URLENCODED };
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Some(json!({ "required": !required.is_empty(), "content": { kind: { "schema": schema, "encoding": encoding } } }))
}

const URLENCODED: &str = "application/x-www-form-urlencoded";

/// A parameter that is no body.
fn parameter(own: &Value) -> Value {
    let Some(map) = own.as_object().filter(|map| !map.contains_key("$ref")) else { return own.clone() };
    let kept = |key: &str| !OF_SCHEMA.contains(&key) && key != "collectionFormat";
    let mut new: Map<String, Value> =
        map.iter().filter(|(key, _)| kept(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    new.insert("schema".into(), schema_of(own));
    if own["type"] == "array"
        && let Some((style, explode)) = collection(own)
    {
        let in_query = own["in"] == "query";
        // In a path and a header only commas are declared.
        let style = if style == "form" && !in_query { "simple" } else { style };
        new.insert("style".into(), style.into());
        new.insert("explode".into(), (explode && in_query).into());
    }
    new.into()
}

/// The style of a list.
fn collection(parameter: &Value) -> Option<(&'static str, bool)> {
    Some(match parameter["collectionFormat"].as_str() {
        None | Some("csv") => ("form", false),
        Some("multi") => ("form", true),
        Some("ssv") => ("spaceDelimited", false),
        Some("pipes") => ("pipeDelimited", false),
        Some("tsv") => ("tabDelimited", false),
        Some(_) => return None,
    })
}

/// The schema of a parameter, written beside its name.
fn schema_of(parameter: &Value) -> Value {
    let known = |key: &str| OF_SCHEMA.contains(&key) || key == "x-nullable";
    let members = parameter.as_object().into_iter().flatten().filter(|(key, _)| known(key));
    Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// An answer, with its schema below each media type.
fn response_of(response: &Value, produces: &[String]) -> Value {
    let mut response = response.clone();
    let Some(map) = response.as_object_mut() else { return response };
    if let Some(schema) = map.remove("schema") {
        let content: Map<String, Value> =
            produces.iter().map(|kind| (kind.clone(), json!({ "schema": schema }))).collect();
        map.insert("content".into(), content.into());
    }
    response
}

fn scheme(own: &Value) -> Value {
    match own["type"].as_str() {
        Some("basic") => json!({ "type": "http", "scheme": "basic" }),
        Some("oauth2") => {
            let flow = match own["flow"].as_str() {
                Some("accessCode") => "authorizationCode",
                Some("application") => "clientCredentials",
                Some(other) => other,
                None => "implicit",
            };
            let mut details = Map::new();
            for key in ["authorizationUrl", "tokenUrl", "scopes"] {
                details.extend(own.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            json!({ "type": "oauth2", "flows": { flow: details } })
        }
        _ => own.clone(),
    }
}

/// Moves all references, and writes `file` and `x-nullable` as OpenAPI 3.0 does. Without recursion, because the
/// document decides the depth.
fn schemas(document: &mut Value) {
    let mut waiting = vec![document];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get_mut("$ref")
                    && let Some((from, to)) = MOVED.iter().find(|(from, _)| reference.starts_with(from))
                {
                    *reference = reference.replacen(from, to, 1);
                }
                if map.get("type").is_some_and(|kind| kind == "file") {
                    map.insert("type".into(), "string".into());
                    map.insert("format".into(), "binary".into());
                }
                if map.get("x-nullable").is_some_and(|nullable| *nullable == true) {
                    map.insert("nullable".into(), true.into());
                }
                waiting.extend(map.values_mut());
            }
            _ => {}
        }
    }
}
