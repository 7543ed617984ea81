//! The site's answers as data, and its forms: pages, text, tables, XML, files, selectors, bodies and fields.
//!
//! A site without an API answers with what people read, and takes what people write. This crate gets the bytes of an
//! answer and the declared plan, and gives data or a refusal. It knows no dialect and no caller, and does no I/O. Everything it reads was written by
//! others, so every bound holds before the work that it bounds.

#![forbid(unsafe_code)]

mod answered;
mod cookies;
mod day;
mod extract;
mod failed;
mod feed;
mod file;
pub mod form;
mod kind;
mod page;
mod read;
mod table;
mod template;
mod template_place;
mod template_syntax;
mod values;
mod xml;
mod xml_text;

pub use answered::Answered;
pub use cookies::Cookies;
pub use extract::{Extract, Tried};
pub use failed::{Failed, Says};
pub use file::{File, LARGEST_FILE};
pub use kind::Kind;
pub use read::{Data, Plan, Unfit, read};
pub use template::Template;

/// An XML document as the object that `response = "xml"` gives.
///
/// # Errors
///
/// It is not well-formed, or larger than is passed on.
pub fn xml(body: &[u8], content_type: &str) -> Result<serde_json::Value, frontdesk_base::fault::Refusal> {
    xml::read(&xml::decoded(body, content_type)?)
}
