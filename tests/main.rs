//! The promises of Frontdesk, each tested from outside: the real binary between a scripted origin and real clients.
//!
//! One binary, a file per promise. Run with `cargo nextest run -p frontdesk --test integration`, or `cargo test`.
//! `FRONTDESK_BIN` points the tests at another build.

mod support;

mod admin;
mod check;
mod commands;
mod conflict;
mod drain;
mod encodings;
mod errors;
mod forwarding;
mod house;
mod link;
mod manifests;
mod negotiation;
mod notice;
mod protocols;
mod proxy_protocol;
mod reframing;
mod refusals;
mod reload;
mod spellings;
mod streaming;
mod swap;
mod untouched;
mod upstreams;
mod way_in;
