//! All decisions that follow from the declaration and a request.
//!
//! This crate does not know pingora and opens no socket. Its I/O (environment, files, store, site) comes in through
//! traits, and its decisions go out as values that the `frontdesk` crate carries out.

#![forbid(unsafe_code)]

#[cfg(test)]
mod config_tests;
mod decide;
pub mod dialect;
mod extensions;
#[cfg(feature = "agtp")]
pub mod frames;
#[cfg(any(test, not(all(feature = "agtp", feature = "handoff", feature = "harness-gateway"))))]
mod left_out;
pub mod preview;
pub mod redirects;
mod snapshot;

/// The declaration, with the keys and checks of every module.
pub mod site {
    pub use frontdesk_config::*;

    #[cfg(feature = "agtp")]
    pub use crate::dialect::agtp::{Break, breaks};
    pub use crate::extensions::{declare, declare_text, outline, review};
}

/// Crawling pages, and the documents made from them.
pub mod content {
    pub use frontdesk_page::content::*;

    pub use frontdesk_discovery::llms;
}

/// Rewriting pages, and serving them as Markdown.
pub mod page {
    pub use frontdesk_page::*;

    pub mod markdown;
}

pub use frontdesk_ask as concierge;
#[cfg(test)]
use frontdesk_base::corpus;
pub use frontdesk_base::reply::Pieces;
pub use frontdesk_base::{Fault, Refusal, Reply, accept, boxed, fresh_id, media, path, text};
pub use frontdesk_caller::{self as caller, limits};
use frontdesk_desk as endpoint;
use frontdesk_desk as serve;
pub use frontdesk_desk::{self as desk, About, Framed, Incoming, Serve, Served, Serving, harness, problem};
pub use frontdesk_discovery as discovery;
pub use frontdesk_firewall as firewall;
#[cfg(feature = "handoff")]
pub use frontdesk_handoff as handoff;
pub use frontdesk_state::{self as state, chain};

use frontdesk_base::{etag, fault, reply};

pub use decide::{Decided, Decision, Got, Made, Making, Question, Request, Site, Work, decide, make};
#[cfg(feature = "agtp")]
pub use decide::{decide_spoken, decide_unread};
pub use snapshot::{Learned, Snapshot};
