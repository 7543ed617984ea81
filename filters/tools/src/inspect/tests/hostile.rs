//! Sites that are wrong, broken, slow or hostile.

use super::*;

#[test]
fn what_is_elsewhere_is_reported_and_not_fetched() {
    let mut site = Site::default()
        .has(&at(CONTRACT), 302, &[("location", "https://b.example/contract.toml")], "")
        .has(&at("/"), 200, &[("link", "<https://c.example/c>; rel=agent-interface")], "")
        .has("https://b.example/contract.toml", 200, &[], GOOD)
        .has("https://c.example/c", 200, &[], GOOD);
    let report = site.report();
    assert_eq!(report.exit_code(), 2);
    assert!(site.asked.iter().all(|url| url.starts_with("https://a.example/")), "{:?}", site.asked);
    let said = report.to_string();
    assert!(said.contains("redirected to https://b.example/contract.toml; not followed"), "{said}");
    assert!(said.contains("elsewhere; not followed: https://c.example/c"), "{said}");
}

#[test]
fn redirects_within_the_site_are_followed_three_times() {
    let hop = |site: Site, from: &str, to: &str| site.has(from, 301, &[("location", to)], "");
    let http = format!("http://a.example{CONTRACT}");
    let mut site = hop(Site::default(), &http, &at("/1"));
    site = hop(site, &at("/1"), "/2");
    site = hop(site, &at("/2"), "3").has(&at("/3"), 200, &[], GOOD);
    let report = site.inspected("http://a.example");
    assert_eq!(report.exit_code(), 0, "{report}");
    assert!(report.to_string().contains("https://a.example/3\n"), "{report}");
    // The next questions go to the target of the http redirect.
    assert!(site.asked.contains(&at("/llms.txt")), "{:?}", site.asked);

    let mut circle = hop(Site::default(), &at(CONTRACT), CONTRACT);
    let report = circle.report();
    assert!(report.exit_code() == 2 && report.to_string().contains("more than 3 times"), "{report}");
    // Never from https to http, nor to another port.
    for to in ["http://a.example/x", "https://a.example:444/x", "https://u:p@a.example/x", "https://"] {
        let mut down = hop(Site::default(), &at(CONTRACT), to).has(to, 200, &[], GOOD);
        assert_eq!(down.report().exit_code(), 2, "{to}");
        assert!(down.asked.iter().all(|url| !url.ends_with("/x")), "{to}");
    }
}

#[test]
fn what_is_wrong_with_a_contract() {
    for (text, said) in [
        ("aicp_version = ", "is not TOML: line 1"),
        ("aicp_version = '0.1'\naicp_version = '0.2'\n", "is not TOML: line 2"),
        ("{\"aicp_version\": 1", "is not JSON"),
    ] {
        let report = Site::default().contract(text).report();
        assert!(report.exit_code() == 1 && report.to_string().contains(said), "{report}");
    }
    for (text, said) in [
        ("[site]\nname = 'x'\n", "aicp_version is missing"),
        ("aicp_version = '0.1'\ncapabilities = 3\n", "capabilities is not a list"),
        ("aicp_version = '0.1'\nauth = 'oauth2'\n", "auth is not a table"),
        ("aicp_version = '0.1'\n[[capabilities]]\ntype = 'query'\n", "capabilities[0] has no id"),
        ("aicp_version = '0.1'\n[[capabilities]]\nid = 'a'\ntype = 'quary'\n", "a has an unknown type, quary"),
        ("aicp_version = '0.1'\n[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 3\n", "a: risk_level cannot"),
        (
            "aicp_version = '0.1'\ncapabilities = [{ id = 'a', type = 'query' }, { id = 'a', type = 'query' }]\n",
            "called a",
        ),
    ] {
        let report = Site::default().contract(text).report();
        assert!(report.exit_code() == 1 && report.to_string().contains(said), "{text}\n{report}");
        assert!(report.to_string().contains("Mistakes:"), "{report}");
    }
}

#[test]
fn what_an_agent_should_know() {
    for (text, said) in [
        (
            "aicp_version = '0.1'\n[site]\norigin = 'https://b.example'\n",
            "is for https://b.example, but is served by https://a.example",
        ),
        ("aicp_version = '0.1'\n", "site.origin is missing"),
        ("aicp_version = '0.9'\n", "version 0.9 is not known"),
        (
            "aicp_version = '0.1'\n[[capabilities]]\nid = 'a'\ntype = 'commit_action'\n",
            "no risk_level, so treated as high: a",
        ),
        (
            "aicp_version = '0.1'\n[[capabilities]]\nid = 'a'\ntype = 'query'\nendpoint = 'https://b.example/x'\n",
            "another origin",
        ),
        (
            "aicp_version = '0.1'\n[[capabilities]]\nid = 'a'\ntype = 'query'\ninput_schema = '#/schemas/X'\n",
            "not in [schemas]: a",
        ),
    ] {
        let report = Site::default().contract(text).report();
        assert!(report.exit_code() == 0 && report.to_string().contains(said), "{text}\n{report}");
    }
    let mut plain_http = Site::default().has(&format!("http://a.example{CONTRACT}"), 200, &[], GOOD);
    assert!(plain_http.inspected("http://a.example").to_string().contains("without TLS"));
}

#[test]
fn nothing_a_stranger_says_steers_the_terminal() {
    let bad = "\\u001b]0;x\\u0007\\u009b2J\\u202e";
    let text = format!(
        "aicp_version = \"{bad}\"\n[site]\norigin = \"{bad}\"\n[auth]\ntype = \"{bad}\"\n[formats]\nruntime_response = \"{bad}\"\n\
         [integrity]\nsigned = true\nkey_id = \"{bad}\"\nsignature_url = \"//{bad}\"\n[[capabilities]]\nid = \"{bad}\"\n\
         type = \"{bad}\"\nendpoint = \"https://b.example/{bad}\"\nrequired_scopes = [\"{bad}\"]\n\
         [[capabilities]]\nid = \"{bad}\"\n"
    );
    let manifest = "{\"ahp\":\"\\u001b[1m\",\"modes\":[\"\\u001b\"],\"endpoints\":{\"mcp\":\"/\\u001b\"}}";
    let mut found = Site::default().contract(text).has(&at("/.well-known/agent.json"), 200, &[], manifest).has(
        &at("/openapi.json"),
        200,
        &[],
        "{\"openapi\":\"\\u001b\"}",
    );
    let broken = "\u{1b}[2J = \u{9b} x";
    let mut malformed = Site::default().contract(broken);
    let mut elsewhere = Site::default().has(&at("/"), 200, &[], "<link rel=agent-interface href='//\u{1b}\u{9b}'>");
    for site in [&mut found, &mut malformed, &mut elsewhere] {
        let report = site.report();
        let said = format!("{report}{}", report.to_json());
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.chars().any(steers), "{said:?}");
    }
}

#[test]
fn a_huge_contract_is_told_of_briefly() {
    let many = "[[capabilities]]\nid = 'a'\ntype = 'x'\n".repeat(20_000);
    let report = Site::default().contract(format!("aicp_version = '0.1'\n{many}")).report();
    assert!(report.to_string().lines().count() < 140 && report.exit_code() == 1);
    let mut cut = Site::default().contract(GOOD);
    cut.answers.values_mut().for_each(|answer| answer.cut = true);
    assert!(cut.report().to_string().contains("larger than 4 MB"));
}

#[test]
fn a_site_that_does_not_answer_is_not_asked_for_long() {
    let mut inspection = Inspection::new(SITE).unwrap();
    assert!(inspection.next_question().is_some());
    inspection.answer(Err("refused".into()));
    assert_eq!(inspection.next_question(), None);
    let report = inspection.report();
    assert_eq!(
        (report.exit_code(), report.to_string().as_str()),
        (2, "https://a.example cannot be reached: refused\n")
    );

    let mut slow = Inspection::new(SITE).unwrap();
    let mut asked = 0;
    while slow.next_question().is_some() {
        asked += 1;
        let answer =
            Answer { status: StatusCode::NOT_FOUND, headers: HeaderMap::new(), body: Bytes::new(), cut: false };
        slow.answer(if asked == 1 { Ok(answer) } else { Err("no answer".into()) });
    }
    assert_eq!(asked, 1 + PATIENCE);
    assert!(slow.report().to_string().contains("no more was asked"));
}

#[test]
fn urls_as_people_write_them() {
    assert_eq!(Inspection::new("a.example/shop?x=1").unwrap().base.as_str(), "https://a.example/shop?x=1");
    for wrong in ["", "ftp://a.example", "https://", "https://u:p@a.example", "file:///etc/passwd", "a b"] {
        assert!(Inspection::new(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_broken_signature_is_a_mistake() {
    let signed =
        format!("{GOOD}\n[integrity]\nsigned = true\nkey_id = 'k'\npublic_key = 'AAAA'\nsignature_url = '/s'\n");
    let mut site = Site::default().contract(signed.clone()).has(&at("/s"), 200, &[], "AAAA");
    let report = site.report();
    assert!(report.exit_code() == 1 && report.to_string().contains("Signed: broken"), "{report}");
    let gone = Site::default().contract(signed).report();
    assert!(gone.exit_code() == 1 && gone.to_string().contains("no signature at /s: 404"), "{gone}");
}

#[test]
fn a_torn_contract_beside_a_good_one_is_told_of() {
    let report = Site::default().contract("aicp_version = ").has(&at(NEGOTIATED), 200, &[], GOOD).report();
    assert!(report.exit_code() == 0 && report.to_string().contains("agent-interface.toml is not TOML"), "{report}");
}
