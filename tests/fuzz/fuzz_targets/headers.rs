//! The fuzzer's way to the fields that say what a client takes, what else there is, and for whom a proxy asks.

#![no_main]
#![allow(dead_code, reason = "parts of what is included are for others")]

use frontdesk_base::accept;
use frontdesk_filters::caller::forwarded;
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/headers.rs"]
mod invariants;
#[path = "../../../filters/tools/src/inspect/links.rs"]
mod links;

fuzz_target!(|data: &[u8]| invariants::hold(data));
