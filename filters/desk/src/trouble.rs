//! The refusals for failures of the site, the store or the audit log, and whether the call may have been carried out.

use std::time::{Duration, UNIX_EPOCH};

use super::{Failed, date::rfc3339};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::NotKept;

/// `reason` of an answer that is longer than is passed on.
pub const TOO_LONG: &str = "response_too_large";
/// Nobody should try again before they know.
pub(super) const NOBODY_KNOWS: &str =
    "The site gave no answer that says whether this was carried out. Find out before trying again.";

/// The refusal for an answer that cannot be passed on, although the site acted on the call.
pub(super) fn carried_out_all_the_same(refusal: Refusal) -> Refusal {
    if !matches!(refusal.fault, Fault::Malformed | Fault::SiteChanged) {
        return refusal;
    }
    refusal.saying(
        "The site carried out this call, but its answer cannot be passed on. Find out what it did before trying again.",
    )
}

/// The refusal for a failure of the site; it says whether the outcome is known.
pub(super) fn failed(failure: Failed) -> Refusal {
    match failure {
        Failed::NotSent => Fault::Unreachable.into(),
        Failed::Busy => Refusal::busy(),
        Failed::ClientShare => Refusal::client_busy(),
        Failed::TimedOut => Fault::GatewayTimeout.into(),
        Failed::Broken => Fault::BadGateway.into(),
        Failed::TooLong(_) => {
            let refusal = Refusal { reason: TOO_LONG, ..Fault::Malformed.into() };
            refusal.saying("The site's answer is longer than this desk passes on.")
        }
    }
}

/// The refusal while the store is unavailable. Nothing was reserved, so nothing was done.
pub fn not_kept(why: NotKept) -> Refusal {
    let (reason, detail) = match why {
        NotKept::Away => ("store_away", "The store is unavailable. Nothing was done; try again later."),
        NotKept::Unsure(_) => {
            ("store_away", "The store did not answer in time. The site was not called; try again later.")
        }
        NotKept::Full => ("store_full", "The store is full. Nothing was done; try again later."),
    };
    Refusal { reason, ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// The refusal after this process was suspended between the reservation and the call.
pub(super) fn started_too_late() -> Refusal {
    let detail = "Too much time passed before this call could be started. Nothing was done; try again.";
    Refusal { reason: "started_too_late", retry_after: Some(1), ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// The consequence text for a confirmation, with a warning where the store has lost records.
pub(super) fn with_a_warning(consequence: &str, lost_at: u64) -> String {
    let at = rfc3339(UNIX_EPOCH + Duration::from_secs(lost_at));
    let warning = format!(
        "Warning: this desk lost its records of earlier calls at {at}. If this was done before then, it is done a \
         second time: make sure that it was not."
    );
    if consequence.is_empty() { warning } else { format!("{consequence} {warning}") }
}

/// The refusal where the audit line cannot be written: an action without one is not carried out.
pub(super) fn not_written() -> Refusal {
    let detail = "The audit log cannot be written, so nothing was done. Try again later.";
    Refusal { reason: "audit_unavailable", retry_after: Some(30), ..Refusal::from(Fault::Unavailable).saying(detail) }
}
