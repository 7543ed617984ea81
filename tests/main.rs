//! The promises of Frontdesk, each tested from outside: the real binary between a scripted origin and real clients.
//!
//! One binary, a file per promise. Run with `cargo nextest run -p frontdesk --test integration`, or `cargo test`.
//! `FRONTDESK_BIN` points the tests at another build.

mod support;

mod addresses;
mod admin;
mod callers;
mod check;
mod commands;
mod conflict;
mod directories;
mod drain;
mod encodings;
mod endpoints;
mod errors;
mod file_store;
mod forwarding;
mod house;
mod key_sets;
mod limits;
mod link;
mod manifests;
mod negotiation;
mod notice;
mod protocols;
mod proxy_protocol;
mod redis_ways;
mod reframing;
mod refusals;
mod reload;
mod shared_store;
mod signatures;
mod spellings;
mod store_away;
mod streaming;
mod swap;
mod tokens;
mod untouched;
mod upstreams;
mod way_in;
mod windows;
