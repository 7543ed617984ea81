//! Command-line tools: inspecting a site from outside, and importing a declaration from an OpenAPI document or
//! from the pages of a site.
//!
//! This is a crate of its own above the others, because no request ever uses it. It opens no socket and reads no file.

#![forbid(unsafe_code)]

pub mod formats;
pub mod graphql;
pub mod import;
pub mod inspect;
mod lines;
mod openapi;
pub mod site;
