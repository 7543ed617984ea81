//! A handoff directory as it is looked into: names, what stands behind them, and bytes up to a bound.
//!
//! Whoever opens it keeps to it: no link is followed, nothing but a plain file is read, and no name leads out of it.

use std::{fmt, time::SystemTime};

/// The bytes of one file that are read, at most.
pub(super) const FILE: usize = 1 << 20;
/// The bytes of one directory that are held, at most.
pub(super) const ALL: usize = 8 << 20;
/// The names of a directory that are looked at, at most.
pub const NAMES: usize = 1024;

/// An opened directory. Blocks.
pub trait Directory {
    /// Every name in it but `.` and `..`, in no order. One that is no UTF-8 comes with replacement characters, and there
    /// is nothing under it.
    ///
    /// # Errors
    ///
    /// There are more than [`NAMES`], or the system says no.
    fn names(&self) -> Result<Vec<String>, Unread>;

    /// What stands behind a name, links not followed.
    ///
    /// # Errors
    ///
    /// Nothing does, or the system says no.
    fn stamp(&self, name: &str) -> Result<Stamp, Unread>;

    /// The bytes of a regular file, and what it was when they were read.
    ///
    /// # Errors
    ///
    /// There is none, it is something else, it has more than `most` bytes, or the system says no.
    fn read(&self, name: &str, most: usize) -> Result<(Vec<u8>, Stamp), Unread>;
}

/// What a name stood for at some moment: equal stamps, equal bytes, but for a file that has just been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    pub modified: SystemTime,
    /// When anything of it was changed, its name included.
    pub changed: SystemTime,
    /// Of the file system and in it.
    pub identity: (u64, u64),
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    Directory,
    /// A pipe, a socket or a device.
    Other,
}

/// Why nothing was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    Missing,
    /// A link, a directory, a pipe or a device.
    NotAFile,
    TooLarge,
    /// More names than are looked at.
    TooMany,
    /// What the system says.
    Failed(String),
}

/// The rest of a sentence that begins with the name.
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

/// Whether a name can only mean something in the directory itself: the schema's own pattern lets `../../index.md` pass.
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
