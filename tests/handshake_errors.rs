//! Promise: every failure reaches an agent in the specified form, with its rate and the time of the next attempt.

use crate::support::calls::FULL;
use crate::support::handshake::{CONVERSE, asking, assert_error, assert_reply, question, saying, with};
use crate::support::rates::{assert_limited, rate};
use crate::support::setup::dead_address;
use crate::support::{Ask, Origin, Reply, Request, Setup, Step, Via, agency};
use serde_json::{Value, json};
use std::time::Duration;

fn stock() -> Value {
    question("stock_check", "What is left?")
}

#[tokio::test]
async fn clause_29_a_capability_that_is_not_there_is_told_with_those_that_are() {
    let (_origin, desk) = agency::open().await;
    let manifest = desk.manifest().await;
    let of_manifest: Vec<&str> =
        manifest["capabilities"].as_array().expect("capabilities").iter().filter_map(|c| c["name"].as_str()).collect();
    for name in ["foobar", "stock_chec", "flights"] {
        let response = desk.ask(Via::H1, asking(&question(name, "?"))).await;
        let reply = assert_error(&response, 400, "unknown_capability", name);
        let available: Vec<&str> =
            reply["available_capabilities"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert!(available.contains(&"stock_check") && available.iter().all(|a| of_manifest.contains(a)), "{reply}");
    }
}

#[tokio::test]
async fn clause_29_another_method_or_type_is_told_in_the_same_form() {
    let (_origin, desk) = agency::open().await;
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let response = desk.ask(Via::H1, Ask::new(method, CONVERSE).body("{}")).await;
        assert_error(&response, 405, "invalid_request", method);
        assert!(response.headers.joined("allow").contains("POST"), "C8: {:?}", response.headers);
    }
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml"]
    {
        let ask = Ask::post(CONVERSE, stock().to_string()).header("Content-Type", kind);
        assert_error(&desk.ask(Via::H1, ask).await, 415, "invalid_request", kind);
    }
}

#[tokio::test]
async fn clause_29_whoever_sends_a_question_is_told_in_the_same_form_whatever_they_take() {
    let (_origin, desk) = agency::open().await;
    let long = with(stock(), json!({ "input": { "x": "y".repeat(70_000) } })).to_string();
    for accept in ["text/html", "text/html,application/xhtml+xml,*/*;q=0.8"] {
        for path in [CONVERSE, "/capabilities/stock_check"] {
            let ask = || Ask::post(path, &long).header("Content-Type", "application/json").accept(accept);
            assert_error(&desk.ask(Via::H1, ask()).await, 413, "request_too_large", path);
            assert_error(&desk.ask(Via::H1, ask().bearer("wrong")).await, 401, "auth_required", path);
        }
    }
}

#[tokio::test]
async fn clause_29_a_site_that_is_down_is_unavailable() {
    let origin = Origin::start(agency::says).await;
    let dead = format!("http://{}", dead_address());
    let capability = "\n[[capabilities]]\nid = \"stock.check\"\ntype = \"query\"\ndescription = \"Says what is left.\"\n\
                      risk_level = \"low\"\nauth = \"none\"\nupstream = { method = \"GET\", path = \"/api/stock\" }\n";
    let desk = Setup::before_urls(&[dead]).tail(capability).start().await;
    let response = desk.ask(Via::H1, asking(&stock())).await;
    assert_error(&response, 503, "unavailable", "C8");
    let wait = response.header("retry-after").and_then(|w| w.parse::<u64>().ok());
    assert!(wait.is_some_and(|w| w >= 1), "{:?}", response.headers);
    drop(origin);
}

#[tokio::test]
async fn clause_29_a_site_that_is_broken_is_a_concierge_error() {
    for (what, reply) in [
        ("500", Reply::new(500).header("Content-Type", "application/json").body("{\"trace\":\"inner-trace\"}")),
        ("nonsense", Reply::new(200).header("Content-Type", "application/json").body("{inner-trace")),
        ("a page", Reply::html("<p>inner-trace</p>")),
    ] {
        let origin = Origin::start(move |r: &Request| match r.target.split('?').next().unwrap_or_default() {
            "/api/stock" => reply.clone().into(),
            _ => agency::says(r),
        })
        .await;
        let desk = agency::before(&origin).start().await;
        let response = desk.ask(Via::H1, asking(&stock())).await;
        assert_error(&response, 500, "concierge_error", what);
        assert!(!response.text().contains("inner-trace"), "{what}: {}", response.text());
    }
}

#[tokio::test]
async fn clause_29_a_site_that_hangs_up_or_never_answers_is_told_in_time() {
    for steps in [vec![Step::Close], vec![Step::Stall]] {
        let stalls = matches!(steps[0], Step::Stall);
        let origin = Origin::start(move |r: &Request| match r.target.split('?').next().unwrap_or_default() {
            "/api/stock" => steps.clone().into(),
            _ => agency::says(r),
        })
        .await;
        let desk = agency::before(&origin).set("upstream", "read_timeout = \"2s\"").start().await;
        let begun = std::time::Instant::now();
        let response = desk.ask(Via::H1, asking(&stock())).await;
        assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
        let reply = assert_reply(&response, "no answer");
        assert!([500, 503].contains(&response.status), "stalls: {stalls}: {} {reply}", response.status);
        assert!(["concierge_error", "unavailable"].contains(&reply["code"].as_str().unwrap_or_default()), "{reply}");
    }
}

#[tokio::test]
async fn clause_29_paths_below_the_conversation_are_told_in_the_same_form() {
    let (_origin, desk) = agency::open().await;
    for path in ["/agent/converse/other", "/agent//converse", "/agent/converse/", "/agent/converse/status/x/y"] {
        assert_error(&desk.ask(Via::H1, Ask::get(path)).await, 404, "invalid_request", path);
    }
}

#[tokio::test]
async fn clause_30_every_reply_says_the_rate() {
    let (_origin, desk) = agency::open().await;
    // `assert_reply` wants the four headers on each.
    for ask in [
        asking(&stock()),
        asking(&question("nothing", "?")),
        asking(&question("hold_make", "?")),
        asking(&question("hold_make", "?")).bearer(FULL),
        saying("{"),
        saying("x".repeat(9000)),
        Ask::get(CONVERSE),
        Ask::get("/agent/converse/status/x"),
    ] {
        assert_reply(&desk.ask(Via::H1, ask).await, "a reply");
    }
    for path in ["/.well-known/agent.json", "/openapi.json"] {
        rate(&desk.get(path).await, path);
    }
    for path in ["/mcp", "/capabilities/stock_check"] {
        rate(&desk.ask(Via::H1, Ask::post(path, "{}").header("Content-Type", "application/json")).await, path);
    }
}

#[tokio::test]
async fn clause_31_a_refusal_says_when_and_whose_limit_it_was() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).limits(&[("anonymous", "2/minute")]).start().await;
    for _ in 0..2 {
        desk.told(&stock()).await;
    }
    for ask in [asking(&stock()), Ask::get("/agent/converse/status/x"), saying("{")] {
        let response = desk.ask(Via::H1, ask).await;
        assert_limited(&response, "ip", "beyond it");
        assert_error(&response, 429, "rate_limited", "beyond it");
    }
    // Another address is another count.
    let other = desk.ask_from(2, &asking(&stock())).await;
    assert_eq!(other.status, 200, "{}", other.text());
}

#[tokio::test]
async fn clause_32_an_agents_own_limit_is_of_scope_agent() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).limits(&[("anonymous", "20/minute"), ("per_agent", "3/minute")]).start().await;
    let asked = |agent: &str| with(stock(), json!({ "context": { "requesting_agent": agent } }));
    // Of the limits that hold the tighter one is told, and all of them are listed.
    let first = desk.ask(Via::H1, asking(&asked("my-bot/1.0"))).await;
    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), (Some("3"), Some("2")));
    let listed = first.header("ratelimit").unwrap_or_default();
    assert!(listed.contains("\"per-agent\";r=2") && listed.contains("\"anonymous\";r=19"), "{listed}");
    for _ in 0..2 {
        desk.told(&asked("my-bot/1.0")).await;
    }
    let response = desk.ask(Via::H1, asking(&asked("my-bot/1.0"))).await;
    let reply = assert_error(&response, 429, "rate_limited", "the agent's limit comes first");
    assert_eq!(reply["scope"], "agent", "{reply}");
    let wait = response.header("retry-after").and_then(|w| w.parse::<u64>().ok()).expect("Retry-After");
    assert!(wait >= 1 && reply["retry_after"] == wait, "{reply}");
    // Another claim from the same address is no way around the address's own limit.
    let mut answered = 0;
    for n in 0..30 {
        let response = desk.ask(Via::H1, asking(&asked(&format!("bot-{n}")))).await;
        answered += usize::from(response.status == 200);
        if response.status == 429 {
            assert!(["ip", "agent"].contains(&response.json()["scope"].as_str().unwrap_or_default()));
        }
    }
    assert!((1..=17).contains(&answered), "{answered} of at most 17 that the address had left");
}
