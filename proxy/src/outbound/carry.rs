//! Calls of the desk, carried to the site or to another service: one request, one whole answer, within its bounds.

use std::time::Instant;

use async_trait::async_trait;
use frontdesk_filters::desk::{Answer, Call, Failed, Upstream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use pingora::{Error, ErrorSource, ErrorType, http::RequestHeader, upstreams::peer::HttpPeer};
use tokio::time::timeout;
use url::Url;

use super::{
    Outbound,
    exchange::{Cut, Line},
    named::Named,
};
use crate::{
    live::Running,
    traces::{Place, Span},
    upstream::{Backend, UNRESOLVED},
};

/// Tries of a connection, each to the next upstream in turn. No byte has left before one is there.
const TRIES: usize = 2;

/// What is said of the site that was asked, and not of who asked.
const OF_THE_SITE: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-host"), HeaderName::from_static("x-forwarded-proto")];

const NO_CODING: (HeaderName, HeaderValue) = (header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));

/// Carries the calls of one request.
pub struct Carrier<'a> {
    pub outbound: &'a Outbound,
    pub running: &'a Running,
    /// What the site is told of where the request came from. Who was verified stands in the call itself: it may have been
    /// proven by what only the body says.
    pub told: &'a (dyn Fn() -> pingora::Result<HeaderMap> + Send + Sync),
    /// What it is done for, while traces are made.
    pub trace: Option<&'a Place>,
}

#[async_trait]
impl Upstream for Carrier<'_> {
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed> {
        let mut sent = false;
        // Not which path: inputs are in that.
        let at = call.elsewhere.map(|url| url.origin().ascii_serialization());
        let span = self.trace.map(|place| place.question(call.method, at.as_deref(), ""));
        let result = match timeout(call.limit, self.carry(&call, span.as_ref().map(Span::place), &mut sent)).await {
            Ok(result) => result,
            Err(_) if sent => Err(Failed::TimedOut),
            Err(_) => {
                // Not where to: its inputs are in that.
                tracing::warn!(method = %call.method, "a call of the desk could not be sent in time");
                Err(Failed::NotSent)
            }
        };
        if let Some(span) = span {
            span.got(match &result {
                Ok(answer) => Ok(answer.status.as_u16()),
                Err(Failed::TooLong(status)) => Ok(status.as_u16()),
                Err(Failed::TimedOut) => Err("timeout"),
                Err(Failed::NotSent) => Err("unreachable"),
                Err(Failed::Busy) => Err("busy"),
                Err(Failed::Broken) => Err("broken"),
            });
        }
        result
    }
}

impl Carrier<'_> {
    async fn carry(&self, call: &Call<'_>, span: Option<&Place>, sent: &mut bool) -> Result<Answer, Failed> {
        // Another service is not the site.
        let _place = match call.elsewhere {
            None => Some(self.running.pool.place().ok_or(Failed::Busy)?),
            Some(_) => None,
        };
        let (line, request) = self.connected(call, span).await?;
        *sent = true;
        line.exchange(self.outbound, request, call).await.map_err(|cut| match cut {
            Cut::Broken(e) => broken(&e),
            Cut::Headless => Failed::Broken,
            Cut::TooLong(status) => Failed::TooLong(status),
        })
    }

    async fn connected(&self, call: &Call<'_>, span: Option<&Place>) -> Result<(Line<'_>, RequestHeader), Failed> {
        if let Some(url) = call.elsewhere {
            let (peer, host) = elsewhere(url).await.map_err(|why| not_sent(url.as_str(), &why))?;
            let request = dressed(HeaderMap::with_capacity(16), host, call);
            let request = request.map_err(|e| not_sent(url.as_str(), &e.to_string()))?;
            let session = self.outbound.connected(&peer).await;
            let session = session.map_err(|e| not_sent(url.as_str(), &e.to_string()))?;
            return Ok((Line::library(session, peer), request));
        }
        let pool = &self.running.pool;
        let mut tried = None;
        for _ in 0..TRIES {
            let index = pool.choose(tried);
            let backend = &pool.backends()[index];
            let mut told = (self.told)().map_err(|e| not_sent(&backend.label, &e.to_string()))?;
            let host = told.remove(header::HOST).filter(|_| self.running.snapshot.settings.upstream.preserve_host);
            let host = host.unwrap_or_else(|| backend.authority.clone());
            match call.caller {
                Some(caller) if call.named => told.extend(caller.told()),
                Some(_) => {}
                None => {
                    let of_the_site = told.iter().filter(|(name, _)| OF_THE_SITE.contains(name));
                    told = of_the_site.map(|(name, value)| (name.clone(), value.clone())).collect();
                }
            }
            // Another service is not told: a trace is this operator's.
            if let Some(span) = span {
                span.tell(&mut told);
            }
            let request = dressed(told, host, call).map_err(|e| not_sent(&backend.label, &e.to_string()))?;
            match self.line(backend).await {
                Ok(line) => return Ok((line, request)),
                Err(e) if *e.etype() == UNRESOLVED => {
                    return Err(not_sent(&backend.label, "its name cannot be resolved"));
                }
                Err(e) => {
                    pool.refused(index);
                    tracing::warn!(upstream = backend.label, error = %e, "an upstream refused a call of the desk");
                    tried = Some(index);
                }
            }
        }
        Err(Failed::NotSent)
    }

    /// A connection to an upstream of the site, kept or new.
    async fn line<'a>(&self, backend: &'a Backend) -> pingora::Result<Line<'a>> {
        if backend.is_plain() {
            return backend.connect(Instant::now()).await.map(|plain| Line::Plain(plain, backend));
        }
        let peer = backend.peer().await?;
        self.outbound.connected(&peer).await.map(|session| Line::library(session, peer))
    }
}

/// The head of the request. Its names go out as the library writes them: no case of anybody's is to be kept.
fn dressed(mut headers: HeaderMap, host: HeaderValue, call: &Call<'_>) -> Result<RequestHeader, http::Error> {
    headers.insert(header::HOST, host);
    for (name, value) in call.headers.iter().cloned().chain([NO_CODING]) {
        headers.insert(name, value);
    }
    // A method that usually has a body says that there is none.
    if !call.body.is_empty() || !matches!(call.method.as_str(), "GET" | "HEAD" | "DELETE" | "OPTIONS") {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(call.body.len()));
    }
    let (mut head, ()) = Request::new(()).into_parts();
    head.method = call.method.clone();
    head.uri = Uri::builder().path_and_query(call.target.as_str()).build()?;
    head.headers = headers;
    Ok(head.into())
}

/// Another service, its certificate verified by the roots of this machine.
async fn elsewhere(url: &Url) -> Result<(HttpPeer, HeaderValue), String> {
    let named = Named::of(url)?;
    let peer = named.peer().await?;
    Ok((peer, HeaderValue::try_from(named.authority()).map_err(|e| e.to_string())?))
}

fn not_sent(whom: &str, why: &str) -> Failed {
    tracing::warn!(upstream = whom, error = why, "a call of the desk was not sent");
    Failed::NotSent
}

fn broken(e: &Error) -> Failed {
    tracing::warn!(error = %e, "a call of the desk got no whole answer");
    match (e.esource(), e.etype()) {
        (ErrorSource::Upstream | ErrorSource::Unset, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => {
            Failed::TimedOut
        }
        _ => Failed::Broken,
    }
}
