//! The operator's own patterns, one per line, in the format of AAHP's `.aiignore` (§2.6).
//!
//! AAHP does not define the lines, so this does. A line matches anywhere in a text. `*` matches anything up to the end
//! of the line; at either end of a pattern it matches the rest of the word. Lower-case words match in any case, other
//! text exactly. A match is a secret, because the operator wants it kept in. It is personal data if the line has an
//! `@`, and an injection (which is never redacted) only if the words begin a known phrase. A line that begins with
//! `re:` or contains a backslash is a regular expression. `#` starts a comment at the start of a line or after a
//! blank.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use super::{
    finding::{Finding, Findings, Kind, Rule, Sure},
    phrases,
};

/// Maximum patterns.
const MOST: usize = 256;
/// Maximum bytes of a line.
const LONGEST: usize = 512;
/// Maximum memory of a compiled pattern.
const SIZE: usize = 1 << 20;
/// Maximum findings of one pattern in one text. Beyond it the rest of the text is one more finding.
const FOUND: usize = 1024;
/// How far one search reads ahead, so that many short matches do not each read the rest of a text. A longer match is
/// found in parts.
const AHEAD: usize = 16 * 1024;

/// One pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    rule: Rule,
    kind: Kind,
}

/// A mistake in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line number, from 1.
    pub line: usize,
    pub what: String,
    pub hint: &'static str,
}

/// Parses a file of patterns.
///
/// # Errors
///
/// Every invalid line.
pub fn patterns(file: &str) -> Result<Vec<Pattern>, Vec<Wrong>> {
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in file.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let line = without_comment(line.trim_start_matches('\u{feff}')).trim();
        if line.is_empty() {
            continue;
        }
        match pattern(line, number) {
            Ok(_) if read.len() == MOST => {
                let what = format!("more than {MOST} patterns");
                wrong.push(Wrong { line: number, what, hint: "put several into one with re:(one|two)" });
                break;
            }
            Ok(pattern) => read.push(pattern),
            Err((what, hint)) => wrong.push(Wrong { line: number, what, hint }),
        }
    }
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

fn without_comment(line: &str) -> &str {
    let is_comment = |at: &usize| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    match line.match_indices('#').map(|(at, _)| at).find(is_comment) {
        Some(at) => &line[..at],
        None => line,
    }
}

fn pattern(line: &str, number: usize) -> Result<Pattern, (String, &'static str)> {
    if line.len() > LONGEST {
        return Err((format!("is longer than {LONGEST} bytes"), "make two of it"));
    }
    let words = is_words(line);
    let written = match line.strip_prefix("re:") {
        Some(regex) => regex.trim().to_owned(),
        None if line.contains('\\') => line.to_owned(),
        None => glob(line).ok_or(("has nothing but * in it".to_owned(), "say what stands beside the *"))?,
    };
    let built = RegexBuilder::new(&written).size_limit(SIZE).dfa_size_limit(SIZE).case_insensitive(words).build();
    let regex = built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => ("takes too much memory".to_owned(), "use smaller repetitions"),
        _ => (
            "is not a regular expression".to_owned(),
            "a backslash or re: makes one of a line; write \\\\ for a backslash",
        ),
    })?;
    if regex.is_match(b"") {
        return Err(("is found in nothing at all".to_owned(), "make it say at least one letter"));
    }
    let kind = match () {
        () if words && phrases::begin_one(line) => Kind::Injection,
        () if line.contains('@') => Kind::Pii,
        () => Kind::Secret,
    };
    Ok(Pattern { regex, rule: Rule::Own(Arc::from(format!("aiignore-{number}"))), kind })
}

/// Whether a line consists of two or more lower-case words, so that it may begin a sentence.
fn is_words(line: &str) -> bool {
    let words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches('*')).filter(|w| !w.is_empty()).collect();
    let written = |c: char| c.is_lowercase() || matches!(c, '\'' | ',' | '*');
    words.len() > 1 && words.iter().all(|word| word.chars().all(written))
}

/// Converts a pattern with `*` to a regular expression.
fn glob(line: &str) -> Option<String> {
    let inner = line.trim_matches('*');
    if inner.is_empty() {
        return None;
    }
    let mut regex = String::from("(?-u)");
    // In quotes or JSON, a match ends with the quotation.
    let word = "[^\\s\"'`<>]*";
    if line.starts_with('*') {
        regex.push_str(word);
    }
    for (at, part) in inner.split('*').enumerate() {
        if at > 0 {
            regex.push_str("[^\\r\\n]{0,200}?");
        }
        for (at, word) in part.split(' ').enumerate() {
            if at > 0 {
                regex.push_str("\\s+");
            }
            regex.push_str(&regex::escape(word));
        }
    }
    if line.ends_with('*') {
        regex.push_str(word);
    }
    Some(regex)
}

impl Pattern {
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Findings) {
        let mut at = 0;
        let mut count = 0;
        while at < text.len() {
            let limit = (at + AHEAD).min(text.len());
            let Some(hit) = self.regex.find_at(&text[..limit], at) else {
                if limit == text.len() {
                    return;
                }
                // A match that begins near the limit may end behind it.
                at = (limit - AHEAD / 4).max(at + 1);
                continue;
            };
            count += 1;
            let end = if count == FOUND { text.len() } else { hit.end() };
            found.add(Finding { rule: self.rule.clone(), kind: self.kind, start: hit.start(), end }, Sure::Said);
            if count == FOUND {
                return;
            }
            at = hit.end().max(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        let mut found = Findings::default();
        for pattern in patterns(file).unwrap() {
            pattern.find(text.as_bytes(), &mut found);
        }
        found.settled().iter().map(|f| format!("{}:{}", f.rule, &text[f.start..f.end])).collect()
    }

    #[test]
    fn the_lines_of_the_specification_mean_something() {
        let file = "# Secrets\n*_KEY=*\nBearer *\nsk-*\n-----BEGIN*PRIVATE KEY-----\n*@*.de\n\
                    \\b\\d{3}-\\d{2}-\\d{4}\\b   # SSN pattern\nignore all previous*\nre: intra-[0-9]+\nC#-key";
        for (text, value) in [
            ("x MY_KEY=abc def", "aiignore-2:MY_KEY=abc"),
            ("{\"MY_KEY=abc\":1}", "aiignore-2:MY_KEY=abc"),
            ("a Bearer abcd, e", "aiignore-3:Bearer abcd,"),
            ("the sk-1234 key", "aiignore-4:sk-1234"),
            ("a -----BEGIN RSA PRIVATE KEY----- b", "aiignore-5:-----BEGIN RSA PRIVATE KEY-----"),
            ("to hans@acme.de now", "aiignore-6:hans@acme.de"),
            ("no 536-22-8714.", "aiignore-7:536-22-8714"),
            ("IGNORE all\nPrevious instructions", "aiignore-8:IGNORE all\nPrevious"),
            ("at intra-42.", "aiignore-9:intra-42"),
            ("my C#-key", "aiignore-10:C#-key"),
        ] {
            assert_eq!(found(file, text), [value], "{text}");
        }
        assert_eq!(found(file, "my_key=abc SK-1 bearer x"), [""; 0], "secrets have their case");
    }

    #[test]
    fn what_a_line_is_about_is_told_by_it() {
        for (line, kind) in [
            ("project blue falcon", Kind::Secret),
            ("the new harbour*", Kind::Secret),
            ("re:intra-[0-9]+", Kind::Secret),
            ("*@acme.de", Kind::Pii),
            ("ignore all previous*", Kind::Injection),
            ("ignore all previous instructions", Kind::Injection),
            ("you are now*", Kind::Injection),
        ] {
            assert_eq!(patterns(line).unwrap()[0].kind(), kind, "{line}");
        }
        assert_eq!(found("project blue falcon", "a Project Blue Falcon b"), ["aiignore-1:Project Blue Falcon"]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let wrong = patterns("ok\n*\nre:(\nre:a*\nre:(a{1000}){1000}\nre:x").unwrap_err();
        let lines: Vec<_> = wrong.iter().map(|w| w.line).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert!(patterns(&"a b\n".repeat(MOST + 1)).is_err());
        assert!(patterns(&"a".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn no_text_makes_a_pattern_run_long() {
        let text = "a".repeat(1 << 20);
        assert_eq!(found("re:a(.*b)?", &text).len(), FOUND, "the last is the rest");
        assert!(!found("re:(a|aa)+$", &text).is_empty());
    }
}
