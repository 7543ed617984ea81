//! An opened directory. Every name is resolved relative to it, even if its path changes meanwhile.
//!
//! It follows no symlinks, opens only regular files for reading, and opens nothing that could block.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::handoff::{Directory, Kind, NAMES, Stamp, Unread};
use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AtFlags, OFlag, openat, renameat},
    sys::stat::{FileStat, Mode, SFlag, fstat, fstatat},
    unistd::{UnlinkatFlags, unlinkat},
};

/// Whether the directory's own path may end in a symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Followed,
    Refused,
}

/// The directory.
#[derive(Debug)]
pub struct Opened(File);

impl Opened {
    /// Opens the directory.
    pub fn open(path: &Path, links: Links) -> Result<Self, Unread> {
        let flags = match links {
            Links::Followed => OFlag::O_DIRECTORY,
            Links::Refused => OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW,
        };
        // With a trailing slash the system would follow a symlink.
        let bytes = path.as_os_str().as_bytes();
        let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(bytes.len(), |last| last + 1);
        let path = Path::new(OsStr::from_bytes(&bytes[..end]));
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
        opened.map(Self).map_err(|error| match errno(&error) {
            Some(Errno::ENOTDIR | Errno::ELOOP) => Unread::Failed("it is no directory, or a link to one".into()),
            _ => why(&error),
        })
    }

    /// Opens a file in it.
    pub(super) fn at(&self, name: &str, flags: OFlag, mode: Mode) -> io::Result<File> {
        if !is_in_here(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        loop {
            match openat(&self.0, name, flags | OFlag::O_CLOEXEC, mode) {
                Ok(opened) => return Ok(opened.into()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Renames a file in it and replaces an existing one.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a file in it, if possible.
    pub(super) fn remove(&self, name: &str) {
        let _ = unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir);
    }

    /// The directory as a file, for syncing.
    pub(super) fn file(&self) -> &File {
        &self.0
    }
}

impl Directory for Opened {
    fn names(&self) -> Result<Vec<String>, Unread> {
        // Open it again, because each descriptor has its own read position.
        let own = self.at(".", OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty()).map_err(|error| why(&error))?;
        let mut names = Vec::new();
        for entry in Dir::from_fd(own.into()).map_err(|error| why(&error.into()))? {
            let entry = entry.map_err(|error| why(&error.into()))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() == NAMES {
                return Err(Unread::TooMany);
            }
            names.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(names)
    }

    fn stamp(&self, name: &str) -> Result<Stamp, Unread> {
        if !is_in_here(name) {
            return Err(Unread::Missing);
        }
        // It opens nothing: a pipe does not block, and a device does not react.
        let found = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(|error| why(&error.into()))?;
        Ok(stamp(&found))
    }

    fn read(&self, name: &str, most: usize) -> Result<(Vec<u8>, Stamp), Unread> {
        if self.stamp(name)?.kind != Kind::File {
            return Err(Unread::NotAFile);
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut file = self.at(name, flags, Mode::empty()).map_err(|error| why(&error))?;
        // The file may have been replaced by now.
        let before = stamp(&fstat(&file).map_err(|error| why(&error.into()))?);
        if before.kind != Kind::File {
            return Err(Unread::NotAFile);
        }
        let bound = most as u64;
        if before.size > bound {
            return Err(Unread::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0));
        (&mut file).take(bound + 1).read_to_end(&mut bytes).map_err(|error| why(&error))?;
        if bytes.len() > most { Err(Unread::TooLarge) } else { Ok((bytes, before)) }
    }
}

/// Whether a name names something in the directory itself.
fn is_in_here(name: &str) -> bool {
    !name.is_empty() && name != ".." && !name.contains(['/', '\0'])
}

#[allow(clippy::unnecessary_cast, reason = "on macOS the number of a device has 32 bits")]
fn stamp(found: &FileStat) -> Stamp {
    let kind = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT;
    let kind = if kind == SFlag::S_IFREG {
        Kind::File
    } else if kind == SFlag::S_IFLNK {
        Kind::Link
    } else if kind == SFlag::S_IFDIR {
        Kind::Directory
    } else {
        Kind::Other
    };
    Stamp {
        kind,
        size: found.st_size.unsigned_abs(),
        modified: at(found.st_mtime, found.st_mtime_nsec),
        changed: at(found.st_ctime, found.st_ctime_nsec),
        identity: (found.st_dev as u64, found.st_ino),
    }
}

fn at(seconds: i64, nanos: i64) -> SystemTime {
    let nanos = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let second = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    second.and_then(|second| second.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

fn why(error: &io::Error) -> Unread {
    match errno(error) {
        Some(Errno::ELOOP | Errno::ENXIO | Errno::ENODEV) => Unread::NotAFile,
        Some(Errno::ENAMETOOLONG) => Unread::Missing,
        _ if error.kind() == io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    /// A temporary directory of the test.
    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("frontdesk-opened-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let scratch = Scratch::new("kinds");
        let inside = |name: &str| scratch.0.join(name);
        std::fs::write(inside("a.md"), "text").unwrap();
        std::fs::create_dir(inside("d.md")).unwrap();
        symlink(inside("a.md"), inside("l.md")).unwrap();
        symlink("/nowhere", inside("dangling.md")).unwrap();
        nix::unistd::mkfifo(&inside("p.md"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let _socket = UnixListener::bind(inside("s.md")).unwrap();
        let opened = Opened::open(&scratch.0, Links::Refused).unwrap();
        let mut names = opened.names().unwrap();
        names.sort_unstable();
        assert_eq!(names, ["a.md", "d.md", "dangling.md", "l.md", "p.md", "s.md"]);
        assert_eq!(
            names,
            {
                let mut again = opened.names().unwrap();
                again.sort_unstable();
                again
            },
            "and again"
        );
        let kinds: Vec<Kind> = names.iter().map(|name| opened.stamp(name).unwrap().kind).collect();
        assert_eq!(kinds, [Kind::File, Kind::Directory, Kind::Link, Kind::Link, Kind::Other, Kind::Other]);
        assert_eq!(opened.read("a.md", 4).unwrap().0, b"text");
        assert_eq!(opened.read("a.md", 3).unwrap_err(), Unread::TooLarge);
        for name in &names[1..] {
            assert_eq!(opened.read(name, 9).unwrap_err(), Unread::NotAFile, "{name}");
        }
        let outside = format!("../{}/a.md", scratch.0.file_name().unwrap().to_str().unwrap());
        for name in ["b.md", "", "..", "/etc/passwd", "./a.md", "a\0.md", &outside, &"x".repeat(300)] {
            assert_eq!(opened.read(name, 9).unwrap_err(), Unread::Missing, "{name:?}");
        }
    }

    #[test]
    fn an_opened_directory_stays_the_one_it_was() {
        let scratch = Scratch::new("moved");
        let (first, second) = (scratch.0.join("first"), scratch.0.join("second"));
        std::fs::create_dir(&first).unwrap();
        std::fs::write(first.join("a.md"), "mine").unwrap();
        let opened = Opened::open(&first, Links::Refused).unwrap();
        std::fs::rename(&first, &second).unwrap();
        symlink("/etc", &first).unwrap();
        assert_eq!(opened.read("a.md", 9).unwrap().0, b"mine");
        assert_eq!(opened.stamp("passwd"), Err(Unread::Missing));
        for link in [first.clone(), first.join(""), scratch.0.join("first//")] {
            assert!(matches!(Opened::open(&link, Links::Refused), Err(Unread::Failed(_))), "{}", link.display());
        }
        assert!(Opened::open(&first, Links::Followed).is_ok());
        assert_eq!(Opened::open(&scratch.0.join("third"), Links::Followed).unwrap_err(), Unread::Missing);
    }

    #[test]
    fn a_stamp_changes_with_what_is_written() {
        let scratch = Scratch::new("stamps");
        let file = scratch.0.join("a.md");
        std::fs::write(&file, "one").unwrap();
        let opened = Opened::open(&scratch.0, Links::Refused).unwrap();
        let before = opened.stamp("a.md").unwrap();
        assert_eq!(opened.read("a.md", 9).unwrap().1, before);
        std::fs::write(scratch.0.join("b"), "one").unwrap();
        std::fs::rename(scratch.0.join("b"), &file).unwrap();
        assert_ne!(opened.stamp("a.md").unwrap(), before);
    }
}
