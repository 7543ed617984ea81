//! The report on each readiness sign.

use serde_json::Value;

use super::*;

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");
const MARKDOWN: (&str, &str) = ("content-type", "text/markdown; charset=utf-8");
const PAGE: &str = "<!doctype html><html><head><title>Lamps</title></head><body><nav><a href=/a>A</a></nav><main>\
    <h1>Lamps</h1><p>We sell lamps of brass and glass, and mend what is old.</p></main></body></html>";

/// The state and the words of a sign.
fn sign(report: &Report, key: &str) -> (String, String) {
    let json = report.to_json();
    let signs = json["readiness"]["signals"].as_array().cloned().unwrap_or_default();
    let found = signs.iter().find(|sign| sign["key"] == key).unwrap_or_else(|| panic!("{key} in {signs:?}"));
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    assert!(!text("with_frontdesk").is_empty() && !text("name").is_empty(), "{found}");
    (text("state"), text("detail"))
}

fn state(report: &Report, key: &str) -> String {
    sign(report, key).0
}

#[test]
fn a_plain_site_has_none_and_is_told_what_would_be_there() {
    let report = Site::default().has(&at("/"), 200, &[HTML], PAGE).report();
    let json = report.to_json();
    for found in json["readiness"]["signals"].as_array().unwrap() {
        let yes = found["key"] == "agents_let_in";
        assert_eq!(found["state"], if yes { "yes" } else { "no" }, "{found}");
    }
    let tokens = &json["readiness"]["tokens"];
    let (html, markdown) = (tokens["html"].as_u64().unwrap(), tokens["markdown"].as_u64().unwrap());
    assert!(html > 40 && markdown > 10 && markdown < html / 2, "{tokens}");
    let said = report.to_string();
    assert!(said.contains("with Frontdesk in front"), "{said}");
    let line = said.lines().find(|line| line.starts_with("  Link header")).unwrap_or_default();
    assert!(line.contains("no ") && line.ends_with("on every response"), "{said}");
    assert!(
        said.contains(&format!("The page is {html} tokens to a language model, {markdown} as Markdown.")),
        "{said}"
    );
    println!("{said}");
}

#[test]
fn each_sign_is_seen() {
    let linked = "</.well-known/agent.json>; rel=\"ahp-manifest\", </openapi.json>; rel=\"service-desc\"";
    let page = PAGE
        .replace("<nav>", "<section class=\"ahp-notice\"></section><script type=application/ld+json></script><nav>");
    let json = [("content-type", "application/json")];
    let text = [("content-type", "text/plain")];
    let mut site = Site::default()
        .has(&at("/shop"), 200, &[HTML, ("link", linked), ("content-usage", "train-ai=n")], page)
        .has(&at("/shop.md"), 200, &[MARKDOWN], "# Lamps")
        .contract(GOOD)
        .has(&at("/.well-known/agent.json"), 200, &json, r#"{"ahp":"0.1","mcp":"/mcp"}"#)
        .has(&at("/.well-known/mcp/server-card.json"), 200, &json, r#"{"serverInfo":{"name":"lamps"}}"#)
        .has(&at("/.well-known/api-catalog"), 200, &json, r#"{"linkset":[{},{}]}"#)
        .has(&at("/.well-known/agtp"), 200, &json, "{}")
        .has(&at("/openapi.json"), 200, &json, r#"{"openapi":"3.1.0"}"#)
        .has(&at("/llms.txt"), 200, &text, "# Lamps")
        .has(&at("/sitemap.xml"), 200, &[("content-type", "application/xml")], "<?xml version='1.0'?><urlset>")
        .has(&at("/robots.txt"), 200, &text, "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /private\n");
    let report = site.inspected(&at("/shop"));
    for key in [
        "link",
        "notice",
        "contract",
        "manifest",
        "mcp",
        "mcp_card",
        "openapi",
        "api_catalog",
        "agtp",
        "llms_txt",
        "markdown_path",
        "robots",
        "agents_let_in",
        "content_signals",
        "sitemap",
        "structured_data",
    ] {
        assert_eq!(state(&report, key), "yes", "{key}: {report}");
    }
    assert_eq!(sign(&report, "link").1, "ahp-manifest, service-desc");
    assert_eq!(sign(&report, "mcp_card").1, "lamps");
    assert_eq!(state(&report, "markdown"), "no", "it is the same page whatever is accepted: {report}");
    assert!(site.asked.len() <= 60, "a few requests: {:?}", site.asked);
}

#[test]
fn what_is_wrong_is_said() {
    let report = Site::default()
        .has(&at("/"), 503, &[HTML], "down")
        .has(&at("/openapi.json"), 401, &[], "")
        .has(&at("/llms.txt"), 500, &[], "")
        .has(&at("/index.md"), 200, &[("content-type", "text/plain")], "# Lamps")
        .contract("aicp_version = ")
        .report();
    for (key, detail) in [
        ("link", "the page answers 503"),
        ("openapi", "answers 401"),
        ("llms_txt", "answers 500"),
        ("markdown_path", "there, but not as text/markdown"),
        ("contract", "it cannot be read"),
    ] {
        assert_eq!(sign(&report, key), ("wrong".to_owned(), detail.to_owned()), "{report}");
    }
}

#[test]
fn markdown_by_accept_has_to_say_so_to_caches() {
    for (vary, is) in [("cookie", "wrong"), ("*, Cookie , accept", "yes")] {
        let report = Site::default().has(&at("/"), 200, &[MARKDOWN, ("vary", vary)], "# Lamps").report();
        assert_eq!(state(&report, "markdown"), is, "{vary}: {report}");
    }
}

#[test]
fn whom_robots_txt_keeps_out() {
    let asked = |text: &str| {
        let mut site = Site::default().has(&at("/robots.txt"), 200, &[("content-type", "text/plain")], text.to_owned());
        let (state, detail) = sign(&site.inspected(&at("/shop")), "agents_let_in");
        format!("{state} {detail}")
    };
    assert_eq!(asked("User-agent: *\nDisallow: /shop\n"), "no robots.txt keeps all of them out");
    assert_eq!(asked("User-agent: *\nDisallow: /shops/\n"), "yes ");
    assert_eq!(asked("User-agent: GPTBot\nUser-agent: ccbot\nDisallow: /\n"), "wrong not GPTBot, CCBot");
    assert_eq!(
        asked("User-agent: Claude-User\nAllow: /\n\nUser-agent: *\nDisallow: /\n").split(' ').next(),
        Some("wrong")
    );
    let failing = Site::default().has(&at("/robots.txt"), 500, &[], "").report();
    assert_eq!(state(&failing, "agents_let_in"), "wrong");
}

#[test]
fn nobody_there_has_no_table() {
    let mut inspection = Inspection::new(SITE).unwrap();
    while inspection.next_question().is_some() {
        inspection.answer(Err("connection refused".into()));
    }
    let report = inspection.report();
    assert_eq!(report.to_json()["readiness"], Value::Null);
    assert!(!report.to_string().contains("For agents"), "{report}");
}

#[test]
fn a_hostile_page_costs_no_more_than_it_may() {
    for page in ["<div>".repeat(200_000), "x".repeat(2 << 20), "<p>\u{1b}[2J\u{202e}".repeat(1000)] {
        let report = Site::default().has(&at("/"), 200, &[HTML, ("link", "<x>; rel=\"alternate\"")], page).report();
        assert!(report.to_string().chars().all(|c| c == '\n' || !c.is_control()), "{report}");
    }
}
