//! A position in the declaration, formatted only when a message needs it.
//!
//! Every value is visited and hardly any has a mistake. A step is therefore two references on the visitor's stack.

use std::fmt;

/// A dotted path such as `capabilities[2].upstream.method` (counted from 0); empty for the whole file.
#[derive(Clone, Copy)]
pub(super) enum KeyPath<'a> {
    Top,
    Key(&'a KeyPath<'a>, &'a str),
    Index(&'a KeyPath<'a>, usize),
}

impl<'a> KeyPath<'a> {
    /// The position of a key in this table.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The position of an item in this list.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }
}

impl fmt::Display for KeyPath<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(KeyPath::Top, key) => out.write_str(key),
            Self::Key(above, key) => write!(out, "{above}.{key}"),
            Self::Index(above, index) => write!(out, "{above}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_reads_as_a_path() {
        let capabilities = KeyPath::Top.key("capabilities");
        let second = capabilities.index(2);
        let upstream = second.key("upstream");
        assert_eq!(upstream.key("method").to_string(), "capabilities[2].upstream.method");
        assert_eq!(KeyPath::Top.to_string(), "");
    }
}
