//! Promise: no sufficiently risky call runs without a decision of the operator's harness.

mod closed;
mod decided;
mod parts;
mod people;
mod told;
mod transports;

use crate::support::calls::{action, upstream_calls};
use crate::support::supervisor::{
    ALL, DIALECTS, Harness, TOKEN, answer, before, is_done, open, order, orders, place, reachable, refused, shop,
};
use crate::support::{Answer, Ask, Desk, Origin, Reply, Request, SOON, Setup, Via, eventually};
use serde_json::{Value, json};
use std::time::Duration;

fn tea() -> Value {
    json!({ "item": "tea", "qty": 2 })
}

/// What the shop was asked for.
fn sent(origin: &Origin) -> Vec<Value> {
    orders(origin).iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect()
}
