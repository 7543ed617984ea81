//! Scans the answers of a handoff with the firewall, like everything that leaves for an agent.

use bytes::Bytes;
use serde_json::Value;

use super::reading::Integrity;
use frontdesk_firewall::{Firewall, Flags, Form};

/// An answer after the scan.
pub(super) struct Left {
    pub(super) body: Bytes,
    /// Something was removed.
    pub(super) is_changed: bool,
    /// What was found.
    pub(super) flags: Flags,
}

/// Scans an answer.
///
/// # Errors
///
/// The findings, where they forbid the answer.
pub(super) fn leave(firewall: &Firewall, kind: &'static str, body: Bytes) -> Result<Left, Flags> {
    let passed = firewall.pass(body.clone(), Form::of(kind).unwrap_or(Form::Text));
    if passed.blocked {
        return Err(passed.flags);
    }
    Ok(Left { is_changed: passed.body != body, body: passed.body, flags: passed.flags })
}

/// A combined view from which something was removed: each changed file is marked as no longer verified.
pub(super) fn doubted(before: &[u8], after: Bytes) -> Bytes {
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let (Some(before), Some(mut told)) = (read(before), read(&after)) else { return after };
    for (name, file) in told["files"].as_object_mut().into_iter().flatten() {
        let is_whole = file["content"] == before["files"][name]["content"];
        if !is_whole && file["integrity"] == Integrity::Verified.word() {
            file["integrity"] = Integrity::Assumed.word().into();
        }
    }
    told.to_string().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_file_that_lost_something_is_doubted() {
        let file = |content: Value, integrity: &str| json!({ "content": content, "integrity": integrity });
        let core = |a: &str, of_a: &str| {
            json!({ "manifest": { "quick_context": a }, "files": {
                "A.md": file(a.into(), of_a), "B.md": file("b".into(), "verified"), "C.md": file(Value::Null, "missing"),
                "D.md": file(a.into(), "unlisted"),
            } })
        };
        let doubted = |after: Value| {
            let left = doubted(core("secret", "verified").to_string().as_bytes(), after.to_string().into());
            serde_json::from_slice::<Value>(&left).unwrap()
        };
        assert_eq!(doubted(core("[redacted:x]", "verified")), core("[redacted:x]", "assumed"));
        assert_eq!(doubted(core("secret", "verified")), core("secret", "verified"));
    }
}
