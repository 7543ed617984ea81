//! Findings: messages to the operator about a line of the declaration.
//!
//! A finding says where (file, line, key), what is wrong, and where possible what to write instead, so that the
//! operator can correct a whole file in one pass.

use std::{fmt, path::PathBuf};

use frontdesk_base::printable::unsteered;

/// One finding about the declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub severity: Severity,
    /// The file as the operator named it.
    pub file: PathBuf,
    /// 1-based; 0 where there is no line (a missing table, an unreadable file).
    pub line: usize,
    /// Dotted path such as `capabilities[2].upstream.method` (counted from 0); empty for the whole file.
    pub key: String,
    /// The id of the capability that the key belongs to.
    pub capability: Option<String>,
    /// What is wrong; never contains a value from the environment or from another file.
    pub what: String,
    /// Advice.
    pub hint: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The declaration is accepted, but should be reviewed.
    Warning,
    /// The declaration is refused.
    Mistake,
}

impl Mistake {
    /// Whether it makes the declaration invalid.
    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Mistake
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        if self.line > 0 {
            write!(out, ":{}", self.line)?;
        }
        out.write_str(": ")?;
        if self.severity == Severity::Warning {
            out.write_str("warning: ")?;
        }
        // A key may contain any character, and the file may be pasted from an untrusted source.
        if !self.key.is_empty() {
            write!(out, "{}: ", unsteered(&self.key))?;
        }
        out.write_str(&unsteered(&self.what))?;
        if let Some(hint) = &self.hint {
            write!(out, "; {}", unsteered(hint))?;
        }
        match &self.capability {
            Some(id) => write!(out, " (in capability \"{}\")", unsteered(id)),
            None => Ok(()),
        }
    }
}

/// Collects the findings about one file.
#[derive(Debug)]
pub struct Findings {
    file: PathBuf,
    found: Vec<Mistake>,
}

impl Findings {
    pub fn new(file: PathBuf) -> Self {
        Self { file, found: Vec::new() }
    }

    pub fn mistake(&mut self, line: usize, key: impl fmt::Display, what: impl Into<String>) -> &mut Mistake {
        self.add(Severity::Mistake, line, key, what.into())
    }

    pub fn warning(&mut self, line: usize, key: impl fmt::Display, what: impl Into<String>) -> &mut Mistake {
        self.add(Severity::Warning, line, key, what.into())
    }

    /// Adds its id to each finding about a capability; `id` gets the place in the list, counted from 0.
    pub(super) fn name_capabilities<'a>(&mut self, id: impl Fn(usize) -> Option<&'a str>) {
        for mistake in &mut self.found {
            let place = mistake.key.strip_prefix("capabilities[").and_then(|rest| rest.split_once(']'));
            mistake.capability = place.and_then(|(place, _)| id(place.parse().ok()?)).map(str::to_owned);
        }
    }

    /// All findings, sorted by line.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|mistake| mistake.line);
        self.found
    }

    /// The same with every value from outside the file removed from the messages.
    pub(super) fn into_sorted_without(mut self, outside: &[String]) -> Vec<Mistake> {
        // A shorter value could be part of any word.
        for value in outside.iter().filter(|value| value.len() >= 6) {
            let texts = self.found.iter_mut().flat_map(|found| [Some(&mut found.what), found.hint.as_mut()]).flatten();
            texts.filter(|text| text.contains(value.as_str())).for_each(|text| *text = text.replace(value, "${…}"));
        }
        self.into_sorted()
    }

    fn add(&mut self, severity: Severity, line: usize, key: impl fmt::Display, what: String) -> &mut Mistake {
        self.found.push(Mistake {
            severity,
            file: self.file.clone(),
            line,
            key: key.to_string(),
            capability: None,
            what,
            hint: None,
        });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }
}

impl Mistake {
    pub fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }

    /// Adds "did you mean" where a known word is similar.
    pub fn did_you_mean<'a>(&mut self, word: &str, known: impl IntoIterator<Item = &'a str>) {
        self.hint = nearest(word, known).map(|near| format!("did you mean \"{near}\"?"));
    }
}

/// The known word that was probably meant: a typo, or a close variant. Ignores case and separators.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word);
    known
        .into_iter()
        .map(|candidate| {
            let plain = folded(candidate);
            (candidate, strsim::damerau_levenshtein(&word, &plain), strsim::jaro_winkler(&word, &plain))
        })
        // Two edits turn any word of three letters into any other, so short words need to be closer.
        .filter(|(candidate, edits, similar)| *edits <= 2.min(candidate.len() / 2) || *similar > 0.8)
        .min_by(|a, b| a.1.cmp(&b.1).then(b.2.total_cmp(&a.2)))
        .map(|(candidate, ..)| candidate)
}

/// The only known word that ends with `_` and this one: "required_scopes" for "scopes".
pub(super) fn with_last_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word);
    let ends = |candidate: &&str| candidate.strip_suffix(&*word).is_some_and(|before| before.ends_with('_'));
    let mut found = known.into_iter().filter(ends);
    found.next().filter(|_| found.next().is_none())
}

/// The edit distance of two words.
pub(super) fn slips(word: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&folded(word), &folded(other))
}

fn folded(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_reads_as_one_line() {
        let mut found = Findings::new("frontdesk.toml".into());
        found.mistake(12, "upstream.urll", "unknown key").did_you_mean("urll", ["ca", "url", "urls"]);
        found.warning(0, "", "nothing is declared");
        found.mistake(13, "log.\u{1b}[2Ja\nb", "unknown key");
        let lines: Vec<_> = found.into_sorted().iter().map(Mistake::to_string).collect();
        assert_eq!(lines[0], "frontdesk.toml: warning: nothing is declared");
        assert_eq!(lines[1], "frontdesk.toml:12: upstream.urll: unknown key; did you mean \"url\"?");
        assert_eq!(lines[2], "frontdesk.toml:13: log.\u{fffd}[2Ja\u{fffd}b: unknown key");
    }

    #[test]
    fn a_mistake_in_a_capability_names_it() {
        let mut found = Findings::new("frontdesk.toml".into());
        found.mistake(3, "capabilities[1].endpoint", "is no path").hint("start it with /");
        found.mistake(9, "capabilities[7]", "is no table");
        found.name_capabilities(|place| ["search", "book"].get(place).copied());
        let lines: Vec<_> = found.into_sorted().iter().map(Mistake::to_string).collect();
        let named = "frontdesk.toml:3: capabilities[1].endpoint: is no path; start it with / (in capability \"book\")";
        assert_eq!(lines, [named, "frontdesk.toml:9: capabilities[7]: is no table"]);
    }

    #[test]
    fn nearest_is_near() {
        assert_eq!(nearest("helth_path", ["ca", "health_path", "health_interval"]), Some("health_path"));
        assert_eq!(nearest("ip", ["ca", "id", "origin"]), Some("id"));
        assert_eq!(nearest("xyz", ["url", "ca"]), None);
        assert_eq!(nearest("UPSTREAM", ["auth", "upstream"]), Some("upstream"));
        assert_eq!(with_last_word("scopes", ["id", "required_scopes"]), Some("required_scopes"));
        assert_eq!(with_last_word("scopes", ["required_scopes", "granted_scopes"]), None);
        assert_eq!(nearest("max-age-seconds", ["max_age_seconds", "max_ttl_seconds"]), Some("max_age_seconds"));
    }
}
