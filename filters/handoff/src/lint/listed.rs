//! Checks the manifest against its schema and against the files.

use super::{
    super::{
        checksum, date,
        manifest::{self, MANIFEST, Manifest, Wrong},
        tasks,
    },
    LOCK, Lint, MOST,
    place::line_of,
};

const AGAIN: &str = "run `frontdesk handoff manifest`";

impl Lint<'_> {
    /// Checks the manifest. `None` where it is unusable.
    pub(super) fn manifest(&mut self, names: &[String]) -> Option<Manifest> {
        let Some(text) = self.texts.get(MANIFEST).cloned() else {
            let listable = names.iter().any(|name| manifest::is_listable(name));
            if !names.iter().any(|name| name == MANIFEST) {
                match listable {
                    true => self.say(MANIFEST, 0, "is missing: this is a directory of version 1", AGAIN),
                    false => self.say("", 0, "holds no handoff yet", "name the directory itself, usually .ai/handoff"),
                }
            }
            return None;
        };
        if text.len() > manifest::MOST {
            let what = format!("has more than {} KB", manifest::MOST >> 10);
            self.say(MANIFEST, 0, what, "remove tasks that are done long since");
            return None;
        }
        let (manifest, wrong) = match manifest::read(text.as_bytes()) {
            Ok((manifest, minor)) => (Some(manifest), minor),
            Err(wrong) => (None, wrong),
        };
        for Wrong { path, what, line, .. } in wrong {
            let line = line.unwrap_or_else(|| line_of(&text, &path));
            let (what, hint) = what.split_once("; ").unwrap_or((&what, ""));
            self.say_of(MANIFEST, line, &path.join("."), what, hint);
        }
        let manifest = manifest?;
        self.files(&manifest, &text, names);
        self.tasks(&manifest, &text);
        if let Some(at) = manifest.value["last_session"]["timestamp"].as_str().and_then(date::moment)
            && at > date::seconds(self.now) + 24 * 3600
        {
            let path = ["last_session", "timestamp"].map(str::to_owned);
            self.say_of(MANIFEST, line_of(&text, &path), &path.join("."), "is in the future", AGAIN);
        }
        Some(manifest)
    }

    fn files(&mut self, manifest: &Manifest, text: &str, names: &[String]) {
        for (name, listed) in &manifest.files {
            let path = ["files".to_owned(), name.clone()];
            let line = || line_of(text, &path);
            match self.texts.get(name) {
                Some(content) if checksum::of(content.as_bytes()) != *listed => {
                    let hint = "see who changed it; if it is right, run `frontdesk handoff manifest`";
                    self.say_of(MANIFEST, line(), &path.join("."), "differs from its checksum", hint);
                }
                Some(_) => {}
                // The problem was reported for the file itself.
                None if names.contains(name) => {}
                None => self.say_of(MANIFEST, line(), &path.join("."), "is listed but does not exist", AGAIN),
            }
        }
        let unlisted = |name: &&String| manifest::is_listable(name) && !manifest.files.contains_key(*name);
        for name in names.iter().filter(unlisted).filter(|name| *name != LOCK) {
            self.say(name, 0, "is not listed in MANIFEST.json: no agent can read it", AGAIN);
        }
    }

    fn tasks(&mut self, manifest: &Manifest, text: &str) {
        let remarks = tasks::remarks(manifest);
        let more = remarks.len().saturating_sub(MOST);
        for remark in remarks.into_iter().take(MOST) {
            self.say_of(MANIFEST, line_of(text, &remark.path), &remark.path.join("."), remark.what, remark.hint);
        }
        if more > 0 {
            self.say_of(MANIFEST, 0, "tasks", format!("{more} more of this kind"), "");
        }
    }
}
