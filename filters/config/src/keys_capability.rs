//! The keys of a capability: AICP's own, and the sub-tables for the call to the site and for other protocols.

use super::{
    forms::*,
    names::DESCRIPTION,
    schema::{Kind::*, Place, Table, closed, key, open},
};

/// The values of a capability's `type` (AICP §5.5). An unknown one is refused, never guessed (§8.12).
pub(super) const TYPES: &[&str] = &[
    "resource",
    "query",
    "compare",
    "monitor",
    "prepare_action",
    "commit_action",
    "destructive_action",
    "event",
    "policy",
];

/// `[[capabilities]]`.
pub(super) static CAPABILITY: Table = open(&[
    key("id", Text(filled)).required(),
    key("type", Word(TYPES)).required(),
    key("description", Text(any)).at_most(DESCRIPTION),
    key("method", Text(method)),
    key("endpoint", Text(own_path)),
    key("risk_level", Word(&["low", "medium", "high", "critical"])),
    key("data_sensitivity", Usually(&["public", "personal", "confidential", "special_category", "regulated"])),
    key("auth", Word(&["none", "optional", "required"])),
    key("required_scopes", List(&Text(filled))),
    key("requires_user_confirmation", Bool),
    key("requires_strong_authentication", Bool),
    key("idempotency_required", Bool),
    key("input_schema", TextOr(filled, &Map(&Any))),
    key("output_schema", TextOr(filled, &Map(&Any))),
    key("cache_ttl_seconds", Int(0, 1 << 40)),
    key("exposed", Bool).private(),
    key("group", Text(filled)),
    key("upstream", Sub(&CALL)).private(),
    key("aom", Sub(&AOM)).private(),
    key("confirmation", Sub(&CONFIRMATION)).private(),
    key("privacy", Sub(&PRIVACY)),
    key("decisioning", Sub(&DECISIONING)),
])
.extended(Place::Capability);

static CALL: Table = closed(&[
    key("method", Text(method)),
    key("path", Text(path_and_query)),
    key("url", Text(https_url)),
    key("recipe", Text(filled)),
    key("desk", Bool),
    key("rename_input", Map(&Text(filled))),
    key("rename_output", Map(&Text(filled))),
    key("errors", Map(&Text(filled))),
    key("timeout", Text(duration)),
    key("body", Word(&["json", "form", "multipart", "none"])),
    key("content_type", Text(media_type)),
    key("body_optional", Bool),
    key("parameters", Map(&Sub(&PARAMETER))),
    key("undeclared", Word(&["send", "drop"])),
    key("headers", Map(&Text(any))).secret(),
    key("idempotent", Bool),
    key("identity", Word(&["none", "caller"])),
    key("response", Word(&["json", "wrap", "raw", "auto", "page", "text", "table", "xml", "file", "extract"])),
    key("body_template", Text(any)),
    key("failed", Text(any)),
    key("cookies", Word(&["call", "session"])),
    key("extract", Sub(&EXTRACT)),
    key("form", Sub(&FORM)),
]);

static EXTRACT: Table = closed(&[
    key("each", Text(filled)),
    key("fields", Map(&TextOr(any, &Sub(&FIELD)))),
    key("must", Text(filled)),
    key("next", Text(filled)),
]);

static FIELD: Table = closed(&[
    key("select", Text(any)).required(),
    key("as", Word(&["text", "number", "boolean", "date", "markdown"])),
    key("all", Bool),
]);

static FORM: Table = closed(&[
    key("page", Text(path_and_query)).required(),
    key("select", Text(filled)),
    key("submit", Text(filled)),
    key("done", Sub(&DONE)),
    key("failed", Text(filled)),
]);

static DONE: Table =
    closed(&[key("redirect", Text(filled)), key("select", Text(filled)), key("status", Int(200, 399))]);
/// How one input is written into the request.
static PARAMETER: Table = closed(&[
    key("in", Word(&["path", "query", "header", "body"])),
    key("style", Word(STYLES)),
    key("explode", Bool),
    key("name", Text(filled)),
]);

/// The styles of OpenAPI, and `json`: the value as JSON text.
const STYLES: &[&str] = &["form", "spaceDelimited", "pipeDelimited", "deepObject", "simple", "label", "matrix", "json"];

static AOM: Table = closed(&[
    key("freshness", Sub(&FRESHNESS)),
    key("warnings", Subs(&WARNING)),
    key("agent_hints", Map(&Any)),
    key("actions", Subs(&ACTION)),
]);

static FRESHNESS: Table = closed(&[
    key("max_age", Text(duration)),
    key("volatility", Text(filled)),
    key("revalidation_required_before_commit", Bool),
]);

static WARNING: Table =
    closed(&[key("code", Text(filled)).required(), key("severity", Text(filled)), key("message", Text(any))]);

static ACTION: Table = closed(&[key("id", Text(filled)).required(), key("label", Text(any)), key("input", Map(&Any))]);

static CONFIRMATION: Table = closed(&[
    key("expires", Text(duration)),
    key("summary", Text(any)),
    key("consequence", Text(any)),
    key("by", Word(&["agent", "page"])).private(),
    key("notify_url", Text(notify_url)).private(),
    // AICP §5.10 describes a confirmation with these keys; accepted for pasted contracts.
    key("required", Bool),
    key("reason", Text(any)),
    key("confirmation_text", Text(any)),
]);

static PRIVACY: Table = open(&[
    key("purpose", Any),
    key("personal_data_required", Any),
    key("required_fields", Any),
    key("optional_fields", Any),
    key("forbidden_fields", List(&Text(filled))),
    key("data_minimization", Any),
    key("requires_explicit_consent", Any),
    key("retention", Any),
]);

static DECISIONING: Table = open(&[
    key("automated_decision", Any),
    key("profiling", Any),
    key("significant_effect", Any),
    key("human_review_available", Any),
    key("human_review_required", Any),
    key("appeal_or_review_endpoint", Any),
]);
