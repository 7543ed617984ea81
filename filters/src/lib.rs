//! What Frontdesk decides: everything that can be settled from a declaration and a request's head.
//!
//! This crate knows no proxy library and opens no socket. What it needs from outside (the environment, files)
//! comes in through small traits; what it decides goes out as values that the `frontdesk` crate carries out.

#![forbid(unsafe_code)]

pub mod accept;
mod boxed;
pub mod caller;
pub mod chain;
pub mod concierge;
pub mod content;
#[cfg(test)]
mod corpus;
mod decide;
pub mod desk;
pub mod dialect;
mod endpoint;
mod etag;
mod exact;
mod fault;
pub mod firewall;
pub mod frames;
pub mod handoff;
pub mod harness;
mod id;
pub mod import;
pub mod inspect;
pub mod limits;
pub mod media;
pub mod openapi;
pub mod page;
pub mod path;
pub mod problem;
pub mod redirects;
mod reply;
mod serve;
mod signer;
pub mod site;
pub mod state;
mod strict;
mod templates;
pub mod text;

pub use boxed::boxed;
pub use decide::{
    Decided, Decision, Got, Made, Making, Question, Request, Site, Work, decide, decide_spoken, decide_unread, make,
};
pub use fault::{Fault, Refusal};
pub use id::fresh_id;
pub use reply::Reply;
pub use serve::{About, Framed, Incoming, Serve, Served, Serving};
