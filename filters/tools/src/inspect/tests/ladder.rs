//! The readiness ladder: what each check passes and fails on, the levels, and the preview with Frontdesk in front.

use serde_json::{Value, json};

use super::*;

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");
const TEXT: (&str, &str) = ("content-type", "text/plain; charset=utf-8");
const JSON: (&str, &str) = ("content-type", "application/json");
const PAGE: &str = "<!doctype html><html lang=en><head><title>Lamps</title></head><body><main><h1>Lamps</h1><p>We sell \
    lamps of brass and glass, and mend what is old.</p></main></body></html>";

fn ladder(report: &Report) -> Value {
    report.to_json()["ladder"].clone()
}

fn check(report: &Report, key: &str) -> (String, String) {
    let ladder = ladder(report);
    let checks = ladder["checks"].as_array().cloned().unwrap_or_default();
    let found = checks.iter().find(|check| check["check"] == key).unwrap_or_else(|| panic!("{key} in {checks:?}"));
    (found["state"].as_str().unwrap().to_owned(), found["why"].as_str().unwrap().to_owned())
}

fn state(report: &Report, key: &str) -> String {
    check(report, key).0
}

#[test]
fn a_plain_site_is_at_level_0_and_is_told_what_mends_each_check() {
    let report = Site::default().has(&at("/"), 200, &[HTML], PAGE).report();
    let ladder = ladder(&report);
    assert_eq!((&ladder["level"], &ladder["name"]), (&json!(0), &json!("not ready")), "{ladder}");
    let checks = ladder["checks"].as_array().unwrap();
    for check in checks {
        let fails = check["state"] == "fail";
        assert_eq!(check["mend"].as_str().unwrap().is_empty(), !fails, "{check}");
        assert!(check["with_frontdesk"]["state"].is_string(), "{check}");
        for key in ["name", "grader"] {
            assert!(!check[key].as_str().unwrap().is_empty(), "{check}");
        }
    }
    let (passed, total) = (ladder["passed"].as_u64().unwrap(), ladder["total"].as_u64().unwrap());
    assert_eq!(total + ladder["neutral"].as_u64().unwrap(), 31, "both graders: {ladder}");
    assert!(passed < total / 2, "{ladder}");
    let said = report.to_string();
    assert!(
        said.contains("Readiness: level 0 of 5 (not ready)") && said.contains("With Frontdesk in front: level"),
        "{said}"
    );
    assert_eq!((report.exit_code_below(0), report.exit_code_below(1)), (0, 1));
    println!("{said}");
}

#[test]
fn with_frontdesk_the_same_checks_run_over_its_own_answers() {
    let report = Site::default().has(&at("/"), 200, &[HTML], PAGE).report();
    let checks = ladder(&report)["checks"].clone();
    let with = |key: &str| {
        let found = checks.as_array().unwrap().iter().find(|check| check["check"] == key).unwrap();
        found["with_frontdesk"]["state"].clone()
    };
    for key in ["markdownNegotiation", "apiCatalog", "llmsTxt", "markdownTwins", "markdownLink"] {
        assert_eq!(with(key), "pass", "{key}");
    }
    // What only the site can say stays as it is.
    for key in ["staticText", "pageMetadata", "structuredData", "aboutPages"] {
        assert_eq!(with(key), "fail", "{key}");
    }
}

/// A site that has what each level asks for, up to this one.
fn up_to(level: usize) -> Site {
    let robots = match level {
        0 => "",
        1 => "User-agent: Bot\nAllow: /\n",
        _ => "User-agent: GPTBot\nAllow: /\nContent-Signal: search=yes\n",
    };
    let mut site = Site::default().has(&at("/"), 200, &[HTML], PAGE);
    if level >= 1 {
        site = site.has(&at("/robots.txt"), 200, &[TEXT], robots).has(
            &at("/sitemap.xml"),
            200,
            &[("content-type", "application/xml")],
            "<?xml version='1.0'?><urlset></urlset>",
        );
    }
    if level >= 3 {
        site = site.has(&at("/"), 200, &[("content-type", "text/markdown"), ("vary", "accept")], "# Lamps");
    }
    if level >= 4 {
        site = site.has(&at("/.well-known/mcp/server-card.json"), 200, &[JSON], r#"{"name":"a/b","remotes":[]}"#);
    }
    if level >= 5 {
        let skill = "---\nname: a\ndescription: b\n---\n";
        let index = format!(r#"{{"skills":[{{"name":"a","url":"/a/SKILL.md","digest":"sha256:{}"}}]}}"#, sha256(skill));
        let card = r#"{"name":"a","description":"b","version":"1","skills":[],"capabilities":{}}"#;
        site = site
            .has(&at("/.well-known/agent-skills/index.json"), 200, &[JSON], index)
            .has(&at("/a/SKILL.md"), 200, &[("content-type", "text/markdown")], skill)
            .has(&at("/.well-known/agent-card.json"), 200, &[JSON], card)
            .has(&at("/.well-known/api-catalog"), 200, &[JSON], r#"{"linkset":[{"service-desc":[{}]}]}"#)
            .has(&at("/auth.md"), 200, &[("content-type", "text/markdown")], "# auth.md: lamps\n");
    }
    site
}

fn sha256(text: &str) -> String {
    frontdesk_base::text::hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

#[test]
fn each_level_needs_the_one_below() {
    for level in 0..=5 {
        let report = up_to(level).report();
        assert_eq!(ladder(&report)["level"], level, "{report}");
        assert_eq!((report.exit_code_below(level), report.exit_code_below(level + 1)), (0, 1), "{level}");
    }
    // Everything of level 5 but Markdown is level 2.
    let report = up_to(5).has(&at("/"), 200, &[HTML], PAGE).report();
    assert_eq!(ladder(&report)["level"], 2, "{report}");
}

#[test]
fn a_skill_that_is_not_what_its_digest_says_fails() {
    let report = up_to(5).has(&at("/a/SKILL.md"), 200, &[("content-type", "text/markdown")], "other").report();
    assert_eq!(check(&report, "agentSkills"), ("fail".into(), "a is not what its digest says".into()), "{report}");
    let report = up_to(5).has(&at("/a/SKILL.md"), 404, &[], "").report();
    assert_eq!(check(&report, "agentSkills").1, "a leads nowhere: /a/SKILL.md answers 404");
}

#[test]
fn a_card_that_leads_nowhere_costs_more_than_none() {
    let card = r#"{"name":"a","description":"b","version":"1","skills":[],"capabilities":{},
        "supportedInterfaces":[{"url":"https://a.example/a2a"}]}"#;
    let mut site = up_to(3).has(&at("/.well-known/agent-card.json"), 200, &[JSON], card);
    let report = site.report();
    assert_eq!(check(&report, "a2aAgentCard").1, "it leads nowhere: /a2a answers 404");
    assert!(site.asked.contains(&at("/a2a")), "{:?}", site.asked);
    let report =
        up_to(3).has(&at("/.well-known/agent-card.json"), 200, &[JSON], card).has(&at("/a2a"), 405, &[], "").report();
    assert_eq!(state(&report, "a2aAgentCard"), "pass", "{report}");
}

#[test]
fn what_each_check_of_a_page_looks_at() {
    let has = |page: &str| Site::default().has(&at("/"), 200, &[HTML], page.to_owned());
    let rich = "<html lang=en><head><link rel=canonical href=/><meta property=og:image content=a><meta \
                property=og:type content=b></head><body><main><h1>A</h1><p>Text.</p></main><a href=/about-us>a</a><a \
                href=/contact>c</a><a href=/privacy-policy>p</a></body></html>";
    for (page, key, expected) in [
        (rich, "pageMetadata", "pass"),
        (PAGE, "pageMetadata", "fail"),
        (rich, "aboutPages", "pass"),
        (PAGE, "aboutPages", "fail"),
        ("<meta http-equiv=refresh content='0; url=/b'>", "redirects", "fail"),
        ("<meta http-equiv=refresh content=300>", "redirects", "pass"),
        ("<form toolname=search><input></form>", "webMcp", "pass"),
        ("<form><input></form>", "webMcp", "fail"),
        ("<script>document.modelContext.registerTool({})</script>", "webMcp", "pass"),
        ("<link rel=alternate type=text/markdown href=/x>", "markdownLink", "pass"),
        ("<link rel=alternate hreflang=de href=/de>", "markdownLink", "fail"),
    ] {
        assert_eq!(state(&has(page).report(), key), expected, "{key}: {page}");
    }
    let script = has("<script src=/tools.js async></script>").has(
        &at("/tools.js"),
        200,
        &[],
        "if (document.modelContext) \
        document.modelContext.registerTool({})",
    );
    assert_eq!(state(&{ script }.report(), "webMcp"), "pass");
}

#[test]
fn a_missing_page_has_to_be_missing_and_short() {
    let nowhere = at(probes::NOWHERE);
    let markdown = ("content-type", "text/markdown");
    let asked = |status: u16, headers: &[(&'static str, &str)], body: &str| {
        let report =
            Site::default().has(&at("/"), 200, &[HTML], PAGE).has(&nowhere, status, headers, body.to_owned()).report();
        check(&report, "notFound")
    };
    assert_eq!(asked(200, &[HTML], PAGE).1, "a page that is not there answers 200, not 404");
    assert_eq!(asked(404, &[HTML], PAGE).0, "fail");
    assert_eq!(asked(404, &[markdown], "# Not found\n").1, "its Markdown does not name llms.txt");
    assert_eq!(asked(404, &[markdown], "See /llms.txt and /sitemap.xml").0, "pass");
}

#[test]
fn nobody_there_has_no_ladder() {
    let mut inspection = Inspection::new(SITE).unwrap();
    while inspection.next_question().is_some() {
        inspection.answer(Err("connection refused".into()));
    }
    let report = inspection.report();
    assert_eq!(report.to_json()["ladder"], Value::Null);
    assert_eq!(report.exit_code_below(0), 2);
}

#[test]
fn nothing_but_reading_is_asked() {
    let mut site = up_to(5);
    let _ = site.report();
    for url in &site.asked {
        assert!(url.starts_with(SITE), "{url}");
    }
    let mut once: Vec<&String> = site.asked.iter().collect();
    once.sort_unstable();
    let before = once.len();
    once.dedup();
    // The page, and what is missing, are asked in two forms each.
    assert!(before - once.len() <= 4, "{:?}", site.asked);
}
