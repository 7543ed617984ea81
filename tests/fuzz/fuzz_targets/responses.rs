//! The fuzzer's way to what a site answers on a connection that may be used again.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/responses.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| invariants::hold(data));
