//! Promise: `frontdesk check` says what a contract means to agents, and which of two statements holds; what `frontdesk
//! export` writes is what is published.

use crate::check::{SMALLEST, check};
use crate::support::desk::run_to_end;
use crate::support::rates::capability;
use crate::support::{Ask, Dir, Origin, Reply, Request, Setup, Via};

/// What AICP's own appendix shows, as a file without a word about Frontdesk.
const CONTRACT: &str = "aicp_version = \"0.1\"\n[site]\nname = \"Example Travel\"\norigin = \"https://example-travel.com\"\n\
    [[capabilities]]\nid = \"flights.search\"\ntype = \"query\"\nmethod = \"POST\"\nendpoint = \"/agent/flights/search\"\n\
    risk_level = \"low\"\nauth = \"optional\"\n\
    [[capabilities]]\nid = \"bookings.purchase\"\ntype = \"commit_action\"\nmethod = \"POST\"\n\
    endpoint = \"/agent/bookings/purchase\"\nrisk_level = \"high\"\nauth = \"required\"\nidempotency_required = true\n";

#[test]
fn check_prints_what_a_contract_means() {
    let dir = Dir::new();
    dir.write("agent-interface.toml", CONTRACT);
    let (code, out, err) = run_to_end(&["check", "agent-interface.toml"], dir.path());
    assert_eq!(code, 0, "{out}{err}");
    let first = out.lines().next().unwrap_or_default();
    assert!(
        first.contains("is fine as a contract: 2 capabilities, 1 warning") && first.contains("[upstream]"),
        "{out}"
    );
    let expected = "\nAICP manifest valid.\n\nCapabilities:\n- flights.search: query, low risk\n\
        - bookings.purchase: commit_action, high risk, confirmation required\n\n\
        Warnings:\n- bookings.purchase has no freshness revalidation rule.\n";
    assert!(out.ends_with(expected), "{out}");
    assert_eq!(err, "");
}

#[test]
fn check_passes_a_contract_alone_that_run_refuses() {
    let dir = Dir::new();
    dir.write("agent-interface.toml", CONTRACT);
    let (code, out, err) = run_to_end(&["run", "--config", "agent-interface.toml"], dir.path());
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("this is a contract on its own") && err.contains("write [upstream]"), "{err}");
    // As soon as it says anything of how Frontdesk runs, it has to say where the site is.
    let checked = check(format!("{CONTRACT}[listen]\nhttp = \"127.0.0.1:0\"\n"));
    assert!(checked.code == 1 && checked.said.contains("upstream: missing"), "{}", checked.said);
}

#[test]
fn check_says_which_of_two_policies_holds() {
    let policies = "[policies]\nanonymous_access = false\ntraining_use = \"disallowed\"\nsummarization = \"allowed\"\n\
        [policies.cache]\nmax_ttl_seconds = 30\n";
    let capability = capability("a.b", "query", "/agent/a") + "cache_ttl_seconds = 60\n";
    let checked = check(format!("{SMALLEST}{policies}{capability}"));
    assert_eq!(checked.code, 0, "{}", checked.said);
    for part in ["anyone may call a.b; the policy holds", "30 s holds"] {
        assert!(checked.said.contains(part), "{part} in:\n{}", checked.said);
    }
    let notes = checked.said.lines().filter(|line| line.contains("nothing that Frontdesk can enforce")).count();
    assert_eq!(notes, 1, "{}", checked.said);
}

#[tokio::test]
async fn export_is_what_is_published() {
    let origin = Origin::start(|_: &Request| Reply::new(404).body("none")).await;
    let capability = capability("a.b", "query", "/agent/a");
    let desk = Setup::before(&origin).set("site", "name = \"X\"").tail(&capability).start().await;
    let at = "/.well-known/agent-interface";
    for (args, accept) in [(&[][..], "application/aicp+toml"), (&["--json"], "application/aicp+json")] {
        let published = desk.ask(Via::H1, Ask::get(at).header("Accept", accept)).await;
        let args = [&["export", "aicp", "frontdesk.toml"][..], args].concat();
        let (code, out, err) = run_to_end(&args, desk.dir.path());
        assert_eq!((code, out), (0, published.text()), "{accept}: {err}");
    }
    let args = ["export", "aicp", "frontdesk.toml", "--out", "contract.toml"];
    let (code, out, err) = run_to_end(&args, desk.dir.path());
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let written = std::fs::read_to_string(desk.dir.join("contract.toml")).expect("the file");
    assert!(written.starts_with("aicp_version = \"0.1\"\n"), "{written}");
    // What was exported is a contract that can be checked, and exported again.
    let (code, out, err) = run_to_end(&["check", "contract.toml"], desk.dir.path());
    assert!(code == 0 && out.contains("as a contract"), "{out}{err}");
    let (code, out, _) = run_to_end(&["export", "aicp", "contract.toml"], desk.dir.path());
    assert_eq!((code, out), (0, written));
    assert_eq!(run_to_end(&["export", "aicp", "missing.toml"], desk.dir.path()).0, 2);
}

#[test]
fn check_warns_of_what_cannot_mean_what_it_says() {
    let capability = |lines: &str| {
        format!(
            "{SMALLEST}[[capabilities]]\nid = \"a\"\ntype = \"query\"\nrisk_level = \"low\"\nauth = \"none\"\n{lines}"
        )
    };
    let with = |lines: &str| format!("{SMALLEST}{lines}");
    for (text, said) in [
        (with("[auth.signed_agents]\nrequire = true\n"), "all of them are turned away"),
        (with("[policies]\nanonymous_access = false\n"), "every agent is refused"),
        (with("[integrity]\nsigned = true\n"), "without a key nothing is signed"),
        (
            format!("aicp_version = \"0.2\"\nsupported_versions = [\"0.1\"]\n{SMALLEST}"),
            "supported_versions: leaves out aicp_version",
        ),
        (
            format!("aicp_version = \"0.2\"\nmin_supported_version = \"0.10\"\n{SMALLEST}"),
            "min_supported_version: is higher",
        ),
        (
            capability("confirmation = { consequence = \"{{ input.n }} EUR\" }\n"),
            "confirmation.summary alone is a template",
        ),
        (
            capability("requires_user_confirmation = false\nprivacy = { requires_explicit_consent = true }\n"),
            "the stricter one holds: a person is asked",
        ),
    ] {
        let checked = check(&text);
        assert!(checked.code == 0 && checked.said.contains(said), "{said} in:\n{}\n{text}", checked.said);
    }
    for (text, said) in [
        (with("[admin]\nhosts = [\"desk.example:9901\"]\n"), "is no host name"),
        (with("[admin]\nhosts = [\"https://desk.example\"]\n"), "is no host name"),
        (with("[admin]\nhosts = [\"*.example\"]\n"), "is no host name"),
        (with("[token_budget]\ndaily = \"100/session\"\n"), "is not for a day"),
        ("[upstream]\nurl = \"http://127.0.0.1:0\"\n".to_owned(), "is not where a site can be reached"),
    ] {
        let checked = check(&text);
        assert!(checked.code == 1 && checked.said.contains(said), "{said} in:\n{}\n{text}", checked.said);
    }
    let fine = check(with("[admin]\nhosts = [\"desk.example\", \"desk_2\"]\n[token_budget]\ndaily = \"100/day\"\n"));
    assert!(fine.code == 0 && !fine.said.contains("warning:"), "{}", fine.said);
}
