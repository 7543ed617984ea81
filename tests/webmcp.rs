//! Promise: the script that offers capabilities to an agent in the browser is off unless the operator wants it, short,
//! and only on pages whose Content-Security-Policy allows it.

use crate::support::page::PAGE;
use crate::support::{Desk, Origin, Reply, Request, Setup};

const SCRIPT: &str = "/.well-known/webmcp.js";
const ELEMENT: &str = "<script src=\"/.well-known/webmcp.js\" async></script>";

/// A site whose pages have the policy that their path names.
async fn site() -> Origin {
    Origin::start(|request: &Request| {
        let page = Reply::html(PAGE);
        match request.target.as_str() {
            "/self" => page.header("Content-Security-Policy", "script-src 'self'; object-src 'none'"),
            "/nonce" => page.header("Content-Security-Policy", "script-src 'nonce-abc'"),
            "/both" => page
                .header("Content-Security-Policy", "default-src 'self'")
                .header("Content-Security-Policy", "script-src 'none'"),
            "/report" => page.header("Content-Security-Policy-Report-Only", "script-src 'self'"),
            "/none" => page,
            "/missing" => Reply::new(404)
                .header("Content-Type", "text/html")
                .header("Content-Security-Policy", "script-src 'self'")
                .body(PAGE),
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

async fn has_script(desk: &Desk, path: &str) -> bool {
    desk.get(path).await.page().contains(ELEMENT)
}

#[tokio::test]
async fn webmcp_is_only_on_pages_whose_policy_allows_it() {
    let origin = site().await;
    let desk = Setup::before(&origin).set("discovery", "webmcp = true").start().await;
    for (path, expected) in [
        ("/self", true),
        ("/nonce", false),
        ("/both", false),
        ("/report", false),
        ("/none", false),
        ("/missing", false),
    ] {
        assert_eq!(has_script(&desk, path).await, expected, "{path}");
    }
    let script = desk.get(SCRIPT).await;
    assert_eq!((script.status, script.media_type().as_str()), (200, "text/javascript"));
    assert!(script.body.len() < 4096, "{} bytes", script.body.len());
    assert!(script.text().contains("fetch(\"/openapi.json\""), "{}", script.text());
}

#[tokio::test]
async fn webmcp_is_off_by_default() {
    let origin = site().await;
    let desk = Setup::before(&origin).start().await;
    assert!(!has_script(&desk, "/self").await);
    assert_eq!(desk.get(SCRIPT).await.text(), "none", "the site is asked");
}
