//! Approvals of one call by a person of the operator: the ones that are missing, the ones that were given, and the
//! refusals of calls without one.

use std::time::Duration;

use super::fingerprint::fingerprint;
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::{Change, Expect, Put};

/// What an approval is about: an approval of one kind does not serve for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Action,
    Prompt,
    Confirmation,
}

/// An approval that is still missing.
pub(super) struct PendingApproval {
    pub(super) about: About,
    /// The reason, in the words of the service that requires it.
    pub(super) why: String,
    /// A decision of the harness was due as well, and missing.
    pub(super) unasked: bool,
}

/// A person's approval of one call.
#[derive(Debug, Clone)]
pub(super) struct GrantedApproval {
    pub(super) key: String,
    pub(super) version: u64,
    pub(super) ticket: String,
}

impl GrantedApproval {
    /// What a confirmation is bound to, together with this approval; `binding` is the value without it.
    pub(super) fn binding(&self, binding: &str) -> String {
        fingerprint(&[binding.as_bytes(), self.ticket.as_bytes()])
    }

    /// Consumes the approval. Of two concurrent calls with it, one fails.
    pub(super) fn used(&self) -> Change {
        Change { key: self.key.clone(), expect: Expect::Version(self.version), put: Put::Nothing }
    }

    /// Gives an unused approval back for another call, unless a person was asked anew meanwhile.
    pub(super) fn given_back(&self, lasts: Duration) -> Change {
        let put = Put::Value(self.ticket.clone().into(), lasts);
        Change { key: self.key.clone(), expect: Expect::Absent, put }
    }
}

/// `reason` of a call that waits for an approval; `details.ticket` is its ticket.
pub(crate) const ESCALATED: &str = "harness_escalated";

/// `reason` of a call that a person rejected.
pub(super) const REJECTED: &str = "harness_rejected";

/// The refusal of a blocked call. It does not give the harness's reason.
pub(super) fn blocked() -> Refusal {
    let detail = "The harness does not allow this call. Nothing was done.";
    Refusal { reason: "harness_blocked", ..Refusal::from(Fault::Forbidden).saying(detail) }
}
