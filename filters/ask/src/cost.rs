//! What a text costs a language model.

use frontdesk_base::tokens;

/// The tokens of a text.
pub(super) fn count(text: &str) -> usize {
    tokens::count(text) as usize
}
