//! Previews what Frontdesk would answer in front of a site, from answers that were fetched from that site before.
//!
//! The preview runs the same decisions as a request does, with the configuration of `frontdesk run --upstream URL`. It
//! sends no request: what was not fetched counts as missing at the site.

use std::{
    future::Future,
    net::Ipv4Addr,
    panic::{self, AssertUnwindSafe},
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

use crate::{
    Decision, Got, Learned, Question, Request, Site, Snapshot, Work, content, decide,
    desk::Answer,
    dialect::{self, Occupied, Seen},
    discovery::{Contents, links},
    make, media,
    page::{Coding, Rewriter, markdown::Written},
    reply::Reply,
    site::{Nowhere, Settings, declare_text},
    state::{Amount, Away, Counters, Level, Limit, Settlement, TOGETHER, Taken},
};

/// The answers that were fetched from the site.
pub trait KnownSite: Send + Sync {
    /// The answer at this path and query. `markdown`: it was asked for Markdown first.
    fn answer(&self, target: &str, markdown: bool) -> Option<Answer>;
}

/// Frontdesk without a configuration, in front of one site.
pub struct Preview {
    snapshot: Snapshot,
    authority: String,
    tls: bool,
}

impl Preview {
    /// The paths that tell whether the site has documents of its own.
    pub fn probes() -> Vec<String> {
        let settings = settings("http://127.0.0.1:9");
        let probes = settings.map(|declaration| dialect::probes(&declaration.settings)).unwrap_or_default();
        probes.into_iter().map(|probe| probe.path).collect()
    }

    /// In front of the site at this origin. `page` is the page that was read, `nowhere` a path that no site has.
    pub fn new(base: &Url, page: &str, nowhere: &str, site: &dyn KnownSite) -> Option<Self> {
        let mut declaration = settings(&base.origin().ascii_serialization())?;
        // Documents of the site's origin, as those who ask there see them.
        declaration.settings.site.origin.get_or_insert_with(|| base.origin().ascii_serialization());
        let learned = Learned {
            occupied: occupied(&declaration.settings, nowhere, site),
            contents: contents(base, page, site),
            ..Learned::default()
        };
        let snapshot = Snapshot::compile(&declaration, &learned);
        let authority = base[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        Some(Self { snapshot, authority, tls: base.scheme() == "https" })
    }

    /// The answer to a GET of this path and query with this `Accept`.
    pub fn answer(&self, target: &str, accept: &str, site: &dyn KnownSite) -> Answer {
        let headers = HeaderValue::from_str(accept).map(|accept| HeaderMap::from_iter([(header::ACCEPT, accept)]));
        let headers = headers.unwrap_or_default();
        let request = Request {
            method: &Method::GET,
            target,
            headers: &headers,
            address: Ipv4Addr::LOCALHOST.into(),
            authority: &self.authority,
            tls: self.tls,
            now: 0,
            harness: None,
            token_server: None,
            records: None,
        };
        let wants_markdown = is_markdown_first(accept);
        // The parser of pages processes untrusted input, deep within a library.
        let decided = panic::catch_unwind(AssertUnwindSafe(|| {
            ready(async {
                let decided = decide(&self.snapshot, &Unlimited, &request).await;
                match decided.decision {
                    Decision::Make(making) => {
                        let site = Fetched { site, wants_markdown };
                        make(&self.snapshot, &Unlimited, &request, &decided.caller, making, &site).await.decision
                    }
                    decision => decision,
                }
            })
        }));
        match decided.ok().flatten() {
            Some(Decision::Answer(reply) | Decision::Refuse(reply, _)) => {
                self.linked(answer_of(reply), links::Answer::Other, target)
            }
            // A call: what it answers depends on its body.
            Some(Decision::Serve(_)) => missing(StatusCode::METHOD_NOT_ALLOWED),
            Some(Decision::Pass | Decision::Make(_)) | None => {
                let site = site.answer(target, wants_markdown);
                self.passed(target, site.unwrap_or_else(|| missing(StatusCode::NOT_FOUND)))
            }
        }
    }

    /// The site's answer, with what Frontdesk adds to it.
    fn passed(&self, target: &str, mut answer: Answer) -> Answer {
        let html = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let html = html.is_some_and(|kind| media::essence(kind).eq_ignore_ascii_case("text/html"));
        let has_markdown = answer.status == StatusCode::OK && !self.snapshot.excludes(target);
        if let (true, Some((insertion, _))) = (html && !answer.body.is_empty(), &self.snapshot.insertion) {
            let policies = answer.headers.get_all(header::CONTENT_SECURITY_POLICY);
            let of_page = if answer.status == StatusCode::OK {
                insertion.of_page(has_markdown.then_some(target), policies.iter().map(HeaderValue::as_bytes))
            } else {
                Bytes::new()
            };
            let mut rewriter = Rewriter::new(Coding::Identity, insertion.clone()).of_page(of_page);
            let fed = rewriter.feed(answer.body.clone());
            if let (Ok(parts), Ok(end)) = (fed, rewriter.finish()) {
                answer.body = parts.and(end).joined();
            }
        }
        let kind = match (html, has_markdown) {
            (false, _) => links::Answer::Other,
            (true, false) => links::Answer::Page,
            (true, true) => links::Answer::PageWithMarkdown,
        };
        self.linked(answer, kind, target)
    }

    fn linked(&self, mut answer: Answer, kind: links::Answer, target: &str) -> Answer {
        if let Some(link) = self.snapshot.links.of(kind, target) {
            answer.headers.append(header::LINK, link.value());
        }
        answer
    }
}

fn settings(upstream: &str) -> Option<crate::site::Declaration> {
    let text = format!("[upstream]\nurl = {}\n", serde_json::Value::from(upstream));
    declare_text(Path::new("--upstream"), &text, &Nowhere).ok()
}

/// Which paths the site uses itself, as Frontdesk learns at its start.
fn occupied(settings: &Settings, nowhere: &str, site: &dyn KnownSite) -> Occupied {
    let seen = |answer: Option<Answer>| {
        let answer = answer.unwrap_or_else(|| missing(StatusCode::NOT_FOUND));
        let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        Seen { status: answer.status, kind: kind.to_owned() }
    };
    let nowhere = seen(site.answer(nowhere, false));
    let mut occupied = Occupied::default();
    for probe in dialect::probes(settings) {
        if (probe.is_own)(&seen(site.answer(&probe.path, false)), &nowhere) {
            occupied.insert(probe.path);
        }
    }
    occupied
}

/// The pages as far as they are known: the one that was read.
fn contents(base: &Url, page: &str, site: &dyn KnownSite) -> Option<Arc<Contents>> {
    let answer = site.answer(page, false).filter(|answer| answer.status == StatusCode::OK)?;
    let kind = answer.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let at = base.join(page).ok()?;
    let read = panic::catch_unwind(|| content::read(&content::text(&answer.body, kind)?, &at)).ok()??;
    Some(Arc::new(Contents::new(vec![content::crawl::Dated { page: Arc::new(read), modified: None }], None)))
}

fn answer_of(reply: Reply) -> Answer {
    let mut headers = HeaderMap::new();
    for (name, value) in reply.headers {
        headers.append(name, value);
    }
    Answer { status: reply.status, headers, body: reply.body }
}

fn missing(status: StatusCode) -> Answer {
    Answer { status, headers: HeaderMap::new(), body: Bytes::new() }
}

/// Whether an `Accept` asks for Markdown first.
pub fn is_markdown_first(accept: &str) -> bool {
    accept.trim_start().starts_with("text/markdown")
}

/// The site behind one request.
struct Fetched<'a> {
    site: &'a dyn KnownSite,
    /// The client's own `Accept` asks for Markdown.
    wants_markdown: bool,
}

#[async_trait]
impl Site for Fetched<'_> {
    async fn get(&self, question: Question<'_>) -> Option<Got> {
        let markdown = question.accept.map_or(self.wants_markdown, is_markdown_first);
        let answer = self.site.answer(question.target, markdown);
        // A site that was asked in one way only answers the other way alike.
        let answer = answer.or_else(|| self.site.answer(question.target, !markdown));
        Some(Got::Whole(answer.unwrap_or_else(|| missing(StatusCode::NOT_FOUND))))
    }

    async fn work(&self, _: usize, work: Work) -> Option<Written> {
        work()
    }
}

/// Counters without a bound: nothing is counted in a preview.
struct Unlimited;

#[async_trait]
impl Counters for Unlimited {
    async fn take(&self, _: &[Limit], amount: Amount) -> Result<Taken, Away> {
        Ok(Taken { granted: Some(amount.wanted), levels: [Level::default(); TOGETHER] })
    }

    async fn settle(&self, _: &[Settlement]) -> Result<(), Away> {
        Ok(())
    }
}

/// The result of a future that never waits; `None` where it does.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl KnownSite for Plain {
        fn answer(&self, target: &str, _: bool) -> Option<Answer> {
            let headers =
                HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))]);
            let body = "<!doctype html><html><head><title>Lamps</title></head><body><main><h1>Lamps</h1><p>We sell \
                        lamps.</p></main></body></html>";
            (target == "/").then(|| Answer { status: StatusCode::OK, headers, body: body.into() })
        }
    }

    #[test]
    fn a_plain_site_is_answered_as_frontdesk_would() {
        let preview = Preview::new(&Url::parse("https://a.example").unwrap(), "/", "/none", &Plain).unwrap();
        let markdown = preview.answer("/", "text/markdown", &Plain);
        assert_eq!(markdown.headers[header::CONTENT_TYPE], "text/markdown; charset=utf-8");
        assert!(String::from_utf8_lossy(&markdown.body).contains("# Lamps"));
        let page = preview.answer("/", "text/html", &Plain);
        assert!(page.headers.contains_key(header::LINK));
        let body = String::from_utf8_lossy(&page.body).into_owned();
        assert!(body.contains("rel=\"alternate\"") && body.contains("ahp-notice"), "{body}");
        assert_eq!(preview.answer("/.well-known/api-catalog", "*/*", &Plain).status, 200);
        assert_eq!(preview.answer("/nothing", "text/html", &Plain).status, 404);
    }

    #[test]
    fn what_the_site_has_itself_stays_in_the_preview() {
        struct Own;
        impl KnownSite for Own {
            fn answer(&self, target: &str, markdown: bool) -> Option<Answer> {
                let headers =
                    HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
                let own = Answer { status: StatusCode::OK, headers, body: "{\"own\":1}".into() };
                if target == "/.well-known/api-catalog" { Some(own) } else { Plain.answer(target, markdown) }
            }
        }
        let preview = Preview::new(&Url::parse("https://a.example").unwrap(), "/", "/none", &Own).unwrap();
        assert_eq!(preview.answer("/.well-known/api-catalog", "*/*", &Own).body, "{\"own\":1}");
    }
}
