//! `frontdesk handoff lint`: reports all mistakes in a handoff directory in one run, each with its place and advice.
//!
//! The checks of the public tools miss much: five of their thirteen patterns never match, and old versions of `awk`
//! skip expired trust. This lint checks what they intend to check.

mod allowed;
mod listed;
mod markdown;
mod place;
mod words;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    directory::{ALL, Directory, FILE, Kind, Unread, is_plain},
    lock::{LOCK, Lock},
    trust::TRUST,
};
use frontdesk_config::{Mistake, Severity};

/// The patterns that a handoff must not contain.
const IGNORED: &str = ".aiignore";
/// Maximum findings of one kind.
const MOST: usize = 100;

/// Checks a directory, which the findings call `shown`.
///
/// # Errors
///
/// The directory cannot be read.
pub fn lint(directory: &dyn Directory, shown: &Path, now: SystemTime) -> Result<Vec<Mistake>, String> {
    let cannot = |why: Unread| format!("{}: {why}", shown.display());
    let mut names = directory.names().map_err(cannot)?;
    names.sort_unstable();
    let mut lint = Lint { shown, now, found: Vec::new(), texts: BTreeMap::new() };
    lint.lock(directory).map_err(cannot)?;
    let mut left = ALL;
    for name in names.iter().filter(|name| *name != LOCK) {
        lint.read(directory, name, &mut left);
    }
    let manifest = lint.manifest(&names);
    lint.markdown(manifest.as_ref());
    lint.words();
    lint.found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok(lint.found)
}

/// A directory while it is checked.
struct Lint<'a> {
    shown: &'a Path,
    now: SystemTime,
    found: Vec<Mistake>,
    /// Every regular file that is text.
    texts: BTreeMap<String, String>,
}

impl Lint<'_> {
    fn say(&mut self, name: &str, line: usize, what: impl Into<String>, hint: &str) {
        self.say_of(name, line, "", what, hint);
    }

    /// Reports a mistake at a place in a JSON file.
    fn say_of(&mut self, name: &str, line: usize, key: &str, what: impl Into<String>, hint: &str) {
        // File names are untrusted: escape them, so that they cannot control a terminal.
        let safe = |text: &str| text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"");
        let file = if name.is_empty() { PathBuf::from(self.shown) } else { self.shown.join(safe(name)) };
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        let (key, what) = (safe(key), safe(&what.into()));
        self.found.push(Mistake { severity: Severity::Mistake, file, line, key, capability: None, what, hint });
    }

    fn lock(&mut self, directory: &dyn Directory) -> Result<(), Unread> {
        let Some(lock) = Lock::look(directory, self.now)? else { return Ok(()) };
        let who = lock.agent.as_deref().map_or(String::new(), |agent| format!(" by {agent}"));
        let (minutes, wrong) = (lock.age / 60, lock.wrong.as_deref().unwrap_or_default());
        if lock.is_stale() {
            let what = format!("stale for {minutes} minutes{who}: a session broke off");
            self.say(LOCK, 0, what, "put the files in order or take them from the last clean commit, then remove it");
        } else {
            let what = format!("set {minutes} minutes ago{who}: an update is in progress");
            self.say(LOCK, 0, what, "wait for it to end; after 15 minutes it is stale");
        }
        if !wrong.is_empty() {
            self.say(LOCK, 0, wrong, "write {\"agent\": …, \"started\": …, \"updating\": […]}");
        }
        Ok(())
    }

    fn read(&mut self, directory: &dyn Directory, name: &str, left: &mut usize) {
        let kind = directory.stamp(name).map(|stamp| stamp.kind);
        match kind {
            // Directories are not served and may contain anything.
            Ok(Kind::Directory) => return,
            Ok(Kind::File) => {}
            Ok(Kind::Link) => {
                return self.say(name, 0, "is a link, and links are not followed", "put the file itself here");
            }
            Ok(Kind::Other) => return self.say(name, 0, "is a pipe, a socket or a device", "remove it"),
            Err(_) => return self.say(name, 0, "has a name that cannot be read", "rename it"),
        }
        match directory.read(name, FILE.min(*left)).map(|(bytes, _)| String::from_utf8(bytes)) {
            Ok(Ok(text)) => {
                *left -= text.len();
                self.texts.insert(name.to_owned(), text);
            }
            Ok(Err(_)) => self.say(name, 0, "is no text in UTF-8", "write it as UTF-8; it is not served"),
            Err(Unread::TooLarge) => {
                let what = format!(
                    "makes this too large: {} KB of one file and {} MB of all are the most",
                    FILE >> 10,
                    ALL >> 20
                );
                self.say(name, 0, what, "move what is old to another place; it is not served");
            }
            Err(why) => self.say(name, 0, why.to_string(), ""),
        }
    }

    /// The files that are written for agents.
    fn written(&self) -> impl Iterator<Item = (&String, &String)> {
        self.texts.iter().filter(|(name, _)| name.ends_with(".md") && is_plain(name))
    }
}
