//! Login with the operator's token, and logout.

use std::time::Instant;

use http::{HeaderValue, StatusCode, header};
use pingora::protocols::http::ServerSession;

use super::{
    COOKIE, Operator, Told, guard,
    html::Html,
    page, see_other,
    sessions::{self, LONGEST},
    view,
};
use crate::{
    accept,
    admin::{Admin, Answer, body::Form, problem},
    front::head,
};

impl Admin {
    /// Opens a session for a client with the token.
    pub(super) async fn log_in(&self, session: &mut ServerSession) -> Answer {
        let form = match Form::read(session).await {
            Ok(form) => form,
            Err(answer) => return *answer,
        };
        let running = self.live.current();
        let settings = &running.snapshot.settings;
        let Some(expected) = settings.admin.token_sha256 else {
            return self.login_page(StatusCode::FORBIDDEN, None);
        };
        if !guard::is_token(&form.field("token"), &expected) {
            return self.login_page(StatusCode::UNAUTHORIZED, Some("This is not the operator's token."));
        }
        let Some(held) = self.page.sessions.open(expected, Instant::now()) else {
            return problem(StatusCode::SERVICE_UNAVAILABLE, "The kernel gives no random numbers. Try again.");
        };
        let connection = accept::connection();
        let request = session.req_header();
        let tls = connection.as_ref().is_some_and(|connection| connection.tls)
            || head::said_to_be_tls(request, connection.as_deref(), &settings.listen.trusted_proxies);
        let secure = if tls { "; Secure" } else { "" };
        let base = format!("/page/{}/", held.key);
        let age = LONGEST.as_secs();
        let cookie = format!("{COOKIE}={}; Path={base}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}", held.secret);
        let mut answer = see_other(&base);
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        tracing::info!("an operator has logged in to the page");
        answer
    }

    /// Ends a session.
    pub(super) async fn log_out(&self, session: &mut ServerSession, operator: Operator) -> Answer {
        match Form::read(session).await {
            Ok(form) if is_ours(&form, &operator) => {
                self.page.sessions.end(&operator.key);
                see_other("/")
            }
            Ok(_) => self.whole(Some(operator), Some(Told::wrong(FOREIGN)), StatusCode::FORBIDDEN).await,
            Err(answer) => *answer,
        }
    }

    /// The page for a client that has to log in first.
    pub(super) fn login_page(&self, status: StatusCode, why: Option<&'static str>) -> Answer {
        let mut html = Html::default();
        view::begin(&mut html, "Frontdesk: log in", None);
        html.raw("<main class=\"narrow\"><h1>Frontdesk</h1>");
        if let Some(why) = why {
            html.raw("<p class=\"told wrong\" role=\"alert\">").text(why).raw("</p>");
        }
        match self.live.current().snapshot.settings.admin.token_sha256 {
            Some(_) => form(&mut html),
            None => closed(&mut html),
        }
        html.raw("<p><a href=\"/\">The operator's page</a></p></main></body></html>\n");
        let mut answer = page(status, html);
        if status == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

pub(super) const FOREIGN: &str =
    "This form is not of this session. Nothing was done; try again on the page as it is now.";

/// Whether a form came from this session's page.
pub(super) fn is_ours(form: &Form, operator: &Operator) -> bool {
    sessions::same(&form.field("form"), &operator.form)
}

/// The form for the token.
pub(super) fn form(html: &mut Html) {
    html.raw("<form class=\"login\" method=\"post\" action=\"/page/login\"><label for=\"token\">The operator's token</label>")
        .raw("<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required ")
        .raw("spellcheck=\"false\"><button>Log in</button></form>");
}

/// The text if no token is configured.
pub(super) fn closed(html: &mut Html) {
    html.raw("<p>Deciding is closed: there is no token to know the operator by. Make one,</p>")
        .raw("<pre>openssl rand -hex 24 | tee operator.token | tr -d '\\n' | sha256sum</pre>")
        .raw("<p>and put the hash that it prints into the configuration; it is taken into use at once:</p>")
        .raw("<pre>[admin]\ntoken_sha256 = \"…\"</pre><p>Log in with what is in <code>operator.token</code>.</p>");
}
