//! Promise: which of the two HTTP engines serves a request can be seen, and the fast one can be switched off.

use crate::support::calls::{call, query, site};
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup, Via, eventually, fast_path_is_off};
use serde_json::json;

/// The engines of the requests for these paths, in the order of the paths.
async fn engines(desk: &Desk, paths: &[&str]) -> Vec<String> {
    let found = |path: &str| {
        let lines = desk.access_log();
        let line = lines.iter().rev().find(|line| line["url.path"] == path)?;
        line["frontdesk.engine"].as_str().map(str::to_owned)
    };
    eventually("all lines", SOON, async || paths.iter().all(|path| found(path).is_some())).await;
    paths.iter().filter_map(|path| found(path)).collect()
}

/// Asks for something of each kind: passed over both protocols, with a body, answered here, and called.
async fn asks_everything(desk: &Desk) -> Vec<String> {
    let paths = ["/plain", "/h2c", "/upload", "/.well-known/agent.json", "/agent/read"];
    assert_eq!(desk.get("/plain").await.status, 200);
    assert_eq!(desk.ask(Via::H2c, Ask::get("/h2c")).await.status, 200);
    assert_eq!(desk.ask(Via::H1, Ask::post("/upload", "x")).await.status, 200);
    assert_eq!(desk.get("/.well-known/agent.json").await.status, 200);
    assert_eq!(desk.call(call("/agent/read", &json!({}))).await.status, 200);
    engines(desk, &paths).await
}

async fn desk(runtime: &str) -> (Origin, Setup) {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let read = query("read", "\nupstream = { method = \"GET\", path = \"/api/read\" }");
    let setup = site(&origin, &read).set("listen", "h2c = true").set("runtime", runtime);
    (origin, setup)
}

#[tokio::test]
async fn fast_path_serves_what_is_plain() {
    if fast_path_is_off() {
        return;
    }
    let (_origin, setup) = desk("").await;
    let desk = setup.start().await;
    let counted = async |labels: &str| desk.metric(&format!("frontdesk_http_requests_total{{{labels}}}")).await;
    let engines = asks_everything(&desk).await;
    assert_eq!(engines, ["fast_path", "fast_path", "pingora", "fast_path", "fast_path"]);
    // The same words are labels of the counter.
    assert_eq!(counted("engine=\"fast_path\"").await, Some(4.0));
    assert_eq!(counted("engine=\"pingora\"").await, Some(1.0));
    assert_eq!(counted("engine=\"fast_path\",method=\"GET\",protocol=\"2\"").await, Some(1.0));
}

/// The access line of a request that pingora served says why.
#[tokio::test]
async fn fast_path_says_why_it_left_a_request() {
    if fast_path_is_off() {
        return;
    }
    let (_origin, setup) = desk("").await;
    let desk = setup.set("protection", "max_header = \"2KB\"").start().await;
    let raw = async |text: &str| drop(desk.raw(text).await);
    let end = "Host: x\r\nConnection: close\r\n";
    raw(&format!("GET /fast HTTP/1.1\r\n{end}\r\n")).await;
    raw(&format!("GET /http_version HTTP/1.0\r\n{end}\r\n")).await;
    raw(&format!("PUT /method HTTP/1.1\r\n{end}Content-Length: 0\r\n\r\n")).await;
    raw(&format!("GET /event_stream HTTP/1.1\r\n{end}Accept: text/event-stream\r\n\r\n")).await;
    raw(&format!("POST /body_for_site HTTP/1.1\r\n{end}Content-Length: 1\r\n\r\na")).await;
    raw(&format!("POST /transfer_encoding HTTP/1.1\r\n{end}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")).await;
    raw(&format!("GET /special_header HTTP/1.1\r\n{end}TE: trailers\r\n\r\n")).await;
    raw(&format!("GET /many_headers HTTP/1.1\r\n{end}{}\r\n", "A: b\r\n".repeat(70))).await;
    raw(&format!("GET /head_to_refuse HTTP/1.1\r\n{end}A: {}\r\n\r\n", "a".repeat(3000))).await;
    assert_eq!(desk.ask(Via::H2c, Ask::post("/body", "x")).await.status, 200);
    assert_eq!(desk.ask(Via::H2c, Ask::get("/h2").header("Accept", "text/event-stream")).await.status, 200);
    let why = |path: &str| {
        let lines = desk.access_log();
        let line = lines.into_iter().rev().find(|line| line["url.path"] == path)?;
        Some(line["frontdesk.engine_reason"].as_str().map(str::to_owned))
    };
    let words = [
        "http_version",
        "method",
        "event_stream",
        "body_for_site",
        "transfer_encoding",
        "special_header",
        "many_headers",
        "head_to_refuse",
        "body",
    ];
    let expected = words.map(|word| (format!("/{word}"), Some(word)));
    for (path, word) in expected.into_iter().chain([("/fast".into(), None), ("/h2".into(), Some("event_stream"))]) {
        eventually("its line", SOON, async || why(&path).is_some()).await;
        assert_eq!(why(&path).flatten().as_deref(), word, "{path}");
    }
    let (_origin, setup) = self::desk("fast_path = false").await;
    let desk = setup.start().await;
    desk.get("/off").await;
    let line = || desk.access_log().into_iter().find(|line| line["url.path"] == "/off");
    eventually("its line", SOON, async || line().is_some()).await;
    assert_eq!(line().expect("its line")["frontdesk.engine_reason"], "switched_off");
}

#[tokio::test]
async fn fast_path_serves_nothing_where_it_is_off() {
    let (_origin, setup) = desk("fast_path = false").await;
    assert_eq!(asks_everything(&setup.start().await).await, ["pingora"; 5]);
}

/// It needs no restart, and no connection is lost.
#[tokio::test]
async fn fast_path_is_switched_while_running() {
    let (_origin, on) = desk("fast_path = true").await;
    let off = on.clone().instead("runtime", "fast_path = false");
    let desk = on.clone().start().await;
    let mut conn = desk.conn().await;
    for (path, setup, engine) in [("/1", &on, "fast_path"), ("/2", &off, "pingora"), ("/3", &on, "fast_path")] {
        desk.swap(setup).await;
        assert_eq!(conn.ask(&Ask::get(path)).await.status, 200);
        assert_eq!(engines(&desk, &[path]).await, [engine]);
    }
}
