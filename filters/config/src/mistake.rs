//! What is said to an operator about a line of the declaration.
//!
//! A mistake always says where (file, line, key), what is wrong, and where possible what to write instead, so that a
//! whole file can be put right in one pass.

use std::{fmt, path::PathBuf};

use frontdesk_base::printable::unsteered;

/// One finding about the declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub severity: Severity,
    /// The file as the operator named it.
    pub file: PathBuf,
    /// 1-based; 0 where no line is to blame (a table that is missing, a file that cannot be read).
    pub line: usize,
    /// Dotted path such as `capabilities[2].upstream.method` (counted from 0); empty for the whole file.
    pub key: String,
    /// What is wrong, in words; never a value that came from the environment or a file.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Obeyed, but worth a look.
    Warning,
    /// The declaration is refused.
    Mistake,
}

impl Mistake {
    /// Whether the declaration is refused because of it.
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
        // A key may have any character, and what is pasted in may have been written by anybody.
        if !self.key.is_empty() {
            write!(out, "{}: ", unsteered(&self.key))?;
        }
        out.write_str(&unsteered(&self.what))?;
        match &self.hint {
            Some(hint) => write!(out, "; {}", unsteered(hint)),
            None => Ok(()),
        }
    }
}

/// Collects findings about one file.
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

    /// Everything found, from the first line to the last; a file's own order is the easiest to work through.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|mistake| mistake.line);
        self.found
    }

    /// The same without a word of what came from outside the file, wherever it got into a sentence.
    pub(super) fn into_sorted_without(mut self, outside: &[String]) -> Vec<Mistake> {
        // What is shorter could be any word.
        for value in outside.iter().filter(|value| value.len() >= 6) {
            let texts = self.found.iter_mut().flat_map(|found| [Some(&mut found.what), found.hint.as_mut()]).flatten();
            texts.filter(|text| text.contains(value.as_str())).for_each(|text| *text = text.replace(value, "${…}"));
        }
        self.into_sorted()
    }

    fn add(&mut self, severity: Severity, line: usize, key: impl fmt::Display, what: String) -> &mut Mistake {
        let mistake = Mistake { severity, file: self.file.clone(), line, key: key.to_string(), what, hint: None };
        self.found.push(mistake);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }
}

impl Mistake {
    pub fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }

    /// "did you mean", where one of the known words is near.
    pub fn did_you_mean<'a>(&mut self, word: &str, known: impl IntoIterator<Item = &'a str>) {
        self.hint = nearest(word, known).map(|near| format!("did you mean \"{near}\"?"));
    }
}

/// The known word that was probably meant: a slip of the fingers, or a close variant. Capitals make no difference, nor
/// what stands between its parts.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

/// How many slips of the fingers lie between two words.
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
    fn nearest_is_near() {
        assert_eq!(nearest("helth_path", ["ca", "health_path", "health_interval"]), Some("health_path"));
        assert_eq!(nearest("ip", ["ca", "id", "origin"]), Some("id"));
        assert_eq!(nearest("xyz", ["url", "ca"]), None);
        assert_eq!(nearest("UPSTREAM", ["auth", "upstream"]), Some("upstream"));
        assert_eq!(nearest("max-age-seconds", ["max_age_seconds", "max_ttl_seconds"]), Some("max_age_seconds"));
    }
}
