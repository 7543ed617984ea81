//! The keys and values of a file, valid or not, to show the operator how it differs from the running configuration.
//!
//! The comparison is by keys and values, not by lines, so the order of tables and comments do not matter. Secrets are
//! hidden, so a changed secret shows only in the hash.

use std::{collections::BTreeMap, io, path::Path};

use serde_json::Value as Json;

use frontdesk_base::text::shortened;

use super::{Extensions, Outside, extension::Keys, mistake::Findings, publish, raw};

/// Maximum bytes of a shown value.
const LONGEST: usize = 200;

/// An empty table, which is not shown.
const EMPTY: &str = "{}";

/// Every key of a document with its value, both as text: `rate_limits.anonymous` and `"30/minute"`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    keys: BTreeMap<String, String>,
    /// Parts of the file could not be read.
    pub partial: bool,
}

/// A key that differs; at least one of the values is present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Reads a file without checking its contents.
///
/// # Errors
///
/// The file cannot be read.
pub fn outline(path: &Path, outside: &dyn Outside, extensions: Extensions) -> io::Result<Outline> {
    let bytes = outside.read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let base = absolute.parent().unwrap_or(Path::new("/"));
    let (mut syntax, mut found) = (Findings::new(path.into()), Findings::new(path.into()));
    let raw = raw::parse(text, base, outside, &mut syntax, &mut found);
    let mut outline = Outline { partial: !syntax.into_sorted().is_empty(), ..Outline::default() };
    outline.add("", &publish::outlined(&raw.root, Keys(extensions)));
    Ok(outline)
}

impl Outline {
    /// The outline of [`super::Declaration::tables`].
    pub fn of(tables: &str) -> Self {
        let mut outline = Self::default();
        outline.add("", &serde_json::from_str(tables).unwrap_or_default());
        outline
    }

    fn add(&mut self, key: &str, value: &Json) {
        match value {
            Json::Object(entries) if entries.is_empty() => drop(self.keys.insert(key.to_owned(), EMPTY.to_owned())),
            Json::Object(entries) => {
                for (name, value) in entries {
                    let dot = if key.is_empty() { "" } else { "." };
                    self.add(&format!("{key}{dot}{name}"), value);
                }
            }
            Json::Array(items) if items.iter().any(Json::is_object) => {
                for (index, item) in items.iter().enumerate() {
                    // By name, so that an inserted item does not shift all later ones.
                    let name = ["id", "name", "agent"].iter().find_map(|key| item[*key].as_str());
                    let name = name.map_or_else(|| index.to_string(), str::to_owned);
                    self.add(&format!("{key}[{name}]"), item);
                }
            }
            value => drop(self.keys.insert(key.to_owned(), shortened(&value.to_string(), LONGEST))),
        }
    }

    /// The differences to `other`, in the order of keys. A value that is hidden there because its key is unknown
    /// counts as equal.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let hidden = format!("{:?}", publish::HIDDEN);
        let keys = self.keys.keys().chain(other.keys.keys().filter(|key| !self.keys.contains_key(*key)));
        let mut differences: Vec<Difference> = keys
            .filter_map(|key| {
                let of = |outline: &Self| outline.keys.get(key).filter(|value| *value != EMPTY).cloned();
                let (before, after) = (of(self), of(other));
                let same = before == after || after.as_ref() == Some(&hidden) && self.has(key);
                // The keys below an unknown key are hidden with it.
                let above = || self.is_hidden_in(other, key, &hidden);
                let told = !same && (after.is_some() || !above());
                told.then(|| Difference { key: key.clone(), before, after })
            })
            .collect();
        differences.sort_by(|a, b| a.key.cmp(&b.key));
        differences
    }

    /// Whether this key, or one below it, exists.
    fn has(&self, key: &str) -> bool {
        let is =
            |other: &str| other.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        self.keys.range(key.to_owned()..).take_while(|(other, _)| other.starts_with(key)).any(|(other, _)| is(other))
    }

    fn is_hidden_in(&self, other: &Self, key: &str, hidden: &str) -> bool {
        let ends = key.match_indices(['.', '[']).map(|(at, _)| &key[..at]);
        ends.into_iter().any(|above| other.keys.get(above).is_some_and(|value| value == hidden))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{declare, testing::Only};

    fn differences(before: &str, after: &str) -> Vec<String> {
        let path = Path::new("/etc/frontdesk.toml");
        let running = declare(path, &Only(before.as_bytes()), &[]).unwrap();
        let next = outline(path, &Only(after.as_bytes()), &[]).unwrap();
        let shown = |value: Option<String>| value.unwrap_or_else(|| "nothing".into());
        let all = Outline::of(&running.tables).differences(&next);
        all.into_iter().map(|d| format!("{}: {} → {}", d.key, shown(d.before), shown(d.after))).collect()
    }

    const BEFORE: &str = r#"[upstream]
url = "http://a:1"
[harness]
url = "http://127.0.0.1:1/x"
token = "hush-1"
"#;

    #[test]
    fn what_differs_is_told_by_key() {
        let after = BEFORE.replace("a:1", "b:2").replace("[harness]", "# new\n[log]\nlevel = \"loud\"\n[harness]");
        assert_eq!(
            differences(BEFORE, &after),
            ["log.level: nothing → \"loud\"", "upstream.url: \"http://a:1\" → \"http://b:2\""]
        );
        assert_eq!(differences(BEFORE, &format!("# a comment\n{BEFORE}")), [""; 0]);
        // Nor does an unknown key, which is published as written.
        for free in ["x = 1", "x = {}", "x = []", "[site.x]\ny = 1", "[[site.x]]\ny = 1", "[[site.x]]", "[log]"] {
            let free = format!("{BEFORE}[site]\n{free}\n");
            assert_eq!(differences(&free, &free), [""; 0], "{free}");
        }
    }

    #[test]
    fn no_secret_is_told_however_it_is_misspelled() {
        for after in [
            BEFORE.replace("hush-1", "hush-2"),
            BEFORE.replace("token", "tokken"),
            BEFORE.replace("[harness]", "[harnes]"),
            BEFORE.replace("[harness]", "[harness"),
            BEFORE.replace("token =", "[harness.headers]\nX ="),
            BEFORE.replace("token = ", "url = { a = 1 }\n[site]\ntokken = "),
            format!("{BEFORE}[[auth.api_keys]]\nname = \"x\"\nshaa = \"hush-3\"\n"),
        ] {
            let told = differences(BEFORE, &after).join("\n");
            assert!(!told.contains("hush"), "{after}: {told}");
        }
    }

    #[test]
    fn one_capability_more_is_one_capability_more() {
        let capability = |id: &str| {
            let rest = "type = 'query'\ndescription = 'd'\nrisk_level = 'low'\nauth = 'optional'\nmethod = 'POST'";
            format!("[[capabilities]]\nid = '{id}'\nendpoint = '/{id}'\n{rest}\nupstream = {{ path = '/api' }}\n")
        };
        let site = "[site]\nname = 'S'\n[upstream]\nurl = 'http://a:1'\n";
        let before = format!("{site}{}", capability("b"));
        let told = differences(&before, &format!("{site}{}{}", capability("a"), capability("b")));
        assert!(told.iter().all(|line| line.starts_with("capabilities[a].")), "{told:?}");
    }
}
