//! The tables and keys of the declaration, except those of a capability and of extensions.
//!
//! The order is that of `conf/frontdesk.toml`, which explains each key. `.private()` at the top level marks tables
//! that configure Frontdesk and are never part of the published contract.

use frontdesk_base::media::{AICP_JSON, AICP_TOML, AOM};

use super::{
    forms::*,
    forms_login::{cookie_name, redirect_uri},
    keys_capability::CAPABILITY,
    names::{SITE_DESCRIPTION, SITE_NAME},
    schema::{Kind::*, Place, Table, closed, key, open},
    settings_harness::RISK,
};

/// The bound of numbers that become a `usize` or a count of seconds.
pub const BOUNDED: i64 = 1 << 40;

/// The whole file.
pub(super) static ROOT: Table = closed(&[
    key("aicp_version", Text(filled)),
    key("min_supported_version", Text(filled)),
    key("recommended_version", Text(filled)),
    key("supported_versions", List(&Text(filled))),
    key("listen", Sub(&LISTEN)).private(),
    key("admin", Sub(&ADMIN)).private(),
    key("runtime", Sub(&RUNTIME)).private(),
    key("log", Sub(&LOG)).private(),
    key("tls", Sub(&TLS)).private(),
    key("upstream", Sub(&UPSTREAM)).private(),
    key("store", Sub(&STORE)).private(),
    key("discovery", Sub(&DISCOVERY)).private(),
    key("paths", Sub(&PATHS)).private(),
    key("confirmation", Sub(&CONFIRMATION)).private(),
    key("content", Sub(&CONTENT)).private(),
    key("content_signals", Sub(&CONTENT_SIGNALS)).private(),
    key("site", Sub(&SITE)),
    key("auth", Sub(&AUTH)),
    key("rate_limits", Sub(&RATE_LIMITS)),
    key("token_budget", Sub(&TOKEN_BUDGET)).private(),
    key("sessions", Sub(&SESSIONS)).private(),
    key("policies", Sub(&POLICIES)),
    key("data_processing", Sub(&DATA_PROCESSING)),
    key("provenance", Sub(&PROVENANCE)),
    key("audit", Sub(&AUDIT)),
    key("formats", Sub(&FORMATS)),
    key("cache", Sub(&CACHE)),
    key("privacy", Sub(&PRIVACY)),
    key("personalization", Sub(&PERSONALIZATION)),
    key("integrity", Sub(&INTEGRITY)),
    // Any other name is a schema's; `file` and `openapi` are references only as strings.
    key("schemas", Map(&Any)),
    key("capabilities", Subs(&CAPABILITY)),
    key("harness", Sub(&HARNESS)).private(),
    key("firewall", Sub(&FIREWALL)).private(),
    key("protection", Sub(&PROTECTION)).private(),
])
.extended(Place::Top);

// ── where Frontdesk stands ──────────────────────────────────────────────────────────────────────────────────────────

static LISTEN: Table = closed(&[
    key("http", OneOrList(&Text(address))),
    key("h2c", Bool),
    key("https", OneOrList(&Text(address))),
    key("admin", Text(address)),
    key("trusted_proxies", List(&Text(network))),
    key("proxy_protocol", Bool),
    key("upgrade_socket", Text(filled)),
])
.extended(Place::Listen);

static ADMIN: Table = closed(&[key("token_sha256", Text(sha256_or_nothing)).secret(), key("hosts", List(&Text(host)))]);

static RUNTIME: Table = closed(&[key("threads", Int(0, 1024)), key("fast_path", Bool)]);

static LOG: Table = closed(&[key("level", Word(&["trace", "debug", "info", "warn", "error"])), key("access", Bool)]);

static TLS: Table = closed(&[key("cert", File).required(), key("key", File).required()]);

static UPSTREAM: Table = closed(&[
    key("url", Text(origin)),
    key("urls", List(&Text(origin))),
    key("preserve_host", Bool),
    key("via", Bool),
    key("rewrite_redirects", Bool),
    key("http2", Word(&["auto", "prior-knowledge", "off"])),
    key("ca", File),
    key("server_name", Text(host)),
    key("client_cert", File),
    key("client_key", File),
    key("connect_timeout", Text(duration)),
    key("read_timeout", Text(duration)),
    key("max_requests", Int(0, 1_000_000)),
    key("health_path", Text(path_and_query)),
    key("health_interval", Text(duration)),
]);

static STORE: Table = closed(&[
    key("url", Text(store)),
    key("on_error", Word(&["local", "allow", "deny"])),
    key("ca", File),
    key("client_cert", File),
    key("client_key", File),
    key("patience", Text(store_patience)),
    key("wait_replicas", Int(0, 16)),
    key("prefix", Text(store_prefix)),
    key("max_keys", Int(1024, 100_000_000)),
    key("max_records", Text(size)),
]);

// ── how it makes itself known ───────────────────────────────────────────────────────────────────────────────────────

static DISCOVERY: Table = closed(&[
    key("link_header", Bool),
    key("links", Bool),
    key("robots", Bool),
    key("sitemap", Bool),
    key("auth_md", Bool),
    key("server_card", Bool),
    key("skills", Bool),
    key("webmcp", Bool),
    key("legacy_link_rel", Bool),
    key("notice", Bool),
    key("notice_position", Word(&["end", "start"])),
    key("accept", Word(&["inline", "redirect"])),
    key("agent_card", Bool),
    key("on_conflict", Word(&["origin", "frontdesk"])),
    key("manifest_max_age", Text(delay)),
    key("stale_while_revalidate", Text(delay)),
]);

static CONFIRMATION: Table = closed(&[key("by", Word(&["agent", "page"])), key("notify_url", Text(notify_url))]);

static PATHS: Table = closed(&[
    key("converse", Text(own_path)),
    key("mcp", Text(own_path)),
    key("a2a", Text(own_path)),
    key("openapi", Text(own_path)),
    key("capabilities", Text(own_path)),
    key("confirm", Text(own_path)),
    key("files", Text(own_path)),
    key("links", Text(own_path)),
    key("oauth", Text(own_path)),
]);

static CONTENT: Table = closed(&[
    key("llms_txt", Word(&["auto", "off"])),
    key("llms_full", Bool),
    key("markdown", Bool),
    key("front_matter", Bool),
    key("concierge", Bool),
    key("start", List(&Text(path_and_query))),
    key("exclude", List(&Text(path))),
    key("follow", List(&Text(path))),
    key("follow_queries", Bool),
    key("max_pages", Int(1, 20_000)),
    key("answer_tokens", Int(50, 100_000)),
    key("refresh", Text(duration)),
    key("rate", Text(rate)),
    key("index", Text(any)),
    key("semantic", Sub(&SEMANTIC)),
    key("model", Sub(&MODEL)),
]);

static SEMANTIC: Table = closed(&[
    key("model", Text(any)),
    key("url", Text(web_url_or_nothing)),
    key("name", Text(any)),
    key("key", Text(any)).secret(),
]);

static MODEL: Table = closed(&[
    key("url", Text(web_url)).required(),
    key("name", Text(filled)).required(),
    key("key", Text(any)).secret(),
    key("timeout", Text(duration)),
    key("tokens_per_day", Int(1, 1_000_000_000_000)),
]);

static CONTENT_SIGNALS: Table =
    closed(&[key("ai_train", Bool), key("ai_input", Bool), key("search", Bool), key("attribution_required", Bool)]);

// ── the contract ────────────────────────────────────────────────────────────────────────────────────────────────────

static SITE: Table = open(&[
    key("name", Text(filled)).at_most(SITE_NAME),
    key("origin", Text(origin)),
    key("description", Text(any)).at_most(SITE_DESCRIPTION),
    key("operator", Text(any)),
    key("contact", Text(any)),
]);

static AUTH: Table = closed(&[
    key("type", Word(&["none", "bearer", "api_key", "oauth2"])),
    key("authorization_url", Text(web_url)),
    key("token_url", Text(web_url)),
    key("available_scopes", List(&Text(filled))),
    key("authorization_servers", List(&Text(https_url))).private(),
    key("registration_url", Text(web_url_or_nothing)).private(),
    key("issuer", Text(filled)),
    key("audience", Text(filled)),
    key("jwks", FileOrUrl).private(),
    key("strong_acr", List(&Text(filled))).private(),
    key("unverified", Word(&["refuse", "site"])).private(),
    key("forward", List(&Text(filled))).private(),
    key("api_keys", Subs(&API_KEY)).private(),
    key("signed_agents", Sub(&SIGNED_AGENTS)).private(),
    key("visitor", Sub(&VISITOR)).private(),
    key("introspection", Sub(&INTROSPECTION)).private(),
    key("exchange", Sub(&EXCHANGE)).private(),
    key("login", Sub(&LOGIN)).private(),
]);

static INTROSPECTION: Table = closed(&[
    key("url", Text(token_url)).required(),
    key("client_id", Text(filled)).required(),
    key("client_secret", Text(filled)).required().secret(),
]);

static EXCHANGE: Table = closed(&[
    key("url", Text(token_url)).required(),
    key("audience", Text(filled)).required(),
    key("client_id", Text(filled)).required(),
    key("client_secret", Text(filled)).required().secret(),
]);

static VISITOR: Table = closed(&[
    key("check", Text(path_and_query)).required(),
    key("subject", Text(pointer_or_selector)).required(),
    key("name", Text(pointer_or_selector)),
    key("sign_in", Text(path_and_query)).required(),
    key("return_to", Text(filled)),
]);

static LOGIN: Table = closed(&[
    key("cookies", List(&Text(cookie_name))).required(),
    key("access_ttl", Text(duration)),
    key("link_ttl", Text(duration)),
    key("clients", Word(&["metadata", "dynamic", "listed"])),
    key("clients_listed", Subs(&LISTED_CLIENT)),
]);

static LISTED_CLIENT: Table = closed(&[
    key("id", Text(filled)).required(),
    key("name", Text(filled)).required(),
    key("redirect_uris", List(&Text(redirect_uri))).required(),
]);

static API_KEY: Table = closed(&[
    key("name", Text(filled)).required(),
    key("sha256", Text(sha256)).required().secret(),
    key("scopes", List(&Text(filled))),
    key("rate_limit", Text(rate)),
]);

static SIGNED_AGENTS: Table = closed(&[key("require", Bool), key("keys", Subs(&AGENT_KEY))]);

static AGENT_KEY: Table =
    closed(&[key("agent", Text(https_url)).required(), key("jwk", Map(&Any)), key("directory", Text(https_url))]);

static RATE_LIMITS: Table = closed(&[
    key("anonymous", Text(rate)),
    key("authenticated", Text(rate)),
    key("actions", Text(rate)),
    key("content", Text(rate)),
    key("per_agent", Text(rate)),
    key("site", Text(rate)),
    // AICP's own example has it. It is published and has no effect here.
    key("commercial", Text(any)),
]);

static TOKEN_BUDGET: Table = closed(&[
    key("anonymous", Text(budget)),
    key("authenticated", Text(budget)),
    key("daily", Text(daily)),
    key("max_response", Int(1, BOUNDED)),
]);

static SESSIONS: Table = closed(&[
    key("max_turns", Int(1, 1_000_000)),
    key("idle", Text(duration)),
    key("max_body", Text(size)),
    key("results", Text(duration)),
    key("allow_http_callbacks", Bool),
]);

static POLICIES: Table = open(&[
    key("anonymous_access", Bool),
    key("commercial_use", Any),
    key("citation_required", Any),
    key("summarization", Any),
    key("training_use", Any),
    key("automated_monitoring", Word(&["allowed", "requires_auth", "allowed_with_auth", "disallowed"])),
    key("cache", Sub(&POLICIES_CACHE)),
]);

static POLICIES_CACHE: Table = open(&[key("allowed", Bool), key("max_ttl_seconds", Int(0, BOUNDED))]);

static DATA_PROCESSING: Table = open(&[
    key("personal_data_processed", Any),
    key("lawful_basis", Any),
    key("purpose", Any),
    key("data_minimization_required", Any),
    key("retention", Any),
    key("privacy_policy", Any),
    key("user_rights_endpoint", Any),
    key("sharing", Sub(&SHARING)),
]);

static SHARING: Table =
    open(&[key("third_parties", Any), key("cross_border_transfer", Any), key("transfer_mechanism", Any)]);

static PROVENANCE: Table = open(&[key("required", Bool), key("fields", List(&Text(filled))), key("license", Any)]);

static AUDIT: Table = open(&[
    key("enabled", Bool),
    key("path", Text(filled)).private(),
    key("rotate_size", Text(size)).private(),
    key("rotate_age", Text(duration)).private(),
    key("retention", Any),
    key("contains_personal_data", Any),
    key("user_accessible", Any),
    key("deletion_policy", Any),
]);

static FORMATS: Table = open(&[
    key("canonical", Usually(&[AICP_TOML])),
    key("json", Usually(&[AICP_JSON])),
    key("runtime_response", Usually(&[AOM])),
]);

static CACHE: Table =
    open(&[key("max_age_seconds", Int(0, BOUNDED)), key("stale_while_revalidate_seconds", Int(0, BOUNDED))]);

static PRIVACY: Table = open(&[key("roles", Sub(&ROLES))]);

static ROLES: Table = open(&[
    key("service_provider_role", Any),
    key("agent_provider_role", Any),
    key("payment_provider_role", Any),
    key("third_party_sharing", Any),
]);

static PERSONALIZATION: Table =
    open(&[key("enabled", Any), key("user_controls_available", Any), key("explanation_available", Any)]);

static INTEGRITY: Table = closed(&[
    key("key", File).private(),
    key("key_id", Text(filled)),
    // Frontdesk writes these when it signs; a pasted contract contains them.
    key("signed", Bool),
    key("signature_url", Text(any)),
    key("algorithm", Text(filled)),
    key("public_key", Text(filled)),
]);

// ── supervision and safety ──────────────────────────────────────────────────────────────────────────────────────────

static HARNESS: Table = closed(&[
    key("url", Text(harness)),
    key("urls", List(&Text(harness))),
    key("token", Text(any)).secret(),
    key("min_risk", Word(RISK)),
    key("timeout", Text(duration)),
    key("on_error", Word(&["block", "allow"])),
])
.extended(Place::Harness);

static FIREWALL: Table = closed(&[
    key("hide", Bool),
    key("secrets", Word(&["off", "report", "redact", "block"])),
    key("pii", Word(&["off", "report", "redact", "block"])),
    key("allow", List(&Text(filled))),
    key("injection", Word(&["off", "report", "block"])),
    key("patterns", File),
]);

static PROTECTION: Table = closed(&[
    key("max_connections", Int(1, 10_000_000)),
    key("client_share", Int(1, 100)),
    key("header_timeout", Text(duration)),
    key("idle_timeout", Text(duration)),
    key("max_header", Text(size)),
    key("max_recoding", Int(0, 1_000_000)),
    key("max_input", Text(size)),
    key("max_answer", Text(size)),
    key("min_rate", Text(lowest_rate)),
    key("transfer_timeout", Text(delay)),
    key("shutdown_delay", Text(delay)),
    key("shutdown_timeout", Text(delay)),
]);
