//! pii-allowlist.json: personal data that a handoff may contain. Each entry is one exact text, has an end date and
//! names a responsible person. It never permits a secret.

use std::collections::BTreeSet;

use super::{super::date, Lint, place::line_of};
use frontdesk_base::strict;

/// The file's name.
pub(super) const ALLOWED: &str = "pii-allowlist.json";

impl Lint<'_> {
    /// The texts that are allowed today. Reports mistakes in the list.
    pub(super) fn allowed(&mut self) -> BTreeSet<String> {
        let Some(text) = self.texts.get(ALLOWED).cloned() else { return BTreeSet::new() };
        let list = match strict::read(text.as_bytes()) {
            Ok(list) => list,
            Err(e) => {
                self.say(ALLOWED, e.line(), "is not JSON", "nothing is allowed by it until it is");
                return BTreeSet::new();
            }
        };
        let shape = "write {\"version\": 1, \"entries\": [{\"value\", \"kind\", \"reason\", \"owner\", \"expires\"}]}";
        let (Some(1), Some(entries)) = (list["version"].as_u64(), list["entries"].as_array()) else {
            self.say(ALLOWED, 0, "is no list of version 1; nothing is allowed by it", shape);
            return BTreeSet::new();
        };
        let (today, line) = (date::today(self.now), line_of(&text, &["entries".to_owned()]));
        let mut allowed = BTreeSet::new();
        for (index, entry) in entries.iter().enumerate() {
            let key = format!("entries[{index}]");
            let text = |name: &str| entry[name].as_str().map(str::trim).filter(|text| !text.is_empty());
            let missing = ["value", "kind", "reason", "owner", "expires"].into_iter().find(|name| text(name).is_none());
            let until = text("expires").and_then(date::day);
            match (missing, until) {
                (Some(name), _) => {
                    self.say_of(ALLOWED, line, &key, format!("has no {name}, and allows nothing"), shape)
                }
                (None, None) => {
                    self.say_of(ALLOWED, line, &key, "expires at no date, and allows nothing", "write YYYY-MM-DD")
                }
                (None, Some(until)) if until < today => {
                    self.say_of(ALLOWED, line, &key, "has expired, and allows nothing", "ask its owner, or remove it");
                }
                (None, Some(_)) => drop(allowed.insert(entry["value"].as_str().unwrap_or_default().to_owned())),
            }
        }
        allowed
    }
}
