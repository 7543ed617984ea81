//! The parts that add keys, paths and rules to the declaration: the one list of them.

use std::{io, path::Path};

use frontdesk_config::{
    self as config, Declaration, Extension, Extensions, Outline, Outside, Refused, Review, unchecked,
};

use crate::{
    caller,
    content::llms,
    desk,
    dialect::{agtp, ahp, aicp, api_catalog},
    handoff,
    harness::gateway,
};

/// Every part that adds something.
pub const EXTENSIONS: Extensions = &[
    &caller::EXTENSION,
    &desk::EXTENSION,
    &ahp::EXTENSION,
    &aicp::EXTENSION,
    &DISCOVERY,
    &gateway::EXTENSION,
    &agtp::EXTENSION,
    &handoff::EXTENSION,
];

/// Documents of no dialect.
static DISCOVERY: Extension = Extension { keys: &[], documents: &[api_catalog::PATH, llms::PATH], check: unchecked };

/// Reads and checks the declaration at a path.
pub fn declare(path: &Path, outside: &dyn Outside) -> Result<Declaration, Refused> {
    config::declare(path, outside, EXTENSIONS)
}

/// The same for somebody who does not run it: a contract that says nothing of a site is no mistake then.
pub fn review(path: &Path, outside: &dyn Outside) -> Result<Review, Refused> {
    config::review(path, outside, EXTENSIONS)
}

/// Checks the text of a declaration; `path` is what it is called in messages, and relative references are read against
/// its directory.
pub fn declare_text(path: &Path, text: &str, outside: &dyn Outside) -> Result<Declaration, Refused> {
    config::declare_text(path, text, outside, EXTENSIONS)
}

/// Reads a file without asking whether what it says makes sense.
///
/// # Errors
///
/// It cannot be read at all.
pub fn outline(path: &Path, outside: &dyn Outside) -> io::Result<Outline> {
    config::outline(path, outside, EXTENSIONS)
}
