//! `[handoff]` with types and defaults.

use std::path::PathBuf;

use super::view::View;

/// Where a handoff is, unless the operator says otherwise.
pub const PATH: &str = "/.well-known/aahp";

/// `[handoff]`: a directory that is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// Absolute.
    pub dir: PathBuf,
    /// Without a slash at its end.
    pub path: String,
    /// `auth = "required"`.
    pub needs_credential: bool,
    /// `on_mismatch = "refuse"`.
    pub refuses_mismatch: bool,
    /// A directory without a manifest is served too.
    pub allow_v1: bool,
}

/// The table, where it is there.
pub(super) fn lower(view: View) -> Option<Handoff> {
    Some(Handoff {
        dir: view.file("dir")?,
        path: view.text_or("path", PATH).trim_end_matches('/').to_owned(),
        needs_credential: view.text_or("auth", "required") == "required",
        refuses_mismatch: view.text_or("on_mismatch", "assume") == "refuse",
        allow_v1: view.flag("allow_v1", false),
    })
}
