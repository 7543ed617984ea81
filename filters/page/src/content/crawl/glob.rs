//! Patterns of paths, as robots.txt has them: `*` is anything, a `$` at the end is the end.
//!
//! Each literal part is looked for once, from the left, so that a pattern costs no more than its own length and the
//! path's, in any spelling.

use memchr::memmem;

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    /// What has to come at the beginning.
    first: String,
    /// What has to follow, in this order, with anything between.
    rest: Vec<String>,
    /// Nothing may follow.
    ends: bool,
    /// How long it was written: the longer, the more is meant (RFC 9309 §2.2.2).
    pub(super) weight: usize,
}

impl Glob {
    /// A pattern that matches whatever begins like it, unless it ends with `$`.
    pub(super) fn prefix(written: &str) -> Self {
        let (text, ends) = match written.strip_suffix('$') {
            Some(text) => (text, true),
            None => (written, false),
        };
        let mut parts = text.split('*').map(str::to_owned);
        Self { first: parts.next().unwrap_or_default(), rest: parts.collect(), ends, weight: written.len() }
    }

    /// A pattern that has to match all of a path.
    pub(super) fn whole(written: &str) -> Self {
        let mut parts = written.split('*').map(str::to_owned);
        let first = parts.next().unwrap_or_default();
        Self { first, rest: parts.collect(), ends: true, weight: written.len() }
    }

    /// Whether a path fits.
    pub(super) fn matches(&self, path: &str) -> bool {
        let Some(mut left) = path.strip_prefix(self.first.as_str()) else { return false };
        let Some((last, middle)) = self.rest.split_last() else { return !self.ends || left.is_empty() };
        for part in middle {
            match memmem::find(left.as_bytes(), part.as_bytes()) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        if self.ends { left.ends_with(last.as_str()) } else { left.contains(last.as_str()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, tried out every way.
    fn by_definition(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], _) | ([b'$'], []) => true,
            ([b'$'], _) => false,
            ([b'*', rest @ ..], _) => (0..=path.len()).any(|at| by_definition(rest, &path[at..])),
            ([p, rest @ ..], [c, left @ ..]) => p == c && by_definition(rest, left),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn it_is_what_the_definition_says(pattern in "[ab*]{0,6}[$]?", path in "[ab]{0,8}") {
            prop_assert_eq!(Glob::prefix(&pattern).matches(&path), by_definition(pattern.as_bytes(), path.as_bytes()));
        }
    }

    #[test]
    fn stars_and_ends() {
        for (pattern, path, expected) in [
            ("/a", "/ab", true),
            ("/a$", "/ab", false),
            ("/a$", "/a", true),
            ("/*.pdf$", "/x/y.pdf", true),
            ("/*.pdf$", "/x/y.pdf?a", false),
            ("/*.pdf", "/x/y.pdf?a", true),
            ("/a*b*c", "/a-c-b", false),
            ("/a*b*c", "/a-b-c-d", true),
            ("/a*$", "/abc", true),
            ("*", "/", true),
            ("/a*a$", "/a", false),
            ("", "/", true),
        ] {
            assert_eq!(Glob::prefix(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_is_quick() {
        let glob = Glob::prefix(&"*a".repeat(200_000));
        let path = format!("/{}", "a".repeat(2_000));
        let begun = std::time::Instant::now();
        assert!(!glob.matches(&path));
        assert!(begun.elapsed().as_secs() < 1);
    }
}
