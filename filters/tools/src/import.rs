//! What every import of a site's interface description has in common: what is asked for, the declaration that is made,
//! and why there is none.

use std::fmt;

/// The parameters of an import.
pub struct Asked<'a> {
    /// The source of the document: a file or a URL.
    pub from: &'a str,
    /// Import deprecated operations too.
    pub deprecated: bool,
    /// Import only operations with one of these ids, methods and paths; patterns with `*`. Empty: all.
    pub only: Vec<String>,
    /// Import only operations with one of these tags.
    pub tags: Vec<String>,
}

/// The declaration made from a document.
#[derive(Debug)]
pub struct Imported {
    /// The whole file, in TOML.
    pub text: String,
    /// The number of capabilities.
    pub capabilities: usize,
    /// The number of operations left out.
    pub left_out: usize,
    /// The number of guesses to review.
    pub reviews: usize,
    /// A URL of the site that should answer a GET, where the document came from that site.
    pub probe: Option<String>,
}

/// Why there is no declaration.
#[derive(Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The input is not a document of this format.
    Unreadable(String),
    /// The document has mistakes, one sentence each.
    Mistakes(Vec<String>),
}

/// Maximum mistakes that are reported at once.
const TOLD: usize = 20;

impl Unusable {
    /// The exit code of a command that cannot use it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Mistakes(_) => 1,
            Self::Unreadable(_) => 2,
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(what) => out.write_str(what),
            Self::Mistakes(mistakes) => {
                out.write_str(&mistakes[..mistakes.len().min(TOLD)].join("\n"))?;
                match mistakes.len().saturating_sub(TOLD) {
                    0 => Ok(()),
                    more => write!(out, "\nand {more} more"),
                }
            }
        }
    }
}

impl std::error::Error for Unusable {}
