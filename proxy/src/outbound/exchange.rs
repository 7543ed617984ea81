//! One request and its complete answer, over a connection of either engine.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use frontdesk_filters::desk::{Answer, Call, READ};
use frontdesk_http1::{
    Body,
    field::{FixedName, cased, put},
    framing::{announced, shows_body_was_read},
    hop::check_interim,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header, uri::PathAndQuery};
use pingora::{Error, http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer};

use super::{Outbound, answered};
use crate::{
    label::Label,
    pingora_head::{header_map, invalid},
    upstream::{Backend, Exchange, PooledConn},
};

/// A read timeout far beyond a call's own limit, which another place enforces first.
const WHOLE: Duration = Duration::from_secs(3600);

/// A body up to this size is copied behind its head and sent in one write.
const COPIED: usize = 4 * 1024;
/// The initial capacity for a head.
const HEAD: usize = 1024;

/// Headers that the operator's configuration may not set.
const OURS: [HeaderName; 3] = [header::HOST, header::ACCEPT_ENCODING, header::CONTENT_LENGTH];

static HOST: FixedName = FixedName::new(header::HOST, "Host");
static LENGTH: FixedName = FixedName::new(header::CONTENT_LENGTH, "Content-Length");
static CODING: FixedName = FixedName::new(header::ACCEPT_ENCODING, "Accept-Encoding");
/// Asks for an answer without a content coding.
static NONE: HeaderValue = HeaderValue::from_static("identity");

/// The head of a call to send. Headers that Frontdesk sets appear once.
pub(super) struct Asking<'c> {
    call: &'c Call<'c>,
    target: PathAndQuery,
    host: HeaderValue,
    told: Vec<(Label, HeaderValue)>,
    /// The body's length.
    length: Option<HeaderValue>,
}

impl<'c> Asking<'c> {
    /// `told`: further headers for the upstream. The operator's own headers replace those of the same name.
    pub(super) fn new(
        call: &'c Call<'c>,
        host: HeaderValue,
        told: Vec<(Label, HeaderValue)>,
    ) -> Result<Self, http::Error> {
        // A second copy could frame or route the request in two ways.
        debug_assert!(call.headers.iter().all(|(name, _)| !OURS.contains(name)), "{:?}", call.headers);
        // A method that usually has a body states a length of zero.
        let usual = !matches!(call.method.as_str(), "GET" | "HEAD" | "DELETE" | "OPTIONS");
        let length = (usual || !call.body.is_empty()).then(|| HeaderValue::from(call.body.len()));
        Ok(Self { call, target: PathAndQuery::try_from(call.target.as_str())?, host, told, length })
    }

    /// The `Host` of the request.
    pub(super) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// The header lines, in the order in which they are sent.
    fn lines(&self) -> impl Iterator<Item = (&HeaderName, &str, &HeaderValue)> {
        fn fixed<'v>(label: &'static FixedName, value: &'v HeaderValue) -> (&'v HeaderName, &'v str, &'v HeaderValue) {
            (&label.name, label.cased, value)
        }
        let own = &*self.call.headers;
        let told = self.told.iter().filter(|(label, _)| own.iter().all(|(own, _)| own != label.name()));
        let told = told.map(|(label, value)| (label.name(), label.cased(), value));
        let own = own.iter().map(|(name, value)| (name, cased(name).unwrap_or(name.as_str()), value));
        let length = self.length.iter().map(|length| fixed(&LENGTH, length));
        let theirs =
            self.call.credential.iter().map(|(name, value)| (name, cased(name).unwrap_or(name.as_str()), value));
        let own = own.chain(theirs);
        [fixed(&HOST, &self.host)].into_iter().chain(told).chain(own).chain([fixed(&CODING, &NONE)]).chain(length)
    }

    /// The request in the library's form, which may change the case of names.
    fn request(&self) -> RequestHeader {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = self.call.method.clone();
        head.uri = Uri::from(self.target.clone());
        self.lines().for_each(|(name, _, value)| _ = head.headers.append(name, value.clone()));
        head.into()
    }

    /// The request as bytes of HTTP/1.1.
    fn wire(&self) -> Vec<u8> {
        let mut wire = Vec::with_capacity(HEAD);
        for part in [self.call.method.as_str(), " ", self.target.as_str(), " HTTP/1.1\r\n"] {
            wire.extend_from_slice(part.as_bytes());
        }
        self.lines().for_each(|(_, cased, value)| {
            put(&mut wire, cased.as_bytes(), value.as_bytes());
        });
        wire.extend_from_slice(b"\r\n");
        wire
    }
}

/// A connection that carries one call at a time.
pub(super) enum Line<'a> {
    /// A connection of our own engine.
    Plain(PooledConn, &'a Backend),
    /// A connection of the library. Boxed, because it is the rarer case.
    Library(Box<(HttpSession, HttpPeer)>),
}

impl Line<'_> {
    pub(super) fn library(session: HttpSession, peer: HttpPeer) -> Self {
        Self::Library(Box::new((session, peer)))
    }

    /// Sends a call and reads the whole answer. Then keeps the connection for the next call or closes it.
    pub(super) async fn exchange(self, outbound: &Outbound, asking: &Asking<'_>) -> Result<Answer, Cut> {
        let call = asking.call;
        match self {
            Self::Plain(plain, backend) => {
                // The call's own limit bounds a silent upstream.
                let mut site = Exchange::new(plain, call.limit + WHOLE);
                let answer = exchange_plainly(&mut site, asking).await?;
                if shows_no_body_is_left(call, answer.status) {
                    backend.keep(site, Instant::now());
                }
                Ok(answer)
            }
            Self::Library(line) => {
                let by_library = async {
                    let (mut session, peer) = *line;
                    let answer = exchange(&mut session, asking.request(), &call.body, call.most).await;
                    match &answer {
                        Ok(answer) if session.as_http2().is_some() || shows_no_body_is_left(call, answer.status) => {
                            outbound.keep(session, &peer).await;
                        }
                        _ => session.shutdown().await,
                    }
                    answer
                };
                // Boxed, because most calls do not need it.
                Box::pin(by_library).await
            }
        }
    }
}

/// Whether the upstream can take no rest of the call's body for the next request on the connection.
fn shows_no_body_is_left(call: &Call<'_>, status: StatusCode) -> bool {
    call.body.is_empty() || shows_body_was_read(call.method, status)
}

/// Why there is no complete answer.
pub(super) enum Cut {
    Broken(Box<Error>),
    Headless,
    /// The body exceeds the limit.
    TooLong(StatusCode),
}

impl From<Box<Error>> for Cut {
    fn from(error: Box<Error>) -> Self {
        Self::Broken(error)
    }
}

/// Sends the request and reads the whole answer, of at most so many bytes. The caller bounds the time.
pub(super) async fn exchange(
    session: &mut HttpSession,
    request: RequestHeader,
    body: &Bytes,
    most: usize,
) -> Result<Answer, Cut> {
    let head = answered(session, request, body.clone()).await?.ok_or(Cut::Headless)?;
    let (status, headers) = (head.status, head.headers.clone());
    if announced(&headers).is_some_and(|length| length > most as u64) {
        return Err(Cut::TooLong(status));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = session.read_response_body().await? {
        if body.len() + chunk.len() > most {
            return Err(Cut::TooLong(status));
        }
        // Most answers come in one piece.
        if body.is_empty() && session.response_done() {
            return Ok(Answer { status, headers, body: chunk });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}

/// The same in our own engine. It returns only the headers that the handling of answers reads.
async fn exchange_plainly(site: &mut Exchange, asking: &Asking<'_>) -> Result<Answer, Cut> {
    let call @ Call { body, most, .. } = asking.call;
    let mut wire = asking.wire();
    if body.len() <= COPIED {
        wire.extend_from_slice(body);
        site.ask(&wire).await?;
    } else {
        site.ask(&wire).await?;
        site.ask(body).await?;
    }
    let mut interim = 0;
    let head = loop {
        let head = site.head().await?;
        if !head.status.is_informational() {
            break head;
        }
        interim += 1;
        check_interim(head.status, &HeaderMap::new(), interim, None).map_err(invalid)?;
    };
    let framing = site.expect(call.method, &head)?;
    let status = head.status;
    if matches!(framing.body, Body::Length(length) if length > *most as u64) {
        return Err(Cut::TooLong(status));
    }
    let is_read = |name: &[u8]| READ.iter().any(|read| read.as_str().as_bytes().eq_ignore_ascii_case(name));
    let headers = header_map(&head, 0, |line| is_read(line.name))?;
    drop(head);
    let mut body = BytesMut::new();
    while !site.is_done() {
        let Some(part) = site.part().await? else { break };
        if body.len() + part.len() > *most {
            return Err(Cut::TooLong(status));
        }
        if body.is_empty() && site.is_done() {
            // Copy it, so that a kept answer does not keep the whole read buffer.
            body = BytesMut::from(&part[..]);
            break;
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}
