//! One answer of the site, as everything that reads it gets it, and the refusals that all of them share.

use bytes::Bytes;
use frontdesk_base::fault::{Fault, Refusal};
use url::Url;

/// An answer of the site.
#[derive(Debug, Clone)]
pub struct Answered<'a> {
    pub content_type: &'a str,
    /// The value of `Content-Disposition`.
    pub disposition: Option<&'a str>,
    pub body: &'a Bytes,
    /// Its address at the site.
    pub at: &'a Url,
    /// The site's name is known, so addresses are told whole, and not as paths.
    pub is_named: bool,
    /// Further names of the site, with their ports: those of its upstreams.
    pub own_hosts: &'a [String],
    /// How many tokens the reader has room for.
    pub tokens: u64,
}

/// The refusal for a text in no known encoding.
pub(crate) fn unknown_encoding() -> Refusal {
    Refusal::from(Fault::Malformed).saying("The site's answer is in a character encoding that no browser reads.")
}

/// The refusal for an answer that is more than is read.
pub(crate) fn too_large(what: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal { reason: "response_too_large", ..Refusal::from(Fault::Malformed).saying(what) }
}
