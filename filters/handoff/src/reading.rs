//! Everything of a directory that may be served, read in one go, each file held against its checksum.
//!
//! What is served is what was hashed: the bytes in memory, not those on the disk a moment later.

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

/// How old a change has to be for its stamp to tell it from the next: clocks of file systems tick slowly.
const SETTLED: Duration = Duration::from_secs(2);

/// A directory at some moment.
#[derive(Debug)]
pub(super) struct Reading {
    /// As it is stored, and as it is read; `None` in a directory of version 1.
    pub(super) manifest: Option<(Bytes, Manifest)>,
    pub(super) files: BTreeMap<String, Held>,
    /// What each name stood for.
    stamps: BTreeMap<String, Option<Stamp>>,
    /// Stamps that are still the same mean bytes that are.
    settled: bool,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// UTF-8.
    Text(Bytes, Integrity),
    /// Nothing that can be read; a link is nothing.
    Missing,
    TooLarge,
    NotText,
}

/// How far a file can be believed (§2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integrity {
    Verified,
    Assumed,
    /// There is no manifest to list it.
    Unlisted,
}

impl Integrity {
    /// As a header says it.
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
    /// The manifest does not conform.
    Broken,
    /// Somebody is writing.
    Moving,
    /// There is nothing yet.
    Nothing,
    /// The system says no.
    Away,
}

impl Reading {
    /// Reads it.
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

    /// Whether the directory did not change while it was read: nobody has begun to write, and nothing was written.
    pub(super) fn held_still(&self, directory: &dyn Directory) -> bool {
        let manifest = match (&self.manifest, directory.read(MANIFEST, manifest::MOST)) {
            (Some((before, _)), Ok((after, _))) => *before == after,
            (None, Err(Unread::Missing)) => true,
            _ => false,
        };
        manifest && directory.stamp(LOCK) == Err(Unread::Missing) && self.same_stamps(directory)
    }

    /// Whether every file is what the manifest says.
    pub(super) fn is_whole(&self) -> bool {
        let verified = |held: &Held| matches!(held, Held::Text(_, Integrity::Verified));
        self.manifest.is_some() && self.files.values().all(verified)
    }

    /// Whether reading it again would give the same.
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

/// What a directory without a manifest consists of: its Markdown (§3.3).
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

/// What is in the directory, seen by somebody who asks.
#[derive(Debug, Clone)]
pub struct View {
    pub(super) lock: Option<Lock>,
    pub(super) found: Result<std::sync::Arc<Reading>, Without>,
    /// It is from before somebody began to write.
    pub(super) is_snapshot: bool,
}

/// What somebody finds who begins to work (§3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    V1,
    Recovery,
    Bootstrap,
}

impl State {
    /// As a header says it.
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
    /// `None` where the manifest is broken, or nobody knows.
    pub(super) fn state(&self) -> Option<State> {
        match &self.found {
            Err(Without::Nothing) => Some(State::Bootstrap),
            Err(Without::Moving) => Some(State::Recovery),
            _ if self.lock.is_some() || self.is_snapshot => Some(State::Recovery),
            Err(Without::Broken | Without::Away) => None,
            Ok(reading) => Some(if reading.manifest.is_some() { State::Ok } else { State::V1 }),
        }
    }

    /// What the manifest lists under a name that no file can have: it is left out, and the rest is served.
    pub fn refused(&self) -> &[String] {
        let manifest = self.found.as_ref().ok().and_then(|reading| reading.manifest.as_ref());
        manifest.map_or(&[], |(_, manifest)| &manifest.refused)
    }

    /// Whether a file is not to be had until whoever writes it is done.
    pub(super) fn is_being_written(&self, name: &str) -> bool {
        !self.is_snapshot && self.lock.as_ref().is_some_and(|lock| lock.covers(name))
    }

    /// Whether what was read may be half of something, whatever its checksum says.
    pub(super) fn is_unsure(&self) -> bool {
        !self.is_snapshot && self.lock.is_some()
    }
}
