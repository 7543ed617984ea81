//! Promise: a key and a confirmation belong to a caller and a capability, whatever the client writes into Host; an
//! answer that the site made for one Host never goes to another.

use crate::support::handshake::{question, saying, with};
use crate::support::lamps;
use crate::support::rpc::{message, post};
use crate::support::shop::{ADA, BOB, carried_out, desk_before, is_replay, item, open, order, token};
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Via, calls, verbs};
use serde_json::json;

/// What one client may call the same site.
const HOSTS: [&str; 5] = ["example.com", "example.com:80", "www.example.com", "EXAMPLE.com", "127.0.0.1:8080"];

async fn shop() -> (Origin, Desk) {
    let origin = open().await;
    let desk = desk_before(&origin).start().await;
    (origin, desk)
}

async fn asked_by_every_name(ask: impl Fn() -> Ask) -> Vec<crate::support::Request> {
    let (origin, desk) = shop().await;
    for host in HOSTS {
        let response = desk.ask(Via::H1, ask().header("Host", host).bearer(ADA)).await;
        assert!(response.text().contains("o-1"), "{host}: {} {}", response.status, response.text());
    }
    carried_out(&origin)
}

#[tokio::test]
async fn a_key_is_the_same_by_every_name_in_each_dialect() {
    let aicp = asked_by_every_name(|| item("pay", "book").key("k-1")).await;
    assert_eq!(aicp.len(), 1, "AICP");
    let asked = with(
        question("shop_pay", "Pay for the book."),
        json!({ "input": { "item": "book" }, "context": { "idempotency_key": "k-1" } }),
    );
    let ahp = asked_by_every_name(|| saying(asked.to_string())).await;
    assert_eq!(ahp.len(), 1, "AHP");
    let arguments = json!({ "item": "book", "query": "Pay for the book.", "idempotency_key": "k-1" });
    let called = message("tools/call", json!({ "name": "shop_pay", "arguments": arguments }));
    let mcp = asked_by_every_name(|| post(called.to_string())).await;
    assert_eq!(mcp.len(), 1, "MCP");
}

#[tokio::test]
async fn a_key_is_the_same_by_every_name_over_agtp() {
    let (origin, desk) = lamps::open().await;
    for (n, host) in HOSTS.into_iter().enumerate() {
        let ask = verbs::verb("PURCHASE", "/basket").bearer(lamps::FULL).scopes("shop:buy").key("k-1");
        let said = desk.say(ask.header("Host", host).json(&json!({ "lamp_id": "L1" }))).await;
        assert_eq!((said.status, said.headers.has("idempotency-replayed")), (200, n > 0), "{host}: {}", said.text());
    }
    assert_eq!(calls::upstream_calls(&origin).iter().filter(|r| r.target == "/api/orders").count(), 1);
}

#[tokio::test]
async fn a_key_is_still_another_for_another_caller_and_capability() {
    let (origin, desk) = shop().await;
    for ask in [item("pay", "book").bearer(ADA), item("pay", "book").bearer(BOB), item("book", "book").bearer(ADA)] {
        let first = desk.ask(Via::H1, ask.key("k-1").header("Host", "example.com")).await;
        assert!(!is_replay(&first), "{}", first.text());
    }
    assert_eq!(carried_out(&origin).len(), 3);
}

#[tokio::test]
async fn a_confirmation_is_good_by_every_name_and_once() {
    let (origin, desk) = shop().await;
    let buy = |host: &str, key: &str| item("buy", "book").key(key).bearer(ADA).header("Host", host);
    let token = token(&desk.ask(Via::H1, buy("example.com", "k-1")).await);
    let bought = desk.ask(Via::H1, buy("www.example.com", "k-1").confirmed(&token)).await;
    assert_eq!(order(&bought, "asked by one name, confirmed by another"), "o-1");
    for host in HOSTS {
        let again = desk.ask(Via::H1, buy(host, "k-2").confirmed(&token)).await;
        assert_eq!(again.status, 428, "{host}: used up: {}", again.text());
    }
    assert_eq!(carried_out(&origin).len(), 1);
}

/// A site that makes links of the Host that it hears.
async fn links(lines: &str) -> (Origin, Desk) {
    let origin = Origin::start(|r: &Request| match r.target.starts_with("/api/") {
        true => Reply::json(json!({ "link": r.headers.get("host"), "n": r.target }).to_string()),
        false => Reply::new(404),
    })
    .await;
    let read = "data_sensitivity = \"public\"\ncache_ttl_seconds = 60\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/api/read\"";
    let setup: Setup = calls::site(&origin, &calls::query("read", &format!("\n{read}"))).set("upstream", lines);
    let desk = setup.start().await;
    (origin, desk)
}

#[tokio::test]
async fn an_answer_that_was_made_for_one_host_is_not_told_to_another() {
    let read = |host: &str| calls::call("/agent/read", &json!({})).header("Host", host);
    let (origin, desk) = links("").await;
    for host in ["one.test", "two.test", "one.test", "ONE.test"] {
        let answer = desk.call(read(host)).await.json();
        assert_eq!(answer["data"]["link"], host.to_lowercase(), "{answer}");
    }
    assert_eq!(calls::upstream_calls(&origin).len(), 2);
    // Where the site never hears it, all names have one answer.
    let (origin, desk) = links("preserve_host = false").await;
    for host in ["one.test", "two.test"] {
        assert_eq!(desk.call(read(host)).await.status, 200);
    }
    assert_eq!(calls::upstream_calls(&origin).len(), 1);
}
