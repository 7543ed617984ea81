//! One line of a form's entry list, as browsers build it (the HTML standard, "constructing the entry list").

use super::Upload;

/// A name with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: Sent,
    pub(super) source: Source,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// An input was put in.
    Input,
    /// The page has it in a hidden field.
    Hidden,
    /// The page has it where people see it.
    Page,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    Text(String),
    File(Upload),
}
