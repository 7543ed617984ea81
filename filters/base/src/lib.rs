//! Formats that every other crate reads and writes alike: paths, header fields, JSON, schemas, faults and replies.
//!
//! It is the lowest crate, so that each of these rules exists once. It knows no configuration, caller, dialect or
//! site; every function depends only on its arguments, but for clocks and random ids.

#![forbid(unsafe_code)]

pub mod accept;
mod boxed;
pub mod charset;
pub mod contract;
#[cfg(any(test, feature = "testing"))]
pub mod corpus;
pub mod date;
pub mod etag;
pub mod exact_numbers;
pub mod expand;
pub mod fault;
pub mod id;
pub mod media;
pub mod method_override;
pub mod openapi_schema;
pub mod page_type;
pub mod parameter;
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
pub mod work_limit;

pub use boxed::boxed;
pub use fault::{Fault, Refusal};
pub use id::fresh_id;
pub use reply::Reply;
