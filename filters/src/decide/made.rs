//! What is made of the site's own words, once it has been asked: of a page its Markdown.
//!
//! The page fails open here too: whatever cannot be made, or may not be, is answered as the site answered it.

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use url::Url;

use super::{Decision, Desk, Request};
use crate::{
    caller::Caller,
    content,
    desk::Answer,
    fault::{Fault, Refusal},
    firewall::{Flags, MUST_NOT_LEAVE},
    limits::Counted,
    page::markdown::{self, By, Written},
    path, problem,
    reply::Reply,
    site::Snapshot,
    state::{Amount, Away, Counters},
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

    /// What became of work; `None` also where it could not be done.
    async fn work(&self, work: Work) -> Option<Written>;
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
    let desk = Desk { snapshot, counters, request };
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
            if preferred.is_some_and(|media| media.eq_ignore_ascii_case(markdown::MEDIA_TYPE)) {
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

    async fn markdown_by_accept(&self, caller: &Caller, site: &dyn Site) -> Option<Made> {
        let standing = match self.content_taken(caller).await {
            Ok(standing) => standing,
            Err(refused) => return Some(refused),
        };
        let target = self.request.target;
        let got = site.get(Question { target, accept: Some(markdown::ACCEPT), most: page_most }).await?;
        let answer = got.whole()?;
        match self.written(&answer, target, site).await {
            Some(written) => Some(self.told_markdown(&written, By::Accept, target, &answer, standing)),
            None => {
                let what = if markdown::is_own(&answer.headers) { "own_markdown" } else { "html" };
                Some(Made::of(Decision::Answer(self.relayed(answer)), what))
            }
        }
    }

    async fn markdown_by_path(&self, caller: &Caller, site: &dyn Site) -> Option<Made> {
        let target = self.request.target;
        let absent = |status| matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        // A page that says so may be as long as it likes; it passes then.
        let own = match site.get(Question { target, accept: None, most: own_most }).await? {
            Got::Whole(own) if !absent(own.status) => {
                return Some(Made::of(Decision::Answer(self.relayed(own)), "own_markdown"));
            }
            Got::Whole(own) => Some(self.relayed(own)),
            Got::Head(status, _) if absent(status) => None,
            Got::Head(..) => return None,
        };
        // What is ours has no Markdown, and what nobody is to read has none by any of its names.
        let endpoints = &self.snapshot.endpoints;
        let mut pages = markdown::pages_of(target);
        if pages.iter().any(|page| self.snapshot.excluded.covers(page) || self.snapshot.hides(page)) {
            pages.clear();
        }
        pages.retain(|page| endpoints.find(page, &path::canonical(page), &http::Method::GET).is_none());
        let nothing = || own.map(|reply| Made::of(Decision::Answer(reply), "nothing"));
        if pages.is_empty() {
            return nothing();
        }
        let standing = match self.content_taken(caller).await {
            Ok(standing) => standing,
            Err(refused) => return Some(refused),
        };
        for page in &pages {
            let question = Question { target: page, accept: Some(markdown::ACCEPT), most: page_most };
            let answer = match site.get(question).await {
                Some(Got::Whole(answer)) => answer,
                Some(Got::Head(StatusCode::OK, headers)) if markdown::is_html(&headers) => {
                    return Some(Made::of(Decision::Answer(instead(page)), "html"));
                }
                _ => continue,
            };
            if let Some(written) = self.written(&answer, page, site).await {
                return Some(self.told_markdown(&written, By::Path, page, &answer, standing));
            }
            let found = answer.status == StatusCode::OK;
            if absent(answer.status)
                || found && !markdown::is_html(&answer.headers) && !markdown::is_own(&answer.headers)
                || answer.status.is_redirection() && pages.iter().any(|other| self.leads_to(&answer.headers, other))
            {
                continue;
            }
            if found && markdown::is_html(&answer.headers) {
                return Some(Made::of(Decision::Answer(instead(page)), "html"));
            }
            let what = if found { "own_markdown" } else { "html" };
            return Some(Made::of(Decision::Answer(self.relayed(answer)), what));
        }
        nothing()
    }

    /// Takes what Markdown counts as. Inside: where the limits stand now.
    async fn content_taken(&self, caller: &Caller) -> Result<Vec<(HeaderName, HeaderValue)>, Made> {
        let held = self.snapshot.policies.held(Counted::Content, caller);
        let explain = self.snapshot.manifest_explain;
        match self.take(&held, Amount::ONE).await {
            Ok(taken) if taken.granted.is_none() => {
                let refusal = held.exceeded(&taken);
                let told = self.told(caller.clone(), Err(refusal.into()), explain, Some((&held, &taken)));
                Err(Made::of(told.decision, "refused"))
            }
            Ok(taken) => Ok(held.fields(&taken)),
            // The page fails open.
            Err(Away) => Ok(Vec::new()),
        }
    }

    /// The answer as Markdown, if it is a page that can be written so.
    async fn written(&self, answer: &Answer, page: &str, site: &dyn Site) -> Option<Written> {
        if !markdown::may_be_written(answer.status, &answer.headers) {
            return None;
        }
        let at = self.address_of(page)?;
        let Answer { headers, body, .. } = answer.clone();
        let firewall = self.snapshot.firewall.clone();
        site.work(Box::new(move || markdown::write(&headers, &body, &at, &firewall))).await
    }

    fn told_markdown(
        &self,
        written: &Written,
        by: By,
        page: &str,
        answer: &Answer,
        standing: Vec<(HeaderName, HeaderValue)>,
    ) -> Made {
        let Some(flags) = written.passed() else {
            let refusal = Refusal { reason: "firewall_blocked", ..Fault::Malformed.into() }.saying(MUST_NOT_LEAVE);
            let told = self.told(Caller::at(self.request.address), Err(refusal.into()), problem::reply, None);
            return Made::of(told.decision, "blocked");
        };
        let signals = self.snapshot.signals.as_ref();
        let mut reply = written.reply(by, page, &answer.headers, self.request.headers, signals);
        reply.headers.extend(standing);
        reply.headers.extend(flags.header());
        Made { decision: Decision::Answer(reply), what: "markdown", flags: flags.clone() }
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

    /// Where a page of this path is: by the operator's word, else where the client found it.
    fn address_of(&self, page: &str) -> Option<Url> {
        let Request { tls, authority, .. } = self.request;
        let scheme = if *tls { "https" } else { "http" };
        let origin = match self.snapshot.settings.site.origin.as_deref() {
            Some(origin) => origin.trim_end_matches('/').to_owned(),
            None => format!("{scheme}://{authority}"),
        };
        Url::parse(&format!("{origin}{page}")).ok()
    }

    /// Does a redirect lead to this page of the site?
    fn leads_to(&self, headers: &HeaderMap, page: &str) -> bool {
        let location = headers.get(header::LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let (Some(here), Some(there)) = (self.address_of(self.request.target), self.address_of(page)) else {
            return false;
        };
        // A site behind us may believe that it is spoken to in another scheme.
        here.join(location).is_ok_and(|to| to.host() == there.host() && to.path() == there.path())
    }
}

/// It cannot be had as Markdown: there is the page.
fn instead(page: &str) -> Reply {
    match HeaderValue::try_from(page) {
        Ok(location) => Reply::empty(StatusCode::FOUND)
            .with_value(header::LOCATION, location)
            .with(header::CACHE_CONTROL, "private, no-cache"),
        Err(_) => Reply::empty(StatusCode::NOT_FOUND),
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A page is waited for, and what is small or no success; streams and downloads are not.
fn page_most(status: StatusCode, headers: &HeaderMap) -> Option<usize> {
    if status == StatusCode::OK && (markdown::is_html(headers) || markdown::is_own(headers)) {
        return Some(content::MAX_BYTES);
    }
    let small = status != StatusCode::OK || announced(headers).is_some_and(|length| length <= SMALL_BYTES);
    small.then_some(SMALL_BYTES)
}

/// What the site has at a path that ends like a Markdown document's.
fn own_most(status: StatusCode, headers: &HeaderMap) -> Option<usize> {
    let absent = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
    let small = announced(headers).is_some_and(|length| length <= SMALL_BYTES);
    (absent || small || status == StatusCode::NOT_MODIFIED).then_some(SMALL_BYTES)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use parking_lot::Mutex;

    use super::*;
    use crate::{
        decide::decide,
        site::{Learned, declare_text, testing::Nowhere},
        state::testing::{Home, run},
    };

    /// A site, and what it was asked.
    struct Fake {
        answer: fn(&str) -> (u16, String),
        asked: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Site for Fake {
        async fn get(&self, question: Question<'_>) -> Option<Got> {
            self.asked.lock().push(question.target.to_owned());
            let (status, body) = (self.answer)(question.target);
            let status = StatusCode::from_u16(status).unwrap();
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("text/html"))]);
            let fits = (question.most)(status, &headers).is_some_and(|most| body.len() <= most);
            Some(if fits {
                Got::Whole(Answer { status, headers, body: body.into() })
            } else {
                Got::Head(status, headers)
            })
        }

        async fn work(&self, work: Work) -> Option<Written> {
            work()
        }
    }

    /// What is made, if anything, and what the site was asked for it.
    fn made(
        settings: &str,
        target: &str,
        sent: &[(&'static str, &'static str)],
        answer: fn(&str) -> (u16, String),
    ) -> (&'static str, String, Vec<String>) {
        let text = format!("[upstream]\nurl = 'http://127.0.0.1:3000'\n{settings}");
        let declared = declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap();
        let snapshot = Snapshot::compile(&declared, &Learned::default());
        let headers: HeaderMap =
            sent.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect();
        let request = Request {
            method: &http::Method::GET,
            target,
            headers: &headers,
            address: [127, 0, 0, 1].into(),
            authority: "attacker.example",
            tls: false,
            now: 0,
            harness: None,
        };
        let site = Fake { answer, asked: Mutex::default() };
        run(async {
            let home = Home::new();
            let decided = decide(&snapshot, &home, &request).await;
            let Decision::Make(making) = decided.decision else { return ("not asked", String::new(), Vec::new()) };
            let made = make(&snapshot, &home, &request, &decided.caller, making, &site).await;
            let body = match made.decision {
                Decision::Answer(reply) => String::from_utf8(reply.body.to_vec()).unwrap(),
                _ => String::new(),
            };
            (made.what, body, site.asked.into_inner())
        })
    }

    fn only(page: &str, asked: &str) -> (u16, String) {
        match page == asked {
            true => (200, "<main><h1>T</h1><p><a href=/y>y</a></main>".into()),
            false => (404, "no".into()),
        }
    }

    #[test]
    fn a_long_page_that_says_there_is_nothing_says_so() {
        let (what, body, asked) = made("", "/x.md", &[], |target| match target {
            "/x.md" => (404, "long ".repeat(SMALL_BYTES)),
            target => only("/x", target),
        });
        assert_eq!((what, asked), ("markdown", vec!["/x.md".to_owned(), "/x".to_owned()]), "{body}");
        let (what, _, asked) = made("", "/x.md", &[], |_| (404, "long ".repeat(SMALL_BYTES)));
        assert_eq!((what, asked.len()), ("passed", 3));
    }

    #[test]
    fn links_are_the_operators_and_not_the_clients() {
        let settings = "[site]\norigin = 'https://www.site.example'\n";
        let (_, body, _) = made(settings, "/x.md", &[], |target| only("/x", target));
        assert!(body.contains("(https://www.site.example/y)"), "{body}");
        let (_, body, _) = made("", "/x.md", &[], |target| only("/x", target));
        assert!(body.contains("(http://attacker.example/y)"), "{body}");
    }

    #[test]
    fn another_address_leads_no_further_than_the_pages_own() {
        let (what, _, asked) = made("", "/board.md", &[], |target| only("/board/", target));
        assert_eq!((what, asked), ("nothing", vec!["/board.md".into(), "/board".into(), "/board.html".to_owned()]));
        for target in ["/inner.md", "/inner/x.md", "/inner/index.md", "/%69nner/x.md"] {
            let settings = "[content]\nexclude = ['/inner/*']\n";
            let (what, _, asked) = made(settings, target, &[], |target| match target.ends_with(".md") {
                true => (404, String::new()),
                false => only("", ""),
            });
            assert_eq!(what, "nothing", "{target}: {asked:?}");
            assert!(asked.iter().all(|asked| !asked.starts_with("/inner/") || asked.ends_with(".md")), "{asked:?}");
        }
    }

    #[test]
    fn people_get_what_the_site_has() {
        for sent in [("sec-fetch-mode", "navigate"), ("accept", "text/html,application/xhtml+xml,*/*;q=0.8")] {
            assert_eq!(made("", "/x.md", &[sent], |target| only("/x", target)).0, "not asked", "{sent:?}");
        }
        for sent in [("sec-fetch-mode", "cors"), ("accept", "*/*"), ("accept", "text/markdown, text/html")] {
            assert_eq!(made("", "/x.md", &[sent], |target| only("/x", target)).0, "markdown", "{sent:?}");
        }
    }
}
