//! The names of rotated files, and the deletion of files after their retention.
//!
//! Only files with exactly such a name are ever deleted: the directory may contain anything else.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use frontdesk_desk::rfc3339;

/// As in `20261122T043000Z`. Such stamps sort by time.
const STAMP: &[u8; 16] = b"ddddddddTddddddZ";

/// The names of one log's files.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) directory: PathBuf,
    stem: OsString,
    /// With its dot; may be empty.
    suffix: OsString,
}

impl Names {
    /// `None` for a path without a file name.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let mut suffix = OsString::new();
        if let Some(extension) = path.extension() {
            suffix.push(".");
            suffix.push(extension);
        }
        let directory = match path.parent()? {
            here if here.as_os_str().is_empty() => Path::new("."),
            directory => directory,
        };
        Some(Self { directory: directory.into(), stem: path.file_stem()?.into(), suffix })
    }

    /// The name of a file rotated at that time. The count tells files of the same second apart.
    pub(super) fn aside(&self, at: SystemTime, count: u32) -> PathBuf {
        let mut name = self.stem.clone();
        name.push(format!("-{}", stamp(at)));
        if count > 0 {
            name.push(format!("-{count}"));
        }
        name.push(&self.suffix);
        self.directory.join(name)
    }

    /// The time stamp in a name of ours.
    fn stamp_in<'a>(&self, name: &'a OsStr) -> Option<&'a [u8]> {
        let rest = name.as_bytes().strip_prefix(self.stem.as_bytes())?.strip_prefix(b"-")?;
        let rest = rest.strip_suffix(self.suffix.as_bytes())?;
        let (stamp, count) = rest.split_at_checked(STAMP.len())?;
        let fits = stamp.iter().zip(STAMP).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            letter => byte == letter,
        });
        let counted = match count {
            [] => true,
            [b'-', b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        (fits && counted).then_some(stamp)
    }

    /// Deletes files rotated longer ago than that. Tries all of them and returns the first failure.
    pub(super) fn sweep(&self, now: SystemTime, retention: Duration) -> io::Result<()> {
        let Some(oldest) = now.checked_sub(retention) else { return Ok(()) };
        let oldest = stamp(oldest);
        let mut swept = Ok(());
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let ours = self.stamp_in(&entry.file_name()).is_some_and(|stamp| stamp < oldest.as_bytes());
            if ours && entry.file_type()?.is_file() {
                match fs::remove_file(entry.path()) {
                    // Another process has deleted it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) if swept.is_ok() => swept = Err(error),
                    Ok(()) => tracing::info!(file = %entry.path().display(), "deleted after its retention"),
                    Err(_) => {}
                }
            }
        }
        swept
    }
}

/// UTC, to the second.
fn stamp(at: SystemTime) -> String {
    rfc3339(at).replace(['-', ':'], "")
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn names_say_when() {
        let names = Names::of(Path::new("/var/audit.jsonl")).unwrap();
        let at = UNIX_EPOCH + Duration::from_secs(1_795_321_800);
        assert_eq!(names.aside(at, 0), Path::new("/var/audit-20261122T043000Z.jsonl"));
        assert_eq!(names.aside(at, 2), Path::new("/var/audit-20261122T043000Z-2.jsonl"));
        assert_eq!(Names::of(Path::new("log")).unwrap().aside(at, 0), Path::new("./log-20261122T043000Z"));
        assert_eq!(stamp(UNIX_EPOCH + Duration::from_secs(951_782_400)), "20000229T000000Z");
        assert!(Names::of(Path::new("/")).is_none());
    }

    #[test]
    fn only_names_of_ours_are_ours() {
        let names = Names::of(Path::new("/var/audit.jsonl")).unwrap();
        let ours = |name: &str| names.stamp_in(OsStr::new(name)).is_some();
        assert!(ours("audit-20261122T043000Z.jsonl") && ours("audit-20261122T043000Z-12.jsonl"));
        for other in [
            "audit.jsonl",
            "audit-20261122T043000Z.jsonl.gz",
            "audit-20261122T043000Z",
            "audit-20261122T043000Z-.jsonl",
            "audit-20261122T043000Z-0.jsonl",
            "audit-20261122T043000Z-01.jsonl",
            "audit-20261122T043000Z-old.jsonl",
            "audit-2026112T043000Z.jsonl",
            "audit-20261122t043000Z.jsonl",
            "audit-20261122T043000Zjsonl",
            "my-audit-20261122T043000Z.jsonl",
            "audit-x-20261122T043000Z.jsonl",
            "audit-20261122T04300é.jsonl",
        ] {
            assert!(!ours(other), "{other}");
        }
    }
}
