//! Fuzzes the reader of questions: its own source, and the properties that the unit tests check too.

#![no_main]
#![allow(dead_code, reason = "parts of what is included are for others")]

use frontdesk_base::{exact_numbers, strict};
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/converse.rs"]
mod invariants;
#[path = "../../../filters/dialects/src/ahp/question.rs"]
mod question;

fuzz_target!(|data: &[u8]| invariants::hold(data));
