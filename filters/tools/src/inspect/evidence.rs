//! The answers of a site by what was asked, and the same site as it would answer with Frontdesk in front.

use std::{cell::OnceCell, collections::HashMap, panic};

use frontdesk_base::media::essence;
use frontdesk_filters::{
    desk,
    preview::{KnownSite, Preview},
};
use frontdesk_page::content;
use http::header;
use serde_json::Value;
use url::Url;

use super::Answer;

/// A site that can be looked at, without asking it anything more.
pub(super) trait View {
    /// The answer at this path and query; `None`: not asked. `markdown`: asked for Markdown first.
    fn get(&self, target: &str, markdown: bool) -> Option<Answer>;
}

/// The fetched answers.
#[derive(Debug, Default)]
pub(super) struct Evidence(HashMap<(String, bool), Answer>);

impl Evidence {
    /// Keeps an answer; the first one of its kind wins.
    pub(super) fn keep(&mut self, target: String, markdown: bool, answer: &Answer) {
        self.0.entry((target, markdown)).or_insert_with(|| answer.clone());
    }

    pub(super) fn has(&self, target: &str, markdown: bool) -> bool {
        self.0.contains_key(&(target.to_owned(), markdown))
    }
}

impl View for Evidence {
    fn get(&self, target: &str, markdown: bool) -> Option<Answer> {
        self.0.get(&(target.to_owned(), markdown)).cloned()
    }
}

impl KnownSite for Evidence {
    fn answer(&self, target: &str, markdown: bool) -> Option<desk::Answer> {
        let Answer { status, headers, body, cut } = self.get(target, markdown)?;
        (!cut).then_some(desk::Answer { status, headers, body })
    }
}

/// The same site with Frontdesk in front.
pub(super) struct WithFrontdesk<'a> {
    pub(super) preview: Preview,
    pub(super) evidence: &'a Evidence,
}

impl View for WithFrontdesk<'_> {
    fn get(&self, target: &str, markdown: bool) -> Option<Answer> {
        let accept = if markdown { "text/markdown" } else { "text/html, */*;q=0.1" };
        let desk::Answer { status, headers, body } = self.preview.answer(target, accept, self.evidence);
        Some(Answer { status, headers, body, cut: false })
    }
}

/// A view with the page that was named and the site's origin: what each check reads.
pub(super) struct Look<'a> {
    base: &'a Url,
    /// Path and query of the page.
    pub(super) page: &'a str,
    view: &'a dyn View,
    /// The page's text, read once.
    text_of_page: OnceCell<Option<String>>,
}

impl<'a> Look<'a> {
    pub(super) fn new(base: &'a Url, page: &'a str, view: &'a dyn View) -> Self {
        Self { base, page, view, text_of_page: OnceCell::new() }
    }

    /// The page's text as Markdown, without navigation and what is hidden.
    pub(super) fn page_text(&self) -> Option<&str> {
        let read = || {
            let page = self.page()?;
            let kind = page.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
            let html = content::text(&page.body, kind)?.into_owned();
            let at = self.base.join(self.page).ok()?;
            // The parser processes untrusted input, deep within a library.
            panic::catch_unwind(|| content::read(&html, &at)).ok()?.map(|page| page.markdown)
        };
        self.text_of_page.get_or_init(read).as_deref()
    }

    pub(super) fn get(&self, target: &str) -> Option<Answer> {
        self.view.get(target, false)
    }

    pub(super) fn markdown(&self, target: &str) -> Option<Answer> {
        self.view.get(target, true)
    }

    /// The page as a browser gets it.
    pub(super) fn page(&self) -> Option<Answer> {
        self.get(self.page).filter(|answer| answer.status.is_success())
    }

    /// A document at this path, and no page.
    pub(super) fn document(&self, target: &str) -> Option<Answer> {
        self.get(target).filter(Answer::is_document)
    }

    /// A JSON object at this path.
    pub(super) fn json(&self, target: &str) -> Option<Value> {
        let value: Value = serde_json::from_slice(&self.document(target)?.body).ok()?;
        value.is_object().then_some(value)
    }

    /// Text of a document at this path.
    pub(super) fn text(&self, target: &str) -> Option<String> {
        self.document(target).map(|answer| answer.text())
    }

    /// Path and query of a link on this site; `None` for one that leads elsewhere.
    pub(super) fn here(&self, link: &str) -> Option<String> {
        let to = self.base.join(link).ok()?;
        let same = to.origin() == self.base.origin();
        same.then(|| to[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
    }

    /// Why a link leads nowhere. A link to another site is not followed, and counts as leading somewhere.
    pub(super) fn leads_nowhere(&self, link: &str) -> Option<String> {
        let target = self.here(link)?;
        let answer = self.get(&target)?;
        matches!(answer.status.as_u16(), 404 | 410 | 500..=599)
            .then(|| format!("{target} answers {}", answer.status.as_u16()))
    }
}

impl Answer {
    /// The media type, in lower case.
    pub(super) fn media(&self) -> String {
        let kind = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        essence(kind).to_ascii_lowercase()
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.media() == "text/markdown"
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether `Vary` names `Accept`, or everything.
    pub(super) fn varies_by_accept(&self) -> bool {
        let values = self.headers.get_all(header::VARY).iter().filter_map(|value| value.to_str().ok());
        let mut names = values.flat_map(|value| value.split(',')).map(str::trim);
        names.any(|name| name == "*" || name.eq_ignore_ascii_case("accept"))
    }
}
