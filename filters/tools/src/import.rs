//! What a site already says about its interface, turned into a declaration to start from.
//!
//! Each format that can be read is one entry of a table, so the command line needs to know none of them by name.

use std::fmt;

use crate::openapi;

/// A format that can be imported.
pub struct Format {
    /// What the command line calls it.
    pub name: &'static str,
    /// Turns a document into a declaration.
    pub import: Import,
}

/// Reads a document; `progress` is told each time how many of how many operations are done.
pub type Import =
    fn(document: &[u8], asked: &Asked, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, Unusable>;

/// Every format there is.
pub const FORMATS: &[Format] = &[Format { name: "openapi", import: openapi::import }];

/// What is asked of an import.
pub struct Asked<'a> {
    /// Where the document is from: a file, or a URL.
    pub from: &'a str,
    /// Operations that the document calls deprecated are wanted too.
    pub deprecated: bool,
}

/// A declaration that was made from a document.
#[derive(Debug)]
pub struct Imported {
    /// The whole file, in TOML.
    pub text: String,
    /// How many capabilities it declares.
    pub capabilities: usize,
    /// How many operations of the document are not in it.
    pub left_out: usize,
    /// How many things in it were guessed and want a look.
    pub reviews: usize,
}

/// Why there is no declaration.
#[derive(Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is not a document of this format.
    Unreadable(String),
    /// It is one, with mistakes in it: one sentence each.
    Mistakes(Vec<String>),
}

/// The most mistakes that are told of at once.
const TOLD: usize = 20;

impl Unusable {
    /// What a command that cannot use it exits with.
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
