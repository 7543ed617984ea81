//! The promises of Frontdesk, each tested from outside: the real binary between a scripted origin and real clients.
//!
//! One binary, a file per promise. Run with `cargo nextest run -p frontdesk --test integration`, or `cargo test`.
//! `FRONTDESK_BIN` points the tests at another build.

mod support;

mod addresses;
mod admin;
mod audit_trail;
mod callers;
mod capability_cache;
mod capability_calls;
mod capability_errors;
mod capability_mapping;
mod capability_planes;
mod check;
mod commands;
mod confirmed;
mod conflict;
mod contract_kept;
mod contract_published;
mod crashes;
mod directories;
mod drain;
mod encodings;
mod endpoints;
mod errors;
mod file_store;
mod flight_workflow;
mod forwarding;
mod hostile_inputs;
mod house;
mod import;
mod inspect;
mod key_sets;
mod limits;
mod link;
mod manifests;
mod negotiation;
mod notice;
mod once;
mod protocols;
mod proxy_protocol;
mod purchase_crash;
mod redis_ways;
mod reframing;
mod refusals;
mod reload;
mod safety_scenarios;
mod shared_store;
mod signatures;
mod spellings;
mod store_away;
mod streaming;
mod swap;
mod tokens;
mod untouched;
mod upstream_answers;
mod upstreams;
mod way_in;
mod windows;
