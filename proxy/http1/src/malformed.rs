//! What is wrong with a message.

use std::fmt;

/// Why a message cannot be read, in words for the operator. It holds nothing of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The head is no head of HTTP/1.
    Head(httparse::Error),
    /// A rule is broken; this one.
    Rule(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(e) => write!(out, "the answer's head is not HTTP: {e}"),
            Self::Rule(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for Malformed {}

impl From<httparse::Error> for Malformed {
    fn from(e: httparse::Error) -> Self {
        Self::Head(e)
    }
}

impl From<&'static str> for Malformed {
    fn from(why: &'static str) -> Self {
        Self::Rule(why)
    }
}
