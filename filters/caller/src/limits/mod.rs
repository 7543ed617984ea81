//! Rate limits and budgets: which apply to a request, and how they are reported.

pub mod budget;
mod fields;
mod guesses;
mod policy;

pub use frontdesk_base::tokens;
pub use policy::{Counted, Held, Near, Policies, Policy};

use std::time::Duration;

use frontdesk_base::fault::{Fault, Refusal};

/// The refusal where the counters are unavailable.
pub fn store_away() -> Refusal {
    let detail = "The counts of calls cannot be reached at the moment. Try again later.";
    Refusal { reason: "store_away", ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// Rounded up: never before the time.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
