//! The built-in endpoints (AGTP-API §6.1, tier A): the floor's verbs at the root, and the reserved paths.

use super::{catalog::FLOOR, path::Asked, response::AgtpError, template::Template};

/// What `DISCOVER` has of its own, by the first segment (§5.9).
pub const RESERVED: [&str; 7] = ["methods", "agents", "genesis", "tools", "apis", "patterns", "contracts"];
/// Where proposals are asked after (§11).
const PROPOSALS: &str = "proposals";

/// Floor verbs that would need a model or another server.
const NOT_HERE: [&str; 3] = ["SUMMARIZE", "PLAN", "DELEGATE"];

/// Whether a verb on a path is built in.
pub(super) fn is_native(method: &str, path: &Asked<'_>) -> bool {
    match path.segments.as_slice() {
        [] => FLOOR.contains(&method),
        [first] if method == "DISCOVER" => RESERVED.contains(&&**first),
        [first, _] if method == "QUERY" => first == PROPOSALS,
        // `/agents/NAME` names the addressed agent.
        [first, _] if first == "agents" => matches!(method, "DESCRIBE" | "DISCOVER"),
        _ => false,
    }
}

/// Whether an alias or redirect from such paths, or from any path, could hide a built-in endpoint.
pub(crate) fn is_native_somewhere(method: &str, path: Option<&Template>) -> bool {
    let Some(path) = path else { return FLOOR.contains(&method) };
    let may_be = |segment: &Option<&str>, names: &[&str]| segment.is_none_or(|segment| names.contains(&segment));
    match path.segments().collect::<Vec<_>>().as_slice() {
        [] => FLOOR.contains(&method),
        [first] => method == "DISCOVER" && may_be(first, &RESERVED),
        [first, _] if method == "QUERY" => may_be(first, &[PROPOSALS]),
        [first, _] => matches!(method, "DESCRIBE" | "DISCOVER") && may_be(first, &["agents"]),
        _ => false,
    }
}

/// Whether a floor verb gets more than a refusal here.
pub(super) fn is_answered(method: &str) -> bool {
    FLOOR.contains(&method) && !NOT_HERE.contains(&method)
}

/// The refusal of a floor verb that cannot be served here.
pub(super) fn not_here(method: &str) -> AgtpError {
    let message =
        format!("{method} at the root is not something this server can answer. DISCOVER /methods lists what is.");
    AgtpError::new(422, "not-supported-here", message)
}
