//! Writes a file that a command makes, and keeps an existing one.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
};

/// Writes the file; replaces an existing one only with `--force`.
pub(super) fn write(file: &Path, text: &[u8], force: bool) -> Result<(), String> {
    let mut options = OpenOptions::new();
    let options = match force {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    options.open(file).and_then(|mut file| file.write_all(text)).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => "exists already; use --force to overwrite it".to_owned(),
        _ => format!("cannot be written: {e}"),
    })
}
