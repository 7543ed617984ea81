//! What is run beside the server: looking at a site from outside, and a declaration from a document that a site has.
//!
//! A crate of its own on top of the others, because no request ever enters it: only the command line uses it. It opens
//! no socket and reads no file.

#![forbid(unsafe_code)]

pub mod import;
pub mod inspect;
mod openapi;
