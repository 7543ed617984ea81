//! What is made of the site's own words, once it has been asked.
//!
//! The page fails open here too: whatever cannot be made, or may not be, is answered as the site answered it.

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

/// What is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// Of a page its Markdown, at the page's own address.
    MarkdownByAccept,
    /// The same at an address of its own, unless the site has something there.
    MarkdownByPath,
    /// The robots.txt.
    Robots,
}

/// A request to the site, for the client: GET, and told of the client what any request of theirs would tell.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Path and query.
    pub target: &'a str,
    /// Asked for in place of what the client asks for, and whole; `None`: as the client asks, its conditions too.
    pub accept: Option<&'static str>,
    /// How many bytes of an answer with this head are waited for; `None`: it is not for us.
    pub most: fn(StatusCode, &HeaderMap) -> Option<usize>,
}

/// Work that takes its time, for a thread that may be blocked.
pub type Work = Box<dyn FnOnce() -> Option<Written> + Send>;

/// The site, as whoever is asking would see it.
#[async_trait]
pub trait Site: Send + Sync {
    /// What it answers; `None`: nothing. Where the request passes after all, the client gets the answer that was begun
    /// to its own target: the site is not asked twice.
    async fn get(&self, question: Question<'_>) -> Option<Got>;

    /// What became of work on a page of so many bytes; `None` also where it could not be done.
    async fn work(&self, bytes: usize, work: Work) -> Option<Written>;
}

/// What came of a question.
#[derive(Debug)]
pub enum Got {
    Whole(Answer),
    /// There is more of a body than was waited for.
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

/// What was made.
#[derive(Debug)]
pub struct Made {
    /// Never [`Decision::Make`].
    pub decision: Decision,
    /// In a word, for metrics and the access line.
    pub what: &'static str,
    /// What the firewall found.
    pub flags: Flags,
}

/// Small answers are waited for whatever they are: redirects, refusals.
pub(super) const SMALL_BYTES: usize = 64 * 1024;

/// Makes it. Limits are taken for what takes work.
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
    /// What has to be made in place of a page of this path, for a client that prefers this media type.
    pub(super) fn making(&self, preferred: Option<&str>) -> Option<Making> {
        let Request { target, .. } = self.request;
        if !markdown::is_plain(target) {
            return None;
        }
        if self.snapshot.settings.content.markdown {
            if markdown::is_path(target) {
                return (!self.is_for_people(preferred)).then_some(Making::MarkdownByPath);
            }
            // What nobody is to read has no Markdown at its own address either.
            if preferred.is_some_and(|media| media.eq_ignore_ascii_case(markdown::MEDIA_TYPE))
                && !self.snapshot.excludes(target)
            {
                return Some(Making::MarkdownByAccept);
            }
        }
        let robots = self.snapshot.signals.is_some() && target.split('?').next() == Some("/robots.txt");
        robots.then_some(Making::Robots)
    }

    /// Does somebody look at it in a browser, or as in one?
    fn is_for_people(&self, preferred: Option<&str>) -> bool {
        let mode = self.request.headers.get("sec-fetch-mode").map(HeaderValue::as_bytes);
        mode == Some(b"navigate") || preferred.is_some_and(|media| media.eq_ignore_ascii_case("text/html"))
    }

    /// The answer as the site gave it.
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
        Reply { status: answer.status, headers: markdown::lines(&answer.headers), body: answer.body }
    }
}
