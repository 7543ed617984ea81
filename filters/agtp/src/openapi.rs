//! The endpoints as an OpenAPI document (AGTP-API §14.2), for clients that speak HTTP only.
//!
//! The verbs stay HTTP methods of their own names, for which OpenAPI has a place since 3.2. For older tools each entry
//! names the nearest classic method.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Spoken, catalog::Catalog, endpoint::Endpoint, manifest};
use frontdesk_config::Declaration;

/// The first version with `additionalOperations`.
const VERSION: &str = "3.2.0";

/// The document; `None` where AGTP is off.
pub fn as_openapi(declaration: &Declaration) -> Option<Bytes> {
    let spoken = Spoken::new(declaration)?;
    let site = &declaration.settings.site;
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in spoken.routes.all() {
        let item = paths.entry(endpoint.path.clone()).or_insert_with(|| json!({}));
        let operation = operation(endpoint, &spoken.catalog);
        // OpenAPI has adopted this one.
        match endpoint.method.as_str() {
            "QUERY" => item["query"] = operation,
            method => item["additionalOperations"][method] = operation,
        }
    }
    let mut document = json!({
        "openapi": VERSION,
        "info": {
            "title": site.name.as_deref().unwrap_or(&spoken.server_id),
            "version": "1",
            "description": "Derived from the AGTP manifest of this server, which is what counts.",
            "x-agtp-manifest": format!("agtp://{}", spoken.server_id),
            "x-agtp-catalog-version": spoken.catalog.version,
            "x-agtp-api-version": manifest::VERSION,
        },
        "paths": paths,
    });
    if let Some(origin) = &site.origin {
        document["servers"] = json!([{ "url": origin }]);
        document["externalDocs"] = json!({
            "description": "Where the manifest is", "url": format!("{}{}", origin.trim_end_matches('/'), super::BOOTSTRAP),
        });
    }
    Some(document.to_string().into())
}

fn operation(endpoint: &Endpoint, catalog: &Catalog) -> Value {
    let definition = &endpoint.definition;
    let mut parameters: Vec<Value> = endpoint
        .template
        .names()
        .map(|name| {
            let schema = &definition["input_schema"]["properties"][name];
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    parameters.push(json!({
        "name": "Agent-ID", "in": "header", "required": endpoint.needs_agent,
        "schema": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
    }));
    json!({
        "operationId": format!("{}{}", endpoint.method.to_ascii_lowercase(), endpoint.path.replace(['/', '{', '}'], "_")),
        "summary": endpoint.description,
        "x-agtp-semantic": definition["semantic"],
        "x-agtp-http-method": nearest(&endpoint.method, endpoint.acts, catalog),
        "deprecated": !definition["deprecated"].is_null(),
        "parameters": parameters,
        "requestBody": { "content": { "application/json": { "schema": definition["input_schema"] } } },
        "responses": {
            "200": {
                "description": definition["semantic"]["outcome"],
                "content": { "application/vnd.agtp+json": { "schema": definition["output_schema"] } },
            },
            "422": { "description": format!("One of: {}", listed(&definition["errors"])) },
        },
    })
}

fn listed(errors: &Value) -> String {
    let names = errors.as_array().into_iter().flatten().filter_map(Value::as_str);
    std::iter::once("schema-validation-failed").chain(names).collect::<Vec<_>>().join(", ")
}

/// The nearest classic method: the inverse of the catalog's legacy table (§3.1).
fn nearest<'c>(method: &str, acts: bool, catalog: &'c Catalog) -> &'c str {
    let named = catalog.legacy().find(|(_, preferred)| *preferred == method).map(|(name, _)| name);
    named.unwrap_or(if acts { "POST" } else { "GET" })
}
