//! The fuzzer's way to pages on their way out.

#![no_main]

use frontdesk_page as page;
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/page.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| invariants::hold(data));
