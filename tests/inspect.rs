//! Promise: `frontdesk inspect` shows what any site offers agents, follows no link to another site, and calls no
//! action.

use crate::support::desk::{binary, run_to_end};
use crate::support::{Desk, Dir, Origin, Reply, Request, SOON, Setup, Tls, eventually, soon};

const CONTRACT: &str = "/.well-known/agent-interface.toml";

struct Inspected {
    code: i32,
    out: String,
    err: String,
}

async fn inspect(args: &[&str]) -> Inspected {
    let args: Vec<String> = ["inspect"].iter().chain(args).map(|a| (*a).to_owned()).collect();
    let ended = tokio::task::spawn_blocking(move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        run_to_end(&args, Dir::new().path())
    });
    let (code, out, err) = soon("the inspection", ended).await.expect("the command");
    Inspected { code, out, err }
}

/// A site that has these documents, and 404 for the rest.
async fn site(documents: &'static [(&'static str, &'static str, &'static str)]) -> Origin {
    let origin = Origin::start(move |request: &Request| {
        let found = documents.iter().find(|(path, ..)| *path == request.target);
        match found {
            Some((_, kind, body)) => Reply::new(200).header("Content-Type", kind).body(body),
            None => Reply::new(404).body("none"),
        }
    });
    origin.await.owns_well_known()
}

const TRAVEL: &str = r##"
aicp_version = "0.1"
site = { name = "Example Travel" }
formats = { runtime_response = "application/aom+json" }
auth = { type = "oauth2", available_scopes = ["bookings:purchase"] }
policies = { anonymous_access = true }
provenance = { required = true }
schemas = { Any = {} }
[[capabilities]]
id = "flights.search"
type = "query"
risk_level = "low"
auth = "optional"
method = "GET"
endpoint = "/agent/flights/search"
input_schema = "#/schemas/Any"
output_schema = "#/schemas/Any"
[[capabilities]]
id = "bookings.purchase"
type = "commit_action"
risk_level = "high"
auth = "required"
required_scopes = ["bookings:purchase"]
requires_user_confirmation = true
idempotency_required = true
endpoint = "/agent/bookings/purchase"
input_schema = "#/schemas/Any"
output_schema = "#/schemas/Any"
"##;

#[tokio::test]
async fn inspect_prints_the_contract_and_calls_nothing() {
    let origin = site(&[(CONTRACT, "application/aicp+toml", TRAVEL), ("/llms.txt", "text/plain", "# Travel")]).await;
    let inspected = inspect(&[&origin.url()]).await;
    assert_eq!(inspected.code, 0, "{}{}", inspected.out, inspected.err);
    let expected = format!(
        "Found Agent Interaction Contract:\n{}{CONTRACT}\n\nAICP version: 0.1\nCapabilities: 2\nHigh-risk actions: 1\n\
         Critical actions: 0\nAuthentication: OAuth2\nRuntime response format: application/aom+json\n",
        origin.url()
    );
    assert!(inspected.out.starts_with(&expected), "{}", inspected.out);
    for part in ["Conformance level: 4 of 5", "Missing for level 5", "audit.enabled", "site.origin is missing"] {
        assert!(inspected.out.contains(part), "{part} in {}", inspected.out);
    }
    let llms = inspected.out.lines().find(|line| line.contains("/llms.txt")).unwrap_or_default();
    assert!(llms.contains("found: 8 bytes"), "{}", inspected.out);
    let asked = origin.requests();
    assert!(asked.iter().all(|r| r.method == "GET" && !r.target.starts_with("/agent/flights")), "{asked:?}");
    assert!(asked.iter().all(|r| !r.headers.has("authorization") && !r.headers.has("cookie")), "{asked:?}");
}

#[tokio::test]
async fn inspect_prints_json_for_programs() {
    let origin = site(&[(CONTRACT, "application/aicp+toml", TRAVEL)]).await;
    let inspected = inspect(&[&origin.url(), "--json"]).await;
    let report: serde_json::Value = serde_json::from_str(&inspected.out).expect("JSON");
    assert_eq!((&report["found"], &report["contract"]["high_risk_actions"]), (&true.into(), &1.into()), "{report}");
    assert_eq!(report["level"]["reached"], 4, "{report}");
}

#[tokio::test]
async fn inspect_finds_what_frontdesk_publishes() {
    let origin = Origin::start(|_: &Request| Reply::html("<p>Hi")).await;
    let desk = Setup::before(&origin).set("site", "name = \"X\"").start().await;
    let inspected = inspect(&[&format!("http://{}", desk.ports.http)]).await;
    assert_eq!(inspected.code, 0, "{}{}", inspected.out, inspected.err);
    let handshake = inspected.out.lines().find(|line| line.contains("/.well-known/agent.json")).unwrap_or_default();
    assert!(handshake.contains("found: version 0.1"), "{}", inspected.out);
}

#[tokio::test]
async fn inspect_says_what_is_left_without_a_contract() {
    let origin = site(&[("/openapi.json", "application/json", r#"{"openapi":"3.1.0"}"#)]).await;
    let inspected = inspect(&[&origin.url()]).await;
    assert_eq!(inspected.code, 2, "{}", inspected.out);
    assert!(inspected.out.starts_with("No Agent Interaction Contract"), "{}", inspected.out);
    assert!(inspected.out.contains("OpenAPI; the pages themselves"), "{}", inspected.out);
}

#[tokio::test]
async fn inspect_tells_mistakes_from_nothing() {
    for text in ["aicp_version = ", "aicp_version = \"0.1\"\ncapabilities = 3\n"] {
        let origin = Origin::start(move |r: &Request| match r.target.as_str() {
            CONTRACT => Reply::new(200).header("Content-Type", "application/aicp+toml").body(text),
            _ => Reply::new(404).body("none"),
        });
        let origin = origin.await.owns_well_known();
        assert_eq!(inspect(&[&origin.url()]).await.code, 1, "{text}");
    }
    let dead = inspect(&[&format!("http://{}", crate::support::setup::dead_address())]).await;
    assert!(dead.code == 2 && dead.out.contains("cannot be reached"), "{}{}", dead.out, dead.err);
    let wrong = inspect(&["ftp://a.example"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("is not the URL of a site"), "{}", wrong.err);
}

#[tokio::test]
async fn inspect_follows_nobody_elsewhere() {
    let other = site(&[("/contract", "application/aicp+toml", TRAVEL)]).await;
    let to = format!("{}/contract", other.url());
    let origin = Origin::start(move |_: &Request| Reply::new(302).header("Location", &to)).await.owns_well_known();
    let inspected = inspect(&[&origin.url()]).await;
    assert_eq!(inspected.code, 2, "{}", inspected.out);
    assert!(inspected.out.contains("not followed"), "{}", inspected.out);
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[tokio::test]
async fn inspect_lets_nothing_steer_the_terminal() {
    let text = "aicp_version = \"\\u001b[2J\"\n[[capabilities]]\nid = \"\\u001b]0;x\\u0007\"\n";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        CONTRACT => Reply::new(200).header("Content-Type", "application/aicp+toml").body(text),
        _ => Reply::new(404).body("none"),
    });
    let origin = origin.await.owns_well_known();
    for json in [&[][..], &["--json"]] {
        let url = origin.url();
        let inspected = inspect(&[&[url.as_str()][..], json].concat()).await;
        assert_eq!(inspected.code, 1, "{}", inspected.out);
        assert!(inspected.out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", inspected.out);
    }
}

#[tokio::test]
async fn inspect_believes_only_certificates_it_can_trust() {
    let tls = Tls::new();
    let origin = Origin::start_tls(&tls, |_: &Request| {
        Reply::new(200).header("Content-Type", "application/aicp+toml").body("aicp_version = \"0.1\"\n")
    });
    let origin = origin.await.owns_well_known();
    let dir = Dir::new();
    let trusted = dir.write("ca.pem", &tls.cert_pem);
    let other = dir.write("other.pem", Tls::new().cert_pem);
    for (ca, code) in [(trusted, 0), (other, 2)] {
        let url = origin.url();
        let ended = tokio::task::spawn_blocking(move || {
            std::process::Command::new(binary()).args(["inspect", &url]).env("SSL_CERT_FILE", ca).output()
        });
        let done = soon("the inspection", ended).await.expect("the command").expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(!said.contains("without TLS"), "{said}");
    }
}

#[tokio::test]
async fn inspect_shows_what_an_agent_finds_before_and_after() {
    let page = "<!doctype html><html><head><title>Lamps</title></head><body><main><h1>Lamps</h1><p>We sell lamps of \
                brass and of glass, and we mend what is old.</p></main></body></html>";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/" => Reply::html(page),
        _ => Reply::new(404).body("none"),
    })
    .await;
    let desk = Desk::run_upstream(&origin.url()).await;
    eventually("the site is read", SOON, async || desk.get("/llms.txt").await.status == 200).await;
    let states = async |url: String| -> serde_json::Value {
        let inspected = inspect(&[&url, "--json"]).await;
        let report: serde_json::Value = serde_json::from_str(&inspected.out).expect("JSON");
        report["readiness"]["signals"].clone()
    };
    let (before, after) = (states(origin.url()).await, states(format!("http://{}", desk.ports.http)).await);
    let state = |signs: &serde_json::Value, key: &str| {
        let sign =
            signs.as_array().expect("signals").iter().find(|sign| sign["key"] == key).expect("the signal").clone();
        sign["state"].as_str().expect("a state").to_owned()
    };
    // What is promised beside each is what comes of it.
    let ours = [
        "link",
        "notice",
        "contract",
        "manifest",
        "mcp",
        "mcp_card",
        "openapi",
        "api_catalog",
        "llms_txt",
        "markdown",
        "markdown_path",
        "robots",
        "content_signals",
        "sitemap",
    ];
    for key in ours {
        assert_eq!((state(&before, key).as_str(), state(&after, key).as_str()), ("no", "yes"), "{key}: {after}");
    }
    for key in ["structured_data", "agtp"] {
        assert_eq!((state(&before, key).as_str(), state(&after, key).as_str()), ("no", "no"), "{key}: {after}");
    }
    assert_eq!(state(&after, "agents_let_in"), "yes");
    let shown = inspect(&[&origin.url()]).await;
    assert!(
        shown.out.contains("with Frontdesk in front") && shown.out.contains("tokens to a language model"),
        "{}",
        shown.out
    );
    assert_eq!(shown.code, 2, "the exit code is the contract's, as before");
    let asked = origin.requests().len();
    assert!(asked < 200, "a few requests each: {asked}");
}

const LAMPS: &str = "<!doctype html><html lang=\"en\"><head><title>Lamps</title><meta name=\"description\" content=\"Lamps \
    of brass and glass.\"></head><body><main><h1>Lamps</h1><p>We sell lamps of brass and of glass, and we mend what is \
    old.</p></main></body></html>";

/// The ladder of this address.
async fn ladder(url: &str) -> serde_json::Value {
    let inspected = inspect(&[url, "--json"]).await;
    let report: serde_json::Value = serde_json::from_str(&inspected.out).expect("JSON");
    report["ladder"].clone()
}

#[tokio::test]
async fn inspect_foretells_each_check_as_it_then_is_through_frontdesk() {
    const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
    const SKILLS: &str = r#"{"skills":[{"name":"own","url":"/own/SKILL.md","digest":"sha256:0"}]}"#;
    let sites: [&'static [(&'static str, &'static str, &'static str)]; 2] = [
        &[("/", "text/html", LAMPS)],
        &[
            ("/", "text/html", LAMPS),
            ("/robots.txt", "text/plain", ROBOTS),
            ("/about", "text/html", LAMPS),
            ("/.well-known/agent-skills/index.json", "application/json", SKILLS),
        ],
    ];
    for documents in sites {
        let origin =
            Origin::start(move |request: &Request| match documents.iter().find(|(path, ..)| *path == request.target) {
                Some((_, kind, body)) => Reply::new(200).header("Content-Type", kind).body(body),
                None => Reply::new(404).header("Content-Type", "text/html").body("<p>none</p>"),
            })
            .await
            .owns_well_known();
        let desk = Desk::run_upstream(&origin.url()).await;
        eventually("the site is read", SOON, async || {
            desk.get("/llms.txt").await.text().contains("Lamps") && desk.get("/robots.txt").await.status != 502
        })
        .await;
        let (direct, through) = (ladder(&origin.url()).await, ladder(&format!("http://{}", desk.ports.http)).await);
        for (foretold, seen) in
            direct["checks"].as_array().expect("checks").iter().zip(through["checks"].as_array().expect("checks"))
        {
            let (with, now) = (&foretold["with_frontdesk"]["state"], &seen["state"]);
            assert_eq!(with, now, "{}: {foretold} but {seen}", foretold["check"]);
        }
        assert_eq!(direct["with_frontdesk"]["level"], through["level"], "{direct}");
    }
}

#[tokio::test]
async fn inspect_fails_a_pipeline_below_a_level() {
    let origin = site(&[("/", "text/html", LAMPS)]).await;
    for (level, code) in [("0", 0), ("1", 1), ("5", 1)] {
        let inspected = inspect(&[&origin.url(), "--fail-below", level]).await;
        assert_eq!(inspected.code, code, "{}", inspected.out);
        assert!(inspected.out.contains("Readiness: level 0 of 5"), "{}", inspected.out);
    }
    let wrong = inspect(&[&origin.url(), "--fail-below", "6"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("0..=5"), "{}", wrong.err);
    let dead = inspect(&[&format!("http://{}", crate::support::setup::dead_address()), "--fail-below", "0"]).await;
    assert_eq!(dead.code, 2, "{}", dead.out);
}
