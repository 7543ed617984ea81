//! MANIFEST.json: lists the parts of a handoff. Parsed and checked against its schema (§1.1, §2.1, §8.3).
//!
//! The checks follow the published schema (3.x). They are our own code, because each has to give advice. One is
//! stricter: a file name must be plain, although the schema's pattern accepts paths.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{checksum, date, directory::is_plain};
use frontdesk_base::strict;

/// The file's name.
pub(super) const MANIFEST: &str = "MANIFEST.json";
/// Maximum bytes.
pub(super) const MOST: usize = 512 << 10;
/// Maximum files in it.
pub(super) const MOST_FILES: usize = 256;
/// Maximum mistakes reported for one manifest.
const MOST_WRONG: usize = 50;

/// The phases of a session.
pub(super) const PHASES: [&str; 7] =
    ["research", "architecture", "implementation", "review", "fix", "idle", "documentation"];
const STATUSES: [&str; 5] = ["ready", "in_progress", "blocked", "done", "cancelled"];
const PRIORITIES: [&str; 4] = ["critical", "high", "medium", "low"];
const RELATIONS: [&str; 3] = ["implements", "extends", "consumes"];
const TOP: [&str; 9] = [
    "aahp_version",
    "project",
    "last_session",
    "files",
    "quick_context",
    "token_budget",
    "next_task_id",
    "tasks",
    "cross_repo_ref",
];
/// The files other than Markdown that may be listed.
pub(super) const JSON_FILES: [&str; 2] = ["pii-allowlist.json", "LOG-ARCHIVE.index.json"];

/// Maximum length of texts, in characters.
pub(super) const LONGEST_TEXT: usize = 200;
pub(super) const LONGEST_CONTEXT: usize = 500;

/// A valid manifest.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// The whole document.
    pub(super) value: Value,
    /// The listed checksum of each file.
    pub(super) files: BTreeMap<String, String>,
    /// Entries under a name that no file here can have; they are in neither of the two.
    pub(super) refused: Vec<String>,
}

/// A violation of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The path to it.
    pub(super) path: Vec<String>,
    /// The mistake and the advice.
    pub(super) what: String,
    /// The manifest is usable all the same: validators accept it by default, or one entry is left out.
    pub(super) is_minor: bool,
    /// The line, from 1, of a JSON syntax error.
    pub(super) line: Option<usize>,
}

/// Parses a manifest.
///
/// # Errors
///
/// Everything that makes it unusable, together with the minor violations.
pub(super) fn read(bytes: &[u8]) -> Result<(Manifest, Vec<Wrong>), Vec<Wrong>> {
    let value = strict::read(bytes).map_err(|e| {
        let what = match e.classify() {
            serde_json::error::Category::Data => e.to_string().split(" at line").next().unwrap_or("wrong").to_owned(),
            _ => "is not JSON; put it right, or remove it and have it generated anew".to_owned(),
        };
        vec![Wrong { path: Vec::new(), what, is_minor: false, line: Some(e.line()) }]
    })?;
    let mut judge = Judge { path: Vec::new(), wrong: Vec::new(), is_unusable: false };
    judge.manifest(&value);
    if judge.is_unusable {
        return Err(judge.wrong);
    }
    let mut value = value;
    let refused = refused(&mut value);
    let checksum = |listed: &Value| listed["checksum"].as_str().unwrap_or_default().to_owned();
    let files = value["files"].as_object().into_iter().flatten();
    let files = files.map(|(name, listed)| (name.clone(), checksum(listed))).collect();
    Ok((Manifest { value, files, refused }, judge.wrong))
}

/// Removes the entries under a name that no file here can have.
fn refused(manifest: &mut Value) -> Vec<String> {
    let Some(files) = manifest["files"].as_object_mut() else { return Vec::new() };
    let refused: Vec<String> = files.keys().filter(|name| !is_listable(name)).cloned().collect();
    files.retain(|name, _| is_listable(name));
    refused
}

/// Whether a name may be listed.
pub(super) fn is_listable(name: &str) -> bool {
    is_plain(name) && (name.len() > 3 && name.ends_with(".md") || JSON_FILES.contains(&name))
}

/// Whether a text is a task id.
pub(super) fn is_task(id: &str) -> bool {
    number(id).is_some()
}

/// The number in a task id, saturating.
pub(super) fn number(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("T-")?;
    let all = digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(u64::MAX))
}

struct Judge {
    path: Vec<String>,
    wrong: Vec<Wrong>,
    /// At least one violation, reported or not, makes the manifest unusable.
    is_unusable: bool,
}

impl Judge {
    fn say(&mut self, what: impl Into<String>, is_minor: bool) {
        // The first violation that makes it unusable is always reported, even beyond the maximum.
        let is_first = !is_minor && !self.is_unusable;
        self.is_unusable |= !is_minor;
        if self.wrong.len() < MOST_WRONG || is_first {
            self.wrong.push(Wrong { path: self.path.clone(), what: what.into(), is_minor, line: None });
        }
    }

    fn at(&mut self, step: &str, judge: impl FnOnce(&mut Self)) {
        self.path.push(step.to_owned());
        judge(self);
        self.path.pop();
    }

    /// Checks a required or optional member.
    fn member(&mut self, of: &Map<String, Value>, name: &str, needed: bool, judge: impl FnOnce(&mut Self, &Value)) {
        match of.get(name) {
            Some(value) => self.at(name, |this| judge(this, value)),
            None if needed => self.at(name, |this| this.say("is missing", false)),
            None => {}
        }
    }

    fn object<'v>(&mut self, value: &'v Value) -> Option<&'v Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.say("has to be an object", false);
        }
        object
    }

    fn text(&mut self, value: &Value, from: usize, to: usize) {
        match value.as_str().map(|text| text.chars().count()) {
            None => self.say("has to be a string", false),
            Some(length) if length < from => self.say("is empty", false),
            Some(length) if length > to => {
                self.say(format!("has {length} characters; {to} are the most"), false);
            }
            Some(_) => {}
        }
    }

    fn word(&mut self, value: &Value, words: &[&str]) {
        if !value.as_str().is_some_and(|word| words.contains(&word)) {
            self.say(format!("has to be one of {}", words.join(", ")), false);
        }
    }

    fn time(&mut self, value: &Value) {
        match value.as_str() {
            None => self.say("has to be a string", false),
            Some(text) if date::moment(text).is_none() => {
                self.say("is no date and time; write it like 2026-02-26T14:30:00Z", true);
            }
            Some(_) => {}
        }
    }

    fn count(&mut self, value: &Value, from: u64) {
        if value.as_u64().is_none_or(|number| number < from) {
            self.say(format!("has to be a whole number from {from}"), false);
        }
    }

    fn manifest(&mut self, value: &Value) {
        let Some(top) = self.object(value) else { return };
        for name in top.keys().filter(|name| !TOP.contains(&name.as_str())) {
            self.at(name, |this| this.say("is not known here; remove it", false));
        }
        self.member(top, "aahp_version", true, |this, value| {
            let numbers = value.as_str().and_then(|text| text.split_once('.'));
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !numbers.is_some_and(|(major, minor)| digits(major) && digits(minor)) {
                this.say("has to be a version such as \"3.0\"", false);
            }
        });
        self.member(top, "project", true, |this, value| this.text(value, 1, usize::MAX));
        self.member(top, "last_session", true, Self::session);
        self.member(top, "files", true, Self::files);
        self.member(top, "quick_context", true, |this, value| this.text(value, 0, LONGEST_CONTEXT));
        self.member(top, "token_budget", false, |this, value| {
            let Some(budget) = this.object(value) else { return };
            for name in ["manifest_only", "manifest_plus_core", "full_read"] {
                this.member(budget, name, false, |this, value| this.count(value, 0));
            }
        });
        self.member(top, "next_task_id", false, |this, value| this.count(value, 1));
        self.member(top, "tasks", false, |this, value| {
            for (id, task) in this.object(value).into_iter().flatten() {
                this.at(id, |this| this.task(id, task));
            }
        });
        self.member(top, "cross_repo_ref", false, Self::reference);
    }

    fn session(&mut self, value: &Value) {
        let Some(session) = self.object(value) else { return };
        self.member(session, "agent", true, |this, value| this.text(value, 0, usize::MAX));
        self.member(session, "timestamp", true, Self::time);
        self.member(session, "phase", true, |this, value| this.word(value, &PHASES));
        for name in ["session_id", "commit"] {
            self.member(session, name, false, |this, value| this.text(value, 0, usize::MAX));
        }
        self.member(session, "duration_minutes", false, |this, value| this.count(value, 0));
    }

    fn files(&mut self, value: &Value) {
        let Some(files) = self.object(value) else { return };
        if files.len() > MOST_FILES {
            self.say(format!("lists {} files; {MOST_FILES} are the most", files.len()), false);
        }
        for (name, listed) in files {
            self.at(name, |this| {
                if !is_plain(name) {
                    return this.say("is no plain name of a file in the directory; remove it", true);
                }
                if !is_listable(name) {
                    return this.say(format!("is not listed: only *.md, {}", JSON_FILES.join(" and ")), true);
                }
                let Some(listed) = this.object(listed) else { return };
                this.member(listed, "checksum", true, |this, value| {
                    if !value.as_str().is_some_and(checksum::is_one) {
                        this.say("has to be \"sha256:\" and 64 small hex digits", false);
                    }
                });
                this.member(listed, "updated", true, Self::time);
                this.member(listed, "lines", true, |this, value| this.count(value, 0));
                this.member(listed, "summary", true, |this, value| this.text(value, 0, LONGEST_TEXT));
            });
        }
    }

    fn task(&mut self, id: &str, value: &Value) {
        if !is_task(id) {
            self.say("is no name of a task; write T- and at least three digits", false);
        }
        let Some(task) = self.object(value) else { return };
        self.member(task, "title", true, |this, value| this.text(value, 0, LONGEST_TEXT));
        self.member(task, "status", true, |this, value| this.word(value, &STATUSES));
        self.member(task, "priority", false, |this, value| this.word(value, &PRIORITIES));
        self.member(task, "depends_on", false, |this, value| {
            if !value.as_array().is_some_and(|ids| ids.iter().all(|id| id.as_str().is_some_and(is_task))) {
                this.say("has to be a list of names of tasks", false);
            }
        });
        self.member(task, "blocked_by", false, |this, value| this.text(value, 0, LONGEST_TEXT));
        self.member(task, "assigned_to", false, |this, value| this.text(value, 0, usize::MAX));
        for name in ["created", "completed"] {
            self.member(task, name, false, Self::time);
        }
    }

    fn reference(&mut self, value: &Value) {
        let Some(reference) = self.object(value) else { return };
        for name in
            reference.keys().filter(|name| !["repo", "commit", "relation", "handoff_file"].contains(&name.as_str()))
        {
            self.at(name, |this| this.say("is not known here; remove it", false));
        }
        for (name, needed) in [("repo", true), ("commit", true), ("handoff_file", false)] {
            self.member(reference, name, needed, |this, value| this.text(value, 0, usize::MAX));
        }
        self.member(reference, "relation", true, |this, value| this.word(value, &RELATIONS));
    }
}
