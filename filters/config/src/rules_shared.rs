//! Helpers for the checks of several tables.

use std::collections::HashMap;

use super::{
    mistake::Findings,
    raw::{Item, Value},
};

/// Exactly one of `url` and `urls`, in a table that is present.
pub(super) fn one_of_url_and_urls(root: &Item, table: &str, asked: &str, found: &mut Findings) {
    let Some(item) = root.get(table) else { return };
    match (item.get("url"), item.get("urls")) {
        (Some(_), Some(urls)) => {
            found.mistake(urls.line, format_args!("{table}.urls"), "url is there too; write one of the two");
        }
        (None, None) if !matches!(item.value, Value::Table(_)) => {}
        (None, None) => {
            found
                .mistake(item.line, format_args!("{table}.url"), format!("missing: {asked}"))
                .hint("write url or urls");
        }
        (None, Some(urls)) if matches!(&urls.value, Value::Array(items) if items.is_empty()) => {
            found.mistake(urls.line, format_args!("{table}.urls"), "is empty");
        }
        _ => {}
    }
}

/// No two of these tables have the same text at the key.
pub(super) fn unique(tables: &[Item], key: &str, path: &str, found: &mut Findings) {
    let mut taken: HashMap<&str, usize> = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        let Some((item, text)) = table.get(key).and_then(|item| Some((item, item.str()?))) else { continue };
        let first = *taken.entry(text).or_insert(index);
        if first < index {
            let what = format!("{} is there already: {path}[{first}], line {}", item.shown(), tables[first].line);
            found.mistake(item.line, format!("{path}[{index}].{key}"), what);
        }
    }
}

/// Whether a flag is `true`.
pub(super) fn is_true(root: &Item, path: &[&str]) -> bool {
    root.at(path).and_then(Item::bool) == Some(true)
}

/// The items of a list, or the single value in its place.
pub(super) fn one_or_list<'a>(item: Option<&'a Item<'a>>) -> Vec<&'a Item<'a>> {
    match item {
        Some(Item { value: Value::Array(items), .. }) => items.iter().collect(),
        item => item.into_iter().collect(),
    }
}
