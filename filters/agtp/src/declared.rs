//! Declarations for the tests of this crate, with the rules of all that stands below it.

use std::path::Path;

use frontdesk_config::{Declaration, Extensions, Outside, Refused};

/// Reads a text.
pub(crate) fn declare_text(path: &Path, text: &str, outside: &dyn Outside) -> Result<Declaration, Refused> {
    const ALL: Extensions = &[
        &frontdesk_caller::EXTENSION,
        &frontdesk_desk::EXTENSION,
        &frontdesk_dialects::ahp::EXTENSION,
        &frontdesk_dialects::aicp::EXTENSION,
        &crate::EXTENSION,
    ];
    frontdesk_config::declare_text(path, text, outside, ALL)
}
