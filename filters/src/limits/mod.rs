//! How much a caller may: which limits hold for a request, and how they are told.

pub mod budget;
mod fields;
mod guesses;
mod policy;

pub use frontdesk_base::tokens;
pub use policy::{Counted, Held, Near, Policies, Policy};

use crate::fault::{Fault, Refusal};

/// Nobody can say how much was used.
pub(crate) fn store_away() -> Refusal {
    let detail = "The counts of calls cannot be reached at the moment. Try again later.";
    Refusal { reason: "store_away", ..Refusal::from(Fault::Unavailable).saying(detail) }
}
