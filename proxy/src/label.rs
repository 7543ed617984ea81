//! Header names that Frontdesk itself writes.

use frontdesk_http1::field::{FixedName, cased};
use http::HeaderName;

/// A header name. Most are known at compile time, and need no allocation and no lookup.
#[derive(Debug, Clone)]
pub enum Label {
    Fixed(&'static FixedName),
    /// A name from another source.
    Other(HeaderName),
}

impl Label {
    pub fn name(&self) -> &HeaderName {
        match self {
            Self::Fixed(fixed) => &fixed.name,
            Self::Other(name) => name,
        }
    }

    /// The usual capitalisation over HTTP/1.
    pub fn cased(&self) -> &str {
        match self {
            Self::Fixed(fixed) => fixed.cased,
            Self::Other(name) => cased(name).unwrap_or(name.as_str()),
        }
    }
}
