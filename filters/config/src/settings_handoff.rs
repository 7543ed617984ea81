//! The typed settings of the handoff.

use std::path::PathBuf;

use super::view::View;

/// The default path of a handoff.
pub const PATH: &str = "/.well-known/aahp";

/// `[handoff]`: a published directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// Absolute.
    pub dir: PathBuf,
    /// Without a trailing slash.
    pub path: String,
    /// `auth = "required"`.
    pub needs_credential: bool,
    /// `on_mismatch = "refuse"`.
    pub refuses_mismatch: bool,
    /// Serve a directory without a manifest too.
    pub allow_v1: bool,
}

/// The table, if present.
pub(super) fn lower(view: View) -> Option<Handoff> {
    Some(Handoff {
        dir: view.file("dir")?,
        path: view.text_or("path", PATH).trim_end_matches('/').to_owned(),
        needs_credential: view.text_or("auth", "required") == "required",
        refuses_mismatch: view.text_or("on_mismatch", "assume") == "refuse",
        allow_v1: view.flag("allow_v1", false),
    })
}
