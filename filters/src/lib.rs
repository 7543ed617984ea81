//! What Frontdesk decides: everything that can be settled from a declaration and a request's head.
//!
//! This crate knows no proxy library and opens no socket. What it needs from outside (the environment, files)
//! comes in through small traits; what it decides goes out as values that the `frontdesk` crate carries out.

#![forbid(unsafe_code)]

#[cfg(test)]
mod config_tests;
mod decide;
pub mod desk;
pub mod dialect;
mod endpoint;
mod extensions;
pub mod frames;
pub mod handoff;
pub mod harness;
pub mod problem;
pub mod redirects;
mod serve;
mod snapshot;

/// The declaration, with the keys and rules of every part.
pub mod site {
    pub use frontdesk_config::*;

    pub use crate::{
        dialect::agtp::declaration::{Break, breaks},
        extensions::{declare, declare_text, outline, review},
    };
}

/// Reading pages, and what is made of those that were read.
pub mod content {
    pub use frontdesk_page::content::*;

    pub mod llms;
}

/// Pages on their way out, and the Markdown that is given in their place.
pub mod page {
    pub use frontdesk_page::*;

    pub mod markdown;
}

pub use frontdesk_ask as concierge;
#[cfg(test)]
use frontdesk_base::corpus;
pub use frontdesk_base::{Fault, Refusal, Reply, accept, boxed, fresh_id, media, path, text};
use frontdesk_caller::signing as signer;
pub use frontdesk_caller::{self as caller, limits};
pub use frontdesk_firewall as firewall;
pub use frontdesk_state::{self as state, chain};

use frontdesk_base::{etag, exact, fault, id, reply, strict, templates};

pub use decide::{
    Decided, Decision, Got, Made, Making, Question, Request, Site, Work, decide, decide_spoken, decide_unread, make,
};
pub use serve::{About, Framed, Incoming, Serve, Served, Serving};
pub use snapshot::{Learned, Snapshot};
