//! Tests of the protocol versions: each client gets the form it expects, with or without the initial handshake.

use super::*;

#[tokio::test]
async fn mcp_d1_speaks_to_plain_posts_of_2024() {
    let (_origin, desk) = travel().await;
    // No Accept, no Content-Type, no session, no "initialized".
    let plain = |body: Value| Ask::post("/mcp", body.to_string());
    let hello = result(&desk.rpc(plain(message("initialize", json!({ "protocolVersion": "2024-11-05" })))).await);
    assert_eq!(hello["protocolVersion"], "2024-11-05");
    assert_eq!(hello["capabilities"], json!({ "tools": {}, "resources": {}, "completions": {} }));
    let who = json!({
        "name": "Example Travel", "title": "Example Travel", "websiteUrl": "https://site.test", "version": "0.1",
        "ahp": "0.1", "manifest": "/.well-known/agent.json",
    });
    assert_eq!(hello["serverInfo"], who, "§D.6");
    let tools = result(&desk.rpc(plain(message("tools/list", json!({})))).await);
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(6), "{tools}");
    let found = result(&desk.rpc(plain(call("flights_search", json!({ "origin": "MAD" })))).await);
    assert_eq!((&found["isError"], found["structuredContent"]["status"].as_str()), (&json!(false), Some("success")));
}

#[tokio::test]
async fn mcp_negotiates_every_version_with_a_handshake() {
    let (_origin, desk) = travel().await;
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params =
            json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let ask = post(message("initialize", params).to_string()).accept("application/json, text/event-stream");
        let response = desk.rpc(ask).await;
        assert_eq!(result(&response)["protocolVersion"], given, "{asked}");
        assert!(!response.headers.has("mcp-session-id"), "there is no session to end");
        let listing = post(message("tools/list", json!({})).to_string()).header("MCP-Protocol-Version", given);
        assert!(result(&desk.rpc(listing).await)["tools"].is_array(), "{given}");
    }
    assert_eq!(desk.result(&message("ping", json!({}))).await, json!({}));
}

#[tokio::test]
async fn mcp_takes_notifications_and_replies_without_a_word() {
    let (_origin, desk) = travel().await;
    for body in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 3, "result": {} }),
    ] {
        let response = desk.rpc(post(body.to_string())).await;
        assert_eq!((response.status, response.body.len()), (202, 0), "{body}");
        for (version, status) in [("2025-06-18", 202), (NEWEST, 202), ("1999-01-01", 400), ("", 400)] {
            let ask = post(body.to_string()).header("MCP-Protocol-Version", version);
            assert_eq!(desk.rpc(ask).await.status, status, "{version}: {body}");
        }
    }
}

#[tokio::test]
async fn mcp_offers_no_stream_and_no_session() {
    let (_origin, desk) = travel().await;
    for method in ["GET", "DELETE", "PUT"] {
        let ask = Ask::new(method, "/mcp").accept("text/event-stream").header("MCP-Protocol-Version", "2025-11-25");
        let response = desk.rpc(ask).await;
        assert_eq!(response.status, 405, "{method}");
        assert!(response.headers.tokens("allow").contains(&"post".to_owned()), "{method}: {:?}", response.headers);
    }
}

#[tokio::test]
async fn mcp_speaks_to_those_without_a_handshake() {
    let (origin, desk) = travel().await;
    let found = result(&desk.rpc(stateless("server/discover", json!({}))).await);
    assert_eq!((&found["supportedVersions"], &found["resultType"]), (&json!([NEWEST]), &json!("complete")));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "Example Travel");
    assert!(found["ttlMs"].is_u64() && found["cacheScope"] == "public" && found["capabilities"]["tools"].is_object());
    let tools = result(&desk.rpc(stateless("tools/list", json!({}))).await);
    assert!(tools["tools"].is_array() && tools["resultType"] == "complete" && tools["ttlMs"].is_u64(), "{tools}");
    let params = json!({ "name": "flights_search", "arguments": { "origin": "MAD" } });
    let found = result(&desk.rpc(stateless("tools/call", params)).await);
    assert_eq!((&found["resultType"], &found["isError"]), (&json!("complete"), &json!(false)), "{found}");
    assert_eq!(upstream_calls(&origin).len(), 1);
    let resources = result(&desk.rpc(stateless("resources/list", json!({}))).await);
    assert!(resources["resources"].is_array() && resources["cacheScope"] == "public", "{resources}");
    for gone in ["initialize", "ping", "logging/setLevel", "subscriptions/listen"] {
        error(&desk.rpc(stateless(gone, json!({}))).await, 404, -32601);
    }
}

#[tokio::test]
async fn mcp_refuses_headers_that_do_not_say_what_the_body_says() {
    let (origin, desk) = travel().await;
    let params = || json!({ "name": "flights_search", "arguments": { "origin": "MAD" } });
    let changed = |name: &str, value: &str| {
        let mut ask = stateless("tools/call", params());
        ask.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        if value.is_empty() { ask } else { ask.header(name, value) }
    };
    for (name, value) in [
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", ""),
        ("Mcp-Name", "holds_now"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "=?base64?!?="),
        ("MCP-Protocol-Version", ""),
        // The version of a client whose headers say nothing, beside a body of today.
        ("MCP-Protocol-Version", "2025-06-18"),
    ] {
        error(&desk.rpc(changed(name, value)).await, 400, -32020);
    }
    error(&desk.rpc(stateless("tools/call", params()).header("Mcp-Name", "holds_now")).await, 400, -32020);
    let mut later = message(
        "tools/list",
        json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {} } }),
    );
    let ask = |body: &Value| {
        post(body.to_string()).header("MCP-Protocol-Version", "2099-01-01").header("Mcp-Method", "tools/list")
    };
    let unknown = error(&desk.rpc(ask(&later)).await, 400, -32022);
    assert_eq!(unknown["data"], json!({ "supported": [NEWEST], "requested": "2099-01-01" }));
    later["params"] = json!({});
    error(&desk.rpc(ask(&later)).await, 400, -32602);
    let coded = stateless("resources/read", json!({ "uri": "https://site.test/ä" }));
    let coded = Ask { headers: coded.headers.into_iter().filter(|(n, _)| n != "Mcp-Name").collect(), ..coded };
    // Understood, and not there.
    error(&desk.rpc(coded.header("Mcp-Name", "=?base64?aHR0cHM6Ly9zaXRlLnRlc3Qvw6Q=?=")).await, 400, -32602);
    assert!(upstream_calls(&origin).is_empty(), "nothing of it was carried out");
}

#[tokio::test]
async fn mcp_names_the_draft_that_a_schema_is_written_in() {
    let origin = origin().await;
    let draft = "http://json-schema.org/draft-07/schema#";
    let pair = format!(
        "\ninput_schema = {{ \"$schema\" = \"{draft}\", type = \"object\", properties = {{ pair = {{ type = \"array\", items = [{{ type = \"string\" }}, {{ type = \"integer\" }}] }} }} }}\nupstream = {{ method = \"GET\", path = \"/api/flights\" }}"
    );
    let desk = site(&origin, &query("old.draft", &pair)).start().await;
    let tools = desk.result(&message("tools/list", json!({}))).await;
    let schema = |name: &str| {
        let tools = tools["tools"].as_array().expect("tools");
        tools.iter().find(|t| t["name"] == name).map(|t| t["inputSchema"].clone()).expect("a tool")
    };
    // A tuple of draft-07 means something else, or nothing, in 2020-12.
    assert_eq!(schema("old_draft")["$schema"], draft, "{tools}");
    assert!(schema("content_search").get("$schema").is_none(), "{tools}");
}

/// What a schema says arrives as it is written; what language-model APIs refuse at its top is told to clients of the
/// version that has it.
#[tokio::test]
async fn mcp_schemas_pass_unchanged() {
    let origin = origin().await;
    let own = r##"
input_schema = { "$schema" = "https://json-schema.org/draft/2020-12/schema", type = "object", "$defs" = { address = { "$anchor" = "address", type = "object", properties = { street = { type = "string" } } } }, properties = { address = { "$ref" = "#/$defs/address" }, phone = { type = "string" } }, allOf = [{ anyOf = [{ required = ["phone"] }, { required = ["address"] }] }], if = { required = ["phone"] }, then = { required = ["address"] }, else = {}, additionalProperties = false }
upstream = { method = "GET", path = "/api/flights" }"##;
    let desk = site(&origin, &query("whole", own)).start().await;
    let schema = |listed: &Value| {
        let tools = listed["tools"].as_array().expect("tools");
        tools.iter().find(|tool| tool["name"] == "whole").map(|tool| tool["inputSchema"].clone()).expect("a tool")
    };
    let before = schema(&desk.result(&message("tools/list", json!({}))).await);
    let now = schema(&result(&desk.rpc(stateless("tools/list", json!({}))).await));
    for schema in [&before, &now] {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$defs"]["address"]["$anchor"], "address");
        assert_eq!(schema["properties"]["address"], json!({ "$ref": "#/$defs/address" }));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!((&schema["if"], &schema["else"]), (&json!({ "required": ["phone"] }), &json!({})));
        assert!(schema["properties"]["query"].is_object());
    }
    assert!(before.get("allOf").is_none() && now["allOf"][0]["anyOf"].is_array(), "{before} {now}");
    let street = json!({ "query": "q", "address": { "street": "x" } });
    let called = desk.result(&message("tools/call", json!({ "name": "whole", "arguments": street }))).await;
    assert_eq!(called["isError"], false, "{called}");
    let wrong = json!({ "query": "q", "address": { "street": 1 } });
    let refused = desk.result(&message("tools/call", json!({ "name": "whole", "arguments": wrong }))).await;
    assert_eq!(refused["isError"], true, "{refused}");
}
