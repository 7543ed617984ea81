//! What leaves goes through the firewall like everything else that leaves for an agent.

use bytes::Bytes;

use crate::firewall::{Firewall, Flags, Form};

/// What is left of an answer.
pub(super) struct Left {
    pub(super) body: Bytes,
    /// Something was taken out.
    pub(super) is_changed: bool,
    /// What was found.
    pub(super) flags: Flags,
}

/// Looks through an answer.
///
/// # Errors
///
/// There is something in it that must not leave: what was found.
pub(super) fn leave(firewall: &Firewall, kind: &'static str, body: Bytes) -> Result<Left, Flags> {
    let passed = firewall.pass(body.clone(), Form::of(kind).unwrap_or(Form::Text));
    if passed.blocked {
        return Err(passed.flags);
    }
    Ok(Left { is_changed: passed.body != body, body: passed.body, flags: passed.flags })
}
