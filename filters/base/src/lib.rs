//! What every other part of Frontdesk reads and writes in the same way: paths, header fields, JSON, schemas, faults and
//! replies.
//!
//! It is the lowest crate, so that a rule about one of these stands once. It knows no configuration, no caller, no
//! dialect and no site; every function works on the values that it is given.

#![forbid(unsafe_code)]

pub mod accept;
mod boxed;
pub mod charset;
pub mod contract;
#[cfg(any(test, feature = "testing"))]
pub mod corpus;
pub mod date;
pub mod etag;
pub mod exact;
pub mod expand;
pub mod fault;
pub mod id;
pub mod media;
pub mod openapi_schema;
pub mod page_type;
pub mod path;
pub mod pattern;
pub mod printable;
pub mod reply;
pub mod schema;
pub mod strict;
pub mod target;
pub mod templates;
pub mod text;
pub mod tokens;
pub mod violation;

pub use boxed::boxed;
pub use fault::{Fault, Refusal};
pub use id::fresh_id;
pub use reply::Reply;
