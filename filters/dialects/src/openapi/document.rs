//! Renders the OpenAPI 3.1 document (AHP appendix E).

use serde_json::{Map, Value, json};

use super::{
    super::{
        Occupied,
        ahp::{
            self,
            listed::{ActionType, Listed},
            question,
        },
        arguments::Function,
    },
    operation_path,
    published::VERSION,
};
use frontdesk_base::text::fitted;
use frontdesk_config::{AuthKind, Capability, Declaration};
use frontdesk_desk::CONFIRMATION_TOLD;

/// Maximum characters of a description; importers accept no more.
const LONGEST: usize = 300;

/// Renders the document.
pub(super) fn render(
    functions: &[(&Listed, (Function, Value))],
    declaration: &Declaration,
    occupied: &Occupied,
) -> String {
    let settings = &declaration.settings;
    let (scheme, declared) = scheme(settings.auth.kind);
    let polled = polled(declaration, occupied);
    let mut paths = Map::new();
    // Without anonymous access every operation needs a credential.
    let closed = !settings.policies.anonymous_access;
    let needs = |listed: &Listed| closed || listed.needs_auth;
    let secured = functions.iter().any(|(listed, _)| needs(listed));
    for (listed, (function, schema)) in functions {
        let capability = settings.capability(listed.index);
        let security = needs(listed).then_some(scheme);
        let path = operation_path(&settings.paths.capabilities.path, &function.name);
        paths.insert(path, json!({ "post": operation(listed, capability, (function, schema), security, &polled) }));
    }
    let mut later = functions.iter().map(|(listed, _)| listed).filter(|listed| listed.action_type == ActionType::Async);
    let waits = later.clone().next().is_some();
    if waits {
        // An answer is fetched with the credential of its question.
        let security = match (later.clone().any(|listed| needs(listed)), later.all(|listed| needs(listed))) {
            (false, _) => None,
            (true, true) => Some(json!([{ scheme: [] }])),
            (true, false) => Some(json!([{ scheme: [] }, {}])),
        };
        paths.insert(polled, json!({ "get": poll(security) }));
    }
    let mut components = json!({ "schemas": { "AHPResponse": answer(), "AHPError": error() } });
    if secured {
        components["securitySchemes"] = json!({ scheme: declared });
    }
    let origin = settings.site.origin.as_deref().map_or("/", |origin| origin.trim_end_matches('/'));
    let document = json!({
        "openapi": VERSION,
        "info": {
            "title": settings.site.name.as_deref().unwrap_or("This site"),
            "description": settings.site.description.as_deref().unwrap_or("What this site offers to agents."),
            "version": ahp::VERSION,
        },
        "servers": [{ "url": origin }],
        "paths": paths,
        "components": components,
    });
    let mut text = document.to_string();
    text.push('\n');
    text
}

/// The path for later answers.
fn polled(declaration: &Declaration, occupied: &Occupied) -> String {
    format!("{}/{{session_id}}", ahp::status_path(declaration, occupied))
}

fn operation(
    listed: &Listed,
    capability: Option<&Capability>,
    (function, schema): (&Function, &Value),
    security: Option<&str>,
    polled: &str,
) -> Value {
    let mut more = String::new();
    if listed.action_type == ActionType::Async {
        more.push_str(" Takes a while: `accepted` comes back at once, with a `poll` address.");
        more.push_str(&format!(" GET it ({polled}) until `status` is success, failed or expired."));
    }
    if capability.is_some_and(Capability::is_confirmed) {
        let token =
            function.confirmed_as().map_or_else(|| format!("the header {CONFIRMATION_TOLD}"), |n| format!("`{n}`"));
        more.push_str(&format!(" A person confirms it: call, show them the question, call again with {token}."));
    }
    if capability.is_some_and(|capability| capability.idempotency_required) {
        more.push_str(" Needs `Idempotency-Key` or `context.idempotency_key`: a retry with it acts once.");
    }
    let room = LONGEST.saturating_sub(more.chars().count());
    let mut operation = json!({
        "operationId": listed.name,
        "summary": fitted(&listed.description, LONGEST),
        "description": format!("{}{more}", fitted(&listed.description, room)),
        "x-openai-isConsequential": listed.is_action,
        "requestBody": { "required": true, "content": { "application/json": { "schema": body(listed, function, schema) } } },
        "responses": responses(capability),
    });
    if let Some(scheme) = security {
        operation["security"] = json!([{ scheme: [] }]);
    }
    operation
}

/// The arguments, and the members that may surround them (AHP §6.1).
fn body(listed: &Listed, function: &Function, schema: &Value) -> Value {
    let mut schema = schema.clone();
    if !function.has_context() {
        schema["properties"]["context"] = question::context();
        // Without the fallback to words there is an answer only of other types.
        if !listed.accept_fallback {
            schema["properties"]["context"]["properties"]["accept_types"]["items"]["enum"] = function.types();
        }
    }
    schema
}

/// The possible responses, including the capability's named failures with a status of their own.
fn responses(capability: Option<&Capability>) -> Value {
    let refused = |description: &str| {
        json!({ "description": description,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/AHPError" } } } })
    };
    let mut responses = json!({
        "200": { "description": "The answer, a question back, or where the answer will be.",
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/AHPResponse" } } } },
        "400": refused("The request is not what it has to be."),
        "401": refused("A credential is needed."),
        "403": refused("The credential does not grant this."),
        "404": refused("There is nothing by this name or id, at the site perhaps."),
        "409": refused("It is under way, was asked with another input under this key, or its outcome is unknown."),
        "413": refused("The request is too long."),
        "415": refused("The request is no JSON."),
        "429": refused("Too many requests, or no tokens left; see Retry-After."),
        "500": refused("The site could not carry it out."),
        "503": refused("Not available at the moment; see Retry-After."),
    });
    let named =
        capability.and_then(|capability| capability.upstream.as_ref()).into_iter().flat_map(|call| &call.errors);
    // Failures of the site are a 500 (AHP §10).
    for (status, name) in named.filter(|(status, _)| (400..500).contains(status)) {
        let status = status.to_string();
        if responses.get(&status).is_none() {
            responses[status] = refused(&format!("The site says {name}."));
        }
    }
    responses
}

fn poll(security: Option<Value>) -> Value {
    let mut operation = json!({
        // No capability id has this form.
        "operationId": "pollStatus",
        "summary": "Asks for an answer that takes a while.",
        "parameters": [{ "name": "session_id", "in": "path", "required": true,
            "schema": question::member("session_id", "") }],
        "responses": responses(None),
    });
    if let Some(security) = security {
        operation["security"] = security;
    }
    operation
}

/// The answer's schema (AHP §E.3), with the possible values of `status` (§6.2 to 6.4, §9.2).
fn answer() -> Value {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    json!({
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": { "type": "string",
                "enum": ["success", "clarification_needed", "accepted", "pending", "failed", "expired", "error"] },
            "session_id": { "type": ["string", "null"] },
            "response": object(json!({
                "content_type": { "type": "string" },
                "answer": { "type": "string" },
                "payload": {},
                "sources": { "type": "array", "items": { "type": "object" } },
                "follow_up": { "type": "object" },
            })),
            "clarification": object(json!({
                "question": { "type": "string" },
                "options": { "type": ["array", "null"], "items": { "type": "string" } },
                "free_form": { "type": "boolean" },
            })),
            "poll": { "type": "string" },
            "progress": { "type": "string" },
            "eta_seconds": { "type": ["integer", "null"] },
            "meta": object(json!({
                "mode": { "type": "string" },
                "cached": { "type": "boolean" },
                "tokens_used": { "type": "integer" },
                "coverage": object(json!({
                    "complete": { "type": "boolean" },
                    "pages": { "type": "integer" },
                })),
            })),
        },
    })
}

/// The error's schema (AHP §10, §11).
fn error() -> Value {
    json!({
        "type": "object",
        "required": ["status", "code", "message"],
        "properties": {
            "status": { "type": "string" },
            "code": { "type": "string" },
            "message": { "type": "string" },
            "scope": { "type": "string" },
            "retry_after": { "type": ["integer", "null"] },
        },
    })
}

/// The security scheme (AHP §8.2).
fn scheme(kind: AuthKind) -> (&'static str, Value) {
    match kind {
        AuthKind::ApiKey => ("apiKeyAuth", json!({ "type": "apiKey", "in": "header", "name": "X-AHP-Key" })),
        _ => ("bearerAuth", json!({ "type": "http", "scheme": "bearer" })),
    }
}
