//! Names of the header lines that we write ourselves.

use frontdesk_http1::field::{FixedName, cased};
use http::HeaderName;

/// What a line is called. Of most it is known beforehand, and nothing is made or looked up.
#[derive(Debug, Clone)]
pub enum Label {
    Fixed(&'static FixedName),
    /// As somebody else has it.
    Other(HeaderName),
}

impl Label {
    pub fn name(&self) -> &HeaderName {
        match self {
            Self::Fixed(fixed) => &fixed.name,
            Self::Other(name) => name,
        }
    }

    /// As people are used to read it over HTTP/1.
    pub fn cased(&self) -> &str {
        match self {
            Self::Fixed(fixed) => fixed.cased,
            Self::Other(name) => cased(name).unwrap_or(name.as_str()),
        }
    }
}
