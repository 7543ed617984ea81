//! Promise: an MCP client of any protocol generation finds the site's capabilities as tools and its texts as resources,
//! under the same rules as every other client (AHP §4.4, appendix D).

mod credentials;
mod generations;
mod limits;

use crate::support::calls::{BARE, FULL, believing, query, site, token, upstream_calls};
use crate::support::jwks::TokenKey;
use crate::support::rates::rate;
use crate::support::rpc::{
    NEWEST, before, call, capabilities, error, failed, message, origin, post, result, stateless, travel,
};
use crate::support::{Ask, Desk, Origin, Via};
use serde_json::{Value, json};

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

fn with_auth(name: &str, arguments: Value, auth: &str) -> Ask {
    post(message("tools/call", json!({ "name": name, "arguments": arguments, "_meta": { "auth": auth } })).to_string())
}

// ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn mcp_d3_lists_capabilities_with_their_own_inputs() {
    let (_origin, desk) = travel().await;
    let listed = desk.result(&message("tools/list", json!({}))).await;
    let tool = |name: &str| {
        let tools = listed["tools"].as_array().expect("tools");
        tools.iter().find(|t| t["name"] == name).cloned().unwrap_or_else(|| panic!("no {name} in {listed}"))
    };
    let manifest = desk.get("/.well-known/agent.json").await.json();
    for capability in manifest["capabilities"].as_array().expect("capabilities") {
        let tool = tool(capability["name"].as_str().expect("a name"));
        assert_eq!(tool["description"], capability["description"]);
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        for name in ["query", "session_id", "clarification", "confirmation"] {
            assert_eq!(schema["properties"][name]["type"], "string", "{name}: {tool}");
        }
    }
    let search = tool("flights_search");
    assert_eq!(search["inputSchema"]["required"], json!(["origin", "query"]), "§D.3: `query` besides");
    assert_eq!(search["inputSchema"]["properties"]["max_price"]["type"], "number");
    assert_eq!(search["inputSchema"]["additionalProperties"], false);
    assert_eq!(search["annotations"], json!({ "readOnlyHint": true }));
    assert!(search["outputSchema"]["properties"]["response"].is_object(), "{search}");
    let hold = tool("holds_now");
    assert_eq!(
        (&hold["annotations"]["readOnlyHint"], &hold["annotations"]["destructiveHint"]),
        (&json!(false), &json!(true))
    );
    assert!(hold.get("outputSchema").is_none(), "{hold}");
    assert_eq!(
        tool("broken")["inputSchema"]["required"],
        json!(["query"]),
        "§D.3: a question where there are no inputs"
    );
}

#[tokio::test]
async fn mcp_lists_many_tools_page_by_page() {
    let origin = origin().await;
    let many: String = (0..60).map(|n| query(&format!("many.n{n}"), "")).collect();
    let desk = site(&origin, &many).start().await;
    let (mut names, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = desk.result(&message("tools/list", params)).await;
        let tools = page["tools"].as_array().expect("tools");
        assert!(tools.len() <= 50, "{}", tools.len());
        names.extend(tools.iter().map(|t| t["name"].as_str().expect("a name").to_owned()));
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    names.sort();
    names.dedup();
    assert_eq!((pages, names.len()), (2, 62), "and what is built in");
    for cursor in
        [json!("3.00000000"), json!("x"), json!(""), json!(5), json!("1".repeat(10_000)), json!("-1.abcdef01")]
    {
        error(&desk.rpc(post(message("tools/list", json!({ "cursor": cursor })).to_string())).await, 200, -32602);
    }
}

/// A thousand capabilities: the list stays below 20,000 tokens, and what is not in it is found and called.
#[tokio::test]
async fn mcp_what_is_not_listed_is_found_and_called_by_name() {
    let origin = origin().await;
    let many: String = (0..1000)
        .map(|n| {
            let schema = "input_schema = { type = 'object', properties = { n = { type = 'string' } } }\nupstream = { method = 'GET', path = '/api/flights' }";
            query(&format!("many.n{n}"), &format!("\ngroup = 'numbers'\n{schema}"))
        })
        .collect();
    let schema = "input_schema = { type = 'object', properties = { n = { type = 'string', 'x-mcp-header' = 'N' } } }\n\
                  upstream = { method = 'GET', path = '/api/flights' }";
    let desk = site(&origin, &(many + &query("many.repeated", &format!("\n{schema}")))).start().await;
    let (mut listed, mut cursor) = (Vec::new(), Value::Null);
    let mut bytes = 0;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = desk.result(&message("tools/list", params)).await;
        bytes += page.to_string().len();
        listed.extend(page["tools"].as_array().expect("tools").iter().map(|t| t["name"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    // A token of JSON has more than three bytes; `make documents` counts them.
    assert!(bytes < 60_000, "{bytes}");
    for name in ["find_capability", "call_capability", "content_search", "site_info"] {
        assert!(listed.iter().any(|other| other == name), "{name}: {listed:?}");
    }
    assert!(listed.len() < 200 && !listed.iter().any(|name| name == "many_n987"), "{}", listed.len());
    let call = |name: &str, arguments: Value| message("tools/call", json!({ "name": name, "arguments": arguments }));
    let found = desk.result(&call("find_capability", json!({ "query": "many, and n987 of them" }))).await;
    let found = &found["structuredContent"]["capabilities"][0];
    assert_eq!(
        (&found["name"], &found["inputSchema"]["properties"]["n"]["type"]),
        (&json!("many_n987"), &json!("string"))
    );
    for called in [
        call("call_capability", json!({ "name": "many_n987", "input": { "n": "x" } })),
        call("many_n987", json!({ "n": "x" })),
    ] {
        let answer = desk.result(&called).await;
        assert_eq!(answer["isError"], false, "{answer}");
    }
    for wrong in
        [json!({}), json!({ "name": 1 }), json!({ "name": "many_n987", "input": 1 }), json!({ "name": "none" })]
    {
        error(&desk.rpc(post(call("call_capability", wrong).to_string())).await, 200, -32602);
    }
    // A client that has only found the name cannot know which arguments its headers would have to repeat.
    let by_name = json!({ "name": "call_capability", "arguments": { "name": "many_repeated", "input": { "n": "x" } } });
    assert_eq!(result(&desk.rpc(stateless("tools/call", by_name)).await)["isError"], false);
    let lies = || json!({ "name": "call_capability", "arguments": { "name": "many_repeated", "input": { "n": "x" } } });
    error(&desk.rpc(stateless("tools/call", lies()).header("Mcp-Param-N", "y")).await, 400, -32020);
    let right = stateless("tools/call", lies()).header("Mcp-Param-N", "x");
    assert_eq!(result(&desk.rpc(right).await)["isError"], false);
    let itself = json!({ "name": "many_repeated", "arguments": { "n": "x" } });
    error(&desk.rpc(stateless("tools/call", itself)).await, 400, -32020);
}

#[tokio::test]
async fn mcp_d4_calls_go_the_way_of_every_question() {
    let (origin, desk) = travel().await;
    let arguments = json!({ "origin": "MAD", "max_price": 300 });
    let found = desk.result(&call("flights_search", arguments)).await;
    assert_eq!(found["isError"], false, "{found}");
    let asked = upstream_calls(&origin);
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].target.as_str()), ("GET", "/api/flights?max_price=300&origin=MAD"));
    let body = &found["structuredContent"];
    assert_eq!(text(&found), body["response"]["answer"].as_str().expect("an answer"), "§D.4");
    assert_eq!(body["response"]["payload"]["data"]["results"][0]["id"], "fare_1", "{body}");
    assert_eq!(body["meta"]["capability_used"], "flights_search");
    // Those who know no structured content find it in the words.
    let told = found["content"][1]["text"].as_str().expect("the rest");
    assert_eq!(serde_json::from_str::<Value>(told).expect("JSON")["payload"], body["response"]["payload"]);
    let session = found["_meta"]["session_id"].as_str().expect("a session");
    let again = desk.result(&call("flights_search", json!({ "origin": "MAD", "session_id": session }))).await;
    assert_eq!(again["_meta"]["session_id"], session, "it goes on");
    let beside = message(
        "tools/call",
        json!({ "name": "flights_search", "arguments": { "origin": "MAD" }, "_meta": { "session_id": session } }),
    );
    assert_eq!(desk.result(&beside).await["_meta"]["session_id"], session);
}

#[tokio::test]
async fn mcp_tells_a_model_what_it_can_mend() {
    let (origin, desk) = travel().await;
    let wrong = |arguments| async { desk.result(&call("flights_search", arguments)).await };
    let result = wrong(json!({ "origin": "M" })).await;
    assert!(
        failed(&result, "invalid_request")["violations"][0]["pointer"] == "/origin"
            && text(&result).contains("/origin")
    );
    failed(&wrong(json!({})).await, "invalid_request");
    failed(&wrong(json!({ "origin": "MAD", "color": "red" })).await, "invalid_request");
    failed(&wrong(json!({ "origin": "MAD", "session_id": 7 })).await, "invalid_request");
    failed(&wrong(json!({ "origin": "MAD", "session_id": "never-given" })).await, "invalid_request");
    failed(&desk.result(&call("broken", json!({ "query": "x" }))).await, "concierge_error");
    assert!(upstream_calls(&origin).iter().all(|r| r.target.starts_with("/api/broken")));
    for params in [
        json!({ "name": "nothing", "arguments": {} }),
        json!({ "name": 7 }),
        json!({}),
        json!({ "name": "broken", "arguments": [] }),
        json!({ "name": "broken", "_meta": { "session_id": 5 } }),
    ] {
        error(&desk.rpc(post(message("tools/call", params.clone()).to_string())).await, 200, -32602);
    }
    error(&desk.rpc(post(message("prompts/get", json!({})).to_string())).await, 200, -32601);
    error(&desk.rpc(stateless("tools/call", json!({ "name": "nothing" }))).await, 400, -32602);
}

#[tokio::test]
async fn mcp_actions_are_confirmed_and_done_once() {
    let (origin, desk) = travel().await;
    let hold = |more: Value, key: &str| {
        let mut arguments = json!({ "fare_id": "fare_1" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        let params = json!({ "name": "holds_asked", "arguments": arguments, "_meta": { "idempotency_key": key } });
        post(message("tools/call", params).to_string()).bearer(FULL)
    };
    let asked = result(&desk.rpc(hold(json!({}), "k-1")).await);
    assert_eq!(asked["isError"], true, "{asked}");
    let token = asked["_meta"]["confirmation"].as_str().expect("a token").to_owned();
    assert!(text(&asked).contains("Hold \"fare_1\".") && text(&asked).contains(&token), "{asked}");
    assert!(upstream_calls(&origin).is_empty(), "nothing before it is confirmed");
    let done = result(&desk.rpc(hold(json!({ "confirmation": token }), "k-1")).await);
    assert_eq!(done["isError"], false, "{done}");
    let again = result(&desk.rpc(hold(json!({ "confirmation": token }), "k-1")).await);
    assert_eq!(again["isError"], false, "a retry is told the same: {again}");
    assert_eq!(upstream_calls(&origin).len(), 1, "once");
    let other = result(&desk.rpc(hold(json!({ "confirmation": token, "fare_id": "fare_2" }), "k-2")).await);
    assert_eq!(other["isError"], true, "{other}");
    let unkeyed = post(call("holds_asked", json!({ "fare_id": "fare_3" })).to_string()).bearer(FULL);
    failed(&result(&desk.rpc(unkeyed).await), "invalid_request");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn mcp_tools_that_need_a_key_take_it_as_an_argument() {
    let (origin, desk) = travel().await;
    let tools = desk.result(&message("tools/list", json!({}))).await;
    let tools = tools["tools"].as_array().expect("tools");
    let takes = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        tool["inputSchema"]["properties"].get("idempotency_key").is_some()
    };
    assert!(takes("holds_asked") && !takes("flights_search"), "{tools:?}");
    let hold = |token: Option<&str>| {
        let arguments = json!({ "fare_id": "fare_1", "idempotency_key": "k-1", "confirmation": token });
        post(call("holds_asked", arguments).to_string()).bearer(FULL)
    };
    let asked = result(&desk.rpc(hold(None)).await);
    let token = asked["_meta"]["confirmation"].as_str().expect("a token").to_owned();
    for _ in 0..2 {
        let done = result(&desk.rpc(hold(Some(&token))).await);
        assert_eq!(done["isError"], false, "{done}");
    }
    assert_eq!(upstream_calls(&origin).len(), 1, "once");
    let sent = String::from_utf8_lossy(&upstream_calls(&origin)[0].body).into_owned();
    assert!(!sent.contains("k-1"), "it is no input of the site's: {sent}");
}

// ── resources ───────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn mcp_reads_what_it_lists_and_nothing_else() {
    let (origin, desk) = travel().await;
    let listed = desk.result(&message("resources/list", json!({}))).await;
    let resources = listed["resources"].as_array().expect("resources");
    assert!(!resources.is_empty());
    let seen = origin.requests().len();
    for resource in resources {
        let uri = resource["uri"].as_str().expect("a uri");
        assert!(uri.starts_with("https://site.test/") || uri.starts_with("skill://"), "{uri}");
        let read = desk.result(&message("resources/read", json!({ "uri": uri }))).await;
        let contents = &read["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&resource["uri"], &resource["mimeType"]), "{read}");
        assert_eq!(
            contents["text"].as_str().map(str::len),
            resource["size"].as_u64().and_then(|n| usize::try_from(n).ok())
        );
    }
    let manifest =
        desk.result(&message("resources/read", json!({ "uri": "https://site.test/.well-known/agent.json" }))).await;
    assert_eq!(manifest["contents"][0]["text"], desk.get("/.well-known/agent.json").await.text());
    for uri in [
        "https://site.test/api/flights",
        "https://evil.example/",
        "https://site.test.evil.example/.well-known/agent.json",
        "https://site.test/.well-known/../.well-known/agent.json",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "/.well-known/agent.json",
        "",
    ] {
        error(&desk.rpc(post(message("resources/read", json!({ "uri": uri })).to_string())).await, 200, -32002);
        error(&desk.rpc(stateless("resources/read", json!({ "uri": uri }))).await, 400, -32602);
    }
    error(&desk.rpc(post(message("resources/read", json!({})).to_string())).await, 200, -32602);
    let templates = desk.result(&message("resources/templates/list", json!({}))).await["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "https://site.test/{+path}", "{templates}");
    let api = |r: &crate::support::Request| r.target.starts_with("/api/");
    assert!(!origin.requests()[seen..].iter().any(api), "no address that a client names is fetched");
}

// ── hostile messages ────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn mcp_refuses_what_is_no_message() {
    let (origin, desk) = travel().await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("not json", -32700),
        (&*deep, -32700),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"broken","name":"holds_now"}}"#, -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600),
        ("7", -32600),
        ("null", -32600),
        (r#"{"id":7,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":["ping"]}"#, -32600),
    ] {
        let refused = desk.rpc(post(body)).await;
        error(&refused, 400, code);
        assert_eq!(refused.json()["id"], Value::Null, "{body:.80}");
    }
    let ids = [json!("a\"b\\c\u{1}ä"), json!(-5), json!(18_446_744_073_709_551_615u64)];
    for id in ids {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        assert_eq!(desk.rpc(post(body.to_string())).await.json()["id"], id);
    }
    let long = |name: &str, query: usize| call(name, json!({ "origin": "MAD", "query": "why? ".repeat(query) }));
    let bounded = desk.result(&long("broken", 1700)).await;
    assert_eq!(failed(&bounded, "request_too_large")["reason"], "too_large", "AHP §6.5: {bounded}");
    failed(&desk.result(&long("flights_search", 1700)).await, "invalid_request");
    let most = 1 << 20;
    let huge = desk.rpc(post(format!("{{\"x\":\"{}\"}}", "y".repeat(4 * most)))).await;
    assert_eq!(huge.status, 413, "{}", huge.text());
    assert_eq!(huge.json()["error"]["data"]["code"], "request_too_large", "{}", huge.text());
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn mcp_is_written_down_and_counted_like_any_call() {
    let origin = origin().await;
    let desk = before(&origin).set("audit", "enabled = true\npath = \"audit.jsonl\"").start().await;
    desk.result(&call("flights_search", json!({ "origin": "MAD" }))).await;
    desk.result(&call("holds_now", json!({ "fare_id": "f" }))).await;
    desk.rpc(with_auth("holds_now", json!({ "fare_id": "f" }), "guess")).await;
    desk.result(&call("flights_search", json!({ "query": 7 }))).await;
    let log = desk.dir.join("audit.jsonl");
    let lines = || std::fs::read_to_string(&log).unwrap_or_default();
    crate::support::eventually("four lines", crate::support::SOON, async || lines().lines().count() >= 4).await;
    let lines: Vec<Value> = lines().lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(lines.iter().all(|l| l["dialect"] == "mcp"), "{lines:?}");
    let decisions: Vec<_> = lines.iter().map(|l| l["decision"].as_str().unwrap_or_default()).collect();
    assert_eq!(decisions[..3], ["done", "auth_required", "key_unknown"], "{decisions:?}");
    assert!(
        desk.metric("frontdesk_capability_calls_total{capability=\"flights.search\"").await.is_some_and(|n| n >= 1.0)
    );
}

#[tokio::test]
async fn mcp_over_every_transport_is_one() {
    let origin = origin().await;
    let tls = crate::support::Tls::new();
    let desk: Desk = before(&origin).tls(&tls).start().await;
    let ask = |_: &Origin| post(call("flights_search", json!({ "origin": "MAD" })).to_string());
    for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
        let found = result(&desk.ask(via, ask(&origin)).await);
        assert_eq!(found["structuredContent"]["response"]["payload"]["data"]["total"], 1, "{via:?}");
    }
    assert!(capabilities().contains("flights.search"));
}
