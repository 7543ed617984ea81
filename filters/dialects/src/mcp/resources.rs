//! The site's text as resources (AHP §D.2). Only listed resources can be read, so a client cannot make Frontdesk fetch
//! an address.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, json};

use super::{
    completion::VARIABLE,
    envelope::{INTERNAL, INVALID_PARAMS, NO_RESOURCE, Problem},
    protocol::Era,
    skills,
    tools::no_page,
};
use crate::{ahp, aicp};
use frontdesk_base::fault::Refusal;
use frontdesk_desk::Desk;
use frontdesk_discovery::llms;
use frontdesk_firewall::{Form, MUST_NOT_LEAVE};
use frontdesk_page::content::Page;

/// Resources per page.
const PAGE: usize = 100;

/// The media type of pages.
const PAGES: &str = "text/markdown";

/// A resource.
struct Resource<'a> {
    /// Its path on this site.
    path: &'a str,
    name: &'a str,
    description: &'a str,
    media_type: &'static str,
    text: Cow<'a, str>,
}

/// The published documents; llms.txt only where Frontdesk publishes it.
const DOCUMENTS: [(&str, &str, &str, &str); 3] = [
    (llms::PATH, "llms.txt", "What this site has to read, in one short text.", "text/plain"),
    (
        ahp::MANIFEST,
        "agent.json",
        "What this site offers to agents: its capabilities, limits and terms.",
        "application/json",
    ),
    (
        aicp::CONTRACT,
        "agent-interface.toml",
        "The contract: capabilities, risks, scopes and policies.",
        "application/aicp+toml",
    ),
];

/// The published documents that exist.
fn documents<'d>(desk: &'d Desk<'_>) -> impl Iterator<Item = Resource<'d>> {
    let compiled = desk.compiled;
    DOCUMENTS.into_iter().filter_map(|(path, name, description, media_type)| {
        // Where the site uses the usual path, Frontdesk's document has another one.
        let path = match path {
            ahp::MANIFEST if compiled.document(path).is_none() => ahp::MOVED,
            aicp::CONTRACT if compiled.document(path).is_none() => aicp::MOVED,
            _ => path,
        };
        let text = String::from_utf8_lossy(&compiled.document(path)?).into_owned().into();
        Some(Resource { path, name, description, media_type, text })
    })
}

/// The site's pages.
fn pages(shelf: &[Arc<Page>]) -> impl Iterator<Item = Resource<'_>> {
    shelf.iter().filter(|page| page.path != llms::PATH).map(|page| Resource {
        path: &page.path,
        name: if page.title.is_empty() { &page.path } else { &page.title },
        description: page.description.as_deref().unwrap_or_default(),
        media_type: PAGES,
        text: page.markdown.as_str().into(),
    })
}

/// The pages after a path, whether or not that page exists. A cursor so stays valid across replicas and after the site
/// was read again.
fn after<'s>(shelf: &'s [Arc<Page>], path: &str) -> &'s [Arc<Page>] {
    &shelf[shelf.partition_point(|page| page.path.as_str() <= path)..]
}

/// The members of a result page.
pub(super) async fn list(desk: &Desk<'_>, cursor: Option<&Value>) -> Result<String, Problem> {
    let shelf = desk.library.shelf();
    // The published documents are few and all on the first page. A cursor is the path of a site page.
    let last = match cursor {
        None | Some(Value::Null) => None,
        Some(cursor) => Some(cursor.as_str().filter(|path| path.starts_with('/')).ok_or_else(no_page)?),
    };
    let first = documents(desk).filter(|_| last.is_none());
    let mut rest = first.chain(pages(last.map_or(shelf, |last| after(shelf, last))));
    let base = base(desk);
    let page: Vec<Resource<'_>> = rest.by_ref().take(PAGE).collect();
    let more = rest.next().and_then(|_| page.last());
    let next = more.map_or_else(String::new, |last| format!(",\"nextCursor\":{}", Value::from(last.path)));
    let skills = skills::all(desk).into_iter().filter(|_| last.is_none());
    let skills = skills.map(|skill| {
        json!({
            "uri": skill.uri, "name": skill.name, "description": skill.description,
            "mimeType": skills::MEDIA_TYPE, "size": skill.text.len(),
        })
    });
    let page: Vec<Value> = skills.chain(page.iter().map(|resource| listed(resource, &base))).collect();
    leaving(desk, format!("\"resources\":{}{next}", Value::Array(page))).await
}

/// The members of a resource's result.
pub(super) async fn read(desk: &Desk<'_>, uri: Option<&Value>, era: Era) -> Result<String, Problem> {
    let Some(uri) = uri.and_then(Value::as_str) else {
        return Err(Problem::new(INVALID_PARAMS, "`uri` has to be a string.".into()));
    };
    if uri.starts_with(skills::SCHEME)
        && let Some(skill) = skills::all(desk).into_iter().find(|skill| skill.uri == uri)
    {
        return Ok(format!(
            "\"contents\":{}",
            json!([{ "uri": uri, "mimeType": skills::MEDIA_TYPE, "text": skill.text }])
        ));
    }
    let base = base(desk);
    let path = uri.strip_prefix(base.as_str());
    let Some(found) = path.and_then(|path| documents(desk).chain(pages(desk.library.shelf())).find(|r| r.path == path))
    else {
        let code = if era == Era::Handshake { NO_RESOURCE } else { INVALID_PARAMS };
        return Err(Problem::new(code, "There is no such resource. See resources/list.".into()));
    };
    let contents = json!([{ "uri": uri, "mimeType": found.media_type, "text": found.text }]);
    let members = format!("\"contents\":{contents}");
    // Published documents contain the operator's own words.
    if found.media_type == PAGES { leaving(desk, members).await } else { Ok(members) }
}

/// Page text after the firewall's scan.
async fn leaving(desk: &Desk<'_>, members: String) -> Result<String, Problem> {
    let passed = desk.looked_through(members.len(), move |firewall| firewall.pass(members.into(), Form::Json)).await;
    let passed = passed.ok_or_else(|| Problem::new(INTERNAL, Refusal::unread().detail.into()))?;
    let text = String::from_utf8(passed.body.into()).ok().filter(|_| !passed.blocked);
    text.ok_or_else(|| Problem::new(INTERNAL, MUST_NOT_LEAVE.into()))
}

fn listed(resource: &Resource<'_>, base: &str) -> Value {
    json!({
        "uri": format!("{base}{}", resource.path),
        "name": resource.name,
        "description": resource.description,
        "mimeType": resource.media_type,
        "size": resource.text.len(),
    })
}

/// The template of the pages' addresses.
pub(super) fn template(desk: &Desk<'_>) -> String {
    format!("{}/{{+{VARIABLE}}}", base(desk))
}

/// The members of the list of templates.
pub(super) fn templates(desk: &Desk<'_>) -> String {
    let template = json!([{
        "uriTemplate": template(desk), "name": "page", "title": "A page of this site",
        "description": "The text of a page, by its path.", "mimeType": PAGES,
    }]);
    format!("\"resourceTemplates\":{template}")
}

/// The base of resource URIs. Without a declared origin the client's Host is not trusted for it.
fn base(desk: &Desk<'_>) -> String {
    match &desk.compiled.settings.site.origin {
        Some(origin) => origin.trim_end_matches('/').to_owned(),
        None => "site://".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_holds_for_whatever_was_read_since() {
        let page = |path: &str| {
            let (path, title, markdown) = (path.to_owned(), String::new(), String::new());
            Arc::new(Page {
                path,
                title,
                description: None,
                language: None,
                markdown,
                links: Vec::new(),
                canonical: None,
                noindex: false,
                nofollow: false,
                alternate_markdown: None,
                modified: None,
                anchors: Vec::new(),
            })
        };
        let facts = frontdesk_ask::SiteFacts::default();
        let library = frontdesk_ask::Library::build(&facts, &["/c", "/a", "/d"].map(page));
        let paths = |path| after(library.shelf(), path).iter().map(|page| page.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths("/"), ["/a", "/c", "/d"]);
        assert_eq!(paths("/a"), ["/c", "/d"]);
        assert_eq!(paths("/b"), ["/c", "/d"], "a page that is gone");
        assert!(paths("/d").is_empty());
    }
}
