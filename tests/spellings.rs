//! Promise: an agent endpoint belongs to Frontdesk in every spelling, and the site sees none of them.

mod generated;

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Tls, Via};

/// Thirty ways to write `/.well-known/LAST`.
fn spellings(last: &str) -> Vec<String> {
    let (stem, end) = last.split_at(last.len() - 1);
    let last_byte = end.as_bytes()[0];
    let upper = format!("%{last_byte:02X}");
    let lower = format!("%{last_byte:02x}");
    vec![
        format!("/.well-known/{last}"),
        format!("//.well-known/{last}"),
        format!("///.well-known/{last}"),
        format!("/.well-known//{last}"),
        format!("/.well-known///{last}"),
        format!("/./.well-known/{last}"),
        format!("/.well-known/./{last}"),
        format!("/x/../.well-known/{last}"),
        format!("/.well-known/x/../{last}"),
        format!("/../.well-known/{last}"),
        format!("/.well-known/../.well-known/{last}"),
        format!("/%2ewell-known/{last}"),
        format!("/%2Ewell-known/{last}"),
        format!("/.well%2dknown/{last}"),
        format!("/.well%2Dknown/{last}"),
        format!("/.%77ell-known/{last}"),
        format!("/.well-known/{stem}{upper}"),
        format!("/.well-known/{stem}{lower}"),
        format!("/.well-known/%2e/{last}"),
        format!("/x/%2e%2e/.well-known/{last}"),
        format!("/.well-known%2f{last}"),
        format!("/.well-known%2F{last}"),
        format!("/%2f.well-known/{last}"),
        format!("/.well-known\\{last}"),
        format!("/.well-known%5c{last}"),
        format!("/\\.well-known/{last}"),
        format!("/.well-known/{last};x"),
        format!("/.well-known/{last};a=b"),
        format!("/.well-known;v=1/{last}"),
        format!("/.well-known/{last}/"),
        format!("/.well-known/{last}//"),
        format!("/.well-known/{last}/."),
        format!("/.well-known/{last}?q=1"),
        format!("/.well-known/{last}/?q=1"),
    ]
}

const ENDPOINTS: [&str; 3] = ["agent.json", "agent-interface.toml", "agent-interface"];

async fn desk() -> (Origin, Desk) {
    let tls = Tls::new();
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).tls(&tls).start().await;
    (origin, desk)
}

fn assert_none_seen(origin: &Origin) {
    let seen: Vec<String> = origin.asked().iter().map(|r| format!("{} {}", r.method, r.target)).collect();
    assert!(seen.is_empty(), "the site saw {seen:#?}");
}

#[tokio::test]
async fn spellings_of_an_endpoint_never_reach_the_site() {
    let (origin, desk) = desk().await;
    for endpoint in ENDPOINTS {
        for target in spellings(endpoint) {
            let response = desk.ask(Via::H1, Ask::get(&target)).await;
            // 400 is the library's for a target that is no URI at all.
            let ours = [200, 404, 405].contains(&response.status) || (response.status == 400 && target.contains('\\'));
            assert!(ours, "GET {target}: {}", response.status);
            assert!(!response.text().contains("Welcome"), "GET {target} got the site's page");
        }
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn spellings_with_another_method_never_reach_the_site() {
    let (origin, desk) = desk().await;
    for target in spellings("agent.json") {
        for method in ["POST", "DELETE", "OPTIONS", "PROPFIND"] {
            let response = desk.ask(Via::H1, Ask::new(method, &target).body("")).await;
            let options = method == "OPTIONS" && [200, 204].contains(&response.status);
            let ours = options || [400, 404, 405].contains(&response.status);
            assert!(ours, "{method} {target}: {}", response.status);
        }
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn spellings_over_http2_never_reach_the_site() {
    let (origin, desk) = desk().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for target in spellings("agent.json").into_iter().filter(|t| !t.contains('\\')) {
        let response = h2.ask(&Ask::get(&target)).await;
        assert!([200, 404, 405].contains(&response.status), "GET {target}: {}", response.status);
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn spellings_in_absolute_form_never_reach_the_site() {
    let (origin, desk) = desk().await;
    for target in spellings("agent.json").into_iter().filter(|t| !t.contains('\\')) {
        let response = desk.ask(Via::H1, Ask::get(&format!("http://site.test{target}"))).await;
        assert!([200, 400, 404, 405].contains(&response.status), "GET {target}: {}", response.status);
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn spellings_of_the_sites_own_paths_pass_exactly_as_written() {
    let (origin, desk) = desk().await;
    for target in [
        "/",
        "/a//b",
        "/a/./b",
        "/a/../b",
        "/%61",
        "/a%2Fb",
        "/a;v=1",
        "/a/?q=%20&&x",
        "/.well-known/other",
        "/.well-known/agent.jsonx",
        "/.well-known/agent",
        "/x/.well-known/agent.json",
        "/Search/Agent.JSON",
        "/100%/a:b/~me",
        "/caf%C3%A9/%E6%97%A5.",
        "/search?q=/.well-known/agent.json",
        "/a?b?c",
    ] {
        desk.ask(Via::H1, Ask::get(target)).await;
        assert_eq!(origin.last().target, target, "byte for byte");
    }
}

#[tokio::test]
async fn spellings_that_are_refused_are_refused_in_html_to_who_prefers_it() {
    use crate::support::page::take_out;
    let (origin, desk) = desk().await;
    for (method, target, status, reason) in [
        ("GET", "/.well-known/agent.json;x", 404, "not_found"),
        ("GET", "/.well-known%2fagent.json", 404, "not_found"),
        ("DELETE", "/.well-known/agent.json", 405, "method_not_allowed"),
        ("POST", "/.well-known/agent-interface.toml", 405, "method_not_allowed"),
    ] {
        for via in [Via::H1, Via::H2Tls] {
            let what = format!("{method} {target}, {via:?}");
            let counter = format!("frontdesk_rejections_total{{reason=\"{reason}\"}}");
            let before = desk.metric(&counter).await.unwrap_or(0.0);
            let ask = Ask::new(method, target).accept("text/html");
            let response = desk.ask(via, ask).await;
            assert_eq!((response.status, response.media_type().as_str()), (status, "text/html"), "{what}");
            assert_eq!(take_out(&response.page()).notices.len(), 1, "{what}: {}", response.page());
            assert_eq!(desk.metric(&counter).await, Some(before + 1.0), "{what}");
            assert_eq!(response.headers.has("allow"), status == 405, "{what}");
        }
    }
    assert_none_seen(&origin);
}
