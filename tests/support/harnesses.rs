//! Harnesses built with the protocol's public crate, each over its own transport, and a client.

use super::calls::{FULL, site};
use super::desk::Desk;
use super::dir::Dir;
use super::origin::Origin;
use super::setup::{Setup, dead_address};
use super::supervisor::reachable;
use super::{SOON, eventually};
use a3s_ahp::server::EventHandler;
use a3s_ahp::transport::http::HttpServer;
use a3s_ahp::transport::websocket::WebSocketServer;
use a3s_ahp::{
    AhpClient, AhpError, AhpEvent, AhpNotification, AhpRequest, AhpServer, AuthConfig, ConfirmationDecision,
    ConfirmationEvent, ContextPerceptionDecision, ContextPerceptionEvent, Decision, HarnessConfig, InjectedContext,
    IntentDetectionDecision, IntentDetectionEvent, MemoryRecallDecision, MemoryRecallEvent, PlanningDecision,
    PlanningEvent, PlanningStrategy, QueryRequest, QueryResponse, RateLimitDecision, RateLimitEvent, ReasoningDecision,
    ReasoningEvent, Result, Transport,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixListener};

/// The gateway's path.
pub const GATEWAY: &str = "/harness";

/// All event kinds that are offered.
pub const OFFERED: [&str; 22] = [
    "batch",
    "confirmation",
    "context_perception",
    "error",
    "heartbeat",
    "idle",
    "intent_detection",
    "memory_recall",
    "planning",
    "post_action",
    "post_response",
    "pre_action",
    "pre_prompt",
    "query",
    "rate_limit",
    "reasoning",
    "run_lifecycle",
    "session_end",
    "session_start",
    "success",
    "task_list",
    "verification",
];

/// Decides by the tool's name, and records what it received.
#[derive(Default)]
pub struct Policy {
    /// Written into what it modifies.
    pub name: String,
    pub asked: Mutex<Vec<AhpEvent>>,
    pub told: Mutex<Vec<AhpEvent>>,
}

impl Policy {
    pub fn named(name: &str) -> Arc<Policy> {
        Arc::new(Policy { name: name.to_owned(), ..Policy::default() })
    }

    /// The payloads of its decisions.
    pub fn payloads(&self) -> Vec<Value> {
        self.asked.lock().expect("asked").iter().map(|event| event.payload.clone()).collect()
    }

    fn note(&self, event: &AhpEvent) {
        self.asked.lock().expect("asked").push(event.clone());
    }
}

#[async_trait]
impl EventHandler for Policy {
    async fn handle_event(&self, event: &AhpEvent) -> Result<Decision> {
        self.note(event);
        let tool = event.payload["tool_name"].as_str().unwrap_or_default();
        // `NAME:decision` applies to the harness of that name; the others allow it.
        let tool = match tool.split_once(':') {
            Some((name, tool)) if name == self.name => tool,
            Some(_) => "allow",
            None => tool,
        };
        let reason = format!("by {}", self.name);
        let modified = json!({ "arguments": { "by": self.name }, self.name.clone(): true });
        Ok(match tool {
            "block" => Decision::Block { reason, metadata: None },
            "modify" => Decision::Modify { modified_payload: modified, metadata: None },
            "allowmod" => Decision::Allow { modified_payload: Some(modified), metadata: None },
            "defer" => Decision::Defer { retry_after_ms: 1500, reason: Some(reason) },
            "escalate" => Decision::Escalate { reason, escalation_target: Some("ops".into()) },
            "down" => return Err(AhpError::Protocol("policy engine down".into())),
            _ => {
                let metadata = [("seen".to_owned(), event.payload.clone())].into();
                Decision::Allow { modified_payload: None, metadata: Some(metadata) }
            }
        })
    }

    async fn handle_notification(&self, event: &AhpEvent) -> Result<()> {
        self.told.lock().expect("told").push(event.clone());
        Ok(())
    }

    async fn handle_query(&self, query: &QueryRequest) -> Result<QueryResponse> {
        if query.query_type == "nobody" {
            return Err(AhpError::UnsupportedCapability("not here".into()));
        }
        let told: Vec<String> = self.told.lock().expect("told").iter().map(|e| e.event_type.to_string()).collect();
        Ok(QueryResponse { answer: json!(told), reason: Some(query.query_type.clone()), alternatives: None })
    }

    async fn handle_context_perception(
        &self,
        event: &AhpEvent,
        _: &ContextPerceptionEvent,
    ) -> Result<ContextPerceptionDecision> {
        self.note(event);
        let injected_context = InjectedContext {
            facts: Vec::new(),
            file_contents: None,
            project_summary: None,
            knowledge: None,
            suggestions: None,
        };
        Ok(ContextPerceptionDecision::Allow { injected_context, metadata: None })
    }

    async fn handle_memory_recall(&self, event: &AhpEvent, _: &MemoryRecallEvent) -> Result<MemoryRecallDecision> {
        self.note(event);
        Ok(MemoryRecallDecision::Allow { injected_facts: Vec::new(), metadata: None })
    }

    async fn handle_planning(&self, event: &AhpEvent, payload: &PlanningEvent) -> Result<PlanningDecision> {
        self.note(event);
        let modified = payload.task_description == format!("{}:modify", self.name);
        Ok(match modified {
            true => PlanningDecision::Modify { modified_task: "half of it".into(), hints: None },
            false => PlanningDecision::Allow {
                selected_strategy: PlanningStrategy::Custom("own".into()),
                planning_template: None,
                metadata: None,
            },
        })
    }

    async fn handle_reasoning(&self, event: &AhpEvent, _: &ReasoningEvent) -> Result<ReasoningDecision> {
        self.note(event);
        Ok(ReasoningDecision::Allow { hints: Some(vec!["think".into()]), metadata: None })
    }

    async fn handle_rate_limit(&self, event: &AhpEvent, payload: &RateLimitEvent) -> Result<RateLimitDecision> {
        self.note(event);
        Ok(match payload.current_usage == format!("{}:skip", self.name) {
            true => RateLimitDecision::Skip { reason: format!("by {}", self.name) },
            false => RateLimitDecision::Retry { retry_after_ms: 5, metadata: None },
        })
    }

    async fn handle_confirmation(&self, event: &AhpEvent, payload: &ConfirmationEvent) -> Result<ConfirmationDecision> {
        self.note(event);
        Ok(match payload.message == format!("{}:reject", self.name) {
            true => ConfirmationDecision::Reject { reason: format!("by {}", self.name) },
            false => ConfirmationDecision::Approve,
        })
    }

    async fn handle_intent_detection(
        &self,
        event: &AhpEvent,
        payload: &IntentDetectionEvent,
    ) -> Result<IntentDetectionDecision> {
        self.note(event);
        let detected_intent = payload.prompt.clone();
        Ok(IntentDetectionDecision::Allow { detected_intent, confidence: 0.5, target_hints: None })
    }
}

/// A server of the crate that offers everything, with these limits.
pub fn server(policy: &Arc<Policy>, batch_size: usize, max_depth: u32) -> Arc<AhpServer> {
    let config = HarnessConfig { timeout_ms: Some(4000), batch_size: Some(batch_size), max_depth: Some(max_depth) };
    Arc::new(AhpServer::new(policy.clone()).with_capabilities(OFFERED).with_config(config))
}

/// The crate's HTTP server; returns its URL.
pub async fn over_http(server: Arc<AhpServer>) -> String {
    let address = dead_address();
    tokio::spawn(async move { HttpServer::new(server).run(address).await });
    eventually("a harness over HTTP", SOON, async || TcpStream::connect(address).await.is_ok()).await;
    format!("http://{address}/ahp")
}

/// The crate's WebSocket server; returns its URL.
pub async fn over_websocket(server: Arc<AhpServer>) -> String {
    let address = dead_address();
    tokio::spawn(async move { WebSocketServer::new(server).run(address).await });
    eventually("a harness over a WebSocket", SOON, async || TcpStream::connect(address).await.is_ok()).await;
    format!("ws://{address}/ahp")
}

/// The crate has no server for Unix sockets, so its dispatcher runs behind our own socket.
pub fn over_unix(server: Arc<AhpServer>, dir: &Dir) -> String {
    let path = dir.join("harness.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move {
                let (from, mut to) = stream.into_split();
                let mut lines = BufReader::new(from).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if let Ok(request) = serde_json::from_str::<AhpRequest>(&line) {
                        let answer = server.handle_request(request).await;
                        let line = serde_json::to_string(&answer).expect("JSON") + "\n";
                        if to.write_all(line.as_bytes()).await.is_err() {
                            return;
                        }
                    } else if let Ok(notification) = serde_json::from_str::<AhpNotification>(&line) {
                        let _ = server.handle_notification(notification).await;
                    }
                }
            });
        }
    });
    format!("unix:{}", path.display())
}

/// The harness in Python.
pub fn over_stdio() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/harness.py");
    format!("stdio:python3 -u '{}'", script.display())
}

/// A desk whose gateway leads to these harnesses.
pub fn before(origin: &Origin, urls: &[String]) -> Setup {
    let lines = format!("urls = {urls:?}\ntoken = \"TOKEN-OF-OURS\"\ntimeout = \"2s\"\ngateway_path = \"{GATEWAY}\"");
    site(origin, "").set("harness", &lines).set("audit", "enabled = true\npath = \"audit.jsonl\"")
}

/// The same, once all of them are reachable.
pub async fn gateway(urls: &[String]) -> (Origin, Desk) {
    let origin = super::supervisor::shop().await;
    let desk = before(&origin, urls).start().await;
    reachable(&desk).await;
    (origin, desk)
}

/// The crate's client, with this credential.
pub async fn client(desk: &Desk, auth: Option<AuthConfig>) -> AhpClient {
    let url = format!("http://{}{GATEWAY}", desk.ports.http);
    AhpClient::new(Transport::Http { url, auth }).await.expect("a client")
}

/// The crate's client, after the greeting.
pub async fn greeted(desk: &Desk) -> AhpClient {
    let client = client(desk, Some(AuthConfig::api_key(FULL))).await;
    client.handshake(vec!["pre_action".into()]).await.expect("a handshake");
    client
}
