//! A file put in the place of another in one step: whoever reads gets the one or the other.

use std::io::{self, Write};

use nix::{fcntl::OFlag, sys::stat::Mode};

use super::opened::Opened;

/// Writes a file under a name of the directory. What was there is replaced, be it a link: nothing is written through it.
pub fn replace(directory: &Opened, name: &str, bytes: &[u8]) -> io::Result<()> {
    // No name of a file that is read: it begins with a dot.
    let beside = format!(".{name}.{}.tmp", std::process::id());
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
    let mut file = directory.at(&beside, flags, Mode::from_bits_truncate(0o644))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| directory.rename(&beside, name));
    if written.is_err() {
        directory.remove(&beside);
    }
    // The name is kept with the directory.
    written.and_then(|()| directory.file().sync_all())
}
