//! Caches a handoff directory between requests: the last reading, and the last clean one.
//!
//! AAHP recovers the last clean state from git. Frontdesk keeps the one it has seen instead. Its size is bounded like
//! a reading's, and it survives a reload of the configuration.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{
    directory::{Directory, Unread},
    lock::Lock,
    reading::{Reading, View, Without},
};

/// How often a changing directory is read again.
const TRIES: usize = 3;

/// The source of a handoff.
#[async_trait]
pub trait Source: Send + Sync {
    /// The present contents of the directory.
    ///
    /// # Errors
    ///
    /// The directory cannot be read at present.
    async fn view(&self) -> Result<View, Busy>;
}

/// Too many readers, or the disk does not respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// The cache of one directory.
#[derive(Debug, Default)]
pub struct SnapshotCache {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The last reading, with or without a manifest.
    last: Option<Arc<Reading>>,
    /// The last reading whose files all matched the manifest while no session was writing: a writer that died may
    /// leave no lock.
    clean: Option<Arc<Reading>>,
}

impl SnapshotCache {
    /// Reads the directory. Blocks, and reads once at a time, so that an older reading cannot replace a newer one.
    pub fn look(&self, directory: Result<&dyn Directory, Unread>, now: SystemTime) -> View {
        let mut seen = self.seen.lock();
        let without = |why| View { lock: None, found: Err(why), is_snapshot: false };
        let directory = match directory {
            Ok(directory) => directory,
            Err(Unread::Missing) => return without(Without::Nothing),
            Err(_) => return without(Without::Away),
        };
        for _ in 0..TRIES {
            match Lock::look(directory, now) {
                Ok(None) => {}
                Ok(Some(lock)) => return seen.locked(lock, directory, now),
                Err(_) => return without(Without::Away),
            }
            if let Some(last) = seen.last.as_ref().filter(|last| last.is_current(directory)) {
                return View { lock: None, found: Ok(last.clone()), is_snapshot: false };
            }
            match Reading::read(directory, now) {
                Ok(reading) if reading.held_still(directory) => return seen.keep(reading),
                // A manifest that is being written may be broken or absent.
                Err(why) if !moves(directory, now) => return without(why),
                _ => {}
            }
        }
        // A session is writing without a lock.
        match &seen.clean {
            Some(clean) => View { lock: None, found: Ok(clean.clone()), is_snapshot: true },
            None => without(Without::Moving),
        }
    }
}

/// Whether a manifest that could not be read is readable now, or a session has begun to write.
fn moves(directory: &dyn Directory, now: SystemTime) -> bool {
    !matches!(Lock::look(directory, now), Ok(None)) || Reading::read(directory, now).is_ok()
}

impl Seen {
    fn keep(&mut self, reading: Reading) -> View {
        let reading = Arc::new(reading);
        self.last = Some(reading.clone());
        if reading.is_whole() {
            self.clean = Some(reading.clone());
        }
        View { lock: None, found: Ok(reading), is_snapshot: false }
    }

    fn locked(&self, lock: Lock, directory: &dyn Directory, now: SystemTime) -> View {
        let (found, is_snapshot) = match &self.clean {
            Some(clean) => (Ok(clean.clone()), true),
            None => match Reading::read(directory, now) {
                Ok(reading) if reading.manifest.is_some() => (Ok(Arc::new(reading)), false),
                Err(Without::Away) => (Err(Without::Away), false),
                // Writers write the manifest last.
                _ => (Err(Without::Moving), false),
            },
        };
        View { lock: Some(lock), found, is_snapshot }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{
            reading::{Held, Integrity, State},
            testing::{Pretend, manifest},
        },
        *,
    };

    const LOCK: &str = r#"{"agent":"a","started":"2026-02-26T14:30:00Z","updating":["STATUS.md"]}"#;

    fn handoff() -> Pretend {
        let pretend = Pretend::default();
        for (name, text) in [("STATUS.md", "green\n"), ("LOG.md", "# LOG\n")] {
            pretend.write(name, text);
        }
        pretend.write("MANIFEST.json", &manifest(&[("STATUS.md", "green\n"), ("LOG.md", "# LOG\n")]));
        pretend
    }

    fn look(shelf: &SnapshotCache, pretend: &Pretend) -> View {
        shelf.look(Ok(pretend), pretend.now())
    }

    fn held(view: &View, name: &str) -> Option<(String, Integrity)> {
        match view.found.as_ref().ok()?.files.get(name)? {
            Held::Text(bytes, integrity) => Some((String::from_utf8(bytes.to_vec()).unwrap(), *integrity)),
            _ => None,
        }
    }

    #[test]
    fn a_settled_directory_is_read_once() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        pretend.wait(10);
        assert_eq!(look(&shelf, &pretend).state(), Some(State::Ok));
        let read = pretend.reads();
        assert_eq!(held(&look(&shelf, &pretend), "STATUS.md"), Some(("green\n".into(), Integrity::Verified)));
        assert_eq!(pretend.reads(), read, "stamps were enough");
        pretend.write("STATUS.md", "red!!\n");
        assert_eq!(held(&look(&shelf, &pretend), "STATUS.md"), Some(("red!!\n".into(), Integrity::Assumed)));
        let read = pretend.reads();
        look(&shelf, &pretend);
        assert!(pretend.reads() > read, "a stamp that is just made may be that of two writings");
    }

    #[test]
    fn a_lock_brings_back_the_last_clean_state() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        look(&shelf, &pretend);
        pretend.write("HANDOFF.lock", LOCK);
        pretend.write("STATUS.md", "half\n");
        let view = look(&shelf, &pretend);
        assert_eq!((view.state(), view.is_snapshot), (Some(State::Recovery), true));
        assert_eq!(held(&view, "STATUS.md"), Some(("green\n".into(), Integrity::Verified)));
        assert!(!view.is_being_written("STATUS.md"));
        pretend.remove("HANDOFF.lock");
        assert_eq!(held(&look(&shelf, &pretend), "STATUS.md"), Some(("half\n".into(), Integrity::Assumed)));
        // A half-written directory is no clean state for the next writer.
        pretend.write("HANDOFF.lock", LOCK);
        let view = look(&shelf, &pretend);
        assert_eq!(held(&view, "STATUS.md"), Some(("green\n".into(), Integrity::Verified)));
        let fresh = look(&SnapshotCache::default(), &pretend);
        assert!(!fresh.is_snapshot && fresh.is_being_written("STATUS.md"), "nor where nothing better is known");
    }

    #[test]
    fn a_lock_from_the_beginning_leaves_what_is_not_written() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        pretend.write("HANDOFF.lock", LOCK);
        let view = look(&shelf, &pretend);
        assert_eq!((view.state(), view.is_snapshot, view.is_unsure()), (Some(State::Recovery), false, true));
        assert!(view.is_being_written("STATUS.md") && !view.is_being_written("LOG.md"));
        pretend.write("MANIFEST.json", "{");
        assert_eq!(look(&shelf, &pretend).found.err(), Some(Without::Moving));
    }

    #[test]
    fn what_is_written_while_it_is_read_is_read_again() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        // Another state replaces the first as soon as one file was read.
        let next = [("STATUS.md", "done\n"), ("LOG.md", "# LOG 2\n")];
        pretend.after_reading("LOG.md", move |pretend| {
            next.iter().for_each(|(name, text)| pretend.write(name, text));
            pretend.write("MANIFEST.json", &manifest(&next));
        });
        let view = look(&shelf, &pretend);
        assert_eq!(held(&view, "STATUS.md"), Some(("done\n".into(), Integrity::Verified)));
        assert_eq!(held(&view, "LOG.md"), Some(("# LOG 2\n".into(), Integrity::Verified)));
        pretend.after_reading("STATUS.md", |pretend| pretend.write("HANDOFF.lock", LOCK));
        assert!(look(&shelf, &pretend).is_snapshot, "a lock that comes in between holds");
    }

    #[test]
    fn what_never_holds_still_is_not_served() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        pretend.always_after_reading("STATUS.md", |pretend| {
            pretend.write("STATUS.md", &"again\n".repeat(pretend.reads()));
        });
        assert_eq!(look(&shelf, &pretend).found.err(), Some(Without::Moving));
    }

    #[test]
    fn broken_missing_and_nothing() {
        let (shelf, pretend) = (SnapshotCache::default(), handoff());
        look(&shelf, &pretend);
        pretend.write("MANIFEST.json", "{}");
        let view = look(&shelf, &pretend);
        assert_eq!(
            (view.found.as_ref().err(), view.state()),
            (Some(&Without::Broken), None),
            "no snapshot covers it up"
        );
        pretend.remove("MANIFEST.json");
        pretend.write("b/c.md", "x");
        pretend.write(".hidden.md", "x");
        let view = look(&shelf, &pretend);
        assert_eq!(view.state(), Some(State::V1));
        assert_eq!(view.found.as_ref().unwrap().files.len(), 2);
        assert_eq!(held(&view, "LOG.md"), Some(("# LOG\n".into(), Integrity::Unlisted)));
        pretend.wait(10);
        look(&shelf, &pretend);
        pretend.write("NEW.md", "x");
        assert_eq!(look(&shelf, &pretend).found.unwrap().files.len(), 3, "a new one is seen");
        assert_eq!(look(&SnapshotCache::default(), &Pretend::default()).state(), Some(State::Bootstrap));
        let gone = SnapshotCache::default().look(Err(Unread::Missing), std::time::UNIX_EPOCH + Duration::from_secs(1));
        assert_eq!(gone.state(), Some(State::Bootstrap));
    }
}
