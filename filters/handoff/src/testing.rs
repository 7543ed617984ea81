//! An in-memory directory for unit tests. Integration tests cover real directories.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};

use super::{
    checksum,
    directory::{Directory, Kind, Stamp, Unread},
};

type Then = Rc<dyn Fn(&Pretend)>;

/// Files, a clock, and hooks that run after a file was read.
#[derive(Default)]
pub(super) struct Pretend {
    files: RefCell<BTreeMap<String, (String, u64)>>,
    /// Seconds since the start.
    clock: Cell<u64>,
    reads: Cell<usize>,
    then: RefCell<Option<(String, Then, bool)>>,
}

/// 2026-02-26T14:30:00Z.
const BEGAN: u64 = 1_772_116_200;

impl Pretend {
    pub(super) fn write(&self, name: &str, text: &str) {
        self.files.borrow_mut().insert(name.into(), (text.into(), self.clock.get()));
    }

    pub(super) fn remove(&self, name: &str) {
        self.files.borrow_mut().remove(name);
    }

    pub(super) fn wait(&self, seconds: u64) {
        self.clock.set(self.clock.get() + seconds);
    }

    pub(super) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(BEGAN + self.clock.get())
    }

    pub(super) fn reads(&self) -> usize {
        self.reads.get()
    }

    /// Runs the hook once, after the next reading of this file.
    pub(super) fn after_reading(&self, name: &str, then: impl Fn(&Self) + 'static) {
        *self.then.borrow_mut() = Some((name.into(), Rc::new(then), false));
    }

    /// Runs the hook after every reading of this file.
    pub(super) fn always_after_reading(&self, name: &str, then: impl Fn(&Self) + 'static) {
        *self.then.borrow_mut() = Some((name.into(), Rc::new(then), true));
    }
}

impl Directory for Pretend {
    fn names(&self) -> Result<Vec<String>, Unread> {
        Ok(self.files.borrow().keys().cloned().collect())
    }

    fn stamp(&self, name: &str) -> Result<Stamp, Unread> {
        let files = self.files.borrow();
        let (text, written) = files.get(name).ok_or(Unread::Missing)?;
        let at = UNIX_EPOCH + Duration::from_secs(BEGAN + written);
        // Derived from the text, which is distinct enough for these tests.
        let identity = (0, u64::from(text.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))));
        Ok(Stamp { kind: Kind::File, size: text.len() as u64, modified: at, changed: at, identity })
    }

    fn read(&self, name: &str, most: usize) -> Result<(Vec<u8>, Stamp), Unread> {
        let stamp = self.stamp(name)?;
        let text = self.files.borrow()[name].0.clone();
        self.reads.set(self.reads.get() + 1);
        let then = self.then.borrow().as_ref().filter(|(after, ..)| after == name).cloned();
        if let Some((_, then, always)) = then {
            if !always {
                *self.then.borrow_mut() = None;
            }
            then(self);
        }
        if text.len() > most { Err(Unread::TooLarge) } else { Ok((text.into_bytes(), stamp)) }
    }
}

/// A manifest that lists these files with these texts.
pub(super) fn manifest(files: &[(&str, &str)]) -> String {
    let listed = |(name, text): &(&str, &str)| {
        let entry = json!({
            "checksum": checksum::of(text.as_bytes()), "updated": "2026-02-26T14:30:00Z", "lines": text.lines().count(), "summary": "s",
        });
        ((*name).to_owned(), entry)
    };
    let files: Map<String, Value> = files.iter().map(listed).collect();
    json!({
        "aahp_version": "3.0", "project": "pretend", "quick_context": "all is well", "files": files,
        "last_session": { "agent": "a", "timestamp": "2026-02-26T14:30:00Z", "phase": "idle" },
    })
    .to_string()
}
