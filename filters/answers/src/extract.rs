//! Data out of a page by CSS selectors, as declared.

use std::time::Duration;

use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
    work_limit::WorkLimit,
};
use frontdesk_config as config;
use frontdesk_config::FieldKind;
use frontdesk_page::content::{
    MAX_BYTES,
    css::{self, Css, Element, Tree},
};
use serde_json::{Map, Value, json};
use url::{Position, Url};

use crate::{
    answered::{Answered, too_large, unknown_encoding},
    values,
};

/// The most items of a list, values of a field, and bytes of all values.
const MOST_ITEMS: usize = 2_000;
const MOST_VALUES: usize = 500;
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How much CPU time the selectors of one answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Attributes that hold an address.
const ADDRESSES: [&str; 8] = ["href", "src", "action", "formaction", "poster", "data", "cite", "data-src"];

/// The compiled declaration of `[capabilities.upstream.extract]`.
#[derive(Debug, Clone)]
pub struct Extract {
    each: Option<Css>,
    fields: Vec<Field>,
    must: Option<Css>,
    next: Option<Pick>,
}

#[derive(Debug, Clone)]
struct Field {
    name: String,
    pick: Pick,
    all: bool,
    kind: FieldKind,
}

/// An element, or one of its attributes.
#[derive(Debug, Clone)]
struct Pick {
    /// `None`: the element itself.
    select: Option<Css>,
    attribute: Option<String>,
}

impl Pick {
    /// Reads `SELECTOR @attribute`; either may be missing.
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (select, attribute) = match text.rsplit_once('@') {
            Some((select, name))
                if is_attribute(name) && (select.is_empty() || select.ends_with(char::is_whitespace)) =>
            {
                (select.trim(), Some(name.to_ascii_lowercase()))
            }
            _ => (text, None),
        };
        let select = (!select.is_empty()).then(|| Css::parse(select)).transpose()?;
        Ok(Self { select, attribute })
    }

    fn elements<'a>(&self, root: &Element<'a>) -> Vec<Element<'a>> {
        match &self.select {
            Some(select) => select.all(root).take(MOST_VALUES).collect(),
            None => vec![*root],
        }
    }

    fn first<'a>(&self, root: &Element<'a>) -> Option<Element<'a>> {
        match &self.select {
            Some(select) => select.first(root),
            None => Some(*root),
        }
    }
}

fn is_attribute(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':'))
}

/// What is tried on a page, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The key: `must`, `each`, `fields.title`.
    pub key: String,
    pub found: usize,
    /// Without it the page is not as declared. A flag, a list and the next page may be missing.
    pub is_needed: bool,
}

impl Extract {
    /// Compiles a declaration whose selectors were checked.
    ///
    /// # Errors
    ///
    /// The key of the selector that is none, and why.
    pub fn new(declared: &config::Extract) -> Result<Self, (String, String)> {
        let css = |key: &str, selector: &Option<String>| {
            selector.as_deref().map(|text| Css::parse(text).map_err(|why| (key.to_owned(), why))).transpose()
        };
        let pick = |key: String, text: &str| Pick::parse(text).map_err(|why| (key, why));
        let mut fields = Vec::with_capacity(declared.fields.len());
        for (name, field) in &declared.fields {
            let pick = pick(format!("fields.{name}"), &field.select)?;
            fields.push(Field { name: name.clone(), pick, all: field.all, kind: field.kind });
        }
        Ok(Self {
            each: css("each", &declared.each)?,
            fields,
            must: css("must", &declared.must)?,
            next: declared.next.as_deref().map(|text| pick("next".to_owned(), text)).transpose()?,
        })
    }

    /// Reads a page.
    ///
    /// # Errors
    ///
    /// It lacks what `must` names, or is more than is read.
    pub fn read(&self, answered: &Answered<'_>) -> Result<Value, Refusal> {
        let tree = tree(answered)?;
        let root = tree.root();
        if let Some(must) = &self.must
            && must.first(&root).is_none()
        {
            return Err(changed("The site's page has not what this needs: the site has changed."));
        }
        let mut reading = Reading {
            base: tree.base(answered.at),
            language: tree.language().unwrap_or_default(),
            answered,
            limit: WorkLimit::begin(PATIENCE),
            bytes: 0,
        };
        let next = match &self.next {
            Some(pick) => pick.first(&root).and_then(|element| reading.raw(&element, pick)),
            None => None,
        };
        let Some(each) = &self.each else {
            let mut data = reading.object(&root, &self.fields)?;
            if let Some(next) = next {
                data.insert("next".to_owned(), next.into());
            }
            return Ok(data.into());
        };
        let mut items = Vec::new();
        // First all of them: Markdown changes the tree.
        let elements: Vec<Element<'_>> = each.all(&root).take(MOST_ITEMS + 1).collect();
        for element in elements {
            if items.len() >= MOST_ITEMS {
                return Err(too_large(format!("The site's page has more than {MOST_ITEMS} items.")));
            }
            items.push(Value::Object(reading.object(&element, &self.fields)?));
        }
        let mut data = json!({ "items": items });
        if let Some(next) = next {
            data["next"] = next.into();
        }
        Ok(data)
    }

    /// Tries every selector on a page.
    ///
    /// # Errors
    ///
    /// The page cannot be read.
    pub fn tried(&self, answered: &Answered<'_>) -> Result<Vec<Tried>, Refusal> {
        let tree = tree(answered)?;
        let root = tree.root();
        let mut tried = Vec::new();
        let mut say = |key: &str, found, is_needed| tried.push(Tried { key: key.to_owned(), found, is_needed });
        if let Some(must) = &self.must {
            say("must", must.all(&root).count(), true);
        }
        let items: Vec<Element<'_>> = match &self.each {
            Some(each) => each.all(&root).take(MOST_ITEMS).collect(),
            None => vec![root],
        };
        if self.each.is_some() {
            say("each", items.len(), false);
        }
        for field in &self.fields {
            let found = items.iter().filter(|item| {
                field.pick.first(item).is_some_and(|element| match &field.pick.attribute {
                    Some(name) => element.has_attr(name),
                    None => true,
                })
            });
            let is_needed = !field.all && field.kind != FieldKind::Boolean;
            say(&format!("fields.{}", field.name), found.count(), is_needed);
        }
        if let Some(next) = &self.next {
            say("next", usize::from(next.first(&root).is_some()), false);
        }
        Ok(tried)
    }
}

fn tree(answered: &Answered<'_>) -> Result<Tree, Refusal> {
    if answered.body.len() > MAX_BYTES {
        return Err(too_large(format!(
            "The site's page is larger than {} MB, the most that is read.",
            MAX_BYTES >> 20
        )));
    }
    let html = charset::text(answered.body, answered.content_type).ok_or_else(unknown_encoding)?;
    Tree::parse(&html).ok_or_else(|| too_large("The site's page is deeper or larger than is read."))
}

/// The refusal for a page that is not as it was declared.
pub(crate) fn changed(detail: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::from(Fault::SiteChanged).saying(detail)
}

/// One page that is read.
struct Reading<'a> {
    base: Url,
    language: String,
    answered: &'a Answered<'a>,
    limit: WorkLimit,
    bytes: usize,
}

impl Reading<'_> {
    fn object(&mut self, root: &Element<'_>, fields: &[Field]) -> Result<Map<String, Value>, Refusal> {
        let mut object = Map::new();
        // Markdown prepares the tree for itself, so it comes last.
        let (last, first): (Vec<_>, Vec<_>) = fields.iter().partition(|field| field.kind == FieldKind::Markdown);
        for field in first.into_iter().chain(last) {
            if self.limit.is_over() || self.bytes > MOST_BYTES {
                return Err(too_large("The site's page has more in it than is taken out of a page."));
            }
            let value = if field.all {
                let elements = field.pick.elements(root);
                let values: Vec<Value> = elements.iter().filter_map(|element| self.value(element, field)).collect();
                Some(values.into())
            } else {
                let first = field.pick.first(root);
                match field.kind {
                    FieldKind::Boolean => Some(first.is_some_and(|element| self.is_there(&element, field)).into()),
                    _ => first.and_then(|element| self.value(&element, field)),
                }
            };
            if let Some(value) = value {
                self.bytes += field.name.len() + value.as_str().map_or(8, str::len);
                object.insert(field.name.clone(), value);
            }
        }
        Ok(object)
    }

    fn is_there(&self, element: &Element<'_>, field: &Field) -> bool {
        field.pick.attribute.as_ref().is_none_or(|name| element.has_attr(name))
    }

    /// One value; `None` where the element has none of this kind.
    fn value(&mut self, element: &Element<'_>, field: &Field) -> Option<Value> {
        match field.kind {
            FieldKind::Boolean => Some(self.is_there(element, field).into()),
            FieldKind::Markdown => css::markdown(element, &self.base, true).map(Value::from),
            FieldKind::Number => values::number(&self.raw(element, &field.pick)?, &self.language),
            FieldKind::Date => {
                let machine = field.pick.attribute.is_none().then(|| element.attr("datetime")).flatten();
                let text = machine.map_or_else(|| self.raw(element, &field.pick), |text| Some(text.to_string()));
                values::date(&text?, &self.language).map(Value::from)
            }
            FieldKind::Text => self.raw(element, &field.pick).map(Value::from),
        }
    }

    /// The text of an element, or of its attribute; addresses of the site as its paths.
    fn raw(&self, element: &Element<'_>, pick: &Pick) -> Option<String> {
        let Some(name) = &pick.attribute else {
            let control = matches!(css::name(element).as_str(), "input" | "button" | "option" | "meta");
            let written = control.then(|| element.attr("value").or_else(|| element.attr("content"))).flatten();
            return Some(written.map_or_else(|| css::text(element), |value| value.trim().to_owned()));
        };
        let value = element.attr(name)?.trim().to_owned();
        if !ADDRESSES.contains(&name.as_str()) {
            return Some(value);
        }
        Some(self.base.join(&value).map_or(value, |url| own_path(&url, self.answered)))
    }
}

/// An address as it is told: a path where it is the site's own.
pub(crate) fn own_path(url: &Url, answered: &Answered<'_>) -> String {
    let authority = |url: &Url| (url.host_str().map(str::to_owned), url.port());
    let own = authority(url) == authority(answered.at)
        || url.host_str().is_some_and(|host| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            answered.own_hosts.iter().any(|own| *own == format!("{host}{port}"))
        });
    let path = &url[Position::BeforePath..];
    if own && matches!(url.scheme(), "http" | "https") && !path.starts_with("//") {
        path.to_owned()
    } else {
        url.to_string()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use frontdesk_config::{Extract as Declared, ExtractField};

    use super::*;

    fn field(select: &str, kind: FieldKind, all: bool) -> ExtractField {
        ExtractField { select: select.into(), all, kind }
    }

    fn read(declared: &Declared, html: &str) -> Result<Value, Refusal> {
        let (body, at) = (Bytes::from(html.to_owned()), Url::parse("http://site.test/list/").unwrap());
        let own_hosts = ["127.0.0.1:3000".to_owned()];
        let answered = Answered {
            content_type: "text/html",
            disposition: None,
            body: &body,
            at: &at,
            is_named: false,
            own_hosts: &own_hosts,
            tokens: 100,
        };
        Extract::new(declared).unwrap().read(&answered)
    }

    const PAGE: &str = "<html lang=de><main><article class=result><h2>Stuhl <i>A</i></h2><a href=../p/1>mehr</a>\
        <span class=price>1.299,00 €</span><b class=tag>rot</b><b class=tag>neu</b><time datetime=2026-05-09>gestern</time>\
        <div class=d><p>Ein <a href=x>Stuhl</a>.</p></div></article>\
        <article class=result><h2>Tisch</h2><a href=http://127.0.0.1:3000/p/2>m</a><span class=sold></span></article>\
        </main><a rel=next href='?page=2'>weiter</a>";

    fn list() -> Declared {
        let text = FieldKind::Text;
        Declared {
            each: Some("article.result".into()),
            fields: vec![
                ("title".into(), field("h2", text, false)),
                ("url".into(), field("a @href", text, false)),
                ("price".into(), field(".price", FieldKind::Number, false)),
                ("tags".into(), field(".tag", text, true)),
                ("sold".into(), field(".sold", FieldKind::Boolean, false)),
                ("on".into(), field("time", FieldKind::Date, false)),
                ("about".into(), field(".d", FieldKind::Markdown, false)),
                ("kind".into(), field("@class", text, false)),
            ],
            must: Some("main".into()),
            next: Some("a[rel=next] @href".into()),
        }
    }

    #[test]
    fn a_list_is_read_by_its_selectors() {
        assert_eq!(
            read(&list(), PAGE).unwrap(),
            json!({ "items": [
                { "title": "Stuhl A", "url": "/p/1", "price": 1299.0, "tags": ["rot", "neu"], "sold": false,
                  "on": "2026-05-09", "about": "Ein [Stuhl](/list/x).", "kind": "result" },
                { "title": "Tisch", "url": "/p/2", "tags": [], "sold": true, "kind": "result" },
            ], "next": "/list/?page=2" })
        );
    }

    #[test]
    fn without_each_it_is_one_object() {
        let declared = Declared { each: None, next: None, ..list() };
        let data = read(&declared, PAGE).unwrap();
        assert_eq!((&data["title"], data.get("items")), (&json!("Stuhl A"), None));
    }

    #[test]
    fn a_page_without_what_must_be_there_is_a_changed_site_and_no_empty_list() {
        assert_eq!(read(&list(), "<main><p>Nothing found.</main>").unwrap(), json!({ "items": [] }));
        assert_eq!(read(&list(), "<div>New template</div>").unwrap_err().reason, "site_changed");
        let many = format!("<main>{}</main>", "<article class=result>".repeat(MOST_ITEMS + 1));
        assert_eq!(
            read(&list(), &many.replace("result>", "result></article>")).unwrap_err().reason,
            "response_too_large"
        );
    }

    #[test]
    fn selectors_that_are_none_are_named() {
        let declared = Declared { next: Some("a[".into()), ..list() };
        assert_eq!(Extract::new(&declared).unwrap_err().0, "next");
    }
}
