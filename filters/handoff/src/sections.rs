//! Sections of a file, enclosed in markers, so that an agent can read only a part (§1.2).
//!
//! AAHP leaves nested and unclosed sections open. Here the first section of a name counts, an unclosed one extends to
//! the end of the file, and markers in code are ignored.

use std::collections::BTreeSet;

use super::lines::lines;

/// Maximum names in the error for an unknown section.
const MOST_TOLD: usize = 100;

/// A marker on a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker<'t> {
    pub(super) name: &'t str,
    /// Opens a section; otherwise closes one.
    pub(super) opens: bool,
    /// The line number, from 1.
    pub(super) line: usize,
    /// Byte offsets of its line and of the next.
    start: usize,
    end: usize,
}

/// A line that resembles a marker and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) line: usize,
    pub(super) why: &'static str,
}

/// The markers of a file.
#[derive(Debug, Default)]
pub(super) struct Markers<'t> {
    pub(super) all: Vec<Marker<'t>>,
    pub(super) stray: Vec<Stray>,
    text: &'t str,
}

const BAD_NAME: &str = "a section's name is a small letter and then up to 63 of a-z, 0-9 and _";
const NOT_ALONE: &str = "a section's marker has to stand alone on its line";

impl<'t> Markers<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut markers = Self { text, ..Self::default() };
        for line in lines(text).filter(|line| !line.is_code) {
            let Some(at) = line.text.find("SECTION:").filter(|_| line.text.contains("<!--")) else { continue };
            let before = line.text[..at].trim();
            let (comment, opens) = match before.strip_suffix('/') {
                Some(comment) => (comment.trim_end(), false),
                None => (before, true),
            };
            let Some(name) =
                line.text[at + "SECTION:".len()..].trim().strip_suffix("-->").filter(|_| comment == "<!--")
            else {
                if comment.ends_with("<!--") {
                    markers.stray.push(Stray { line: line.number, why: NOT_ALONE });
                }
                continue;
            };
            let name = name.trim();
            if is_name(name) {
                markers.all.push(Marker { name, opens, line: line.number, start: line.start, end: line.end });
            } else {
                markers.stray.push(Stray { line: line.number, why: BAD_NAME });
            }
        }
        markers
    }

    /// The section names in order, up to the maximum.
    pub(super) fn names(&self) -> Vec<&'t str> {
        let mut seen = BTreeSet::new();
        let opening = self.all.iter().filter(|marker| marker.opens).map(|marker| marker.name);
        opening.filter(|name| seen.insert(*name)).take(MOST_TOLD).collect()
    }

    /// The text between the markers of this name, and whether the section is closed.
    pub(super) fn section(&self, name: &str) -> Option<(&'t str, bool)> {
        let from = self.all.iter().position(|marker| marker.opens && marker.name == name)?;
        let closing = self.all[from..].iter().find(|marker| !marker.opens && marker.name == name);
        let end = closing.map_or(self.text.len(), |marker| marker.start);
        Some((&self.text[self.all[from].end..end], closing.is_some()))
    }
}

/// Whether a text is a valid section name.
pub(super) fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    (1..=64).contains(&bytes.len()) && bytes[0].is_ascii_lowercase() && bytes.iter().all(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# STATUS\n<!-- SECTION: a -->\none\n<!-- SECTION: b -->\ntwo\n<!-- /SECTION: b -->\n\
        <!-- /SECTION: a -->\n```\n<!-- SECTION: code -->\n```\n<!--SECTION:a-->\nagain\n<!-- /SECTION: a -->\r\n\
        <!-- SECTION: open -->\r\nto the end";

    #[test]
    fn the_first_of_a_name_is_meant() {
        let markers = Markers::of(TEXT);
        assert_eq!(markers.names(), ["a", "b", "open"]);
        assert_eq!(markers.section("a"), Some(("one\n<!-- SECTION: b -->\ntwo\n<!-- /SECTION: b -->\n", true)));
        assert_eq!(markers.section("b"), Some(("two\n", true)));
        assert_eq!(markers.section("open"), Some(("to the end", false)));
        assert_eq!((markers.section("code"), markers.section("c")), (None, None));
        assert!(markers.stray.is_empty(), "{:?}", markers.stray);
    }

    #[test]
    fn markers_in_code_are_none() {
        let text = "# S\n\n    <!-- SECTION: indented -->\n\t<!-- SECTION: tab -->\n\n- a\n\n  ```\n  <!-- SECTION: fenced -->\n  ```\n\n\
            1.  b\n\n        <!-- SECTION: deep -->\n\n    ```\n    <!-- SECTION: fence -->\n    ```\n    <!-- SECTION: item -->\n    c\n";
        let markers = Markers::of(text);
        assert_eq!((markers.names(), markers.section("item")), (vec!["item"], Some(("    c\n", false))));
        assert!(markers.stray.is_empty(), "{:?}", markers.stray);
    }

    #[test]
    fn what_only_looks_like_a_marker_is_none() {
        let text = "x <!-- SECTION: a -->\n<!-- SECTION: A -->\n<!-- SECTION: -->\n<!-- see SECTION: a -->\n\
            SECTION: a\n<!-- SECTION: a --> y\n<!-- /SECTION: a b -->\n";
        let markers = Markers::of(text);
        assert!(markers.all.is_empty(), "{:?}", markers.all);
        let stray: Vec<(usize, bool)> = markers.stray.iter().map(|stray| (stray.line, stray.why == BAD_NAME)).collect();
        assert_eq!(stray, [(1, false), (2, true), (3, true), (6, false), (7, true)]);
    }

    #[test]
    fn names_are_snake_case() {
        assert!(is_name("build_health") && is_name("a1") && is_name(&"a".repeat(64)));
        for wrong in ["", "1a", "_a", "A", "a-b", "a b", "ä", &"a".repeat(65)] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
