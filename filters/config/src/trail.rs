//! Where in the declaration something stands: the way down to it, put into words only when there is something to say.
//!
//! Every value of a declaration is visited, and hardly any has a mistake in it. A step is therefore two references on
//! the stack of whoever visits.

use std::fmt;

/// A dotted path such as `capabilities[2].upstream.method` (counted from 0); nothing for the whole file.
#[derive(Clone, Copy)]
pub(super) enum Trail<'a> {
    Top,
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl<'a> Trail<'a> {
    /// One step down, to the key of a table.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// One step down, to an item of a list.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(Trail::Top, key) => out.write_str(key),
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
        let capabilities = Trail::Top.key("capabilities");
        let second = capabilities.index(2);
        let upstream = second.key("upstream");
        assert_eq!(upstream.key("method").to_string(), "capabilities[2].upstream.method");
        assert_eq!(Trail::Top.to_string(), "");
    }
}
