//! What becomes of an element when a page is made ready for Markdown. Several modules decide it, and one carries it out.

/// What becomes of an element.
pub(super) enum ElementFate {
    Drop,
    /// Its children are its parent's.
    Keep,
    /// Written as the element of this name is.
    Rename(&'static str),
    /// As it is, and what lies in it is ready.
    Ready,
}
