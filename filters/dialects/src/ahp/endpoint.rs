//! AHP's endpoints: for questions, and for later answers.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    Converse, DIALECT,
    conversed::Conversed,
    later,
    question::{Question, Wrong},
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    strict,
};
use frontdesk_config::Settings;
use frontdesk_desk::{
    {
        Desk, not_kept,
        ticket::{Ticket, Tickets},
    },
    {Incoming, Serve, Served},
};

/// `POST` of a question (§6.1).
#[derive(Debug)]
struct Asked {
    converse: Arc<Converse>,
}

#[async_trait]
impl Serve for Asked {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        served(match body(request).and_then(|body| Ok(Question::read(body, None)?)) {
            Ok(question) => self.converse.converse(desk, request, question, DIALECT.name).await,
            Err(conversed) => *conversed,
        })
    }

    fn most(&self, settings: &Settings) -> usize {
        settings.sessions.max_body
    }
}

/// The JSON object in the body.
///
/// # Errors
///
/// What is wrong with it.
pub fn body(request: &Incoming<'_>) -> Result<Map<String, Value>, Box<Conversed>> {
    request.takes_json().map_err(|unfit| {
        let conversed = Conversed::wrong(Wrong::Invalid(unfit.detail("application/json")));
        Box::new(Conversed { status: http::StatusCode::UNSUPPORTED_MEDIA_TYPE, ..conversed })
    })?;
    strict::object(&request.body).map_err(|why| Wrong::Invalid(why).into())
}

/// A response as an HTTP reply.
pub fn served(mut conversed: Conversed) -> Served {
    let (reason, account) = (conversed.turn.reason(), conversed.account.take());
    Served { reason, account, ..conversed.reply().into() }
}

/// `GET` of a later answer (§9.1).
#[derive(Debug)]
struct Status {
    converse: Arc<Converse>,
}

#[async_trait]
impl Serve for Status {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        let id = places.first().map(|(_, id)| id.as_str()).unwrap_or_default();
        match look(desk, request, id).await {
            Ok(ticket) => {
                let polled = later::polled(&self.converse, &ticket);
                let flags = frontdesk_firewall::header(polled.flags());
                let mut served = served(polled.into());
                served.reply.headers.extend(flags);
                served
            }
            Err(refusal) => served(Conversed::refused(&refusal)),
        }
    }
}

async fn look(desk: &Desk<'_>, request: &Incoming<'_>, id: &str) -> Result<Ticket, Refusal> {
    let found = Tickets::of(desk).look(id, request.caller).await;
    // The call in question may be running, or done.
    let away = |why| not_kept(why).saying("The store is unavailable. Try again later.");
    let unknown = || Refusal::from(Fault::NotFound).saying("Nothing is known here under this id, or it is over.");
    found.map_err(away)?.ok_or_else(unknown)
}

/// Paths below an endpoint that do not exist.
#[derive(Debug)]
struct Nothing;

#[async_trait]
impl Serve for Nothing {
    async fn serve(&self, _: &Desk<'_>, _: &Incoming<'_>, _: &[(String, String)]) -> Served {
        served(Conversed::refused(&Fault::NotFound.into()))
    }
}

pub fn nothing() -> Arc<dyn Serve> {
    Arc::new(Nothing)
}

/// The handler for the table of endpoints.
pub(super) fn asked(converse: &Arc<Converse>) -> Arc<dyn Serve> {
    Arc::new(Asked { converse: converse.clone() })
}

pub(super) fn status(converse: &Arc<Converse>) -> Arc<dyn Serve> {
    Arc::new(Status { converse: converse.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use frontdesk_caller::Caller;
    use http::{HeaderMap, HeaderName, HeaderValue, Method};

    #[test]
    fn a_page_says_what_it_sends() {
        let caller = Caller::at([192, 0, 2, 1].into());
        let taken = |named: &[(&'static str, &'static [u8])]| {
            let named = named
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap()));
            let headers: HeaderMap = named.collect();
            body(&Incoming {
                method: &Method::POST,
                target: "/agent/converse",
                headers: &headers,
                body: Bytes::from_static(b"{}"),
                caller: &caller,
                authority: "site.test",
                request_id: "r",
                framed: None,
                events: None,
            })
            .map_err(|conversed| conversed.status.as_u16())
        };
        let json: (&str, &[u8]) = ("content-type", b"application/json");
        let foreign: (&str, &[u8]) = ("origin", b"https://evil.test");
        assert!(taken(&[]).is_ok() && taken(&[json]).is_ok() && taken(&[json, foreign]).is_ok());
        assert!(taken(&[("sec-fetch-site", b"same-origin")]).is_ok());
        assert_eq!(taken(&[foreign]), Err(415));
        assert_eq!(taken(&[("origin", b"null")]), Err(415));
        assert_eq!(taken(&[("sec-fetch-site", b"cross-site")]), Err(415));
        assert_eq!(taken(&[foreign, ("content-type", b"text/plain;x=\xff")]), Err(415));
        assert_eq!(taken(&[("content-type", b"text/plain;x=\xff")]), Err(415));
    }
}
