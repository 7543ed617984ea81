//! The list of all modules that add keys, paths and checks to the declaration.

use std::{io, path::Path};

use frontdesk_config::{
    self as config, Declaration, Extension, Extensions, Outline, Outside, Refused, Review, unchecked,
};

#[cfg(feature = "agtp")]
use crate::dialect::agtp;
#[cfg(feature = "handoff")]
use crate::handoff;
#[cfg(not(all(feature = "agtp", feature = "handoff", feature = "harness-gateway")))]
use crate::left_out;
use crate::{
    caller,
    content::llms,
    desk,
    dialect::{a2a, ahp, aicp, api_catalog},
    discovery::{ai_catalog, auth_md, llms_full, protected_resource, sitemap, skills, webmcp},
};
#[cfg(feature = "harness-gateway")]
use frontdesk_harness_gateway as gateway;

/// All extensions. Those of a Cargo feature that is off know only how to refuse their keys.
pub const EXTENSIONS: Extensions = &[
    &caller::EXTENSION,
    &desk::EXTENSION,
    &frontdesk_confirm::EXTENSION,
    &frontdesk_login::EXTENSION,
    &ahp::EXTENSION,
    &aicp::EXTENSION,
    &a2a::EXTENSION,
    &DISCOVERY,
    #[cfg(feature = "harness-gateway")]
    &gateway::EXTENSION,
    #[cfg(not(feature = "harness-gateway"))]
    &left_out::HARNESS_GATEWAY,
    #[cfg(feature = "agtp")]
    &agtp::EXTENSION,
    #[cfg(not(feature = "agtp"))]
    &left_out::AGTP,
    #[cfg(feature = "handoff")]
    &handoff::EXTENSION,
    #[cfg(not(feature = "handoff"))]
    &left_out::HANDOFF,
];

/// The documents that belong to no dialect.
static DISCOVERY: Extension = Extension {
    keys: &[],
    documents: &[
        ai_catalog::PATH,
        api_catalog::PATH,
        auth_md::PATH,
        llms::PATH,
        llms_full::PATH,
        protected_resource::PATH,
        sitemap::PATH,
        skills::PATH,
        webmcp::PATH,
    ],
    check: unchecked,
};

/// Reads and checks the declaration at a path.
pub fn declare(path: &Path, outside: &dyn Outside) -> Result<Declaration, Refused> {
    config::declare(path, outside, EXTENSIONS)
}

/// The same without running it, so that a contract without a site is no mistake.
pub fn review(path: &Path, outside: &dyn Outside) -> Result<Review, Refused> {
    config::review(path, outside, EXTENSIONS)
}

/// Checks the text of a declaration. `path` is its name in messages, and its directory is the base of relative
/// references.
pub fn declare_text(path: &Path, text: &str, outside: &dyn Outside) -> Result<Declaration, Refused> {
    config::declare_text(path, text, outside, EXTENSIONS)
}

/// Reads a file without checking its contents.
///
/// # Errors
///
/// The file cannot be read.
pub fn outline(path: &Path, outside: &dyn Outside) -> io::Result<Outline> {
    config::outline(path, outside, EXTENSIONS)
}
