//! Promise: an agent endpoint is answered by Frontdesk alone, with rate headers, and never reaches the site.

use crate::support::page::PAGE;
use crate::support::rates::{act, api_key, capability, is_let_through, rate};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Tls, Via};

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let hidden = capability("old.search", "query", "/agent/old").replace("risk_level", "exposed = false\nrisk_level");
    let put = capability("fares.put", "query", "/agent/fares").replace("\"POST\"", "\"PUT\"");
    let desk = Setup::before(&origin)
        .tls(&Tls::new())
        .tail(&api_key("partner-a", "hush-hush", ""))
        .tail(&capability("fares.search", "query", "/agent/fares"))
        .tail(&put)
        .tail(&capability("bookings.hold", "prepare_action", "/agent/bookings/hold"))
        .tail(&hidden)
        .start()
        .await;
    (origin, desk)
}

/// Declared method and path of everything that is ours.
const DECLARED: [(&str, &str); 8] = [
    ("POST", "/agent/converse"),
    ("GET", "/agent/converse/status/abc"),
    ("POST", "/mcp"),
    ("GET", "/openapi.json"),
    ("POST", "/capabilities/fares_search"),
    ("POST", "/agent/fares"),
    ("PUT", "/agent/fares"),
    ("POST", "/agent/bookings/hold"),
];

const MANIFESTS: [&str; 3] =
    ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"];

fn call(method: &str, path: &str) -> Ask {
    if method == "GET" { Ask::get(path) } else { Ask::new(method, path).body("{}") }
}

fn assert_none_seen(origin: &Origin) {
    let seen: Vec<String> = origin.asked().iter().map(|r| format!("{} {}", r.method, r.target)).collect();
    assert!(seen.is_empty(), "the site saw {seen:#?}");
}

/// What each of them says to a call that names nothing: it was taken by us, and understood.
fn is_taken(path: &str, status: u16) -> bool {
    if path.contains("/status/") { status == 404 } else { is_let_through(status) }
}

#[tokio::test]
async fn endpoints_answer_in_json_over_every_http() {
    let (origin, desk) = desk().await;
    for (method, path) in
        DECLARED.into_iter().filter(|(_, path)| !path.starts_with("/agent/") || path.contains("converse"))
    {
        for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
            let what = format!("{method} {path}, {via:?}");
            let response = desk.ask(via, call(method, path)).await;
            assert!(is_taken(path, response.status), "{what}: {} {}", response.status, response.text());
            assert!(response.json().is_object(), "{what}");
            if response.status >= 400 {
                let control = response.headers.tokens("cache-control");
                assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
            }
        }
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn endpoints_refuse_other_methods() {
    let (origin, desk) = desk().await;
    for (path, wrong, allowed) in [
        ("/agent/converse", &["GET", "PUT", "DELETE", "PROPFIND"][..], &["post"][..]),
        ("/agent/converse/status/abc", &["POST", "DELETE"], &["get"]),
        ("/mcp", &["PUT", "PATCH"], &["post"]),
        ("/openapi.json", &["POST", "DELETE"], &["get"]),
        ("/capabilities/fares_search", &["PUT", "DELETE"], &["post"]),
        ("/agent/fares", &["GET", "DELETE"], &["post", "put"]),
        ("/agent/bookings/hold", &["GET", "PUT"], &["post"]),
    ] {
        for method in wrong {
            let what = format!("{method} {path}");
            let response = desk.ask(Via::H1, Ask::new(method, path).body("{}")).await;
            assert_eq!(response.status, 405, "{what}: {}", response.text());
            let allow = response.headers.tokens("allow");
            assert!(allowed.iter().all(|m| allow.contains(&(*m).to_owned())), "{what}: {allow:?}");
            assert!(!allow.contains(&method.to_ascii_lowercase()), "{what}: {allow:?}");
        }
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn endpoints_in_another_spelling_are_not_found() {
    let (origin, desk) = desk().await;
    for (method, path) in DECLARED {
        let (front, last) = path.rsplit_once('/').expect("a path");
        let mid = last.len() / 2;
        for target in [
            format!("/{path}"),
            format!("{front}//{last}"),
            format!("{front}/./{last}"),
            format!("{front}/x/../{last}"),
            format!("/x/..{path}"),
            format!("{path}/"),
            format!("{path};v=1"),
            format!("{front}/%{:02x}{}", last.as_bytes()[0], &last[1..]),
            format!("{front}/{}%{:02X}{}", &last[..mid], last.as_bytes()[mid], &last[mid + 1..]),
        ] {
            let response = desk.ask(Via::H1, call(method, &target)).await;
            assert_eq!(response.status, 404, "{method} {target}: {}", response.text());
            rate(&response, &target);
        }
    }
    assert_none_seen(&origin);
}

#[tokio::test]
async fn endpoints_own_everything_below_them() {
    let (origin, desk) = desk().await;
    for target in ["/agent/converse/other", "/agent/converse/status", "/capabilities"] {
        for method in ["GET", "POST"] {
            let response = desk.ask(Via::H1, call(method, target)).await;
            assert!([404, 405].contains(&response.status), "{method} {target}: {}", response.status);
            rate(&response, target);
        }
    }
    let response = desk.ask(Via::H1, call("POST", "/capabilities/no")).await;
    assert!([400, 404].contains(&response.status), "{}", response.status);
    rate(&response, "nothing of that name");
    assert_none_seen(&origin);
}

#[tokio::test]
async fn endpoints_by_default_leave_a_site_its_pages_below_them() {
    let (origin, desk) = desk().await;
    let response = desk.ask(Via::H1, Ask::get("/capabilities/engineering")).await;
    assert_eq!((response.status, origin.last().target.as_str()), (200, "/capabilities/engineering"));
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("paths", "capabilities = \"/capabilities\"").start().await;
    assert_eq!(desk.ask(Via::H1, Ask::get("/capabilities/engineering")).await.status, 405);
    assert_none_seen(&origin);
}

#[tokio::test]
async fn endpoints_have_placeholders() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let record = capability("records.read", "resource", "/agent/records/{record_id}").replace("\"POST\"", "\"GET\"");
    let desk = Setup::before(&origin).tail(&record).start().await;
    for target in ["/agent//records/7", "/agent/records/7/", "/agent/records/7;a", "/agent/records/x/../7"] {
        let response = desk.ask(Via::H1, Ask::get(target)).await;
        assert_eq!(response.status, 404, "{target}");
        rate(&response, target);
    }
    assert_none_seen(&origin);
    for target in ["/agent/records/7", "/agent/records/%37"] {
        let response = desk.ask(Via::H1, Ask::get(target)).await;
        assert!(is_let_through(response.status), "{target}: {}", response.status);
        rate(&response, target);
        // Asked by the desk, and not as the client did.
        assert!(origin.requests().iter().any(|r| r.target == "/agent/records/7"));
    }
    assert_eq!(desk.ask(Via::H1, Ask::get("/agent/records/7/8")).await.status, 200);
}

#[tokio::test]
async fn endpoints_end_where_the_sites_own_paths_begin() {
    let (origin, desk) = desk().await;
    for target in [
        "/",
        "/agent",
        "/agent/",
        "/agent/conversely",
        "/mcp2",
        "/mcp.html",
        "/openapi.jsonx",
        "/capabilities2",
        "/agent/fares2",
        "/x/mcp",
    ] {
        let response = desk.ask(Via::H1, call("POST", target)).await;
        assert_eq!((response.status, origin.last().target.as_str()), (200, target));
        for name in ["X-RateLimit-Limit", "X-RateLimit-Remaining", "RateLimit", "RateLimit-Policy"] {
            assert!(!response.headers.has(name), "{target} is a page: {:?}", response.headers);
        }
    }
    let response = desk.ask(Via::H1, act("/agent/old")).await;
    assert_eq!(
        (response.status, origin.last().target.as_str()),
        (200, "/agent/old"),
        "what is not exposed is the site's"
    );
}

#[tokio::test]
async fn endpoints_move_with_their_paths() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    assert_eq!(desk.ask(Via::H1, call("POST", "/talk")).await.status, 200, "the site's");
    let paths = "converse = \"/talk\"\nmcp = \"/tools\"\nopenapi = \"/api.json\"\ncapabilities = \"/can\"";
    desk.swap(&setup.set("paths", paths)).await;
    for (method, path) in
        [("POST", "/talk"), ("GET", "/talk/status/a"), ("POST", "/tools"), ("GET", "/api.json"), ("POST", "/can/do")]
    {
        let response = desk.ask(Via::H1, call(method, path)).await;
        assert!(response.status == 404 || is_let_through(response.status), "{method} {path}: {}", response.status);
        rate(&response, path);
    }
    for (method, path) in &DECLARED[..5] {
        assert_eq!(desk.ask(Via::H1, call(method, path)).await.status, 200, "{path} is the site's now");
    }
}

#[tokio::test]
async fn endpoints_say_the_rate_on_every_answer() {
    let (_origin, desk) = desk().await;
    let asked = async |ask: Ask| -> Response {
        let what = format!("{} {}", ask.method, ask.target);
        let response = desk.ask(Via::H1, ask).await;
        rate(&response, &what);
        response
    };
    let ask = async |ask: Ask, status: u16| -> Response {
        let what = format!("{} {}", ask.method, ask.target);
        let response = asked(ask).await;
        assert_eq!(response.status, status, "{what}: {}", response.text());
        response
    };
    for (method, path) in DECLARED {
        for call in [call(method, path), call(method, path).header("X-AHP-Key", "hush-hush")] {
            let status = asked(call).await.status;
            assert!(is_taken(path, status), "{method} {path}: {status}");
        }
        ask(call(method, path).header("X-AHP-Key", "wrong"), 401).await;
        ask(Ask::new("PROPFIND", path), 405).await;
        ask(call(method, &format!("/{path}")), 404).await;
    }
    for path in MANIFESTS {
        let tag = ask(Ask::get(path), 200).await.header("etag").expect("a tag").to_owned();
        ask(Ask::head(path), 200).await;
        ask(Ask::get(path).header("If-None-Match", &tag), 304).await;
        ask(Ask::get(path).header("X-AHP-Key", "wrong"), 401).await;
        ask(Ask::new("DELETE", path), 405).await;
        ask(Ask::get(&format!("{path}/")), 404).await;
    }
    ask(Ask::get("/.well-known/agent-interface").accept("application/aicp+toml;version=9.9"), 406).await;
}

#[tokio::test]
async fn endpoints_keep_the_connection_after_an_answer() {
    let (_origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    for _ in 0..3 {
        assert_eq!(conn.ask(&call("POST", "/agent/converse")).await.status, 400);
        assert!(is_let_through(conn.ask(&Ask::get("/openapi.json")).await.status));
        assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
    }
}

#[tokio::test]
async fn endpoints_are_not_passed_by_an_upgrade() {
    let (origin, desk) = desk().await;
    for (method, path) in DECLARED {
        for method in [method, "GET"] {
            let ask = call(method, path).header("Connection", "Upgrade").header("Upgrade", "websocket");
            let response = desk.ask(Via::H1, ask).await;
            let taken = response.status == 405 || is_taken(path, response.status);
            assert!(taken, "{method} {path}: {}", response.status);
            rate(&response, path);
        }
    }
    // The desk may have called the site, but no client's request passed.
    assert!(origin.asked().iter().all(|r| !r.headers.has("upgrade")), "{:?}", origin.asked().len());
}
