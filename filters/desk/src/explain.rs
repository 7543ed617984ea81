//! How a refusal is put into words.

use frontdesk_base::{Refusal, Reply};
use frontdesk_page::Insertion;

/// Puts a refusal into an envelope. `accept` is what the client takes; the insertion is for pages.
pub type Explain = fn(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply;
