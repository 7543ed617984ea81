//! Promise: a yes acts only while its call waits for it, under the configuration that it was asked under, and nobody takes
//! the places of all others.

use super::*;
use crate::support::client::Conn;

/// A yes that is said so long after the client has left.
const LATE: [Duration; 3] = [Duration::from_millis(60), Duration::from_millis(400), Duration::from_secs(3)];

async fn acts_for_nobody(fast_path: bool) {
    let origin = shop().await;
    let setup = site(&origin, &buy("")).set("runtime", &format!("fast_path = {fast_path}"));
    let desk = setup.set("listen", "h2c = true").start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    for late in LATE {
        let (events, request) = client.asked(&desk).await;
        drop(events);
        tokio::time::sleep(late).await;
        let heard = client.answers(&desk, &request["id"], yes()).await.status;
        assert!(late < LATE[2] || heard == 400, "the question is closed: {heard}");
        // One that says that it sends nothing any more.
        let mut conn = desk.conn().await;
        conn.send(client.call().bytes()).await;
        let said = [conn.until("elicitation/create").await, conn.until("\n\n").await].concat();
        conn.end_sending().await;
        tokio::time::sleep(late).await;
        let heard = client.answers(&desk, &id(&String::from_utf8_lossy(&said)), yes()).await.status;
        assert!(late < LATE[2] || heard == 400, "the question is closed: {heard}");
        // A stream that is reset, while its connection goes on.
        let mut conn = desk.h2(Via::H2c).await;
        let mut incoming = conn.begin(&client.call()).await;
        incoming.until("elicitation/create").await;
        incoming.until("\n\n").await;
        let id = id(&incoming.response.text());
        drop(incoming);
        tokio::time::sleep(late).await;
        let heard = client.answers(&desk, &id, yes()).await.status;
        assert!(late < LATE[2] || heard == 400, "the question is closed: {heard}");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(orders(&origin), 0);
    // One that stays gets what it asked for, and so does one that has sent its next request already.
    let (events, request) = client.asked(&desk).await;
    client.answers(&desk, &request["id"], yes()).await;
    assert!(result(events).await.to_string().contains("o-1"));
    let mut conn = desk.conn().await;
    conn.send(client.call().bytes()).await;
    let said = [conn.until("elicitation/create").await, conn.until("\n\n").await].concat();
    conn.send(client.post(&rpc::message("ping", json!({}))).bytes()).await;
    client.answers(&desk, &id(&String::from_utf8_lossy(&said)), yes()).await;
    conn.until("o-1").await;
    assert_eq!(orders(&origin), 2);
}

/// A person confirms on the page after the client, which waited for that, has left.
#[tokio::test]
async fn elicitation_stream_a_yes_on_the_page_after_the_client_left_does_nothing() {
    for fast_path in [true, false] {
        let origin = shop().await;
        let setup = site(&origin, &buy("by = \"page\"")).set("runtime", &format!("fast_path = {fast_path}"));
        let desk = setup.start().await;
        let client = Client::begin(&desk, "2025-11-25", json!({ "form": {}, "url": {} })).await;
        let sent = desk.ask(Via::H1, client.call()).await;
        let url = sent.json()["error"]["data"]["elicitations"][0]["url"].as_str().expect("an address").to_owned();
        let path = url.strip_prefix("https://site.test").expect("of this site");
        // A call within the same second gets the address of the page again. A later one waits for the person.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let mut conn = desk.conn().await;
        conn.send(client.call().bytes()).await;
        conn.until(":\n\n").await;
        drop(conn);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let press = Ask::post(path, "decision=confirm")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Sec-Fetch-Site", "same-origin");
        assert_eq!(desk.call(press).await.status, 303);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(orders(&origin), 0, "fast path {fast_path}");
        // The person's yes still holds for a client that comes back.
        let done = desk.ask(Via::H1, client.call()).await;
        assert!(done.text().contains("o-1"), "{}", done.text());
        assert_eq!(orders(&origin), 1);
    }
}

/// A call that waits for the page gets its result as the last event; one whose client takes no events does not wait, and does
/// nothing.
#[tokio::test]
async fn elicitation_stream_waits_for_the_page_only_where_it_sees_its_client() {
    let origin = shop().await;
    let desk = site(&origin, &buy("by = \"page\"")).start().await;
    let client = Client::begin(&desk, "2025-11-25", json!({ "form": {}, "url": {} })).await;
    let sent = desk.ask(Via::H1, client.call()).await;
    let url = sent.json()["error"]["data"]["elicitations"][0]["url"].as_str().expect("an address").to_owned();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let mut blind = client.call();
    blind.headers.retain(|(name, _)| name != "Accept");
    let blind = blind.accept("application/json");
    let told = desk.ask(Via::H1, blind).await;
    assert_eq!(told.json()["error"]["data"]["elicitations"][0]["url"], url.as_str(), "{}", told.text());
    let mut conn = desk.conn().await;
    conn.send(client.call().bytes()).await;
    conn.until(":\n\n").await;
    assert_eq!(orders(&origin), 0);
    let press = Ask::post(url.strip_prefix("https://site.test").expect("of this site"), "decision=confirm")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin");
    assert_eq!(desk.call(press).await.status, 303);
    conn.until("o-1").await;
    assert_eq!(orders(&origin), 1);
}

/// The id of the request in a stream.
fn id(said: &str) -> Value {
    json!(said.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id"))
}

#[tokio::test]
async fn elicitation_stream_a_yes_after_the_client_left_does_nothing() {
    Box::pin(acts_for_nobody(true)).await;
}

#[tokio::test]
async fn elicitation_stream_a_yes_after_the_client_left_does_nothing_over_the_library_too() {
    Box::pin(acts_for_nobody(false)).await;
}

#[tokio::test]
async fn elicitation_stream_an_error_is_no_yes() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    for error in [json!({ "code": -1, "message": "no" }), json!(null)] {
        let (events, request) = client.asked(&desk).await;
        let both = json!({ "jsonrpc": "2.0", "id": request["id"], "result": yes(), "error": error });
        assert_eq!(desk.ask(Via::H1, client.post(&both)).await.status, 202);
        let done = result(events).await;
        assert_eq!(done["isError"], true, "{done}");
        confirms_nothing(&desk, &done).await;
    }
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_anonymous_callers_leave_places_to_others() {
    let origin = shop().await;
    let lines = "\nrisk_level = \"low\"\nauth = \"optional\"\n\
        input_schema = { type = \"object\", required = [\"city\"], properties = { city = { type = \"string\" } } }\n\
        upstream = { method = \"GET\", path = \"/api/orders\" }\n[capabilities.ahp]\nextract = { city = \"in ([A-Z][a-z]+)\" }";
    let desk = site(&origin, &(buy("") + &crate::support::calls::declare("weather", "query", lines))).start().await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} } });
    let initialize = post(rpc::message("initialize", params).to_string());
    let (mut held, mut asked) = (Vec::new(), Vec::new());
    for host in 2..=18 {
        let begun = Conn::open_from(host, desk.ports.http).await.ask(&initialize).await;
        let session = begun.header("mcp-session-id").expect("a session").to_owned();
        let call = post(rpc::call("weather", json!({ "query": "How is it?" })).to_string())
            .header("MCP-Protocol-Version", "2025-06-18")
            .header("Mcp-Session-Id", &session)
            .accept("application/json, text/event-stream");
        let mut of_this = 0;
        for n in 0..8 {
            // A claimed name makes nobody somebody else.
            let call = call.clone().header("User-Agent", &format!("agent-{n}"));
            let mut conn = Conn::open_from(host, desk.ports.http).await;
            conn.send(call.bytes()).await;
            let said = conn.until("\"jsonrpc\":\"2.0\"").await;
            let said = [said, conn.until("}").await].concat();
            of_this += usize::from(String::from_utf8_lossy(&said).contains("elicitation/create"));
            held.push(conn);
        }
        asked.push(of_this);
    }
    assert_eq!(asked, [[8; 16].as_slice(), &[0]].concat(), "half of 256 places");
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (events, request) = client.asked(&desk).await;
    client.answers(&desk, &request["id"], yes()).await;
    assert!(result(events).await.to_string().contains("o-1"));
    drop(held);
}

#[tokio::test]
async fn elicitation_stream_what_was_withdrawn_is_not_carried_out() {
    let origin = shop().await;
    let setup = site(&origin, &buy(""));
    let desk = setup.clone().start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    // The same configuration again changes nothing.
    let (events, request) = client.asked(&desk).await;
    desk.swap(&setup).await;
    client.answers(&desk, &request["id"], yes()).await;
    assert!(result(events).await.to_string().contains("o-1"));
    let (events, request) = client.asked(&desk).await;
    desk.swap(&site(&origin, &buy("").replace("id = \"buy\"", "id = \"buy\"\nexposed = false"))).await;
    assert_eq!(client.answers(&desk, &request["id"], yes()).await.status, 202);
    let done = result(events).await;
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("done; call again")), "{done}");
    assert_eq!((&done["isError"], orders(&origin)), (&json!(true), 1), "{done}");
}
