//! Finds what the manual says about a reason, an alert, a metric or a log message.
//!
//! The manual keeps such words in tables: the first cell names them in backticks, the other cells say what they mean and
//! what to do. An alert of the runbook is a heading of its own. These are the entries of a word. Without any, paragraphs
//! are shown that name it in backticks; without those too, lines that contain the asked text. A status such as 429 is
//! explained by the reasons that are answered with it. What is not explained may have a heading, or a similar name.

use std::fmt::Write;

use frontdesk_filters::site::nearest;

use super::{PAGES, page};

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
    if let Some(text) = status(asked.trim()) {
        return Some(text);
    }
    let found = find(asked);
    (!found.is_empty()).then(|| found.iter().map(Place::text).collect::<Vec<_>>().join("\n"))
}

/// The reasons that are answered with a status, each with its meaning, and the steps that the manual has for it.
fn status(asked: &str) -> Option<String> {
    let is_status = asked.len() == 3 && asked.starts_with(['4', '5']) && asked.bytes().all(|b| b.is_ascii_digit());
    let errors = page("errors").filter(|_| is_status)?;
    let says = |cell: &&str| cell.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == asked);
    let rows = places(errors.name, errors.text);
    // A section may say it once for all of its rows.
    let for_all = format!("All are {asked} ");
    let whole: Vec<&str> =
        rows.iter().filter(|row| row.cells[0].starts_with(&for_all)).map(|row| row.heading).collect();
    let rows = rows.iter().filter(|row| !row.columns.is_empty() && row.heading != "AGTP");
    let rows = rows.filter(|row| whole.contains(&row.heading) || row.cells[1..].iter().any(says));
    let mut out = format!(
        "{asked}: the answer has the reason, as `reason` or else as `code`; `error.type` in the access log is the same.\n\n"
    );
    let mut told = Vec::new();
    for word in rows.flat_map(|row| row.quoted()) {
        if !told.contains(&word) {
            told.push(word);
            let _ = writeln!(out, "  {word:31} {}", meaning(word));
        }
    }
    if told.is_empty() {
        return None;
    }
    out.push_str("\nWhat to look at, and what to do: frontdesk explain REASON\n");
    for place in PAGES.iter().flat_map(|page| places(page.name, page.text)).filter(|place| says(&place.heading)) {
        let _ = write!(out, "\n{}", place.text());
    }
    Some(out)
}

/// What a reason means, in the words of the runbook.
fn meaning(reason: &str) -> String {
    let runbook = page("runbook-reasons").into_iter().flat_map(|page| places(page.name, page.text));
    let row = runbook.into_iter().find(|place| !place.columns.is_empty() && place.names(reason));
    row.and_then(|row| row.cells.get(1).map(|cell| without_links(cell))).unwrap_or_default()
}

/// Where else to look for a word that the manual does not explain: a similar name, and the headings that contain it.
pub fn elsewhere(asked: &str) -> Option<String> {
    let asked = asked.trim().to_lowercase();
    let all: Vec<Place> = PAGES.iter().flat_map(|page| places(page.name, page.text)).collect();
    let names = all.iter().filter(|place| !place.columns.is_empty()).flat_map(Place::quoted);
    let alerts = all
        .iter()
        .map(|place| place.heading)
        .filter(|heading| heading.starts_with("Frontdesk") && !heading.contains(' '));
    let mut out = String::new();
    if let Some(near) = nearest(&asked, names.chain(alerts)) {
        let _ = writeln!(out, "Did you mean: frontdesk explain {near}");
    }
    let mut shown = Vec::new();
    let about = |place: &&Place| asked.len() > 2 && place.heading.to_lowercase().contains(&asked);
    for place in all.iter().filter(about) {
        if !shown.contains(&(place.page, place.heading)) && shown.len() < MOST {
            shown.push((place.page, place.heading));
        }
    }
    if !shown.is_empty() {
        out.push_str("Sections with these words in their headings:\n");
    }
    for (page, heading) in shown {
        let _ = writeln!(out, "  frontdesk help {page:22} {}", heading.replace('`', ""));
    }
    (!out.is_empty()).then_some(out)
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

    /// The words in backticks of its first cell.
    fn quoted(&self) -> impl Iterator<Item = &'static str> {
        self.cells.first().into_iter().flat_map(|cell| cell.split('`').skip(1).step_by(2))
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
    fn a_status_is_explained_by_its_reasons() {
        let limited = explain("429").unwrap_or_default();
        assert!(limited.contains("  rate_limited ") && limited.contains("more requests than"), "{limited}");
        assert!(limited.contains("A 429 that should not be") && !limited.contains("  store_away"), "{limited}");
        let away = explain("503").unwrap_or_default();
        assert!(
            away.contains("  store_away ") && away.contains("  site_busy ") && !away.contains("  hidden "),
            "{away}"
        );
        assert!(explain("403").unwrap_or_default().contains("  not_allowed_by_person "));
        assert!(explain("418").is_none() && explain("200").is_none());
    }

    #[test]
    fn a_similar_name_or_a_heading_is_offered() {
        let near = |asked: &str| elsewhere(asked).unwrap_or_default();
        assert!(near("FrontdeskDow").contains("frontdesk explain FrontdeskDown"), "{}", near("FrontdeskDow"));
        assert!(near("site_chnaged").contains("frontdesk explain site_changed"));
        assert!(near("memory").contains("frontdesk help sizing"), "{}", near("memory"));
        assert_eq!(elsewhere("qqqqqqqqqqqq"), None);
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
