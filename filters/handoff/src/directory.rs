//! The interface to a handoff directory: names, their file types, and contents up to a bound.
//!
//! Every implementation follows no link, reads only regular files, and lets no name lead out of the directory.

use std::{fmt, time::SystemTime};

/// Maximum bytes of one file.
pub(super) const FILE: usize = 1 << 20;
/// Maximum bytes of one directory.
pub(super) const ALL: usize = 8 << 20;
/// Maximum names in a directory.
pub const NAMES: usize = 1024;

/// An open directory. Its methods block.
pub trait Directory {
    /// Every name but `.` and `..`, in no particular order. A name that is not UTF-8 comes with replacement
    /// characters, and no file can be read under it.
    ///
    /// # Errors
    ///
    /// There are more than [`NAMES`], or an I/O error.
    fn names(&self) -> Result<Vec<String>, Unread>;

    /// The metadata of a name, without following links.
    ///
    /// # Errors
    ///
    /// The name does not exist, or an I/O error.
    fn stamp(&self, name: &str) -> Result<Stamp, Unread>;

    /// The bytes of a regular file, with its metadata at the time of reading.
    ///
    /// # Errors
    ///
    /// The file does not exist, is no regular file, has more than `most` bytes, or an I/O error.
    fn read(&self, name: &str, most: usize) -> Result<(Vec<u8>, Stamp), Unread>;
}

/// The metadata of a name at some moment. Equal stamps mean equal bytes, except for a file that was just written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    pub modified: SystemTime,
    /// The time of the last change to contents or metadata (ctime).
    pub changed: SystemTime,
    /// Device and inode number.
    pub identity: (u64, u64),
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    Directory,
    /// A pipe, socket or device.
    Other,
}

/// Why nothing was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    Missing,
    /// A link, directory, pipe or device.
    NotAFile,
    TooLarge,
    /// More than [`NAMES`] names.
    TooMany,
    /// The system's error message.
    Failed(String),
}

/// Displayed as the rest of a sentence that begins with the name.
impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => out.write_str("is not there"),
            Self::NotAFile => out.write_str("is no regular file; links are not followed"),
            Self::TooLarge => write!(out, "has more than {} KB", FILE >> 10),
            Self::TooMany => write!(out, "has more than {NAMES} names in it"),
            Self::Failed(why) => write!(out, "cannot be read: {why}"),
        }
    }
}

/// Whether a name stays within the directory; the schema's own pattern accepts `../../index.md`.
pub(super) fn is_plain(name: &str) -> bool {
    let bounded = (1..=255).contains(&name.len());
    let leads_out = name.starts_with('.') || name.contains("..") || name.contains(['/', '\\']);
    bounded && !leads_out && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_leads_nowhere_else() {
        for plain in ["STATUS.md", "LOG-ARCHIVE.index.json", "Über uns.md", "a"] {
            assert!(is_plain(plain), "{plain}");
        }
        let long = "a".repeat(256);
        for not in [
            "",
            ".",
            "..",
            ".aiignore",
            "../a.md",
            "a/b.md",
            "a\\b.md",
            "a..b.md",
            "/etc/passwd",
            "a\0.md",
            "a\n.md",
            &long,
        ] {
            assert!(!is_plain(not), "{not:?}");
        }
    }
}
