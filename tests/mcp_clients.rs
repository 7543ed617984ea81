//! Promise: MCP clients of other projects can list, call and read here, with every generation of the protocol.
//!
//! The Rust SDK's client runs here. The Python and TypeScript SDKs, fastmcp, the adapters of LangChain and OpenAI's
//! agents, the inspector's command line, the official conformance suite, Schemathesis and an OpenAPI validator are
//! packages of other registries: `make clients` installs them into target/ and runs them.

use crate::support::calls::FULL;
use crate::support::rpc::travel;
use crate::support::{Desk, within};
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion, ReadResourceRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use std::time::Duration;

async fn visit(desk: &Desk, lifecycle: ClientLifecycleMode, key: Option<&str>) -> Value {
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", desk.ports.http));
    if let Some(key) = key {
        config = config.auth_header(key);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let client = ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("a connection");
    let tools = client.list_all_tools().await.expect("tools");
    assert!(tools.iter().any(|tool| tool.name == "flights_search"), "{tools:?}");
    let arguments = json!({ "origin": "MAD" }).as_object().cloned().expect("an object");
    let call = CallToolRequestParams::new("flights_search").with_arguments(arguments);
    let found = serde_json::to_value(client.call_tool(call).await.expect("flights")).expect("JSON");
    assert_eq!(found["structuredContent"]["response"]["payload"]["data"]["total"], 1, "{found}");
    let resources = client.list_all_resources().await.expect("resources");
    let first = resources.first().expect("something to read");
    let read = client.read_resource(ReadResourceRequestParams::new(first.uri.clone())).await.expect("its words");
    assert!(!read.contents.is_empty());
    let arguments = json!({ "fare_id": "fare_1" }).as_object().cloned().expect("an object");
    let hold = CallToolRequestParams::new("holds_now").with_arguments(arguments);
    let held = serde_json::to_value(client.call_tool(hold).await.expect("an answer")).expect("JSON");
    client.cancel().await.expect("an end");
    held
}

#[tokio::test]
async fn mcp_client_of_the_rust_sdk_in_each_generation() {
    let (_origin, desk) = travel().await;
    let newest = || vec![ProtocolVersion::V_2026_07_28];
    for (what, lifecycle) in [
        ("handshake", ClientLifecycleMode::Initialize),
        ("stateless", ClientLifecycleMode::Discover { preferred_versions: newest() }),
        ("whichever", ClientLifecycleMode::Auto { preferred_versions: newest(), legacy_version: None }),
    ] {
        let limit = Duration::from_secs(30);
        let refused = within(limit, what, visit(&desk, lifecycle.clone(), None)).await;
        assert_eq!(
            (&refused["isError"], &refused["_meta"]["error"]["code"]),
            (&json!(true), &json!("auth_required")),
            "{what}"
        );
        let held = within(limit, what, visit(&desk, lifecycle, Some(FULL))).await;
        assert_eq!(held["isError"], false, "{what}: {held}");
    }
}
