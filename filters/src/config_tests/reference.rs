//! `docs/configuration.md` is made from `conf/frontdesk.toml` and the table of keys, and is as fresh as they are.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use frontdesk_config::testing::kinds_of_keys;

use super::FRONTDESK;
use crate::extensions::EXTENSIONS;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
/// With this variable, the test writes the page.
const WRITE: &str = "FRONTDESK_WRITE_DOCS";
const HEAD: &str = "\
# Configuration

After reading this page you know every key of the configuration, what it may hold, and its default.

This page is made from `conf/frontdesk.toml` and the table of keys; do not edit it. `FRONTDESK_WRITE_DOCS=1 cargo nextest run
-p frontdesk-filters reference` writes it anew.

- `frontdesk check FILE` reports every mistake with its line and its remedy. An unknown key is a mistake.
- A value in *italics* is an example; the key has no default, or is one that you may want. Every other value is the default,
  except in the tables of the contract (`[site]`, `[policies]`, `[[capabilities]]` and the like), which show a travel site.
- Values may come from outside: `${VAR}`, `${VAR:-default}`, `${file:/run/secrets/x}`.
- Durations: `250ms`, `5s`, `15m`, `24h`, `7d`. Sizes: `8KB`, `1MiB` (K is 1024). Rates: `30/minute`, also `/second`, `/hour`,
  `/day`.
- A saved file is taken into use at once, except listen addresses and `runtime.threads`.
";

/// One key as the file shows it.
#[derive(Default)]
struct Row {
    key: String,
    value: String,
    /// It is commented out.
    example: bool,
    about: String,
}

/// One table of the file.
#[derive(Default)]
struct Section {
    /// The heading above the table, where one stands.
    title: Option<String>,
    /// Its name with brackets, as written.
    name: String,
    about: String,
    rows: Vec<Row>,
}

/// The value and the comment of a line.
fn parted(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '#') => return (text[..at].trim(), text[at + 1..].trim()),
            _ => {}
        }
    }
    (text.trim(), "")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn sections() -> Vec<Section> {
    let mut found = vec![Section { title: Some("The contract's version".to_owned()), ..Section::default() }];
    let (mut at, mut title, mut begun) = (0, None, false);
    // The text before the first key explains the file; the page has that in its own words.
    for line in FRONTDESK.lines() {
        let (example, text) = match line.strip_prefix("# ") {
            Some(rest) => (true, rest.trim()),
            None => (false, line.trim()),
        };
        if let Some(rest) = text.strip_prefix("── ") {
            title = Some(rest.trim_end_matches(['─', ' ']).to_owned());
        } else if text.starts_with('[') && (!example || text.split(']').next().is_some_and(|name| !name.contains(' ')))
        {
            let (name, about) = parted(text);
            // A second capability adds keys to the first.
            at = found.iter().position(|section| section.name == name).unwrap_or_else(|| {
                let about = about.to_owned();
                found.push(Section { title: title.take(), name: name.to_owned(), about, rows: Vec::new() });
                found.len() - 1
            });
        } else if let Some((key, rest)) = text.split_once(" = ").filter(|(key, _)| is_name(key) || key == &"FareRef") {
            begun = true;
            let (value, about) = parted(rest);
            let rows = &mut found[at].rows;
            if !rows.iter().any(|row| row.key == key) {
                rows.push(Row { key: key.to_owned(), value: value.to_owned(), example, about: about.to_owned() });
            }
        } else if let Some(row) = found[at].rows.last_mut().filter(|_| begun && !text.is_empty()) {
            match text.strip_prefix('#') {
                // The comment goes on.
                Some(more) => row.about = format!("{} {}", row.about, more.trim()),
                // The value does.
                None => row.value = format!("{} {text}", row.value).trim().to_owned(),
            }
        }
    }
    let inline: Vec<(String, Row)> = found.iter().flat_map(written_inline).collect();
    for (table, row) in inline {
        let section = found.iter_mut().find(|section| section.name.trim_matches(['[', ']']) == table);
        if let Some(section) = section.filter(|section| section.rows.iter().all(|shown| shown.key != row.key)) {
            section.rows.push(row);
        }
    }
    found
}

/// The keys of tables that the file writes on one line: `ahp = { action_type = "async" }`.
fn written_inline(section: &Section) -> Vec<(String, Row)> {
    let tables = section.rows.iter().filter_map(|row| Some((row, row.value.strip_prefix("{ ")?.strip_suffix(" }")?)));
    let of_one = |(table, inside): (&Row, &str)| {
        let path = format!("{}.{}", section.name.trim_matches(['[', ']']), table.key);
        let parts: Vec<(String, Row)> = inside
            .split(", ")
            .filter_map(|part| part.split_once(" = "))
            .filter(|(key, _)| is_name(key))
            .map(|(key, value)| {
                let row =
                    Row { key: key.to_owned(), value: value.to_owned(), about: table.about.clone(), example: false };
                (path.clone(), row)
            })
            .collect();
        parts
    };
    tables.flat_map(of_one).collect()
}

fn page() -> String {
    let kinds: BTreeMap<String, String> = kinds_of_keys(EXTENSIONS);
    let sections = sections();
    let mut out = HEAD.to_owned();
    let cell = |text: &str| text.replace('|', "\\|").trim_matches(['…', ' ']).to_owned();
    // Comments are plain text, not Markdown.
    let plain = |text: &str| cell(text).replace('<', "&lt;").replace('*', "\\*");
    for Section { title, name, about, rows } in &sections {
        if let Some(title) = title {
            let mut letters = title.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            let _ = write!(out, "\n## {first}{}\n", letters.as_str());
        }
        let path = name.trim_matches(['[', ']']);
        if !name.is_empty() {
            let _ = write!(out, "\n### {name}\n");
        }
        if !about.is_empty() {
            let _ = write!(out, "\n{}\n", plain(about));
        }
        let mut table = String::new();
        for Row { key, value, example, about } in rows {
            let whole = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let is_table = sections.iter().any(|section| section.name.trim_matches(['[', ']']) == whole);
            if is_table {
                continue;
            }
            let shown = format!("`{}`", cell(value));
            // What the file shows without being its default says so.
            let has_no_default = about.starts_with("optional") || about.contains("default none");
            let shown = if *example || has_no_default { format!("*{shown}*") } else { shown };
            let kind = cell(kinds.get(&whole).map_or("", String::as_str));
            let _ = writeln!(table, "| `{key}` | {shown} | {kind} | {} |", plain(about));
        }
        if !table.is_empty() {
            let _ = write!(out, "\n| key | value | may be | |\n|---|---|---|---|\n{table}");
        }
    }
    out
}

#[test]
fn the_reference_of_keys_is_fresh() {
    let page = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    assert!(
        written == page,
        "docs/configuration.md is stale: {WRITE}=1 cargo nextest run -p frontdesk-filters reference"
    );
}

#[test]
fn the_reference_has_every_key_that_is_no_table() {
    let page = page();
    let missing: Vec<String> = kinds_of_keys(EXTENSIONS)
        .into_iter()
        .filter(|(_, kind)| !kind.starts_with("a table") && !kind.starts_with("tables"))
        .map(|(path, _)| path.rsplit('.').next().unwrap_or_default().to_owned())
        .filter(|key| !page.contains(&format!("| `{key}` |")) && !page.contains(&format!("{key} = ")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
