//! Promise: a real request produces every status with its machine-readable fields, and no retired status occurs.

mod done;
mod named;
mod refused;

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::contract::TOML;
use crate::support::desk::run_to_end;
use crate::support::lamps::{
    self, COMPOSED, FULL, HOSTED, RECIPE, STAFF, hosting, lookup, negotiating, open, signing, synthesising, with,
};
use crate::support::setup::dead_address;
use crate::support::verbs::{
    CALLER, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, assert_unconfirmed, is_hash,
    member, proposal, propose, record, verb,
};
use crate::support::{Ask, Desk, Dir, Origin, Ports, Request, SOON, eventually};
use serde_json::{Value, json};

fn purchase(lamp: &str, key: &str) -> Ask {
    let ask = verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy");
    ask.key(key).json(&json!({ "lamp_id": lamp }))
}

fn negotiated() -> Ask {
    verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate").header("Allow-RCNS", "true")
}

fn staff(method: &str, input: &Value) -> Ask {
    verb(method, "/").bearer(STAFF).scopes("agtp:operate, inspect:all").json(input)
}

/// A refusal of negotiation, with the id of the attempt that INSPECT knows.
#[track_caller]
fn assert_no_contract(response: &crate::support::Response, reason: &str) {
    assert_says(response, 464, "reason", reason, reason);
    let ids = response.headers.all("rcns-attempt-id");
    assert!(ids.len() == 1 && !ids[0].is_empty(), "{reason}: {:?}", response.headers);
}

/// The shop, and capabilities that look up what the site says at these places.
async fn looking_up(places: &[(&str, &str, &str)]) -> (Origin, Desk) {
    let one = |(name, upstream, more): &(&str, &str, &str)| {
        lookup(&format!("p.{name}"), &format!("FETCH /p/{name}"), upstream, "") + more
    };
    let all: String = places.iter().map(one).collect();
    with(|setup| setup.tail(&all)).await
}
