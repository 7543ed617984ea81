//! A shop for tests of idempotency: its declarations, an agent's purchases, and the requests that the shop got.

use super::ask::Ask;
use super::gate::Gate;
use super::message::{Request, Response};
use super::origin::Origin;
use super::rates::api_key;
use super::reply::{Answer, Reply, Step};
use super::setup::Setup;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The credentials of two callers.
pub const ADA: &str = "sesame-of-ada";
pub const BOB: &str = "sesame-of-bob";

/// `buy` needs confirmation and a key, and so does `sell`; `pay` and `book` need only a key, and the shop itself would
/// accept `book` twice; `search` is a read, `peek` a read with confirmation; `give` declares nothing, and `drop`
/// declares that it needs neither.
const DECLARED: &str = r##"
[[capabilities]]
id = "shop.buy"
type = "commit_action"
description = "Buys an item."
method = "POST"
endpoint = "/agent/buy"
risk_level = "high"
auth = "optional"
idempotency_required = true
requires_user_confirmation = true
input_schema = { type = "object", required = ["item"], properties = { item = { type = "string" } } }
upstream = { method = "POST", path = "/api/buy", timeout = "5s" }
[capabilities.confirmation]
summary = "Buy {{ input.item }}"
consequence = "Your card is charged."

[[capabilities]]
id = "shop.sell"
type = "commit_action"
description = "Sells an item."
method = "POST"
endpoint = "/agent/sell"
risk_level = "high"
auth = "optional"
requires_user_confirmation = true
input_schema = { type = "object", required = ["item"], properties = { item = { type = "string" } } }
upstream = { method = "POST", path = "/api/sell" }
[capabilities.confirmation]
summary = "Sell {{ input.item }}"
consequence = "It is gone."

[[capabilities]]
id = "shop.pay"
type = "commit_action"
description = "Pays for an item."
method = "POST"
endpoint = "/agent/pay"
risk_level = "high"
auth = "optional"
idempotency_required = true
requires_user_confirmation = false
upstream = { method = "POST", path = "/api/pay", timeout = "2s" }

[[capabilities]]
id = "shop.book"
type = "prepare_action"
description = "Books an item; a second time is the same booking."
method = "POST"
endpoint = "/agent/book"
risk_level = "medium"
auth = "optional"
idempotency_required = true
requires_user_confirmation = false
upstream = { method = "POST", path = "/api/book", timeout = "5s", idempotent = true }

[[capabilities]]
id = "shop.give"
type = "commit_action"
description = "Gives an item away."
method = "POST"
endpoint = "/agent/give"
risk_level = "low"
auth = "optional"
upstream = { method = "POST", path = "/api/give" }

[[capabilities]]
id = "shop.drop"
type = "destructive_action"
description = "Drops an item."
method = "POST"
endpoint = "/agent/drop"
risk_level = "critical"
auth = "optional"
requires_user_confirmation = false
upstream = { method = "POST", path = "/api/drop" }

[[capabilities]]
id = "shop.search"
type = "query"
description = "Searches items."
method = "POST"
endpoint = "/agent/search"
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/search" }

[[capabilities]]
id = "shop.peek"
type = "query"
description = "Looks into a closed box."
method = "POST"
endpoint = "/agent/peek"
risk_level = "medium"
auth = "optional"
requires_user_confirmation = true
upstream = { method = "GET", path = "/api/peek" }
"##;

/// Every answer has its own number, so that a replay differs from a second purchase.
pub async fn open() -> Origin {
    answering(|_, order| order.into()).await
}

/// A shop with these answers. `answer` gets the request and the usual reply.
pub async fn answering(answer: impl Fn(&Request, Reply) -> Answer + Send + Sync + 'static) -> Origin {
    let number = AtomicUsize::new(1);
    Origin::start(move |request: &Request| {
        // The desk's own probes buy nothing.
        let bought = usize::from(request.target.starts_with("/api/"));
        let order = json!({ "order": format!("o-{}", number.fetch_add(bought, Ordering::Relaxed)) });
        let status = if request.method == "GET" { 200 } else { 201 };
        let order = Reply::new(status).header("Content-Type", "application/json").body(order.to_string());
        answer(request, order)
    })
    .await
}

/// The same, with all answers held at a gate.
pub async fn holding(gate: &Gate) -> Origin {
    let gate = gate.clone();
    answering(move |_, order| held(&gate, &order)).await
}

/// Holds the whole answer until the gate opens.
pub fn held(gate: &Gate, reply: &Reply) -> Answer {
    let bytes = [reply.head(), reply.whole().to_vec()].concat();
    vec![Step::Wait(gate.clone()), Step::Write(bytes), Step::KeepAlive].into()
}

/// A desk in front of it that knows two callers.
pub fn desk_before(origin: &Origin) -> Setup {
    declared(Setup::before(origin))
}

/// Adds the shop's declarations to a setup.
pub fn declared(setup: Setup) -> Setup {
    let keys = api_key("ada", ADA, "") + &api_key("bob", BOB, "");
    setup.set("listen", "trusted_proxies = [\"127.0.0.1/32\"]").tail(&(keys + DECLARED))
}

/// A call with this input.
pub fn call(name: &str, input: Value) -> Ask {
    Ask::post(&format!("/agent/{name}"), input.to_string()).header("Content-Type", "application/json")
}

/// A call for an item.
pub fn item(name: &str, item: &str) -> Ask {
    call(name, json!({ "item": item }))
}

impl Ask {
    pub fn key(self, key: &str) -> Ask {
        self.header("Idempotency-Key", key)
    }

    pub fn confirmed(self, token: &str) -> Ask {
        self.header("AICP-Confirmation", token)
    }

    /// From a client address behind a trusted proxy.
    pub fn from(self, address: &str) -> Ask {
        self.header("X-Forwarded-For", address)
    }
}

/// The actions that the shop got.
pub fn carried_out(origin: &Origin) -> Vec<Request> {
    let all = origin.requests().into_iter();
    all.filter(|r| r.target.starts_with("/api/") && r.method == "POST").collect()
}

/// The error's name.
#[track_caller]
pub fn code(response: &Response) -> String {
    let body = response.json();
    body["error"]["code"].as_str().unwrap_or_else(|| panic!("{}: no error in {body}", response.status)).to_owned()
}

#[track_caller]
pub fn assert_fault(response: &Response, status: u16, name: &str, what: &str) {
    assert_eq!(response.status, status, "{what}: {}", response.text());
    assert_eq!(code(response), name, "{what}");
    assert!(
        response.headers.tokens("cache-control").contains(&"no-store".to_owned()),
        "{what}: {:?}",
        response.headers
    );
}

/// The token in an answer that asks for confirmation.
#[track_caller]
pub fn token(response: &Response) -> String {
    assert_eq!(response.status, 428, "{}", response.text());
    let body = response.json();
    body["confirmation"]["token"].as_str().unwrap_or_else(|| panic!("no token in {body}")).to_owned()
}

/// The number of the order, which must be there.
#[track_caller]
pub fn order(response: &Response, what: &str) -> String {
    assert!([200, 201].contains(&response.status), "{what}: {} {}", response.status, response.text());
    let body = response.json();
    body["data"]["order"].as_str().unwrap_or_else(|| panic!("{what}: no order in {body}")).to_owned()
}

/// The status and the error's name, if there is one.
pub fn told(response: &Response) -> (u16, String) {
    let name = response.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
    (response.status, name)
}

pub fn is_replay(response: &Response) -> bool {
    response.headers.all("idempotency-replayed") == ["true"]
}
