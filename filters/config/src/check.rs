//! Checks the declaration against the table of keys and reports all mistakes in one run.
//!
//! It also reads the referenced files, which must exist and are part of the declaration's hash, and converts
//! `"${PORT}"` to a number where the key needs one. `rules` checks keys against each other.

use std::path::Path;

use frontdesk_base::text::fitted;

use super::{
    Outside,
    extension::Keys,
    forms::{self, Form},
    key_path::KeyPath,
    keys::ROOT,
    mistake::{Findings, nearest, slips, with_last_word},
    publish,
    raw::{Entry, Files, Item, Value},
    schema::{Kind, Table},
};

/// Checks the whole tree; `base` is the directory for relative references.
pub(super) fn check(root: &mut Item, keys: Keys, base: &Path, outside: &dyn Outside, found: &mut Findings) -> Files {
    let mut walk = Walk { keys, base, outside, found, files: Files::new() };
    walk.table(&ROOT, root, &KeyPath::Top);
    walk.schema_files(root);
    walk.files
}

struct Walk<'a> {
    keys: Keys,
    base: &'a Path,
    outside: &'a dyn Outside,
    found: &'a mut Findings,
    files: Files,
}

impl Walk<'_> {
    fn table(&mut self, table: &Table, item: &mut Item, trail: &KeyPath) {
        let line = item.line;
        let Value::Table(entries) = &mut item.value else { return self.expected(item, trail, "a table") };
        for key in self.keys.of(table).filter(|key| key.required) {
            if !entries.iter().any(|entry| entry.key == key.name) {
                self.found.mistake(line, trail.key(key.name), "missing").hint(format!("write {}", key.kind.words()));
            }
        }
        for entry in entries {
            match self.keys.key(table, &entry.key) {
                Some(key) => {
                    entry.item.secret = key.secret;
                    let trail = trail.key(&entry.key);
                    self.value(&key.kind, &mut entry.item, &trail);
                    if let Some(longest) = key.longest {
                        self.shorten(longest, &mut entry.item, &trail);
                    }
                }
                None => self.unknown(table, entry, &trail.key(&entry.key)),
            }
        }
    }

    /// Shortens a text that is too long for one of the documents, here and once, so that all documents agree.
    fn shorten(&mut self, longest: usize, item: &mut Item, trail: &KeyPath) {
        let Value::String(text) = &mut item.value else { return };
        let count = text.chars().count();
        if count > longest {
            *text = fitted(text, longest).into();
            let what =
                format!("has {count} characters, and at most {longest} are published: it ends with \"…\" everywhere");
            self.found.warning(item.line, trail, what).hint("shorten it");
        }
    }

    fn unknown(&mut self, table: &Table, entry: &Entry, trail: &KeyPath) {
        let near = nearest(&entry.key, self.keys.of(table).map(|key| key.name));
        if table.open {
            let whole = || with_last_word(&entry.key, self.keys.of(table).map(|key| key.name));
            let near = near.filter(|near| slips(near, &entry.key) <= 2).or_else(whole);
            if let Some(near) = near.filter(|near| self.keys.key(table, near).is_some_and(|key| key.private)) {
                // Publishing it as written would reveal a value that was meant to stay private.
                let finding = self.found.mistake(entry.line, trail, "looks like a key that is never published");
                finding.hint(format!("did you mean \"{near}\"?"));
            } else if let Some(near) = near {
                let finding = self.found.warning(entry.line, trail, "not a known key; it is published as written");
                finding.hint(format!("did you mean \"{near}\"?"));
            }
            return;
        }
        let finding = self.found.mistake(entry.line, trail, "unknown key");
        match (near, the_other_way_round(self.keys, trail)) {
            (Some(near), _) => finding.hint(format!("did you mean \"{near}\"?")),
            (None, Some(other)) => finding.hint(format!("did you mean {other}?")),
            // The usual reason is a key below the header of another table.
            (None, None) => match homes(self.keys, &entry.key).as_slice() {
                [] => {}
                homes => finding.hint(format!("it belongs to {}", homes.join(" or "))),
            },
        }
    }

    fn value(&mut self, kind: &Kind, item: &mut Item, trail: &KeyPath) {
        if matches!(item.value, Value::Broken) {
            return;
        }
        if let Kind::LeftOut(feature) = kind {
            let what = format!("this build of Frontdesk was made without the feature \"{feature}\"");
            self.found.mistake(item.line, trail, what).hint("use a build with this feature, or remove the key");
            return;
        }
        coerce(kind, item);
        match (kind, &mut item.value) {
            (Kind::Any, _) | (Kind::Bool, Value::Boolean(_)) => {}
            (Kind::Text(form) | Kind::TextOr(form, _), Value::String(_)) => self.text(*form, item, trail),
            (Kind::TextOr(_, other), Value::Array(_) | Value::Table(_)) => self.value(other, item, trail),
            (Kind::Int(from, to), Value::Integer(number)) if (from..=to).contains(&&*number) => {}
            (Kind::OneOf(numbers), Value::Integer(number)) if numbers.contains(number) => {}
            (Kind::Fraction, Value::Float(number)) if (0.0..=1.0).contains(number) => {}
            (Kind::Fraction, Value::Integer(0 | 1)) => {}
            (Kind::Word(words), Value::String(word)) if words.contains(&&**word) => {}
            (Kind::Word(words) | Kind::Usually(words), Value::String(word)) => {
                let word = word.clone();
                self.word(kind, words, &word, item, trail);
            }
            (Kind::File | Kind::FileOrUrl | Kind::Dir, Value::String(name)) => {
                let name = name.clone();
                self.reference(kind, &name, item, trail);
            }
            (Kind::List(each), Value::Array(items)) => self.each(items, each, trail),
            (Kind::OneOrList(each), Value::Array(items)) => self.each(items, each, trail),
            (Kind::OneOrList(each), Value::String(_)) => self.value(each, item, trail),
            (Kind::Map(each), Value::Table(entries)) => {
                entries.iter_mut().for_each(|entry| self.value(each, &mut entry.item, &trail.key(&entry.key)));
            }
            (Kind::Sub(table), Value::Table(_)) => self.table(table, item, trail),
            (Kind::Subs(table), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.table(table, item, &trail.index(index));
                }
            }
            (Kind::Subs(_), Value::Table(_)) => {
                let finding = self.found.mistake(item.line, trail, "expected a list of tables, got a table");
                finding.hint(format!("write [[{}]]", without_counts(&trail.to_string())));
            }
            _ => self.expected(item, trail, &kind.words()),
        }
    }

    fn each(&mut self, items: &mut [Item], kind: &Kind, trail: &KeyPath) {
        for (index, item) in items.iter_mut().enumerate() {
            self.value(kind, item, &trail.index(index));
        }
    }

    fn text(&mut self, form: Form, item: &Item, trail: &KeyPath) {
        if let Err(why) = form(item.str().unwrap_or_default()) {
            let (what, hint) = why.split_once("; ").map_or((why.as_str(), None), |(what, hint)| (what, Some(hint)));
            let finding = self.found.mistake(item.line, trail, format!("{} {what}", item.shown()));
            finding.hint = hint.map(Into::into);
        }
    }

    fn word(&mut self, kind: &Kind, words: &[&str], word: &str, item: &Item, trail: &KeyPath) {
        if matches!(kind, Kind::Word(_)) {
            let finding = self.found.mistake(item.line, trail, format!("{} is not {}", item.shown(), kind.words()));
            finding.did_you_mean(word, words.iter().copied());
        } else if !words.contains(&word) {
            let what = format!("{} is published as written; known are {}", item.shown(), words.join(", "));
            self.found.warning(item.line, trail, what);
        }
    }

    fn reference(&mut self, kind: &Kind, name: &str, item: &Item, trail: &KeyPath) {
        if matches!(kind, Kind::FileOrUrl) && name.contains("://") {
            return self.text(forms::https_url, item, trail);
        }
        if name.is_empty() {
            self.found.mistake(item.line, trail, "is empty").hint(format!("write {}", kind.words()));
            return;
        }
        let file = self.base.join(name);
        if matches!(kind, Kind::Dir) {
            if !self.outside.is_dir(&file) {
                self.found.mistake(item.line, trail, format!("{} is not a directory", file.display()));
            }
            return;
        }
        match self.outside.read(&file) {
            Ok(bytes) => drop(self.files.insert(file, bytes)),
            Err(error) => {
                self.found.mistake(item.line, trail, format!("cannot read {}: {error}", file.display()));
            }
        }
    }

    /// `schemas.file` and `schemas.openapi` are references where they are strings; everything else in the table is a
    /// schema.
    fn schema_files(&mut self, root: &Item) {
        for entry in root.get("schemas").map(Item::entries).unwrap_or_default() {
            let schemas = KeyPath::Top.key("schemas");
            let trail = schemas.key(&entry.key);
            match (&entry.item.value, &*entry.key) {
                (Value::Table(_) | Value::Broken, _) => {}
                (Value::String(name), "file" | "openapi") => self.reference(&Kind::File, name, &entry.item, &trail),
                _ => self.expected(&entry.item, &trail, "a JSON Schema as a table"),
            }
        }
    }

    fn expected(&mut self, item: &Item, trail: &KeyPath, what: &str) {
        if !matches!(item.value, Value::Broken) {
            self.found.mistake(item.line, trail, format!("expected {what}, got {}", item.shown()));
        }
    }
}

/// Converts a string from outside the file to the type of its key. A string that the operator typed stays a string.
fn coerce(kind: &Kind, item: &mut Item) {
    let Value::String(text) = &item.value else { return };
    let parsed = match kind {
        Kind::Bool => text.parse().ok().map(Value::Boolean),
        Kind::Int(..) | Kind::OneOf(_) => text.parse().ok().map(Value::Integer),
        Kind::Fraction => text.parse().ok().map(Value::Float),
        _ => None,
    };
    if let Some(value) = parsed.filter(|_| item.replaced) {
        item.value = value;
    }
}

/// A key's path as TOML writes it: `a[1].b` becomes `a.b`.
fn without_counts(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// Suggests `listen.admin` for `admin.listen`: a table of the second name that has the first as a key.
fn the_other_way_round(keys: Keys, trail: &KeyPath) -> Option<String> {
    let KeyPath::Key(KeyPath::Key(KeyPath::Top, table), key) = *trail else { return None };
    match keys.key(&ROOT, key)?.kind {
        Kind::Sub(other) if keys.key(other, table).is_some() => Some(format!("{key}.{table}")),
        _ => None,
    }
}

/// The top-level tables that have this key.
fn homes(keys: Keys, name: &str) -> Vec<String> {
    let mut homes = Vec::new();
    for key in keys.of(&ROOT) {
        match &key.kind {
            Kind::Sub(table) if keys.key(table, name).is_some() => homes.push(format!("[{}]", key.name)),
            Kind::Subs(table) if keys.key(table, name).is_some() => homes.push(format!("[[{}]]", key.name)),
            _ => {}
        }
    }
    if keys.key(&ROOT, name).is_some() {
        homes.push("the top of the file".into());
    }
    homes
}

impl Item<'_> {
    /// The value in a form that a message may show. It hides values from outside the file, and secrets (such as a
    /// token pasted in place of its digest).
    pub fn shown(&self) -> String {
        match &self.value {
            _ if self.replaced => "the value put in for ${…}".into(),
            _ if self.secret => "what is written here".into(),
            Value::String(text) => format!("\"{}\"", publish::without_password(text).escape_debug()),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(yes) => yes.to_string(),
            Value::Datetime(date) => date.clone(),
            Value::Array(_) => "a list".into(),
            Value::Table(_) | Value::Broken => "a table".into(),
        }
    }
}
