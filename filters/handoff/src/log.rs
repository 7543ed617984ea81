//! Splits LOG.md into entries: an agent that looks for a failure wants the newest (§1.1, §1.3).

use super::{date::day, lines::lines};

/// The names of the log and of its archive.
pub(super) const LOG: &str = "LOG.md";
pub(super) const ARCHIVE: &str = "LOG-ARCHIVE.md";

/// One entry: a heading with a date, and the text after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'t> {
    pub(super) text: &'t str,
    /// The line number, from 1.
    pub(super) line: usize,
    /// Days since 1970.
    day: i64,
}

/// The entries in the order of the file.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut heads: Vec<(usize, usize, Option<i64>)> = Vec::new();
    for line in lines(text).filter(|line| !line.is_code) {
        let heading = line.text.strip_prefix("## ").or_else(|| line.text.strip_prefix("# "));
        if let Some(title) = heading {
            let date = title.trim_start().trim_start_matches('[').get(..10).and_then(day);
            heads.push((line.start, line.number, date.filter(|_| line.text.starts_with("## "))));
        }
    }
    let ends = heads.iter().skip(1).map(|(start, ..)| *start).chain([text.len()]);
    let entry = |((start, line, day), end): ((usize, usize, Option<i64>), usize)| {
        Some(Entry { text: &text[start..end], line, day: day? })
    };
    heads.iter().copied().zip(ends).filter_map(entry).collect()
}

/// The newest entries, in the order of the file: the first ones, unless the dates ascend.
pub(super) fn newest<'e, 't>(entries: &'e [Entry<'t>], most: usize) -> &'e [Entry<'t>] {
    let most = most.min(entries.len());
    let ascending = entries.first().zip(entries.last()).is_some_and(|(first, last)| first.day < last.day);
    if ascending { &entries[entries.len() - most..] } else { &entries[..most] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_with_a_date() {
        let text = "# LOG\nabout\n## [2026-02-26] Third\nc\n### more\n## 2026-02-25 Session: second\nb\n\
            ```\n## [2026-02-25] code\n```\n## Notes\nnone\n## [2026-02-24] First\na";
        let found = entries(text);
        let lines: Vec<usize> = found.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [3, 6, 13]);
        assert_eq!(found[0].text, "## [2026-02-26] Third\nc\n### more\n");
        assert!(found[1].text.ends_with("```\n") && found[2].text == "## [2026-02-24] First\na");
        let picked = |most| newest(&found, most).iter().map(|entry| entry.line).collect::<Vec<_>>();
        assert_eq!((picked(1), picked(2), picked(9)), (vec![3], vec![3, 6], vec![3, 6, 13]));
    }

    #[test]
    fn a_log_that_grows_at_its_end_has_the_newest_there() {
        let text = "## [2026-01-01] a\n## [2026-01-02] b\n## [2026-01-03] c\n";
        let found = entries(text);
        assert_eq!(newest(&found, 1)[0].text, "## [2026-01-03] c\n");
        assert_eq!(newest(&entries("nothing"), 3), []);
    }
}
