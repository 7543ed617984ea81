//! A scripted harness over HTTP, and a shop whose desk asks it. Both record their requests.

use super::ask::{Ask, Via};
use super::calls::{FULL, action, call, query, site, upstream_calls};
use super::desk::Desk;
use super::gate::Gate;
use super::handshake;
use super::message::{Request, Response};
use super::origin::Origin;
use super::reply::{Answer, Reply};
use super::rpc;
use super::setup::Setup;
use super::{SOON, eventually};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// The token that the desk sends to the harness.
pub const TOKEN: &str = "token-of-the-harness";
/// Every event kind that a harness may offer.
pub const ALL: [&str; 18] = [
    "pre_action",
    "post_action",
    "pre_prompt",
    "post_response",
    "session_start",
    "session_end",
    "error",
    "heartbeat",
    "success",
    "intent_detection",
    "context_perception",
    "memory_recall",
    "planning",
    "rate_limit",
    "confirmation",
    "run_lifecycle",
    "task_list",
    "verification",
];

/// Computes the answer to a question from its parameters.
pub type Decide = dyn Fn(&Value) -> Answer + Send + Sync;

/// A harness.
pub struct Harness {
    pub origin: Origin,
    decide: Arc<Mutex<Arc<Decide>>>,
    greets_after: Arc<Mutex<Duration>>,
    hears: Gate,
}

/// An answer with this result to any question.
pub fn result(result: Value) -> impl Fn(&Value) -> Answer + Send + Sync + 'static {
    move |message| answer(message, &result)
}

/// An answer to this message.
pub fn answer(message: &Value, result: &Value) -> Answer {
    Reply::json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()).into()
}

impl Harness {
    /// A harness that offers only decisions on actions and allows them.
    pub async fn open() -> Harness {
        Harness::offering(&["pre_action"]).await
    }

    pub async fn offering(capabilities: &[&str]) -> Harness {
        Harness::greeting(json!({
            "protocol_version": "2.4",
            "harness_info": { "name": "tests", "version": "1", "capabilities": capabilities },
        }))
        .await
    }

    pub async fn greeting(greeting: Value) -> Harness {
        let decide: Arc<Decide> = Arc::new(result(json!({ "decision": "allow" })));
        let decide = Arc::new(Mutex::new(decide));
        let own = decide.clone();
        let greets_after = Arc::<Mutex<Duration>>::default();
        let after = greets_after.clone();
        let hears = Gate::closed();
        hears.open();
        let heard = hears.clone();
        let origin = Origin::start(move |request: &Request| -> Answer {
            let message: Value = serde_json::from_slice(&request.body).expect("a message");
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            match (message["method"].as_str(), message.get("id")) {
                (Some("ahp/handshake"), Some(id)) => {
                    let text = json!({ "jsonrpc": "2.0", "id": id, "result": greeting }).to_string();
                    Reply::json("").pause(*after.lock().expect("alone")).then(text).into()
                }
                (Some("ahp/event"), None) => Reply::json("").wait(&heard).then("{}").into(),
                (Some("ahp/event" | "ahp/batch"), Some(id)) => {
                    assert!(id.is_string(), "an id is a string: {message}");
                    let decide = own.lock().expect("alone").clone();
                    decide(&message)
                }
                _ => panic!("nobody sends {message}"),
            }
        })
        .await;
        Harness { origin, decide, greets_after, hears }
    }

    /// From now on a greeting takes so long.
    pub fn greets_after(&self, time: Duration) {
        *self.greets_after.lock().expect("alone") = time;
    }

    /// From now on it refuses events.
    pub fn hears_nothing(&self) {
        self.hears.close();
    }

    /// From now on it answers like this.
    pub fn decides(&self, decide: impl Fn(&Value) -> Answer + Send + Sync + 'static) {
        *self.decide.lock().expect("alone") = Arc::new(decide);
    }

    /// From now on it gives this decision.
    pub fn says(&self, decision: Value) {
        self.decides(result(decision));
    }

    pub fn url(&self) -> String {
        format!("{}/ahp", self.origin.url())
    }

    /// `params` of all events of this kind, in order.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let of_kind = |request: &Request| {
            let message: Value = serde_json::from_slice(&request.body).ok()?;
            (message["params"]["event_type"] == kind).then(|| message["params"].clone())
        };
        self.origin.requests().iter().filter_map(of_kind).collect()
    }

    /// Waits for the first event of this kind.
    pub async fn event(&self, kind: &str) -> Value {
        eventually(kind, SOON, async || !self.events(kind).is_empty()).await;
        self.events(kind).remove(0)
    }
}

const ORDER: &str = r#"
input_schema = { type = "object", required = ["item"], additionalProperties = false, properties = { item = { type = "string", minLength = 1 }, qty = { type = "integer", maximum = 10 } } }
agtp = { method = "BOOK", path = "/orders" }
upstream = { method = "POST", path = "/api/orders" }"#;

/// An order that needs a decision, and a search that does not.
pub fn capabilities() -> String {
    action("orders.place", ORDER) + &query("items.search", "\nupstream = { method = \"GET\", path = \"/api/items\" }")
}

fn path(request: &Request) -> &str {
    request.target.split('?').next().unwrap_or_default()
}

/// The shop.
pub async fn shop() -> Origin {
    Origin::start(|request: &Request| match path(request) {
        "/api/orders" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
        "/api/items" => Reply::json(r#"{"items":["tea"]}"#),
        path if path.starts_with("/api/wrap/") => Reply::json("{}"),
        "/api/broken" => Reply::new(500).body("no"),
        _ => Reply::html("<!doctype html><html><head><title>Shop</title></head><body><p>Tea.</p></body></html>"),
    })
    .await
}

/// Its desk's configuration, with harnesses at these addresses.
pub fn before(origin: &Origin, urls: &[String], more: &str) -> Setup {
    site(origin, &capabilities())
        .set("agtp", "server_id = \"shop.test\"")
        .set("harness", &format!("urls = {urls:?}\ntoken = \"{TOKEN}\"\ntimeout = \"1s\"\n{more}"))
}

/// Waits until all deciding harnesses are reachable.
pub async fn reachable(desk: &Desk) {
    let all_decide = async || {
        let text = desk.admin_get("/readyz?verbose").await.text();
        text.contains("harness") && !text.contains("is unreachable")
    };
    eventually("a harness that decides", SOON, all_decide).await;
}

/// A shop, its harness, and a desk that may ask it.
pub async fn open(harness: &Harness) -> (Origin, Desk) {
    let origin = shop().await;
    let desk = before(&origin, &[harness.url()], "").start().await;
    reachable(&desk).await;
    (origin, desk)
}

/// The orders that the shop got.
pub fn orders(origin: &Origin) -> Vec<Request> {
    upstream_calls(origin).into_iter().filter(|request| path(request) == "/api/orders").collect()
}

/// The dialects in which an order is placed.
pub const DIALECTS: [&str; 4] = ["aicp", "converse", "mcp", "agtp"];

/// The same order, in each of them.
pub fn order(dialect: &str, input: &Value) -> Ask {
    let ask = match dialect {
        "aicp" => call("/agent/orders/place", input),
        "converse" => handshake::asking(&handshake::with(
            handshake::question("orders_place", "Order it."),
            json!({ "input": input }),
        )),
        "mcp" => rpc::post(rpc::call("orders_place", input.clone()).to_string())
            .header("Accept", "application/json, text/event-stream"),
        "agtp" => Ask::new("BOOK", "/orders")
            .body(input.to_string())
            .header("Content-Type", "application/vnd.agtp+json")
            .header("Agent-ID", &"a0".repeat(32)),
        other => panic!("no dialect {other}"),
    };
    ask.bearer(FULL)
}

/// Whether the caller got a success.
pub fn is_done(dialect: &str, response: &Response) -> bool {
    match dialect {
        "mcp" => response.status == 200 && response.json()["result"]["isError"] == false,
        _ => response.status < 300,
    }
}

/// The status and the text of a refusal.
#[track_caller]
pub fn refused(dialect: &str, response: &Response) -> (u16, String) {
    assert!(!is_done(dialect, response), "{dialect}: {} {}", response.status, response.text());
    (response.status, response.text())
}

/// Places an order.
pub async fn place(desk: &Desk, dialect: &str, input: &Value) -> Response {
    desk.ask(Via::H1, order(dialect, input)).await
}
