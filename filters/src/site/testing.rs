//! Worlds outside with next to nothing in them, for tests of what a declaration leads to.

use std::{io, path::Path};

pub(crate) use super::Nowhere;

use super::Outside;

/// One file, whatever it is called.
pub(crate) struct Only<'a>(pub(crate) &'a [u8]);

impl Outside for Only<'_> {
    fn var(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.into())
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }
}
