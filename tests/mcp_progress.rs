//! Promise: a client that names a progress token hears of a call that takes long, in each generation of MCP.

use crate::support::calls::{FULL, query, site, upstream_calls};
use crate::support::events::Events;
use crate::support::frames_h2::{DATA, END, END_HEADERS, FramesH2, HEADERS, PREFACE, SETTINGS, block, frame};
use crate::support::rpc::{self, NEWEST, post};
use crate::support::{Answer, Ask, Desk, Gate, Origin, Reply, Request, Setup, Step, Via};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What the site does once something else is over.
fn after(step: Step, reply: &Reply) -> Answer {
    vec![step, Step::Write([reply.head(), reply.whole().to_vec()].concat()), Step::KeepAlive].into()
}

/// A site that takes so long.
async fn slow(time: Duration) -> Origin {
    Origin::start(move |r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/slow" => after(Step::Pause(time), &Reply::json(r#"{"found":1}"#)),
        _ => Reply::json(r#"{"found":2}"#).into(),
    })
    .await
}

fn setup(origin: &Origin) -> Setup {
    let tool = |name: &str| {
        query(
            name,
            &format!(
                "\ninput_schema = {{ type = \"object\" }}\nupstream = {{ method = \"GET\", path = \"/api/{name}\", timeout = \"20s\" }}"
            ),
        )
    };
    site(origin, &(tool("slow") + &tool("quick")))
}

fn call(name: &str, token: Value, is_newest: bool) -> Ask {
    let mut params = json!({ "name": name, "arguments": {}, "_meta": { "progressToken": token } });
    if !is_newest {
        let ask = post(rpc::message("tools/call", params).to_string()).header("MCP-Protocol-Version", "2025-06-18");
        return ask.accept("application/json, text/event-stream");
    }
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    post(rpc::message("tools/call", params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", name)
        .accept("application/json, text/event-stream")
}

async fn is_heard_of(desk: &Desk, token: Value, is_newest: bool) {
    let began = Instant::now();
    let mut events = Events::of(desk, &call("slow", token.clone(), is_newest)).await;
    let mut before = 0;
    for _ in 0..2 {
        let event = events.next().await;
        let (params, method) = (&event["params"], &event["method"]);
        assert_eq!((method, &params["progressToken"]), (&json!("notifications/progress"), &token), "{event}");
        assert!(event.get("id").is_none() && params["message"].is_string(), "{event}");
        let progress = params["progress"].as_u64().expect("a number");
        assert!(progress > before, "it increases: {event}");
        before = progress;
    }
    assert!(began.elapsed() > Duration::from_millis(3900));
    let done = events.next().await;
    assert_eq!((&done["id"], &done["result"]["isError"]), (&json!(7), &json!(false)), "{done}");
    assert_eq!(done["result"].get("resultType").is_some(), is_newest, "{done}");
    events.end().await;
}

#[tokio::test]
async fn mcp_progress_is_told_where_a_token_asks_for_it() {
    let origin = slow(Duration::from_secs(5)).await;
    let desk = setup(&origin).start().await;
    tokio::join!(is_heard_of(&desk, json!("p-1"), true), is_heard_of(&desk, json!(7), false));
    assert_eq!(upstream_calls(&origin).len(), 2);
}

#[tokio::test]
async fn mcp_progress_over_the_library_too() {
    let origin = slow(Duration::from_secs(5)).await;
    let desk = setup(&origin).set("runtime", "fast_path = false").start().await;
    is_heard_of(&desk, json!("p-1"), true).await;
}

#[tokio::test]
async fn mcp_progress_over_http2_too() {
    let origin = slow(Duration::from_secs(5)).await;
    let desk = setup(&origin).set("listen", "h2c = true").start().await;
    let response = desk.ask(Via::H2c, call("slow", json!("p-1"), true)).await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "text/event-stream"), "{}", response.text());
    assert_eq!(response.text().matches("notifications/progress").count(), 2, "{}", response.text());
    assert!(
        response.text().trim_end().ends_with('}') && response.text().contains("\"found\":1"),
        "{}",
        response.text()
    );
}

#[tokio::test]
async fn mcp_progress_is_for_those_who_ask_and_wait() {
    let origin = slow(Duration::from_millis(2600)).await;
    let desk = setup(&origin).start().await;
    let is_plain = async |ask: Ask| {
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(rpc::result(&response)["isError"], false, "{}", response.text());
    };
    let without_stream = {
        let ask = call("slow", json!("p"), false);
        let headers = ask.headers.iter().filter(|(name, _)| name != "Accept").cloned().collect();
        Ask { headers, ..ask }
    };
    tokio::join!(
        is_plain(call("quick", json!("p"), false)),
        is_plain(call("slow", json!(null), false)),
        is_plain(call("slow", json!("x".repeat(300)), true)),
        is_plain(call("slow", json!({}), true)),
        is_plain(without_stream),
    );
}

#[tokio::test]
async fn mcp_progress_does_not_end_a_call_whose_client_left() {
    let gate = Gate::closed();
    let waits = gate.clone();
    let origin = Origin::start(move |_: &Request| after(Step::Wait(waits.clone()), &Reply::json("{}"))).await;
    let lines = "\ninput_schema = { type = \"object\" }\nupstream = { method = \"POST\", path = \"/api/slow\", timeout = \"20s\" }\n";
    let desk = site(&origin, &crate::support::calls::action("act", lines)).start().await;
    let body = rpc::message(
        "tools/call",
        json!({ "name": "act", "arguments": {}, "_meta": {
        "progressToken": "p", "idempotency_key": "k-1",
    } }),
    );
    let ask = post(body.to_string()).accept("application/json, text/event-stream").bearer(FULL);
    let mut events = Events::of(&desk, &ask).await;
    assert_eq!(events.next().await["method"], "notifications/progress");
    drop(events);
    tokio::time::sleep(Duration::from_millis(4500)).await;
    gate.open();
    // The act was carried out, and its key says so.
    let again = async || {
        let response = desk.ask(Via::H1, ask.clone()).await;
        response.text().contains("\"isError\":false")
    };
    crate::support::eventually("the answer under its key", crate::support::SOON, again).await;
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn mcp_progress_does_not_hold_up_a_call_whose_client_does_not_read() {
    let origin = Origin::start(|_: &Request| after(Step::Pause(Duration::from_secs(3)), &Reply::json("{}"))).await;
    let lines = "\ninput_schema = { type = \"object\" }\nupstream = { method = \"POST\", path = \"/api/slow\", timeout = \"20s\" }\n";
    let desk = site(&origin, &crate::support::calls::action("act", lines)).set("listen", "h2c = true").start().await;
    let meta = json!({ "progressToken": "p", "idempotency_key": "k-1" });
    let body = rpc::message("tools/call", json!({ "name": "act", "arguments": {}, "_meta": meta })).to_string();
    let mut conn = FramesH2::connect(desk.ports.http).await;
    // SETTINGS_INITIAL_WINDOW_SIZE = 0.
    let closed = frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
    let bearer = format!("Bearer {FULL}");
    let head = block(&[
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", b"site.test"),
        (b":path", b"/mcp"),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
        (b"authorization", bearer.as_bytes()),
    ]);
    let head = frame(HEADERS, END_HEADERS, 1, head);
    conn.send([PREFACE, &closed, &head, &frame(DATA, END, 1, body.as_bytes())].concat()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(upstream_calls(&origin).len(), 1);
    // The act is over when the site has answered, and its key says so.
    let again = async || {
        let response = desk.ask(Via::H1, post(&body).bearer(FULL)).await;
        response.text().contains("\"isError\":false")
    };
    crate::support::eventually("the answer under its key", Duration::from_secs(6), again).await;
    assert_eq!(upstream_calls(&origin).len(), 1);
    drop(conn);
}
