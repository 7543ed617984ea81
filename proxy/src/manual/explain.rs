//! Finds what the manual says about a reason, an alert, a metric or a log message.
//!
//! The manual keeps such words in tables: the first cell names them in backticks, the other cells say what they mean and
//! what to do. An alert of the runbook is a heading of its own. These are the entries of a word. Without any, paragraphs
//! are shown that name it in backticks; without those too, lines that contain the asked text.

use std::fmt::Write;

use super::PAGES;

/// Maximum places that are shown where only a part matches.
const MOST: usize = 12;

/// A row of a table, or a paragraph.
struct Place {
    page: &'static str,
    /// The heading above it.
    heading: &'static str,
    /// The cells of the table's first row; empty for a paragraph.
    columns: Vec<&'static str>,
    /// The row's cells; for a paragraph its lines.
    cells: Vec<&'static str>,
}

/// What the manual says about a word, or a part of a log line; `None`: nothing.
pub fn explain(asked: &str) -> Option<String> {
    let found = find(asked);
    (!found.is_empty()).then(|| found.iter().map(Place::text).collect::<Vec<_>>().join("\n"))
}

/// The places that name it, or else that contain it.
fn find(asked: &str) -> Vec<Place> {
    let asked = asked.trim().trim_matches('`');
    if asked.is_empty() {
        return Vec::new();
    }
    let places: Vec<Place> = PAGES.iter().flat_map(|page| places(page.name, page.text)).collect();
    let (entries, other): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| place.is_entry_of(asked));
    if !entries.is_empty() {
        return entries;
    }
    let (named, other): (Vec<_>, Vec<_>) = other.into_iter().partition(|place| place.names(asked));
    if !named.is_empty() {
        return named;
    }
    let contains = |place: &Place| asked.split_whitespace().count() > 1 && place.contains(asked);
    other.into_iter().filter(contains).take(MOST).collect()
}

/// All rows and paragraphs of a page.
fn places(page: &'static str, text: &'static str) -> Vec<Place> {
    let (mut found, mut heading, mut columns) = (Vec::new(), "", Vec::new());
    let mut paragraph: Vec<&'static str> = Vec::new();
    let mut is_code = false;
    for line in text.lines().chain([""]) {
        is_code ^= line.starts_with("```");
        let is_row = line.starts_with('|') && !is_code;
        let is_text = !is_row && !line.is_empty() && !line.starts_with('#');
        if !is_text && !paragraph.is_empty() {
            let cells = std::mem::take(&mut paragraph);
            found.push(Place { page, heading, columns: Vec::new(), cells });
        }
        if is_text {
            paragraph.push(line);
        }
        if line.starts_with('#') && !is_code {
            heading = line.trim_start_matches(['#', ' ']);
        }
        if !is_row {
            columns = Vec::new();
        } else if columns.is_empty() {
            columns = cells(line);
        } else if !line.starts_with("|---") {
            found.push(Place { page, heading, columns: columns.clone(), cells: cells(line) });
        }
    }
    found
}

fn cells(row: &'static str) -> Vec<&'static str> {
    row.trim_matches('|').split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect()
}

impl Place {
    /// Whether it is about this word: a row whose first cell names it, or what stands below a heading of this name.
    fn is_entry_of(&self, word: &str) -> bool {
        match self.columns.is_empty() {
            true => self.heading == word,
            false => self.names(word),
        }
    }

    /// Whether it names this word: in the first cell, or anywhere in a paragraph.
    fn names(&self, word: &str) -> bool {
        let lines = if self.columns.is_empty() { &self.cells[..] } else { &self.cells[..1] };
        let mut quoted = lines.iter().flat_map(|line| line.split('`').skip(1).step_by(2));
        quoted.any(|quoted| quoted == word || quoted.split_once('{').is_some_and(|(metric, _)| metric == word))
    }

    /// Whether it contains this text, in any case and whatever the marks.
    fn contains(&self, text: &str) -> bool {
        let plain = |text: &str| text.replace('`', "").to_lowercase();
        self.cells.iter().any(|cell| plain(cell).contains(&plain(text)))
    }

    /// The place for a terminal: where it stands, then a line for each cell.
    fn text(&self) -> String {
        let mut out = format!("{} (frontdesk help {})\n", self.heading, self.page);
        for (at, cell) in self.cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let column = self.columns.get(at).filter(|column| !column.is_empty());
            let column = column.map(|column| format!("{}: ", column.replace('`', ""))).unwrap_or_default();
            let plain = without_links(cell).replace("**", "").replace("\\|", "|");
            let _ = writeln!(out, "  {column}{plain}");
        }
        out
    }
}

/// The text with each link replaced by its words.
fn without_links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1))) {
            Some((words, after)) if !words.contains('[') => {
                out.push_str(words);
                rest = after;
            }
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(asked: &str) -> String {
        find(asked).iter().map(Place::text).collect()
    }

    #[test]
    fn a_reason_an_alert_a_metric_and_a_log_message_are_explained() {
        let reason = text("store_away");
        assert!(reason.contains("Frontdesk cannot take it now (frontdesk help runbook-reasons)"), "{reason}");
        assert!(reason.contains("it means: the store cannot be reached"), "{reason}");
        assert!(text("token_expired").contains("look at: the clock of this machine"));
        assert!(text("key_unknown").contains("`printf %s KEY | sha256sum`"));
        let alert = text("FrontdeskConfigNotTaken");
        assert!(alert.contains("- Do: run `frontdesk check FILE`") && !alert.contains("**"), "{alert}");
        assert_eq!(alert.matches("(frontdesk help").count(), 1, "only its own entry: {alert}");
        assert!(text("frontdesk_rejections_total").contains("what was refused"));
        let line = text("connection could not be accepted");
        assert!(line.contains("what to do: raise the limit on open files"), "{line}");
    }

    #[test]
    fn what_the_manual_does_not_name_is_not_explained() {
        assert!(find("").is_empty() && find("no_such_reason").is_empty() && find("the").is_empty());
    }

    #[test]
    fn links_are_replaced_by_their_words() {
        assert_eq!(without_links("a [b](c.md) [d] e"), "a b [d] e");
        assert_eq!(without_links("[x"), "[x");
    }
}
