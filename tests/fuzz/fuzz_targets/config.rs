//! The fuzzer's way to declarations: from the text to what runs.

#![no_main]

use frontdesk_filters::{Learned, Snapshot, site};
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/config.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| invariants::hold(data));
