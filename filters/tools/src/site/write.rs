//! Writes the declaration of an imported site.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::{field::Field, form::Found, pages::Pages, software::Candidate};
use crate::{
    import::Imported,
    lines::{Lines, one_line},
};

/// The longest name of a capability's part.
const LONGEST: usize = 24;
/// The longest list of pages, in bytes.
const LONGEST_LIST: usize = 180;
/// The most inputs that a summary names.
const MOST_TOLD: usize = 8;

pub(super) fn declaration(
    base: &Url,
    pages: &Pages,
    known: &[Candidate],
    found: Vec<Found>,
    feeds: &[(String, String)],
    left_out: &[String],
) -> Imported {
    let mut page = Lines::default();
    page.comment(&format!("Imported by `frontdesk import site` from {}.", base.origin().ascii_serialization()));
    page.comment("A start, not a contract yet: everything that was guessed is marked \"review:\".");
    page.comment("Then run `frontdesk check FILE`, and `frontdesk check FILE --live` now and then.");
    page.comment("What each key means: `frontdesk help import-site`, `frontdesk help sites-without-an-api`.");
    for line in left_out {
        page.comment(&format!("left out: {line}"));
    }
    page.text.push_str("\n[upstream]\n");
    page.entry("url", &base.origin().ascii_serialization().into(), "");
    page.text.push_str("\n[site]\n");
    if let Some((name, is_shared)) = pages.name() {
        page.entry("name", &one_line(&name).into(), if is_shared { "" } else { "the title of the start page" });
    }
    page.review("origin = \"https://…\" is the address under which people know the site");
    let mut plain: Vec<Value> = pages.without_forms(&found).map(|path| path.replace('*', "%2A").into()).collect();
    // A comment is one line of bounded length.
    while Value::from(plain.clone()).to_string().len() > LONGEST_LIST {
        plain.pop();
    }
    if !plain.is_empty() {
        page.text.push('\n');
        page.review("questions are answered from these pages too, if you take the marks of two lines away:");
        page.comment("[content]");
        page.comment(&format!("follow = {}", Value::from(plain)));
    }
    let mut ids = HashSet::new();
    let mut count = 0;
    for candidate in known {
        let own = candidate.ids();
        if own.iter().any(|id| ids.contains(id)) {
            continue;
        }
        page.text.push('\n');
        page.comment(&format!("the public API of {}", candidate.software.name));
        page.text.push_str(candidate.declaration().trim_start());
        count += own.len();
        ids.extend(own);
    }
    // Searches first: they are what agents ask for most.
    let (searches, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.is_search);
    for found in searches.iter().chain(&others) {
        capability(&mut page, found, &mut ids);
        count += 1;
    }
    for (title, path) in feeds {
        let id = unique(&mut ids, "news", "feed");
        page.text.push_str("\n[[capabilities]]\n");
        page.entry("id", &id.as_str().into(), "");
        page.entry("type", &"resource".into(), "");
        let what = if title.is_empty() { "The site's feed.".to_owned() } else { one_line(title) };
        page.entry("description", &what.into(), "");
        page.text.push_str("method = \"GET\"\n");
        page.entry("endpoint", &endpoint(&id).into(), "");
        page.text.push_str("risk_level = \"low\"\nauth = \"none\"\n");
        page.text.push_str("input_schema = { type = \"object\" }\n[capabilities.upstream]\nmethod = \"GET\"\n");
        page.entry("path", &path.as_str().into(), "");
        page.text.push_str("response = \"xml\"\nundeclared = \"drop\"\n");
        count += 1;
    }
    Imported { text: page.text, capabilities: count, left_out: left_out.len(), reviews: page.reviews, probe: None }
}

fn capability(page: &mut Lines, found: &Found, ids: &mut HashSet<String>) {
    let is_action = found.method == "POST";
    let (area, verb) = match (found.is_search, is_action) {
        (true, _) => ("site".to_owned(), "search"),
        (_, true) => (slug(found), "send"),
        (_, false) => (slug(found), "find"),
    };
    let id = unique(ids, &area, verb);
    page.text.push('\n');
    if let Some(from) = &found.page {
        page.comment(&format!("a form on {from}"));
    }
    page.text.push_str("[[capabilities]]\n");
    page.entry("id", &id.as_str().into(), "");
    page.entry(
        "type",
        &if is_action { "commit_action" } else { "query" }.into(),
        if is_action { "guessed from the form's method" } else { "" },
    );
    let what = match (found.title.is_empty(), found.is_search, is_action) {
        (false, ..) => one_line(&found.title),
        (true, true, _) => "Search the site.".to_owned(),
        (true, _, true) => format!("Send the form at {}.", found.path),
        (true, _, false) => format!("Ask {}.", found.path),
    };
    page.entry("description", &what.into(), if is_action { "say what it is for" } else { "" });
    page.text.push_str("method = \"POST\"\n");
    page.entry("endpoint", &endpoint(&id).into(), "");
    if is_action {
        page.entry("risk_level", &"medium".into(), "guessed");
        page.text.push_str("auth = \"required\"\nrequires_user_confirmation = true\nidempotency_required = true\n");
    } else {
        page.text.push_str("risk_level = \"low\"\nauth = \"none\"\n");
    }
    page.entry("input_schema", &found.input_schema(), "");
    page.text.push_str("[capabilities.upstream]\n");
    page.entry("method", &found.method.into(), "");
    let fixed: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&found.fixed).finish();
    let path = found.path.replace('{', "%7B").replace('}', "%7D");
    let path = if fixed.is_empty() { path } else { format!("{path}?{fixed}") };
    page.entry("path", &path.into(), "");
    let renamed = found.fields.iter().filter(|field| field.ours() != field.theirs);
    let renamed: serde_json::Map<String, Value> =
        renamed.map(|field| (field.ours(), field.theirs.as_str().into())).collect();
    if !renamed.is_empty() {
        page.entry("rename_input", &renamed.into(), "");
    }
    page.text.push_str("undeclared = \"drop\"\n");
    if !is_action {
        page.text.push_str("response = \"page\"\n");
        page.review("[capabilities.upstream.extract] with each, fields and must gives results as data");
        return;
    }
    page.text.push_str("[capabilities.upstream.form]\n");
    page.entry("page", &found.page.as_deref().unwrap_or("/").into(), "");
    if let Some(select) = &found.select {
        page.entry("select", &select.as_str().into(), "");
    }
    if let Some(submit) = &found.submit {
        page.entry("submit", &submit.as_str().into(), "");
    }
    page.review("say what shows success (done), and where the site writes what is wrong (failed)");
    if found.has_file {
        page.review("files need a larger protection.max_input");
    }
    page.text.push_str("[capabilities.confirmation]\n");
    page.entry("summary", &summary(found).into(), "say it in the site's words");
}

/// What a person is asked, with the inputs: those that have to be there first, the others only where they are there. A
/// template that names a missing input cannot be used.
fn summary(found: &Found) -> String {
    let (needed, others): (Vec<_>, Vec<_>) = found.fields.iter().partition(|field| field.is_required);
    let told = |field: &&Field| format!("{0}: {{{{ input.{0} }}}}", field.ours());
    let mut summary = format!("Send the form at {}", found.path);
    let needed: Vec<String> = needed.iter().take(MOST_TOLD).map(told).collect();
    if !needed.is_empty() {
        summary += &format!(" ({})", needed.join(", "));
    }
    for field in others.iter().take(MOST_TOLD.saturating_sub(needed.len())) {
        summary += &format!("{{% if input.{} %}}, {}{{% endif %}}", field.ours(), told(field));
    }
    summary
}

/// A name out of the address of a form.
fn slug(found: &Found) -> String {
    let last = found.path.split('/').rfind(|part| !part.is_empty()).unwrap_or("site");
    let last = last.split('.').next().unwrap_or_default();
    let slug: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(LONGEST)
        .collect();
    let slug = slug.trim_matches('_').to_owned();
    if slug.is_empty() || slug.starts_with(|c: char| c.is_ascii_digit()) { "form".to_owned() } else { slug }
}

fn unique(ids: &mut HashSet<String>, area: &str, verb: &str) -> String {
    let base = format!("{area}.{verb}");
    let mut id = base.clone();
    let mut again = 2;
    while !ids.insert(id.clone()) {
        id = format!("{base}_{again}");
        again += 1;
    }
    id
}

fn endpoint(id: &str) -> String {
    format!("/agent/{}", id.replace('.', "/"))
}
