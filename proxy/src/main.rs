//! `frontdesk`: stands in front of an existing site and makes it legible, callable and safe for AI agents.
//!
//! This crate moves bytes and knows no protocol's vocabulary. `frontdesk-filters` decides what to do.

mod accept;
mod access;
mod admin;
mod alarm;
mod answer;
mod boot;
mod certificate;
mod cli;
mod client_pace;
mod client_share;
mod clock;
#[cfg(feature = "demo")]
mod demo;
mod engine;
mod error_text;
mod fast_path;
#[cfg(feature = "agtp")]
mod frames;
mod front;
#[cfg(feature = "handoff")]
mod handoff;
#[cfg(not(feature = "handoff"))]
#[path = "no_handoff.rs"]
mod handoff;
mod intake;
mod jobs;
mod label;
mod live;
mod logs;
mod manual;
mod metrics;
mod outbound;
mod pingora_head;
mod process;
mod reader;
mod rewrite;
mod running;
mod socket;
mod source;
mod sys;
mod traces;
mod upstream;
mod version;
mod watch;

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: sys::Allocator = sys::Allocator;

fn main() -> ExitCode {
    cli::main()
}
