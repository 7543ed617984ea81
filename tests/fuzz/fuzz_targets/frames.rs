//! The fuzzer's way into the frame reader: its own source, and the list of what has to hold of it.

#![no_main]
#![allow(dead_code, reason = "parts of what is included are for others")]

use frontdesk_base::Reply;
use libfuzzer_sys::fuzz_target;
use wire as frames;

#[path = "../../../filters/agtp/src/wire/mod.rs"]
mod wire;

#[path = "../invariants/frames.rs"]
mod invariants;

fuzz_target!(|data: &[u8]| invariants::hold(data));
