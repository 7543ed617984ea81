//! Inspections of simulated sites: what is found, and how it is reported.

mod headers;
mod hostile;
mod ladder;
mod readiness;

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::*;

/// The answers of a simulated site, by URL; 404 for the rest.
#[derive(Default)]
struct Site {
    answers: HashMap<String, Answer>,
    asked: Vec<String>,
}

impl Site {
    fn has(mut self, url: &str, status: u16, headers: &[(&'static str, &str)], body: impl Into<Bytes>) -> Self {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        self.answers.insert(url.into(), Answer { status, headers: map, body: body.into(), cut: false });
        self
    }

    fn contract(self, body: impl Into<Bytes>) -> Self {
        self.has(&at(CONTRACT), 200, &[("content-type", TOML)], body)
    }

    fn inspected(&mut self, url: &str) -> Report {
        let mut inspection = Inspection::new(url).unwrap();
        while let Some(question) = inspection.next_question() {
            assert!(self.asked.len() < 100, "it ends");
            self.asked.push(question.url.clone());
            let nothing =
                Answer { status: StatusCode::NOT_FOUND, headers: HeaderMap::new(), body: Bytes::new(), cut: false };
            inspection.answer(Ok(self.answers.get(&question.url).cloned().unwrap_or(nothing)));
        }
        inspection.report()
    }

    fn report(&mut self) -> Report {
        self.inspected(SITE)
    }
}

const SITE: &str = "https://a.example";
const TOML: &str = "application/aicp+toml";

fn at(path: &str) -> String {
    format!("{SITE}{path}")
}

const GOOD: &str = r##"
aicp_version = "0.1"
site = { name = "A", origin = "https://a.example" }
formats = { runtime_response = "application/aom+json" }
auth = { type = "oauth2", available_scopes = ["b:hold", "b:buy"] }
policies = { anonymous_access = true }
provenance = { required = true }
audit = { enabled = true }
schemas = { In = {}, Out = {} }
[[capabilities]]
id = "flights.search"
type = "query"
risk_level = "low"
auth = "optional"
endpoint = "/agent/search"
input_schema = "#/schemas/In"
output_schema = "#/schemas/Out"
[[capabilities]]
id = "b.hold"
type = "prepare_action"
risk_level = "medium"
auth = "required"
required_scopes = ["b:hold"]
requires_user_confirmation = true
input_schema = "#/schemas/In"
output_schema = "#/schemas/Out"
[[capabilities]]
id = "b.buy"
type = "commit_action"
risk_level = "high"
auth = "required"
required_scopes = ["b:buy"]
requires_user_confirmation = true
idempotency_required = true
input_schema = "#/schemas/In"
output_schema = "#/schemas/Out"
"##;

#[test]
fn a_whole_contract_reaches_the_last_level() {
    let mut site = Site::default().contract(GOOD).has(&at(DYNAMIC), 401, &[], "");
    let report = site.report();
    let said = report.to_string();
    let expected = "Found Agent Interaction Contract:\nhttps://a.example/.well-known/agent-interface.toml\n\n\
        AICP version: 0.1\nCapabilities: 3\nHigh-risk actions: 1\nCritical actions: 0\nAuthentication: OAuth2\n\
        Runtime response format: application/aom+json\n\nConformance level: 5 of 5";
    assert!(said.starts_with(expected) && report.exit_code() == 0, "{said}");
    assert!(said.contains("\nSigned: no\n") && !said.contains("Warnings") && !said.contains("Missing"), "{said}");
    assert!(site.asked.iter().all(|url| !url.contains("/agent/search")), "nothing is called");
    assert_eq!(report.to_json()["level"]["reached"], 5);
    println!("{said}");
}

#[test]
fn what_its_site_says_is_too_old_is_not_read_as_if_it_held() {
    let report = |lines: &str| Site::default().contract(GOOD.replace("aicp_version = \"0.1\"\n", lines)).report();
    for later in ["0.2", "0.10", "1.0"] {
        let wrong = report(&format!("aicp_version = \"0.1\"\nmin_supported_version = \"{later}\"\n"));
        let said = format!("it is for {later} and later, and only 0.1 is known here");
        assert!(wrong.to_string().contains(&said) && wrong.exit_code() == 1, "{wrong}");
    }
    for fine in ["0.1", "0.0", "1", "0.1.0", "soon"] {
        let fine = report(&format!("aicp_version = \"0.1\"\nmin_supported_version = \"{fine}\"\n"));
        assert_eq!(fine.exit_code(), 0, "{fine}");
    }
}

#[test]
fn what_does_not_agree_is_told() {
    let said = |what: &str, instead: &str| Site::default().contract(GOOD.replace(what, instead)).report().to_string();
    let open =
        said("auth = \"required\"\nrequired_scopes = [\"b:buy\"]", "auth = \"none\"\nrequired_scopes = [\"b:buy\"]");
    assert!(open.contains("an action that anyone may call: b.buy"), "{open}");
    assert!(open.contains("it needs scopes, so a credential is needed, whatever auth says: b.buy"), "{open}");
}

#[test]
fn each_level_says_what_the_next_one_wants() {
    let levels = [
        ("input_schema = \"#/schemas/In\"\n", "", 0, "input_schema: flights.search, b.hold, b.buy"),
        (
            "schemas = { In = {}, Out = {} }\n",
            "schemas = { Out = {} }\n",
            0,
            "input_schema: flights.search, b.hold, b.buy",
        ),
        ("provenance = { required = true }\n", "", 1, "[provenance]"),
        ("risk_level = \"low\"\n", "", 1, "risk_level: flights.search"),
        ("required_scopes = [\"b:buy\"]\n", "", 2, "required_scopes: b.buy"),
        ("\"b:buy\"] }", "] }", 2, "auth.available_scopes with every scope: b.buy"),
        ("formats = { runtime_response = \"application/aom+json\" }\n", "", 3, "formats.runtime_response"),
        ("requires_user_confirmation = true\nid", "requires_user_confirmation = false\nid", 3, "requires_user"),
        ("audit = { enabled = true }\n", "", 4, "audit.enabled = true"),
        ("idempotency_required = true\n", "", 4, "idempotency_required: b.buy"),
    ];
    for (without, instead, level, missing) in levels {
        let text = GOOD.replace(without, instead);
        let report = Site::default().contract(text).has(&at(DYNAMIC), 401, &[], "").report();
        let said = report.to_string();
        assert!(said.contains(&format!("Conformance level: {level} of 5")), "{without}\n{said}");
        assert!(said.contains(&format!("Missing for level {}", level + 1)) && said.contains(missing), "{said}");
    }
    let said = Site::default().contract(GOOD).report().to_string();
    assert!(said.contains("Conformance level: 4") && said.contains("at /agent/interface"), "{said}");
    let said = Site::default().contract("aicp_version = '0.1'\n").report().to_string();
    assert!(said.contains("Conformance level: 0") && said.contains("- a capability"), "{said}");
}

#[test]
fn a_contract_is_found_wherever_it_may_be() {
    let negotiated = Site::default().has(
        &at(NEGOTIATED),
        200,
        &[("content-type", "application/aicp+json")],
        r#"{"aicp_version":"0.1"}"#,
    );
    let linked = |headers: &[(&'static str, &str)], page: &'static str| {
        Site::default().has(&at("/"), 200, headers, page).has(
            &at("/.well-known/aicp.toml"),
            200,
            &[],
            "aicp_version = '0.1'\n",
        )
    };
    let header = linked(&[("link", "</x>; rel=icon, </.well-known/aicp.toml>; rel=\"agent-interface\"")], "");
    let element = linked(&[], "<html><link rel=agent-interface href='.well-known/aicp.toml'>");
    for (mut site, path) in
        [(negotiated, NEGOTIATED), (header, "/.well-known/aicp.toml"), (element, "/.well-known/aicp.toml")]
    {
        let report = site.report();
        assert_eq!(report.exit_code(), 0, "{report}");
        assert!(report.to_string().contains(&at(path)), "{report}");
    }
}

#[test]
fn a_site_without_a_contract_is_told_what_is_left() {
    let mut site = Site::default()
        .has(&at("/"), 200, &[], "<script type=\"application/ld+json\">")
        .has(&at("/openapi.json"), 200, &[], "{\"openapi\":\"3.1.0\",\"paths\":{\"/a\":{}}}")
        .has(&at("/llms.txt"), 200, &[("content-type", "text/plain")], "# A")
        .has(&at("/sitemap.xml"), 200, &[], "<?xml version='1.0'?><urlset>");
    let said = site.report().to_string();
    assert!(said.starts_with("No Agent Interaction Contract at https://a.example\n\nTried:\n"), "{said}");
    let fallback = "to: OpenAPI; llms.txt; the structured data in its pages; the sitemap; the pages themselves";
    assert!(said.contains(fallback) && said.contains("found: version 3.1.0, paths: 1"), "{said}");
    println!("{said}");

    // A site that answers every path with its start page has only pages.
    let mut every = Site::default();
    for path in
        [CONTRACT, NEGOTIATED, "/", "/llms.txt", "/robots.txt", "/sitemap.xml", "/openapi.json", "/.well-known/agtp"]
    {
        every = every.has(&at(path), 200, &[("content-type", "text/html")], "<!doctype html><p>Hi");
    }
    let report = every.report();
    let said = report.to_string();
    assert!(report.exit_code() == 2 && !said.contains("  found") && said.contains("200, but something else"), "{said}");

    let mut closed = Site::default().has(&at("/robots.txt"), 200, &[], "User-agent: *\nDisallow: /\n");
    assert!(closed.report().to_string().contains("robots.txt holds"));
}

#[test]
fn what_else_there_is() {
    let manifest = r#"{"ahp":"0.1","modes":["MODE1","MODE3"],"capabilities":[{},{}],"integrations":{"mcp":"/mcp"}}"#;
    let mut site = Site::default().contract(GOOD).has(&at("/.well-known/agent.json"), 200, &[], manifest);
    let said = site.report().to_string();
    assert!(said.contains("found: version 0.1, MODE1 MODE3, capabilities: 2"), "{said}");
    assert!(said.lines().any(|line| line.trim_start().starts_with("MCP") && line.ends_with("found")), "{said}");
}
