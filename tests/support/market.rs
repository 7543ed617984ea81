//! A market stall whose endpoints are mostly synthesised on request, and an agent's requests for them.

use super::ask::Ask;
use super::calls::upstream_calls;
use super::desk::Desk;
use super::message::{Headers, Request};
use super::origin::Origin;
use super::rates::api_key;
use super::reply::Reply;
use super::setup::Setup;
use serde_json::{Value, json};

/// An agent, and another.
pub const CALLER: &str = "61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5";
pub const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000002";

/// The keys of a customer, of another one, and of an operator of the server.
pub const BUYER: &str = "sesame-of-the-buyer";
pub const RIVAL: &str = "sesame-of-the-rival";
pub const STAFF: &str = "sesame-of-the-staff";

/// `/catalog` is public. The others are no endpoints: a count, a shelf with a position, an order with confirmation, a
/// wish without one, and a recipe.
pub const STALL: &str = concat!(
    r##"
[[capabilities]]
id = "lamps.search"
type = "query"
description = "Lists the lamps of a category."
risk_level = "low"
auth = "none"
input_schema = { type = "object", properties = { category = { type = "string" } } }
upstream = { method = "GET", path = "/api/items" }
agtp = { method = "QUERY", path = "/catalog" }

"##,
    include_str!("../data/capabilities/lamp.toml"),
    "\n",
    include_str!("../data/capabilities/stock.toml"),
    "\n",
    include_str!("../data/capabilities/shelf.toml"),
    r##"
[[capabilities]]
id = "inner.order"
type = "commit_action"
description = "Buys a lamp."
risk_level = "high"
auth = "required"
required_scopes = ["stall:buy"]
exposed = false
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" } } }
upstream = { method = "POST", path = "/api/orders" }
agtp = { method = "PURCHASE", path = "/basket" }
[capabilities.confirmation]
summary = "Buy lamp {{ input.lamp_id }}"
consequence = "It is paid for."

[[capabilities]]
id = "inner.wish"
type = "prepare_action"
description = "Puts a lamp on a list of wishes."
risk_level = "low"
auth = "none"
requires_user_confirmation = false
exposed = false
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" } } }
upstream = { method = "POST", path = "/api/wishes" }
agtp = { method = "CREATE", path = "/wishes" }
"##,
);

/// A recipe that describes the first lamp of a category.
pub const RECIPE: &str = r##"
[[agtp.recipes]]
name = "first-of"
version = "1"
method = "FIND"
path = "/cheapest"
description = "Describes the first lamp of a category."
steps = [
  { capability = "lamps.search", input = { category = "{input.category}" } },
  { capability = "lamps.read", input = { lamp_id = "{steps.0.data.items.0.id}" } },
]
"##;

/// A response over HTTP or a frame.
#[derive(Debug)]
pub struct Told {
    pub status: u16,
    pub headers: Headers,
    pub body: Value,
}

impl Told {
    /// The body of a response with this status.
    #[track_caller]
    pub fn is(self, status: u16, what: &str) -> Value {
        assert_eq!(self.status, status, "{what}: {}", self.body);
        self.body
    }

    /// The body of a refusal with this status, whose member stands at the top level and inside `error`.
    #[track_caller]
    pub fn says(self, status: u16, name: &str, value: &str, what: &str) -> Value {
        let body = self.is(status, what);
        assert_eq!((&body[name], &body["error"][name]), (&json!(value), &json!(value)), "{what}: {body}");
        body
    }

    /// Checks a 464 and returns the name of the attempt.
    #[track_caller]
    pub fn no_contract(self, reason: &str) -> String {
        let id =
            self.headers.get("rcns-attempt-id").unwrap_or_else(|| panic!("{reason}: {:?}", self.headers)).to_owned();
        self.says(464, "reason", reason, reason);
        id
    }
}

/// The stall, with these lines of policy beside `synthesis_enabled`.
pub fn stall(origin: &Origin, policies: &str) -> Setup {
    let keys = api_key("buyer", BUYER, "scopes = [\"stall:buy\"]")
        + &api_key("rival", RIVAL, "scopes = [\"stall:buy\"]")
        + &api_key("staff", STAFF, "scopes = [\"agtp:operate\", \"inspect:all\"]");
    Setup::before(origin)
        .set("site", "name = \"Stall\"\norigin = \"https://site.test\"")
        .set("agtp", "server_id = \"stall.test\"")
        .set("agtp.policies", &format!("synthesis_enabled = true\n{policies}"))
        .agtp()
        .tail(&(keys + STALL + RECIPE))
}

/// The same with negotiation at its gate, with these lines of `[agtp.policies.rcns]`.
pub fn bazaar(origin: &Origin, rcns: &str) -> Setup {
    let tier = if rcns.contains("min_trust_tier") { "" } else { "min_trust_tier = 2\n" };
    stall(origin, "").set("agtp.policies.rcns", &format!("enabled = true\n{tier}{rcns}"))
}

/// The site's own API.
pub async fn origin() -> Origin {
    Origin::start(|request: &Request| match request.target.split('?').next().unwrap_or_default() {
        "/api/items" => Reply::json(r#"{"items":[{"id":"L1"}]}"#),
        "/api/stock" => Reply::json(r#"{"left":3}"#),
        path if path.starts_with("/api/") => Reply::json(json!({ "path": path }).to_string()),
        _ => Reply::html("<html><body>The stall.</body></html>"),
    })
    .await
}

/// The stall and its site, started.
pub async fn open() -> (Origin, Desk) {
    let origin = origin().await;
    let desk = stall(&origin, "").start().await;
    (origin, desk)
}

/// A request of the first agent.
pub fn verb(method: &str, target: &str) -> Ask {
    by(CALLER, method, target)
}

/// A request of an agent.
pub fn by(agent: &str, method: &str, target: &str) -> Ask {
    Ask::new(method, target).accept("application/vnd.agtp+json").header("Agent-ID", agent)
}

/// The same with a body.
pub fn with(ask: Ask, body: &Value) -> Ask {
    ask.header("Content-Type", "application/vnd.agtp+json").body(body.to_string())
}

/// A request of an operator of the server.
pub fn staff(method: &str, body: &Value) -> Ask {
    with(verb(method, "/").bearer(STAFF), body)
}

/// A proposed endpoint that is valid in every point.
pub fn proposal(pair: &str, properties: Value) -> Value {
    let (method, path) = pair.split_once(' ').expect("METHOD /path");
    json!({
        "method": method,
        "path": path,
        "description": "Whatever the agent calls it.",
        "semantic": {
            "intent": "Do it.", "actor": "agent", "outcome": "It is done.", "capability": "transaction",
            "confidence": 0.9, "impact": "informational", "is_idempotent": true,
        },
        "input_schema": { "type": "object", "properties": properties, "additionalProperties": false },
        "output_schema": { "type": "object" },
    })
}

/// PROPOSE with this endpoint and these parameters.
pub fn propose(endpoint: &Value, beside: Value) -> Ask {
    let mut parameters = json!({ "endpoint": endpoint });
    let all = parameters.as_object_mut().expect("parameters");
    all.extend(beside.as_object().cloned().unwrap_or_default());
    with(verb("PROPOSE", "/"), &json!({ "method": "PROPOSE", "task_id": "t-1", "parameters": parameters }))
}

/// PROPOSE for the count of a lamp.
pub fn stock() -> Ask {
    propose(&proposal("QUERY /stock", json!({ "lamp_id": { "type": "string" } })), json!({}))
}

/// A pair that is not declared, from an agent that negotiates.
pub fn unheard(target: &str) -> Ask {
    verb("FIND", target).header("Authority-Scope", "rcns:negotiate").header("Allow-RCNS", "true")
}

/// `synthesis_id` of a body.
#[track_caller]
pub fn id(body: &Value) -> String {
    body["synthesis_id"].as_str().unwrap_or_else(|| panic!("no synthesis_id: {body}")).to_owned()
}

/// The requests that the site got, in order.
pub fn asked(origin: &Origin) -> Vec<String> {
    upstream_calls(origin).iter().map(|request| format!("{} {}", request.method, request.target)).collect()
}

/// Over HTTP.
pub async fn http(desk: &Desk, ask: Ask) -> Told {
    let response = desk.call(ask).await;
    let body = serde_json::from_slice(&response.body).unwrap_or_default();
    Told { status: response.status, headers: response.headers, body }
}

/// On the AGTP socket, on a new connection.
pub async fn framed(desk: &Desk, ask: Ask) -> Told {
    frames(desk, [ask]).await.remove(0)
}

/// On the AGTP socket, in order on one connection.
pub async fn frames(desk: &Desk, asks: impl IntoIterator<Item = Ask>) -> Vec<Told> {
    let mut conn = desk.agtp().await;
    let mut all = Vec::new();
    for ask in asks {
        let said = conn.ask(&ask).await;
        let body = serde_json::from_slice(&said.body).unwrap_or_default();
        all.push(Told { status: said.status, headers: said.headers, body });
    }
    all
}
