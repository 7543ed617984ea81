//! An outside without anything in it, for tests of what a declaration leads to.

use std::{io, path::Path};

use super::Outside;

/// Neither variables nor files.
pub(crate) struct Nowhere;

impl Outside for Nowhere {
    fn var(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }
}
