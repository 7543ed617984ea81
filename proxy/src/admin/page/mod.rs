//! The operator's page: what agents do, how Frontdesk is, and the desk where a person answers.
//!
//! Everything is rendered here, so that it can be read without a script; the script only fetches it anew. Reading is for
//! whoever may read the rest of this address. Answering takes a session, which the operator's token opens.

mod behind;
mod calls;
mod chart;
mod config;
mod desk;
mod html;
mod limits;
mod login;
mod refused;
mod sessions;
mod traffic;
mod view;

use std::time::Instant;

use frontdesk_filters::accept;
use http::{HeaderValue, Method, StatusCode, header};
use pingora::{http::RequestHeader, protocols::http::ServerSession};

use super::{Admin, Answer, guard, not_allowed, problem, with_type};
use html::Html;
use sessions::Sessions;
use view::{Told, View};

/// Nothing from anywhere else, nothing written into the page that runs, and nobody puts it into a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
const ICON: &str = include_str!("assets/icon.svg");

/// Of the cookie.
const COOKIE: &str = "frontdesk-operator";

/// What the page keeps between requests.
#[derive(Default)]
pub struct Page {
    sessions: Sessions,
}

/// Whether a client would rather see a page than the list of addresses: a browser says so, command lines do not.
pub(super) fn is_wanted(request: &RequestHeader) -> bool {
    accept::of(&request.headers).is_some_and(|accept| accept::names(&accept, "text/html"))
}

/// Somebody who has logged in.
struct Operator {
    /// Where their page is: `/page/KEY`.
    base: String,
    key: String,
    /// What their forms carry.
    form: String,
}

impl Admin {
    /// The page where everybody finds it.
    pub(super) async fn front_page(&self, request: &RequestHeader) -> Answer {
        match guard::check_operator(request, &self.live) {
            Ok(()) => self.whole(None, None, StatusCode::OK).await,
            Err(refusal) => self.login_page(refusal.status(), None),
        }
    }

    /// Whatever is under `/page/`.
    pub(super) async fn page(&self, session: &mut ServerSession, path: &str) -> Answer {
        let request = session.req_header();
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let posts = request.method == Method::POST;
        match (path, reads, posts) {
            ("style.css", true, _) => asset("text/css; charset=utf-8", STYLE),
            ("script.js", true, _) => asset("text/javascript; charset=utf-8", SCRIPT),
            ("icon.svg", true, _) => asset("image/svg+xml", ICON),
            ("live", true, _) => match guard::check_operator(request, &self.live) {
                Ok(()) => self.live_part(None).await,
                Err(refusal) => *refusal,
            },
            ("login", _, true) => self.log_in(session).await,
            ("style.css" | "script.js" | "icon.svg" | "live", ..) => not_allowed("GET, HEAD"),
            ("login", ..) => not_allowed("POST"),
            _ => match path.split_once('/') {
                Some((key, what @ ("" | "live" | "answer" | "logout"))) => {
                    let (key, what) = (key.to_owned(), what.to_owned());
                    self.operators(session, &key, &what, (reads, posts)).await
                }
                _ => problem(StatusCode::NOT_FOUND, "There is nothing here. GET / lists what there is."),
            },
        }
    }

    /// What is for somebody who has logged in.
    async fn operators(
        &self,
        session: &mut ServerSession,
        key: &str,
        what: &str,
        (reads, posts): (bool, bool),
    ) -> Answer {
        let Some(operator) = self.operator(session.req_header(), key, what != "live") else {
            return self.login_page(StatusCode::UNAUTHORIZED, Some("This session is over. Log in again."));
        };
        match (what, reads, posts) {
            ("", true, _) => self.whole(Some(operator), None, StatusCode::OK).await,
            ("live", true, _) => self.live_part(Some(operator)).await,
            ("answer", _, true) => self.answer_by_form(session, operator).await,
            ("logout", _, true) => self.log_out(session, operator).await,
            ("" | "live", ..) => not_allowed("GET, HEAD"),
            _ => not_allowed("POST"),
        }
    }

    /// Who has logged in, and is asked for with the very cookie that came with it.
    fn operator(&self, request: &RequestHeader, key: &str, uses: bool) -> Option<Operator> {
        let token = self.live.current().snapshot.settings.admin.token_sha256?;
        let secret = cookies(request).find_map(|(name, value)| (name == COOKIE).then_some(value))?;
        let known = self.page.sessions.knows(key, secret, token, Instant::now(), uses);
        known.then(|| Operator { base: format!("/page/{key}"), key: key.into(), form: sessions::form_token(secret) })
    }

    /// The whole page; `told` is what came of what was just sent.
    async fn whole(&self, operator: Option<Operator>, told: Option<Told>, status: StatusCode) -> Answer {
        let view = View::new(self, operator).await;
        page(status, view.document(told))
    }

    /// What of it changes by itself.
    async fn live_part(&self, operator: Option<Operator>) -> Answer {
        let view = View::new(self, operator).await;
        page(StatusCode::OK, view.live())
    }
}

fn cookies(request: &RequestHeader) -> impl Iterator<Item = (&str, &str)> {
    let lines = request.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// A page of ours.
fn page(status: StatusCode, html: Html) -> Answer {
    let mut answer = with_type(status, "text/html; charset=utf-8", html.into_bytes());
    // A form is sent with the origin it came from, and nobody else is told where it was.
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::VARY, "Accept, Cookie"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    guarded(answer)
}

fn asset(kind: &'static str, text: &str) -> Answer {
    guarded(with_type(StatusCode::OK, kind, text.as_bytes().to_vec()))
}

/// What it is is what we say it is, and no page of another origin gets at it.
fn guarded(mut answer: Answer) -> Answer {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Goes on there, with GET.
fn see_other(location: &str) -> Answer {
    let mut answer = with_type(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Vec::new());
    if let Ok(location) = HeaderValue::try_from(location) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}
