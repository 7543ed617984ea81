//! A form of a page as a capability, or why it is left out.

use frontdesk_page::content::css::{self, Element};
use serde_json::Value;
use url::{Position, Url};

use super::{
    field::{Field, all, clipped, fields},
    private,
};

/// What a capability is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) method: &'static str,
    /// Of the site, without its query.
    pub(super) path: String,
    /// Names and values that always go along.
    pub(super) fixed: Vec<(String, String)>,
    pub(super) fields: Vec<Field>,
    pub(super) is_search: bool,
    /// The path of the page that has it; `None`: a description of it was found.
    pub(super) page: Option<String>,
    /// A selector for the form, where its action is not enough.
    pub(super) select: Option<String>,
    /// What people call it.
    pub(super) title: String,
    pub(super) has_file: bool,
}

/// Names of fields that search boxes have.
const SEARCH_NAMES: [&str; 9] =
    ["q", "s", "query", "search", "suche", "keyword", "keywords", "searchterm", "search_query"];
/// Reads a form. `None`: it has nothing to fill in.
///
/// # Errors
///
/// Why it is left out.
pub(super) fn read(form: &Element<'_>, root: &Element<'_>, base: &Url, at: &Url) -> Result<Option<Found>, String> {
    let attribute = |name: &str| css::attribute(form, name).filter(|value| !value.is_empty());
    let target = match attribute("action") {
        Some(action) => base.join(&action).map_err(|_| "its action is no address".to_owned())?,
        None => at.clone(),
    };
    let path = target.path().to_owned();
    if (target.host_str(), target.port_or_known_default()) != (at.host_str(), at.port_or_known_default()) {
        return Err(format!("it is sent to another site, {}", target.host_str().unwrap_or_default()));
    }
    if let Some(why) = private::reason(form, &path) {
        return Err(why.to_owned());
    }
    let mut fixed: Vec<(String, String)> = Vec::new();
    let mut fields = fields(form, root, &mut fixed);
    let is_post = attribute("method").is_some_and(|method| method.eq_ignore_ascii_case("post"));
    if fields.is_empty() {
        return if is_post {
            Err(format!("it has no field to fill in ({path}): a button that acts"))
        } else {
            Ok(None)
        };
    }
    let names_a_search = |field: &Field| SEARCH_NAMES.contains(&field.theirs.to_ascii_lowercase().as_str());
    let is_search = !is_post
        && (form.ancestors_it(None).any(|above| css::attribute(&above, "role").as_deref() == Some("search"))
            || attribute("role").as_deref() == Some("search")
            || !all("input[type=search]", form).is_empty()
            || fields.iter().any(names_a_search));
    if is_search && let Some(words) = fields.iter_mut().find(|field| field.schema["type"] == "string") {
        words.is_required = true;
    }
    let heading = all("legend, h1, h2, h3, h4", form).first().map(css::text);
    let title = attribute("aria-label").or(heading).filter(|title| !title.is_empty());
    let page = at[Position::BeforePath..Position::AfterQuery].to_owned();
    let select = attribute("id").filter(|id| is_post && is_plain(id)).map(|id| format!("form#{id}"));
    if is_post {
        // What a form hides is kept by the form itself. By GET it takes the place of the query that the action has.
        fixed.clear();
    }
    Ok(Some(Found {
        method: if is_post { "POST" } else { "GET" },
        path,
        fixed,
        has_file: !all("input[type=file]", form).is_empty(),
        fields,
        is_search,
        page: Some(page),
        select,
        title: clipped(&title.unwrap_or_default()),
    }))
}

fn is_plain(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

impl Found {
    /// The schema of its input.
    pub(super) fn input_schema(&self) -> Value {
        let members = self.fields.iter().map(|field| (field.ours(), field.schema.clone()));
        let required: Vec<String> = self.fields.iter().filter(|field| field.is_required).map(Field::ours).collect();
        let mut schema =
            serde_json::json!({ "type": "object", "properties": members.collect::<serde_json::Map<_, _>>() });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }
}
