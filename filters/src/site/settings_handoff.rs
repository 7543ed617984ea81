//! `[handoff]` with types, defaults, and what its keys say about each other and about the rest.

use std::path::PathBuf;

use super::{Settings, mistake::Findings, raw::Item, view::View};
use crate::{dialect::documents, path};

/// Where a handoff is, unless the operator says otherwise.
pub(super) const PATH: &str = "/.well-known/aahp";

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

/// The rules of `[handoff]`.
pub(super) fn rules(root: &Item, settings: &Settings, found: &mut Findings) {
    let (Some(table), Some(handoff)) = (root.get("handoff"), &settings.handoff) else { return };
    let line = |key| table.get(key).map_or(table.line, |item| item.line);
    let told = handoff.path.as_str();
    if told.is_empty() {
        found
            .mistake(line("path"), "handoff.path", "\"/\" is all of the site")
            .hint(format!("write a path such as \"{PATH}\""));
    } else if path::canonical(told) != told || told.contains(['{', '}']) {
        found
            .mistake(line("path"), "handoff.path", "is never met: requests are compared with it once they are decoded")
            .hint("write it without \"%\", \"{\" and \"}\"");
    } else if documents().any(|ours| ours == told || ours.strip_prefix(told).is_some_and(|rest| rest.starts_with('/')))
    {
        let what = format!("{told} is where documents for agents are");
        found.mistake(line("path"), "handoff.path", what).hint(format!("write a path such as \"{PATH}\""));
    }
    let provable = !settings.auth.api_keys.is_empty() || settings.auth.jwks.is_some();
    if !handoff.needs_credential {
        found
            .warning(
                line("auth"),
                "handoff.auth",
                "anybody may read the handoff: what is open, who works on it, and how",
            )
            .hint("write auth = \"required\"");
    } else if !provable {
        found
            .warning(
                line("auth"),
                "handoff.auth",
                "needs a credential, and nobody can have one: nobody gets to read it",
            )
            .hint("declare auth.api_keys or auth.jwks");
    }
}
