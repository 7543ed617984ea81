//! Answers that are derived from the site's own content, such as Markdown and robots.txt.
//!
//! Pages fail open here too: where the derivation fails or is not allowed, the client gets the site's own answer.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{Decision, Desk, Request};
use crate::{
    Snapshot,
    caller::Caller,
    desk::Answer,
    firewall::Flags,
    page::markdown::{self, Written},
    reply::Reply,
    state::Counters,
};

/// The kinds of derived answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// The Markdown of a page, at the page's own address.
    MarkdownByAccept,
    /// The Markdown of a page at an address of its own, unless the site serves that address.
    MarkdownByPath,
    /// robots.txt.
    Robots,
}

/// A GET to the site on behalf of the client, with the same headers about the client as any other request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The `Accept` value, without the client's conditions or ranges; `None`: the client's own `Accept` and
    /// conditions.
    pub accept: Option<&'static str>,
    /// How many bytes of an answer with this head to buffer; `None`: it is not for us.
    pub most: fn(StatusCode, &HeaderMap) -> Option<usize>,
}

/// A job that takes long, for a thread that may block.
pub type Work = Box<dyn FnOnce() -> Option<Written> + Send>;

/// The site, as this client would see it.
#[async_trait]
pub trait Site: Send + Sync {
    /// The site's answer; `None`: there is none. If the request passes after all, the client gets the answer to its
    /// own target that was begun here, so the site is not asked twice.
    async fn get(&self, question: Question<'_>) -> Option<Got>;

    /// Runs a job on a page of this size. `None` where it failed or could not be run.
    async fn work(&self, bytes: usize, work: Work) -> Option<Written>;
}

/// The result of a question.
#[derive(Debug)]
pub enum Got {
    Whole(Answer),
    /// The body is longer than the buffer.
    Head(StatusCode, HeaderMap),
}

impl Got {
    pub(super) fn whole(self) -> Option<Answer> {
        match self {
            Self::Whole(answer) => Some(answer),
            Self::Head(..) => None,
        }
    }
}

/// A derived answer.
#[derive(Debug)]
pub struct Made {
    /// Never [`Decision::Make`].
    pub decision: Decision,
    /// The result in one word, for metrics and the access log.
    pub what: &'static str,
    /// What the firewall found.
    pub flags: Flags,
}

/// Answers up to this size, such as redirects and errors, are buffered whatever their type.
pub(super) const SMALL_BYTES: usize = 64 * 1024;

/// Derives the answer. Derivations that cost work count against the rate limits.
pub async fn make(
    snapshot: &Snapshot,
    counters: &dyn Counters,
    request: &Request<'_>,
    caller: &Caller,
    making: Making,
    site: &dyn Site,
) -> Made {
    let desk = Desk { snapshot, counters, request, serve: None };
    let made = match making {
        Making::MarkdownByAccept => desk.markdown_by_accept(caller, site).await,
        Making::MarkdownByPath => desk.markdown_by_path(caller, site).await,
        Making::Robots => desk.robots(site).await,
    };
    made.unwrap_or_else(|| Made::of(Decision::Pass, "passed"))
}

impl Made {
    pub(super) fn of(decision: Decision, what: &'static str) -> Self {
        Self { decision, what, flags: Flags::default() }
    }
}

impl Desk<'_> {
    /// What to derive in place of this path's page, for a client that prefers this media type.
    pub(super) fn making(&self, preferred: Option<&str>) -> Option<Making> {
        let Request { target, .. } = self.request;
        if !markdown::is_plain(target) {
            return None;
        }
        if self.snapshot.settings.content.markdown {
            if markdown::is_path(target) {
                return (!self.is_for_people(preferred)).then_some(Making::MarkdownByPath);
            }
            // A page that must not be read has no Markdown at its own address either.
            if preferred.is_some_and(|media| media.eq_ignore_ascii_case(markdown::MEDIA_TYPE))
                && !self.snapshot.excludes(target)
            {
                return Some(Making::MarkdownByAccept);
            }
        }
        let robots = self.snapshot.robots.is_some() && target.split('?').next() == Some("/robots.txt");
        robots.then_some(Making::Robots)
    }

    /// Whether the request comes from a browser, or asks as a browser does.
    fn is_for_people(&self, preferred: Option<&str>) -> bool {
        let mode = self.request.headers.get("sec-fetch-mode").map(HeaderValue::as_bytes);
        mode == Some(b"navigate") || preferred.is_some_and(|media| media.eq_ignore_ascii_case("text/html"))
    }

    /// The site's answer, unchanged.
    pub(super) fn relayed(&self, mut answer: Answer) -> Reply {
        for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::TRAILER] {
            answer.headers.remove(name);
        }
        let html = markdown::is_html(&answer.headers);
        if html && answer.status != StatusCode::NOT_MODIFIED {
            markdown::vary(&mut answer.headers);
        }
        if html || markdown::is_own(&answer.headers) {
            markdown::sign(&mut answer.headers, self.snapshot.signals.as_ref());
        }
        Reply { headers: markdown::lines(&answer.headers), body: answer.body, ..Reply::empty(answer.status) }
    }
}
