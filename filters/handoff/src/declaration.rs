//! The keys of `[handoff]` and their checks.

use frontdesk_base::path::canonical;
use frontdesk_config::{
    Declared, Extension, Findings, HANDOFF_PATH as PATH, Kind::*, Place, Table, closed, forms::path, key,
};

/// The configuration keys and checks of the handoff.
pub static EXTENSION: Extension =
    Extension { keys: &[(Place::Top, key("handoff", Sub(&HANDOFF)).private())], documents: &[], check };

static HANDOFF: Table = closed(&[
    key("dir", Dir).required(),
    key("path", Text(path)),
    key("auth", Word(&["none", "optional", "required"])),
    key("on_mismatch", Word(&["assume", "refuse"])),
    key("allow_v1", Bool),
]);

/// Checks `[handoff]`.
fn check(declared: &Declared<'_>, found: &mut Findings) {
    let Declared { root, settings, .. } = *declared;
    let (Some(table), Some(handoff)) = (root.get("handoff"), &settings.handoff) else { return };
    let line = |key| table.get(key).map_or(table.line, |item| item.line);
    let told = handoff.path.as_str();
    if told.is_empty() {
        found
            .mistake(line("path"), "handoff.path", "\"/\" is all of the site")
            .hint(format!("write a path such as \"{PATH}\""));
    } else if canonical(told) != told || told.contains(['{', '}']) {
        found
            .mistake(line("path"), "handoff.path", "is never met: requests are compared with it once they are decoded")
            .hint("write it without \"%\", \"{\" and \"}\"");
    } else if declared
        .documents()
        .any(|ours| ours == told || ours.strip_prefix(told).is_some_and(|rest| rest.starts_with('/')))
    {
        let what = format!("{told} is where documents for agents are");
        found.mistake(line("path"), "handoff.path", what).hint(format!("write a path such as \"{PATH}\""));
    }
    let provable = !settings.auth.api_keys.is_empty() || settings.verifies_tokens();
    if !handoff.needs_credential {
        found
            .warning(
                line("auth"),
                "handoff.auth",
                "everyone may read the handoff: its tasks, its sessions and its notes",
            )
            .hint("write auth = \"required\"");
    } else if !provable {
        found
            .warning(line("auth"), "handoff.auth", "needs a credential, but none are configured: no agent can read it")
            .hint("declare auth.api_keys or auth.jwks");
    }
}
