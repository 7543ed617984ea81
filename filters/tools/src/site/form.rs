//! A form of a page as a capability, or why it is left out. Where its buttons lead to several addresses, it is several.

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
    /// The name of the button that sends it so, where others send it elsewhere.
    pub(super) submit: Option<String>,
    /// What people call it.
    pub(super) title: String,
    pub(super) has_file: bool,
}

/// The most buttons of a form that are looked at.
const MOST_BUTTONS: usize = 20;
/// Names of fields that search boxes have.
const SEARCH_NAMES: [&str; 9] =
    ["q", "s", "query", "search", "suche", "keyword", "keywords", "searchterm", "search_query"];
/// Where a form is sent, and how.
struct Sent {
    to: Result<Url, String>,
    is_post: bool,
    /// The name of its button, and what is written on it.
    button: Option<(String, String)>,
}

impl Sent {
    fn by(form: &Element<'_>, button: Option<&Element<'_>>, base: &Url, at: &Url) -> Self {
        let said = |on_button: &str, on_form: &str| {
            let own = button.and_then(|button| css::attribute(button, on_button)).filter(|value| !value.is_empty());
            own.or_else(|| css::attribute(form, on_form)).filter(|value| !value.is_empty())
        };
        let to = match said("formaction", "action") {
            Some(action) => base.join(&action).map_err(|_| "its action is no address".to_owned()),
            None => Ok(at.clone()),
        };
        let is_post = said("formmethod", "method").is_some_and(|method| method.eq_ignore_ascii_case("post"));
        let button = button.map(|button| {
            let name = css::attribute(button, "name").unwrap_or_default();
            let text = Some(css::text(button)).filter(|text| !text.is_empty());
            (name, text.or_else(|| css::attribute(button, "value")).unwrap_or_default())
        });
        Self { to, is_post, button }
    }

    fn is_like(&self, other: &Self) -> bool {
        let same = match (&self.to, &other.to) {
            (Ok(one), Ok(two)) => one[..Position::AfterPath] == two[..Position::AfterPath],
            (one, two) => one.is_err() && two.is_err(),
        };
        same && self.is_post == other.is_post
    }
}

/// The ways in which a form is sent: one for each address and method of its buttons.
fn ways(form: &Element<'_>, root: &Element<'_>, base: &Url, at: &Url) -> Vec<Sent> {
    let id = css::attribute(form, "id").filter(|id| !id.is_empty());
    let is_own = |button: &Element<'_>| match css::attribute(button, "form") {
        Some(owner) => Some(owner) == id,
        None => button.ancestors_it(None).any(|above| above.id == form.id),
    };
    let submits = "button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]";
    let buttons = all(submits, root).into_iter().filter(|button| !button.has_attr("disabled") && is_own(button));
    let mut ways: Vec<Sent> = Vec::new();
    for button in buttons.take(MOST_BUTTONS) {
        let way = Sent::by(form, Some(&button), base, at);
        if !ways.iter().any(|known| known.is_like(&way)) {
            ways.push(way);
        }
    }
    if ways.is_empty() {
        ways.push(Sent::by(form, None, base, at));
    }
    ways
}

/// Reads a form: what it is, or why it is left out, for each address that it is sent to. Empty: it has nothing to fill in.
pub(super) fn read(form: &Element<'_>, root: &Element<'_>, base: &Url, at: &Url) -> Vec<Result<Found, String>> {
    let ways = ways(form, root, base, at);
    let are_several = ways.len() > 1;
    let read = ways.into_iter().map(|way| read_way(form, root, at, (way, are_several)));
    let mut read: Vec<_> = read.filter_map(Result::transpose).collect();
    // What is wrong with the form itself is said once.
    read.dedup_by(|one, two| one.is_err() && one == two);
    read
}

fn read_way(
    form: &Element<'_>,
    root: &Element<'_>,
    at: &Url,
    (way, are_several): (Sent, bool),
) -> Result<Option<Found>, String> {
    let attribute = |name: &str| css::attribute(form, name).filter(|value| !value.is_empty());
    let (target, is_post) = (way.to?, way.is_post);
    let path = target.path().to_owned();
    if (target.host_str(), target.port_or_known_default()) != (at.host_str(), at.port_or_known_default()) {
        return Err(format!("it is sent to another site, {}", target.host_str().unwrap_or_default()));
    }
    if let Some(why) = private::reason(form, &path) {
        return Err(why.to_owned());
    }
    let mut fixed: Vec<(String, String)> = Vec::new();
    let mut fields = fields(form, root, &mut fixed);
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
    let (name, written) = way.button.filter(|_| are_several).unwrap_or_default();
    let title = match (title.unwrap_or_default(), written) {
        (title, written) if written.is_empty() => title,
        (title, written) if title.is_empty() => written,
        (title, written) => format!("{title}: {written}"),
    };
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
        submit: Some(name).filter(|name| is_post && !name.is_empty()),
        title: clipped(&title),
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
