//! Searches that a site describes for machines: OpenSearch, and the `SearchAction` of its linked data.

use serde_json::{Value, json};
use url::Url;

use super::{field::Field, form::Found};

/// The search of an OpenSearch description.
pub(super) fn opensearch(text: &str, base: &Url) -> Option<Found> {
    for tag in text.split("<Url").skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let attribute = |name: &str| {
            let (_, rest) = tag.split_once(&format!("{name}="))?;
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            rest[1..].split_once(quote).map(|(value, _)| value.replace("&amp;", "&"))
        };
        if attribute("type").is_none_or(|kind| kind == "text/html")
            && let Some(found) = attribute("template").and_then(|template| of_template(&template, base))
        {
            return Some(found);
        }
    }
    None
}

/// The search of a JSON-LD script.
pub(super) fn json_ld(text: &str, base: &Url) -> Option<Found> {
    fn find(value: &Value, base: &Url) -> Option<Found> {
        match value {
            Value::Object(members) => {
                if members.get("@type").is_some_and(|kind| kind == "SearchAction") {
                    let target = members.get("target")?;
                    let template = target.as_str().or_else(|| target["urlTemplate"].as_str())?;
                    return of_template(template, base);
                }
                members.values().find_map(|value| find(value, base))
            }
            Value::Array(items) => items.iter().find_map(|value| find(value, base)),
            _ => None,
        }
    }
    find(&serde_json::from_str(text).ok()?, base)
}

/// A URL with one placeholder in its query: `https://example.com/?s={search_term}`.
fn of_template(template: &str, base: &Url) -> Option<Found> {
    const MARK: &str = "frontdesk-words";
    let (start, end) = (template.find('{')?, template.find('}')?);
    let marked = format!("{}{MARK}{}", template.get(..start)?, template.get(end + 1..)?);
    let url = base.join(&marked).ok().filter(|url| url.host_str() == base.host_str())?;
    let mut words = None;
    let mut fixed = Vec::new();
    for (name, value) in url.query_pairs() {
        match &*value {
            MARK => words = Some(name.into_owned()),
            // An optional placeholder of another kind.
            other if other.contains('{') => {}
            other => fixed.push((name.into_owned(), other.to_owned())),
        }
    }
    let schema = json!({ "type": "string", "description": "Words to search for" });
    Some(Found {
        method: "GET",
        path: url.path().to_owned(),
        fixed,
        fields: vec![Field { theirs: words?, schema, is_required: true }],
        is_search: true,
        page: None,
        select: None,
        submit: None,
        title: String::new(),
        has_file: false,
    })
}
