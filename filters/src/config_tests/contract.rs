//! The published contract: as it was written, without private keys.

use super::*;

#[test]
fn schemas_inline_and_from_a_file() {
    let text = with_upstream(
        &(capability("input_schema = '#/schemas/B'\n") + "[schemas]\nfile = 's.json'\nA.type = 'object'\n"),
    );
    let outside = |content| Pretended::default().file("/conf/s.json", content);
    let declared = declare_in(&text, &outside(r#"{"B": {"type": ["string"], "x": [1, null]}, "A": {}}"#)).unwrap();
    let schema = declared.settings.capabilities[0].input_schema.clone();
    assert_eq!(schema, Some(serde_json::json!({"type": ["string"], "x": [1, null]})));
    let contract = declared.contract.to_json();
    assert_eq!(contract["schemas"], serde_json::json!({"A": {"type": "object"}, "B": {"type": ["string"], "x": [1]}}));
    assert!(refused_in(&text, &outside("[]"))[0].contains("is not a JSON object of schemas by name"));
    assert!(refused_in(&text, &outside("{"))[0].contains("schemas.file: is not JSON: "));
    refuses("[schemas]\nA = 'x'\n", "schemas.A: expected a JSON Schema as a table, got \"x\"");
    let elsewhere = capability("input_schema = '#/schemas/B'\n") + "[schemas]\nopenapi = 's.json'\n";
    let components = r##"{"components": {"schemas": {"B": {"type": "object"}}}}"##;
    let there = elsewhere.replace("#/schemas/B", "https://a/o.json#/components/schemas/B");
    let declared = declare_in(&with_upstream(&there), &outside(components)).unwrap();
    assert_eq!((declared.warnings, declared.settings.capabilities[0].input.is_some()), (vec![], true));
    // Under a name like any other: the published schema is self-contained, because its document is not published.
    let components =
        r##"{"components": {"schemas": {"B": {"$ref": "#/components/schemas/C"}, "C": {"type": "object"}}}}"##;
    let declared = declare_in(&with_upstream(&elsewhere), &outside(components)).unwrap();
    assert!(declared.settings.capabilities[0].input.is_some());
    assert_eq!(declared.warnings, vec![]);
    let contract = declared.contract.to_json();
    assert!(contract["schemas"]["B"].is_object() && contract["schemas"].get("C").is_none(), "{contract}");
    assert!(!contract["schemas"].to_string().contains("#/components"), "{contract}");
}

#[test]
fn the_contract_is_what_was_written_without_what_is_ours() {
    let declared = declare_in(FRONTDESK, &Pretended::with_keys()).unwrap();
    let Node::Table(entries) = &*declared.contract else { panic!("a table") };
    let order: Vec<_> = entries.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        order,
        [
            "aicp_version",
            "min_supported_version",
            "recommended_version",
            "supported_versions",
            "site",
            "auth",
            "rate_limits",
            "policies",
            "data_processing",
            "provenance",
            "audit",
            "formats",
            "cache",
            "privacy",
            "integrity",
            "schemas",
            "capabilities"
        ]
    );
    let json = declared.contract.to_json();
    let keys = |pointer: &str| json.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys("/auth"), ["audience", "authorization_url", "available_scopes", "issuer", "token_url", "type"]);
    assert_eq!(keys("/integrity"), ["key_id"]);
    assert_eq!(keys("/audit"), ["contains_personal_data", "enabled", "retention"]);
    for capability in json["capabilities"].as_array().unwrap() {
        for private in ["upstream", "ahp", "agtp", "aom", "confirmation", "exposed"] {
            assert!(capability.get(private).is_none(), "{private}");
        }
    }
    assert_eq!(json["capabilities"][1]["decisioning"]["automated_decision"], false);

    let hidden = declare_here(&with_upstream(&capability("exposed = false\n"))).unwrap();
    assert_eq!(hidden.contract.to_json()["capabilities"], serde_json::json!([]));
    assert!(!hidden.settings.capabilities[0].exposed);
}

/// AICP's complete example (Appendix A) with names of our own, and the other keys of its text.
#[test]
fn a_published_contract_can_be_pasted_in() {
    let contract = r##"
aicp_version = "0.1"
min_supported_version = "0.1"
recommended_version = "0.1"

[site]
name = "Garden Library"
origin = "https://library.example"
description = "Loans, reservations and reading rooms."

[formats]
canonical = "application/aicp+toml"
json = "application/aicp+json"
runtime_response = "application/aom+json"

[auth]
type = "oauth2"
authorization_url = "https://library.example/authorize"
token_url = "https://library.example/token"
available_scopes = ["books:read", "loans:write"]

[policies]
anonymous_access = true
commercial_use = "requires_auth"
citation_required = true
summarization = "allowed"
training_use = "disallowed"
automated_monitoring = "requires_auth"

[policies.cache]
allowed = true
max_ttl_seconds = 300

[data_processing]
personal_data_processed = true
lawful_basis = "user_consent"
purpose = "lending"
data_minimization_required = true
retention = "provider_policy"
privacy_policy = "https://library.example/privacy"
user_rights_endpoint = "https://library.example/privacy/rights"

[data_processing.sharing]
third_parties = ["courier"]
cross_border_transfer = true
transfer_mechanism = "standard_contractual_clauses"

[rate_limits]
anonymous = "20/hour"
authenticated = "1000/hour"
commercial = "contract_required"

[provenance]
required = true
fields = ["source", "retrieved_at", "canonical_url", "license"]

[cache]
max_age_seconds = 3600
stale_while_revalidate_seconds = 86400

[audit]
enabled = true
contains_personal_data = true
retention = "90_days"
user_accessible = true
deletion_policy = "delete_or_anonymize_after_retention"

[privacy.roles]
service_provider_role = "controller"
agent_provider_role = "processor"
payment_provider_role = "processor"
third_party_sharing = true

[personalization]
enabled = true
user_controls_available = true
explanation_available = true

[integrity]
signed = true
signature_url = "https://library.example/.well-known/agent-interface.sig"
key_id = "library-2026"

[[capabilities]]
id = "books.search"
type = "query"
description = "Search the catalogue."
method = "POST"
endpoint = "/agent/books/search"
risk_level = "low"
auth = "optional"
input_schema = "#/schemas/BookSearchRequest"
output_schema = "#/schemas/BookSearchResponse"
cache_ttl_seconds = 60

[[capabilities]]
id = "books.watch"
type = "monitor"
description = "Watch for a book to come back."
method = "POST"
endpoint = "/agent/books/watch"
risk_level = "low"
auth = "required"
required_scopes = ["books:read"]
requires_user_confirmation = false

[[capabilities]]
id = "loans.cancel"
type = "destructive_action"
description = "Cancel a reservation."
method = "POST"
endpoint = "/agent/loans/{loan_id}/cancel"
risk_level = "critical"
data_sensitivity = "special_category"
auth = "required"
required_scopes = ["loans:write"]
requires_user_confirmation = true
requires_strong_authentication = true
idempotency_required = true

[capabilities.privacy]
purpose = "loan"
personal_data_required = ["full_name"]
requires_explicit_consent = true
data_minimization = true
retention = "session_only"
required_fields = ["loan_id"]
optional_fields = ["reason"]
forbidden_fields = ["passport_number"]

[capabilities.decisioning]
automated_decision = true
profiling = true
significant_effect = true
human_review_required = true
appeal_or_review_endpoint = "https://library.example/review"

[capabilities.confirmation]
required = true
reason = "The reservation is given up."
confirmation_text = "Cancel it"
"##;
    let declared = declare_here(&format!("{contract}\n{UPSTREAM}")).unwrap_or_else(|refused| panic!("{refused}"));
    let warnings: Vec<_> = declared.warnings.iter().map(line).collect();
    let counts = ["leads nowhere", "store.url", "none are configured", "integrity.signed"]
        .map(|what| warnings.iter().filter(|w| w.contains(what)).count());
    assert!(counts == [2, 1, 1, 1] && warnings.len() == 5, "{warnings:#?}");

    // Everything is published as written, except the confirmation table, which is private.
    let outside = Pretended::default();
    let written = frontdesk_config::testing::node(contract, &outside);
    let mut written = written.to_json();
    written["capabilities"][2].as_object_mut().unwrap().remove("confirmation");
    assert_eq!(declared.contract.to_json(), written);
}

#[test]
fn what_asks_for_more_than_it_says_is_published_as_it_is_held() {
    let published = |lines: &str| {
        let text = format!("[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 'low'\n{lines}\n{UPSTREAM}");
        let declared = declare_here(&text).unwrap_or_else(|refused| panic!("{refused}"));
        declared.contract.to_json()["capabilities"][0]["auth"].as_str().map(str::to_owned)
    };
    for (lines, auth) in [
        ("auth = 'none'", "none"),
        ("auth = 'optional'", "optional"),
        ("auth = 'none'\nrequired_scopes = []", "none"),
        ("auth = 'none'\nrequired_scopes = ['a']", "required"),
        ("auth = 'optional'\nrequires_strong_authentication = true", "required"),
        ("auth = 'optional'\nrequires_strong_authentication = false", "optional"),
    ] {
        assert_eq!(published(lines).as_deref(), Some(auth), "{lines}");
    }
}

#[test]
fn a_confirmation_that_is_spelled_out_is_asked_for_and_published() {
    let declared = |kind: &str, lines: &str| {
        let text = format!(
            "[[capabilities]]\nid = 'a'\ntype = '{kind}'\nrisk_level = 'low'\nauth = 'none'\n{lines}\n{UPSTREAM}"
        );
        let declared = declare_here(&text).unwrap_or_else(|refused| panic!("{refused}"));
        let published = declared.contract.to_json()["capabilities"][0]["requires_user_confirmation"].as_bool();
        let warned = declared.warnings.iter().any(|warning| line(warning).contains("confirm"));
        (declared.settings.capabilities[0].is_confirmed(), published, warned)
    };
    let spelled_out = |required: bool| format!("confirmation = {{ required = {required} }}");
    assert_eq!(declared("resource", &spelled_out(true)), (true, Some(true), false));
    assert_eq!(declared("resource", "confirmation = { summary = 's' }"), (false, None, false));
    let both = |own: bool, required: bool| format!("requires_user_confirmation = {own}\n{}", spelled_out(required));
    assert_eq!(declared("resource", &both(false, true)), (true, Some(true), true), "the stricter one holds");
    assert_eq!(declared("resource", &both(true, false)), (true, Some(true), true));
    assert_eq!(declared("commit_action", &spelled_out(false)), (false, Some(false), true), "obeyed, and told");
}

#[test]
fn what_may_act_asks_for_a_credential_where_nothing_is_said() {
    let need = |kind: &str| {
        let text = format!("[[capabilities]]\nid = 'a'\ntype = '{kind}'\nrisk_level = 'low'\n{UPSTREAM}");
        declare_here(&text).unwrap().settings.capabilities[0].auth_need()
    };
    for reads in ["resource", "query", "compare", "policy"] {
        assert_eq!(need(reads), AuthNeed::Optional, "{reads}");
    }
    for acts in ["monitor", "event", "prepare_action", "commit_action", "destructive_action"] {
        assert_eq!(need(acts), AuthNeed::Required, "{acts}");
    }
}
