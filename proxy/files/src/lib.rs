//! Files that the configuration names: read within bounds, and the certificates and keys in them.

#![forbid(unsafe_code)]

mod pem;

use std::{
    io::{self, Read},
    path::Path,
};

pub use pem::{add_system_roots, certified_key, chain, private_key, valid_until};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Reads a referenced file. A pipe without a writer would block every later reload, so only regular files are read.
pub fn regular(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::metadata(path)?.is_file() {
        true => bounded(path),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Reads a file of bounded size, which may be a pipe.
pub fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LONGEST {
        true => Err(io::Error::other("it is longer than 16 MiB")),
        false => Ok(bytes),
    }
}
