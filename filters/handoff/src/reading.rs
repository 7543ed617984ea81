//! Reads all files of a handoff at once and checks each against its checksum.
//!
//! The served bytes are those that were hashed, in memory, and not those on the disk a moment later.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use bytes::Bytes;

use super::{
    checksum,
    directory::{ALL, Directory, FILE, Kind, Stamp, Unread, is_plain},
    lock::{LOCK, Lock},
    manifest::{self, MANIFEST, Manifest},
};

/// Minimum age of a change for its timestamp to differ from that of the next, since file system clocks are coarse.
const SETTLED: Duration = Duration::from_secs(2);

/// The contents of a directory at some moment.
#[derive(Debug)]
pub(super) struct Reading {
    /// The manifest, raw and parsed; `None` in a directory of version 1.
    pub(super) manifest: Option<(Bytes, Manifest)>,
    pub(super) files: BTreeMap<String, Held>,
    /// The metadata of each name.
    stamps: BTreeMap<String, Option<Stamp>>,
    /// The files are old enough that equal stamps mean equal bytes.
    settled: bool,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// UTF-8.
    Text(Bytes, Integrity),
    /// Absent or unreadable; links count as absent.
    Missing,
    TooLarge,
    NotText,
}

/// The integrity of a file (§2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integrity {
    Verified,
    Assumed,
    /// There is no manifest.
    Unlisted,
}

impl Integrity {
    /// The value in a header.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Assumed => "assumed",
            Self::Unlisted => "unlisted",
        }
    }
}

/// Why there is nothing to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    /// The manifest is invalid.
    Broken,
    /// The directory is being written.
    Moving,
    /// There is no handoff yet.
    Nothing,
    /// An I/O error.
    Away,
}

impl Reading {
    /// Reads the directory.
    pub(super) fn read(directory: &dyn Directory, now: SystemTime) -> Result<Self, Without> {
        let mut stamps = BTreeMap::new();
        let manifest = match directory.read(MANIFEST, manifest::MOST) {
            Ok((bytes, stamp)) => {
                stamps.insert(MANIFEST.to_owned(), Some(stamp));
                let (manifest, _) = manifest::read(&bytes).map_err(|_| Without::Broken)?;
                Some((Bytes::from(bytes), manifest))
            }
            Err(Unread::Missing) => {
                stamps.insert(MANIFEST.to_owned(), None);
                None
            }
            Err(Unread::NotAFile | Unread::TooLarge) => return Err(Without::Broken),
            Err(Unread::TooMany | Unread::Failed(_)) => return Err(Without::Away),
        };
        let names = match &manifest {
            Some((_, manifest)) => manifest.files.keys().cloned().collect(),
            None => unlisted(directory)?,
        };
        if manifest.is_none() && names.is_empty() {
            return Err(Without::Nothing);
        }
        let (mut files, mut left) = (BTreeMap::new(), ALL);
        for name in names {
            let listed = manifest.as_ref().and_then(|(_, manifest)| manifest.files.get(&name));
            let (held, stamp) = match directory.read(&name, FILE.min(left)) {
                Ok((bytes, stamp)) => {
                    left -= bytes.len();
                    (Held::of(bytes, listed.map(String::as_str)), Some(stamp))
                }
                Err(why) => {
                    let held = if why == Unread::TooLarge { Held::TooLarge } else { Held::Missing };
                    (held, directory.stamp(&name).ok())
                }
            };
            stamps.insert(name.clone(), stamp);
            files.insert(name, held);
        }
        let old = |stamp: &Stamp| now.duration_since(stamp.changed.max(stamp.modified)).is_ok_and(|age| age >= SETTLED);
        let settled = stamps.values().flatten().all(old);
        Ok(Self { manifest, files, stamps, settled })
    }

    /// Whether the directory stayed unchanged during the reading, and unlocked.
    pub(super) fn held_still(&self, directory: &dyn Directory) -> bool {
        let manifest = match (&self.manifest, directory.read(MANIFEST, manifest::MOST)) {
            (Some((before, _)), Ok((after, _))) => *before == after,
            (None, Err(Unread::Missing)) => true,
            _ => false,
        };
        manifest && directory.stamp(LOCK) == Err(Unread::Missing) && self.same_stamps(directory)
    }

    /// Whether every file matches the manifest.
    pub(super) fn is_whole(&self) -> bool {
        let verified = |held: &Held| matches!(held, Held::Text(_, Integrity::Verified));
        self.manifest.is_some() && self.files.values().all(verified)
    }

    /// Whether a new reading would give the same result.
    pub(super) fn is_current(&self, directory: &dyn Directory) -> bool {
        self.settled && self.same_stamps(directory)
    }

    fn same_stamps(&self, directory: &dyn Directory) -> bool {
        let same = self.stamps.iter().all(|(name, stamp)| directory.stamp(name).ok() == *stamp);
        let known =
            |names: Vec<String>| names.len() == self.files.len() && names.iter().all(|n| self.files.contains_key(n));
        same && (self.manifest.is_some() || unlisted(directory).is_ok_and(known))
    }
}

impl Held {
    fn of(bytes: Vec<u8>, listed: Option<&str>) -> Self {
        if std::str::from_utf8(&bytes).is_err() {
            return Self::NotText;
        }
        let integrity = match listed {
            None => Integrity::Unlisted,
            Some(listed) if checksum::of(&bytes) == listed => Integrity::Verified,
            Some(_) => Integrity::Assumed,
        };
        Self::Text(bytes.into(), integrity)
    }
}

/// The files of a directory without a manifest: its Markdown (§3.3).
fn unlisted(directory: &dyn Directory) -> Result<Vec<String>, Without> {
    let names = match directory.names() {
        Ok(names) => names,
        Err(Unread::Missing) => return Err(Without::Nothing),
        Err(_) => return Err(Without::Away),
    };
    let is_file = |name: &String| directory.stamp(name).is_ok_and(|stamp| stamp.kind == Kind::File);
    let mut markdown: Vec<String> =
        names.into_iter().filter(|name| is_plain(name) && name.ends_with(".md")).filter(is_file).collect();
    markdown.sort_unstable();
    markdown.truncate(manifest::MOST_FILES);
    Ok(markdown)
}

/// The contents of a directory as a request sees them.
#[derive(Debug, Clone)]
pub struct View {
    pub(super) lock: Option<Lock>,
    pub(super) found: Result<std::sync::Arc<Reading>, Without>,
    /// The reading is from before the present writer began.
    pub(super) is_snapshot: bool,
}

/// The state that an agent finds at the start of its work (§3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    V1,
    Recovery,
    Bootstrap,
}

impl State {
    /// The value in a header.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::V1 => "v1",
            Self::Recovery => "recovery",
            Self::Bootstrap => "bootstrap",
        }
    }
}

impl View {
    /// `None` where the manifest is broken or the state cannot be determined.
    pub(super) fn state(&self) -> Option<State> {
        match &self.found {
            Err(Without::Nothing) => Some(State::Bootstrap),
            Err(Without::Moving) => Some(State::Recovery),
            _ if self.lock.is_some() || self.is_snapshot => Some(State::Recovery),
            Err(Without::Broken | Without::Away) => None,
            Ok(reading) => Some(if reading.manifest.is_some() { State::Ok } else { State::V1 }),
        }
    }

    /// The manifest's entries with an impossible file name; they are left out and the rest is served.
    pub fn refused(&self) -> &[String] {
        let manifest = self.found.as_ref().ok().and_then(|reading| reading.manifest.as_ref());
        manifest.map_or(&[], |(_, manifest)| &manifest.refused)
    }

    /// Whether a file is unavailable until its writer is done.
    pub(super) fn is_being_written(&self, name: &str) -> bool {
        !self.is_snapshot && self.lock.as_ref().is_some_and(|lock| lock.covers(name))
    }

    /// Whether the reading may be incomplete, whatever its checksums say.
    pub(super) fn is_unsure(&self) -> bool {
        !self.is_snapshot && self.lock.is_some()
    }
}
