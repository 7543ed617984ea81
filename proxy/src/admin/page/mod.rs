//! The operator's page: the agents' activity, the state of Frontdesk, and the desk where a person answers questions.
//!
//! The server renders everything, so the page works without a script; the script only refreshes it. Every client that
//! may read the admin address may read the page. Answering questions needs a session, which the operator's token opens.

mod behind;
mod calls;
mod chart;
mod config;
mod desk;
mod document;
mod html;
mod limits;
mod login;
mod refused;
mod sessions;
mod traffic;
mod unanswered;
mod view;

use std::time::Instant;

use frontdesk_filters::accept;
use http::{HeaderValue, Method, StatusCode, header};
use pingora::{http::RequestHeader, protocols::http::ServerSession};

use super::{Admin, Answer, guard, not_allowed, problem, with_type};
use html::Html;
use sessions::Sessions;
use view::{Told, View};

/// The page loads nothing from other origins, runs no inline script, and cannot be framed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
const ICON: &str = include_str!("assets/icon.svg");

/// The name of the cookie.
const COOKIE: &str = "frontdesk-operator";

/// The state of the page between requests.
#[derive(Default)]
pub struct Page {
    sessions: Sessions,
}

/// Whether the client prefers the page to the list of paths, as browsers do and command-line clients do not.
pub(super) fn is_wanted(request: &RequestHeader) -> bool {
    accept::of(&request.headers).is_some_and(|accept| accept::names(&accept, "text/html"))
}

/// An operator who has logged in.
struct Operator {
    /// The base path of their page: `/page/KEY`.
    base: String,
    key: String,
    /// The CSRF value in their forms.
    form: String,
}

impl Admin {
    /// The page without a session.
    pub(super) async fn front_page(&self, request: &RequestHeader) -> Answer {
        match guard::check_operator(request, &self.live) {
            Ok(()) => self.whole(None, None, StatusCode::OK).await,
            Err(refusal) => self.login_page(refusal.status(), None),
        }
    }

    /// Handles all paths under `/page/`.
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

    /// Handles the paths that need a session.
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

    /// The operator of a session, if the request carries its cookie.
    fn operator(&self, request: &RequestHeader, key: &str, uses: bool) -> Option<Operator> {
        let token = self.live.current().snapshot.settings.admin.token_sha256?;
        let secret = cookies(request).find_map(|(name, value)| (name == COOKIE).then_some(value))?;
        let known = self.page.sessions.knows(key, secret, token, Instant::now(), uses);
        known.then(|| Operator { base: format!("/page/{key}"), key: key.into(), form: sessions::form_token(secret) })
    }

    /// The whole page; `told`: the outcome of the form that was just sent.
    async fn whole(&self, operator: Option<Operator>, told: Option<Told>, status: StatusCode) -> Answer {
        let view = View::new(self, operator).await;
        page(status, view.document(told))
    }

    /// The refreshed sections.
    async fn live_part(&self, operator: Option<Operator>) -> Answer {
        let view = View::new(self, operator).await;
        page(StatusCode::OK, view.live())
    }
}

fn cookies(request: &RequestHeader) -> impl Iterator<Item = (&str, &str)> {
    let lines = request.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// A response with a page.
fn page(status: StatusCode, html: Html) -> Answer {
    let mut answer = with_type(status, "text/html; charset=utf-8", html.into_bytes());
    // A form is sent with its origin, and other sites get no referrer.
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

/// Headers that fix the content type and keep other origins from reading the response.
fn guarded(mut answer: Answer) -> Answer {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Redirects with GET.
fn see_other(location: &str) -> Answer {
    let mut answer = with_type(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Vec::new());
    if let Ok(location) = HeaderValue::try_from(location) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}
