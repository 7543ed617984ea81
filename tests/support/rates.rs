//! Rate limits from a caller's side: requests, checks of allowed and refused calls, and the rate headers.

use super::ask::{Ask, Via};
use super::client::Conn;
use super::desk::Desk;
use super::jwks::now;
use super::message::{Headers, Response};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Barrier;

/// The status of a question that was allowed.
pub const LET_THROUGH: u16 = 200;

/// Whether a call passed authentication and rate limits, whatever the site then answered.
pub fn is_let_through(status: u16) -> bool {
    [200, 201, 400, 428, 502].contains(&status)
}

/// One call of the conversation endpoint.
pub fn converse() -> Ask {
    Ask::post("/agent/converse", r#"{"capability":"site_info","query":"Who are you?"}"#)
        .header("Content-Type", "application/json")
}

/// The same with a client address behind a trusted proxy.
pub fn converse_for(address: &str) -> Ask {
    converse().header("X-Forwarded-For", address)
}

/// One call of an action's endpoint.
pub fn act(endpoint: &str) -> Ask {
    Ask::post(endpoint, "{}").header("Content-Type", "application/json")
}

impl Ask {
    pub fn bearer(self, token: &str) -> Ask {
        self.header("Authorization", &format!("Bearer {token}"))
    }
}

impl Desk {
    /// The statuses of these requests, sent in order on one connection.
    pub async fn statuses(&self, asks: impl IntoIterator<Item = Ask>) -> Vec<u16> {
        let mut all = Vec::new();
        for ask in asks {
            all.push(self.ask(Via::H1, ask).await.status);
        }
        all
    }

    /// Sends the same call `times` times and returns the number of allowed calls. The others hit the rate limit.
    pub async fn let_through(&self, times: usize, ask: &Ask) -> usize {
        let statuses = self.statuses((0..times).map(|_| ask.clone())).await;
        count(&statuses)
    }
}

/// The number of allowed calls. The others must have hit the rate limit.
#[track_caller]
pub fn count(statuses: &[u16]) -> usize {
    let through = statuses.iter().filter(|s| is_let_through(**s)).count();
    let limited = statuses.iter().filter(|s| **s == 429).count();
    assert_eq!(through + limited, statuses.len(), "neither {LET_THROUGH} nor 429: {statuses:?}");
    through
}

/// Sends all calls at the same moment, each on a connection opened before, spread over the desks.
pub async fn at_once(desks: &[&Desk], asks: Vec<Ask>) -> Vec<Response> {
    let barrier = Arc::new(Barrier::new(asks.len()));
    let mut running = Vec::new();
    for (n, ask) in asks.into_iter().enumerate() {
        let mut conn = Conn::open(desks[n % desks.len()].ports.http).await;
        let barrier = barrier.clone();
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            conn.ask(&ask).await
        }));
    }
    let mut all = Vec::new();
    for task in running {
        all.push(task.await.expect("a client"));
    }
    all
}

/// A capability of this kind at its own endpoint.
pub fn capability(id: &str, kind: &str, endpoint: &str) -> String {
    format!(
        "\n[[capabilities]]\nid = \"{id}\"\ntype = \"{kind}\"\ndescription = \"What {id} does.\"\nmethod = \"POST\"\n\
         endpoint = \"{endpoint}\"\nrisk_level = \"low\"\nauth = \"optional\"\n"
    )
}

/// An API key's entry in the configuration.
pub fn api_key(name: &str, key: &str, more: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    let hash: String = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    format!("\n[[auth.api_keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\n{more}\n")
}

/// The rate headers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub limit: u64,
    pub remaining: u64,
    pub reset: u64,
    pub window: u64,
}

/// Checks that both families of rate headers are there and agree.
#[track_caller]
pub fn rate(response: &Response, what: &str) -> Rate {
    let number = |name: &str| {
        let values = response.headers.all(name);
        assert_eq!(values.len(), 1, "{what}: {} has {name} {values:?}: {:?}", response.status, response.headers);
        values[0].parse::<u64>().unwrap_or_else(|_| panic!("{what}: {name}: {}", values[0]))
    };
    let rate = Rate {
        limit: number("X-RateLimit-Limit"),
        remaining: number("X-RateLimit-Remaining"),
        reset: number("X-RateLimit-Reset"),
        window: number("X-RateLimit-Window"),
    };
    let (from, to) = (now().saturating_sub(1), now() + rate.window + 1);
    assert!((from..=to).contains(&rate.reset), "{what}: {rate:?} at {}", now());
    assert!(rate.remaining <= rate.limit, "{what}: {rate:?}");
    let policies = items(&response.headers, "RateLimit-Policy", what);
    let states = items(&response.headers, "RateLimit", what);
    for (name, state) in &states {
        let policy = policies.get(name).unwrap_or_else(|| panic!("{what}: no policy {name} in {policies:?}"));
        assert!(state["r"] <= policy["q"], "{what}: {name}: {state:?} of {policy:?}");
        assert!(state.get("t").is_none_or(|t| *t <= policy["w"] + 1), "{what}: {name}: {state:?} of {policy:?}");
    }
    let spoken = states.iter().any(|(name, state)| {
        let policy = &policies[name];
        (state["r"], policy["q"], policy["w"]) == (rate.remaining, rate.limit, rate.window)
    });
    assert!(spoken, "{what}: {rate:?} is not in RateLimit {states:?} with {policies:?}");
    rate
}

/// The members of a structured list of strings with integer parameters.
fn items(headers: &Headers, name: &str, what: &str) -> HashMap<String, HashMap<String, u64>> {
    let list = headers.joined(name);
    assert!(!list.is_empty(), "{what}: no {name} in {headers:?}");
    let member = |text: &str| {
        let mut parts = text.trim().split(';');
        let first = parts.next().unwrap_or_default();
        let label = first.strip_prefix('"').and_then(|f| f.strip_suffix('"'));
        let label = label.unwrap_or_else(|| panic!("{what}: {name} wants strings: {list}"));
        let numbers = parts.filter_map(|p| p.trim().split_once('='));
        let numbers = numbers.filter_map(|(k, v)| Some((k.to_owned(), v.parse::<u64>().ok()?)));
        (label.to_owned(), numbers.collect())
    };
    list.split(',').map(member).collect()
}

/// The error, inside or outside an envelope.
fn told(whole: &serde_json::Value) -> &serde_json::Value {
    match &whole["error"] {
        error if error["data"].is_object() => &error["data"],
        error if error.is_object() => error,
        _ => whole,
    }
}

/// Checks what every rate refusal says, in any dialect.
#[track_caller]
pub fn assert_limited(response: &Response, scope: &str, what: &str) {
    assert_eq!(response.status, 429, "{what}: {}", response.text());
    let wait: u64 = response.header("retry-after").and_then(|r| r.parse().ok()).expect("Retry-After in seconds");
    let rate = rate(response, what);
    assert_eq!(rate.remaining, 0, "{what}: {rate:?}");
    assert!((1..=rate.window + 1).contains(&wait), "{what}: Retry-After {wait} of {rate:?}");
    let until = now() + wait;
    assert!(until + 2 >= rate.reset && until <= rate.reset + 2, "{what}: Retry-After {wait}, {rate:?}, {}", now());
    let whole = response.json();
    let body = told(&whole);
    assert_eq!(body["scope"], scope, "{what}: {body}");
    assert_eq!(body["retry_after"], wait, "{what}: {body}");
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
}

/// Checks a refused credential. Returns the reason, a word and a sentence, in lower case.
#[track_caller]
pub fn assert_refused(response: &Response, what: &str) -> String {
    assert_eq!(response.status, 401, "{what}: {}", response.text());
    rate(response, what);
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
    let whole = response.json();
    let body = told(&whole);
    let sentence = ["message", "detail"].iter().find_map(|key| body[key].as_str());
    let sentence = sentence.unwrap_or_else(|| panic!("{what}: no reason in {body}"));
    let word = ["reason", "code"].iter().find_map(|key| body[key].as_str()).unwrap_or_default();
    format!("{word}: {sentence}").to_lowercase()
}
