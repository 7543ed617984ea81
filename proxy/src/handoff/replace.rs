//! Replaces a file in one step: a reader sees either the old or the new content.

use std::io::{self, Write};

use nix::{fcntl::OFlag, sys::stat::Mode};

use super::opened::Opened;

/// Writes a file in the directory. Replaces an existing file, also a symlink, and never writes through it.
pub fn replace(directory: &Opened, name: &str, bytes: &[u8]) -> io::Result<()> {
    // No reader takes this name for a handoff file: it begins with a dot.
    let beside = format!(".{name}.{}.tmp", std::process::id());
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
    let mut file = directory.at(&beside, flags, Mode::from_bits_truncate(0o644))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| directory.rename(&beside, name));
    if written.is_err() {
        directory.remove(&beside);
    }
    // Syncing the directory makes the new name durable.
    written.and_then(|()| directory.file().sync_all())
}
