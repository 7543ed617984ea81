//! The same over every transport, with harnesses of other projects: the protocol's public crate, and a Python program.

use super::*;
use crate::support::Dir;
use crate::support::calls::{FULL, action, call};
use crate::support::harnesses::{Policy, over_http, over_stdio, over_unix, over_websocket, server};

/// What the harnesses decide by its name, and what comes of it.
const DECIDED: [(&str, u16); 5] = [("permit", 201), ("block", 403), ("defer", 503), ("escalate", 403), ("down", 503)];

/// An order for each decision.
fn tools() -> String {
    let upstream = "\nupstream = { method = \"POST\", path = \"/api/orders\" }";
    DECIDED.iter().map(|(name, _)| action(name, upstream)).collect()
}

async fn decides(url: String) {
    let origin = shop().await;
    let desk = before(&origin, std::slice::from_ref(&url), "").tail(&tools()).start().await;
    reachable(&desk).await;
    for round in 0..2 {
        for (name, status) in DECIDED {
            let response = desk.ask(Via::H1, call(&format!("/agent/{name}"), &json!({})).bearer(FULL)).await;
            assert_eq!(response.status, status, "{url}, {name}, round {round}: {}", response.text());
        }
    }
    assert_eq!(orders(&origin).len(), 2, "{url}: only what was allowed");
}

#[tokio::test]
async fn supervision_by_the_public_crate_over_http() {
    decides(over_http(server(&Policy::named("http"), 10, 10)).await).await;
}

#[tokio::test]
async fn supervision_by_the_public_crate_over_a_websocket() {
    decides(over_websocket(server(&Policy::named("ws"), 10, 10)).await).await;
}

#[tokio::test]
async fn supervision_by_the_public_crate_behind_a_unix_socket() {
    let dir = Dir::new();
    decides(over_unix(server(&Policy::named("unix"), 10, 10), &dir)).await;
}

#[tokio::test]
async fn supervision_by_a_python_program() {
    decides(over_stdio()).await;
}
