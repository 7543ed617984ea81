//! The configuration keys of `[agtp]`, and those of a capability that concern AGTP.

use frontdesk_config::{BOUNDED, Key, Kind::*, Place, Table, closed, forms::*, key, names::DESCRIPTION};

use super::super::CATEGORIES;

pub(super) const KEYS: &[(Place, Key)] = &[
    (Place::Top, key("agtp", Sub(&AGTP)).private()),
    (Place::Listen, key("agtp", Text(address))),
    (Place::Capability, key("agtp", Sub(&OF_CAPABILITY)).private()),
];

static AGTP: Table = closed(&[
    key("server_id", Text(filled)),
    key("agent", File),
    key("catalog", File),
    key("inspect", Word(&["public", "agent_only", "operator_only"])),
    key("scope_violation", OneOf(&[455, 262])),
    key("policies", Sub(&AGTP_POLICIES)),
    key("recipes", Subs(&RECIPE)),
]);

static AGTP_POLICIES: Table = closed(&[
    key("anonymous_discovery", Bool),
    key("scope_required_for_invocation", Bool),
    key("synthesis_enabled", Bool),
    key("max_synthesis_depth", Int(1, 100)),
    key("wildcards_accepted", Bool),
    key("methods", Sub(&AGTP_METHODS)),
    key("rcns", Sub(&RCNS)),
]);

static AGTP_METHODS: Table = closed(&[
    key("allow", TextOr(star, &List(&Text(method)))),
    key("disallow", List(&Text(method))),
    key("legacy", TextOr(none, &List(&Text(method)))),
    key("aliases", Map(&Text(method))),
    key("redirects", Subs(&REDIRECT)),
]);

static REDIRECT: Table = closed(&[
    key("from_method", Text(method)).required(),
    key("from_path", Text(path)),
    key("to_method", Text(method)).required(),
    key("to_path", Text(path)),
]);

static RCNS: Table = closed(&[
    key("enabled", Bool),
    key("mode", Word(&["confirm-first", "optimistic"])),
    key("min_trust_tier", Int(1, 3)),
    key("rate_limit_per_minute", Int(1, BOUNDED)),
    key("contract_ttl", Text(duration)),
    key("on_policy_change", Word(&["grandfather", "invalidate"])),
]);

static RECIPE: Table = closed(&[
    key("name", Text(filled)).required(),
    key("version", Text(filled)),
    key("method", Text(method)),
    key("path", Text(path)),
    key("description", Text(any)).at_most(DESCRIPTION),
    key("steps", Subs(&STEP)).required(),
]);

static STEP: Table = closed(&[key("capability", Text(filled)).required(), key("input", Map(&Any))]);

static OF_CAPABILITY: Table = closed(&[
    key("method", Text(method)),
    key("path", Text(path)),
    key("namespace", Text(filled)),
    key("intent", Text(filled)),
    key("actor", Text(filled)),
    key("outcome", Text(filled)),
    key("capability", Word(CATEGORIES)),
    key("confidence", Fraction),
    key("impact", Word(&["informational", "reversible", "irreversible"])),
    key("is_idempotent", Bool),
    key("deprecated", Sub(&DEPRECATED)),
]);

static DEPRECATED: Table =
    closed(&[key("deprecated_in", Text(filled)), key("removed_in", Text(filled)), key("successor", Sub(&SUCCESSOR))]);

static SUCCESSOR: Table = closed(&[key("method", Text(method)), key("path", Text(path))]);
