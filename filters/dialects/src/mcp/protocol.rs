//! The protocol's name, its versions and their two generations, and where its endpoint is.

use super::super::Occupied;
use frontdesk_config::Declaration;

/// Its name among the dialects, in the audit log too.
pub(super) const NAME: &str = "mcp";
/// Versions with a handshake, oldest first.
pub(crate) const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version without one.
pub(super) const STATELESS: &str = "2026-07-28";

/// A generation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// Up to 2025-11-25: begins with `initialize`.
    Handshake,
    /// Since 2026-07-28: every request is self-contained.
    Stateless,
}

/// The endpoint's path, unless the site uses it.
pub fn path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> Option<&'d str> {
    let path = &declaration.settings.paths.mcp;
    occupied.leaves(path).then_some(path.path.as_str())
}
