//! Promise: where the AGTP drafts are silent or contradictory, our chosen reading holds. The tests number the readings.

mod ends;
mod records;
mod rules;
mod wire;

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::desk::run_to_end;
use crate::support::jwks::text;
use crate::support::lamps::{
    self, FULL, GENESIS, HOSTED, RECIPE, STAFF, hosting, lookup, negotiating, open, signing, synthesising, with,
};
use crate::support::verbs::{
    CALLER, MANIFEST, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, assert_unconfirmed,
    is_hash, member, proposal, propose, record, sha256, verb,
};
use crate::support::{
    Ask, Conn, Desk, Dir, Framing, Gate, Origin, Ports, Reply, Request, SOON, Setup, Step, eventually,
};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

const IDENTITY: &str = "application/vnd.agtp.identity+json";

/// What `frontdesk check` makes of a setup: whether it passes, and what it says.
fn checked(setup: &Setup) -> (bool, String) {
    let dir = Dir::new();
    setup.write_files(&dir);
    dir.write("frontdesk.toml", setup.text(&Ports::free()));
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    (code == 0, out + &err)
}

#[track_caller]
fn assert_refused_at_load(setup: &Setup, words: &[&str], what: &str) {
    let (passes, said) = checked(setup);
    assert!(!passes, "{what} is let through: {said}");
    for word in words {
        assert!(said.contains(word), "{what}: no {word} in {said}");
    }
}

#[track_caller]
fn assert_accepted_at_load(setup: &Setup, what: &str) {
    let (passes, said) = checked(setup);
    assert!(passes, "{what}: {said}");
}

fn redirect(from: &str, to: &str) -> String {
    let half = |side: &str, pair: &str| {
        let (method, path) = pair.split_once(' ').unwrap_or((pair, ""));
        let path = if path.is_empty() { String::new() } else { format!("{side}_path = \"{path}\"\n") };
        format!("{side}_method = \"{method}\"\n{path}")
    };
    format!("\n[[agtp.policies.methods.redirects]]\n{}{}", half("from", from), half("to", to))
}

/// A purchase in order, with this key.
fn purchase(lamp: &str, key: &str) -> Ask {
    let ask = verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy");
    ask.key(key).json(&json!({ "lamp_id": lamp }))
}

fn wish(input: &Value) -> Ask {
    verb("CREATE", "/wishes").json(input)
}

/// What somebody who runs the server asks of it.
fn staff(method: &str, input: &Value) -> Ask {
    verb(method, "/").bearer(STAFF).scopes("agtp:operate, inspect:all").json(input)
}

/// A request that nothing stands ready for, of a caller who would negotiate.
fn unregistered() -> Ask {
    verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate").header("Allow-RCNS", "true")
}
