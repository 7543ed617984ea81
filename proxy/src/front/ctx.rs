//! What one request carries through the phases.

use std::{
    os::fd::RawFd,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::{Decision, Serve, caller::Caller, discovery::links};
use http::{StatusCode, Version, header};
use pingora::http::RequestHeader;

use super::{
    abandon::{AbandonTimer, Unaccounted},
    reader_pace::ReaderWatch,
    request_id,
    upload_pace::UploadWatch,
};
use crate::{
    accept::ConnInfo,
    access::Line,
    engine::{Engine, LeftFastPath},
    live::Live,
    outbound::PageMemory,
    rewrite::{Asked, Touched},
    running::Running,
    traces::{self, Trace},
    upstream::Place,
};

/// The state of one request.
pub struct Ctx {
    pub began: Instant,
    pub connection: Option<Arc<ConnInfo>>,
    /// Taken once, in the first phase.
    pub running: Option<Arc<Running>>,
    /// An upgrade or an event stream is asked for: once it has begun, silence is normal.
    pub may_be_silent: bool,
    /// Bounds the wait for the head of such an answer, or for the rest of a request that was answered early.
    pub abandon_timer: Option<AbandonTimer>,
    /// The site has told a client that held its body back to go on.
    pub wants_body: bool,
    /// How many interim answers the site has given.
    pub interim: usize,
    /// For how many seconds the client's connection may be kept; `None`: it closes.
    pub keepalive: Option<u64>,
    /// It went to the site.
    pub passed: bool,
    pub upstream: Option<usize>,
    /// One of the requests at a time that the site takes, until its answer is over.
    pub place: Option<Place>,
    /// Room in memory for what is answered.
    pub held: Option<PageMemory>,
    /// The upstream that refused the connection.
    pub tried: Option<usize>,
    /// It was sent, and sent once more or not worth it.
    pub repeated: bool,
    pub upstream_began: Option<Instant>,
    /// The library's socket to the upstream, for as long as the request is under way there.
    pub upstream_socket: Option<RawFd>,
    pub upstream_took: Option<Duration>,
    pub asked: Asked,
    pub page: Touched,
    /// What the added `Link` is for.
    pub link_for: links::Answer,
    pub client: Option<std::net::IpAddr>,
    /// Who is asking, once that was looked at.
    pub caller: Option<Caller>,
    /// It asked for what is there for agents.
    pub agents: bool,
    /// What the request is called in every record of it, once somebody asked.
    pub request_id: Option<String>,
    /// The capability that was called and refused, by its id.
    pub called: Option<String>,
    /// Who finishes whatever is told, a refusal too.
    pub finish: Option<Arc<dyn Serve>>,
    /// What becomes of it, where that was decided before the library read it.
    pub decided: Option<Decision>,
    pub error: Option<&'static str>,
    /// The status that the site answered with, once it has.
    pub status: StatusCode,
    /// The request has a body.
    pub sends_body: bool,
    /// Its connection to the site carries no other client's requests.
    pub has_own_connections: bool,
    /// The head of the request has gone up, on the connection that it has now.
    pub head_sent: bool,
    /// The site keeps its connection for another request, as its answer says (HTTP/1).
    pub site_keeps: bool,
    /// Bytes of the site's answer that have arrived.
    pub answer_bytes: usize,
    /// Ends the request where a client over HTTP/2 reads its answer too slowly.
    pub(super) reading: Option<ReaderWatch>,
    /// The site has answered in full before it had the whole request.
    pub answered_early: bool,
    pub(super) unaccounted: Option<Box<Unaccounted>>,
    /// Ends the request where its body comes too slowly.
    pub(super) upload: Option<UploadWatch>,
    /// Its spans, while traces are made.
    pub trace: Option<Box<Trace>>,
    /// Which of the two HTTP engines serves it.
    pub engine: Engine,
    /// Why the fast path left it to pingora.
    pub left_fast_path: Option<LeftFastPath>,
}

/// The facts about a finished request, from either engine.
pub struct Over<'a> {
    pub request: &'a RequestHeader,
    /// Of the answer; 0: there was none.
    pub status: u16,
    /// When.
    pub at: Instant,
    /// Bytes of the bodies.
    pub received: usize,
    pub sent: usize,
    /// What became of the page's body, where it was looked into.
    pub page: Option<&'static str>,
}

impl Ctx {
    /// What was already found out about the current request of a connection, or nothing yet.
    pub fn begun(connection: Option<Arc<ConnInfo>>) -> Self {
        let Some(left) = connection.as_ref().and_then(|connection| connection.found_out()) else {
            return Self::new(connection);
        };
        match left.downcast() {
            Ok(ctx) => *ctx,
            // The fast path left it before it decided.
            Err(left) => {
                let mut ctx = Self::new(connection);
                ctx.left_fast_path = left.downcast().ok().map(|why| *why);
                ctx
            }
        }
    }

    pub fn new(connection: Option<Arc<ConnInfo>>) -> Self {
        Self {
            began: Instant::now(),
            connection,
            running: None,
            may_be_silent: false,
            wants_body: false,
            abandon_timer: None,
            interim: 0,
            keepalive: None,
            passed: false,
            upstream: None,
            place: None,
            held: None,
            tried: None,
            repeated: false,
            upstream_began: None,
            upstream_socket: None,
            upstream_took: None,
            asked: Asked::default(),
            page: Touched::No,
            link_for: links::Answer::Other,
            client: None,
            caller: None,
            agents: false,
            request_id: None,
            called: None,
            finish: None,
            decided: None,
            error: None,
            status: StatusCode::OK,
            sends_body: false,
            head_sent: false,
            site_keeps: true,
            answer_bytes: 0,
            answered_early: false,
            reading: None,
            has_own_connections: false,
            unaccounted: None,
            upload: None,
            trace: None,
            engine: Engine::Pingora,
            left_fast_path: None,
        }
    }

    /// The configuration of this request, whatever is swapped in meanwhile.
    pub fn running(&mut self, live: &Live) -> Arc<Running> {
        self.running.get_or_insert_with(|| live.current()).clone()
    }

    /// The request's body has come, or the site has begun to answer: nobody waits for the client.
    pub(super) fn upload_is_over(&mut self) {
        if self.upload.take().is_some() {
            let is_watched = self.reading.is_some();
            self.unaccounted =
                self.unaccounted.take().filter(|unaccounted| is_watched || unaccounted.waits_for_the_site());
        }
    }

    /// Whether the request was ended because its body came too slowly.
    pub(super) fn upload_is_too_slow(&self) -> bool {
        self.upload.as_ref().is_some_and(UploadWatch::is_too_slow)
    }

    /// The upstream it went to, as it is shown.
    pub fn upstream_label(&self) -> Option<&str> {
        self.running.as_ref()?.pool.label(self.upstream?)
    }

    /// The access line.
    pub fn line<'a>(&'a self, over: &Over<'a>, duration: Duration, running: &'a Running) -> Line<'a> {
        let request = over.request;
        let text = |name| request.headers.get(name).and_then(|v: &http::HeaderValue| v.to_str().ok());
        Line {
            trace: traces::ids(&request.headers),
            // The site is told it as the client said it.
            request_id: self.request_id.as_deref().or_else(|| request_id::theirs(&request.headers)),
            method: Some(request.method.as_str()),
            path: Some(running.snapshot.settings.paths.shown(request.uri.path())),
            host: text(header::HOST).or_else(|| request.uri.authority().map(|a| a.as_str())),
            status: over.status,
            protocol: None,
            version: match request.version {
                Version::HTTP_2 => "2",
                Version::HTTP_11 => "1.1",
                _ => "1.0",
            },
            client: self.client.or_else(|| self.connection.as_ref().map(|c| c.client.ip())),
            user_agent: text(header::USER_AGENT),
            request_bytes: over.received,
            response_bytes: over.sent,
            duration,
            ended: over.at,
            upstream: self.upstream_label(),
            upstream_duration: self.upstream_took,
            proof: self.caller.as_ref().map(|caller| caller.proof.word()),
            caller: self.caller.as_ref().and_then(|caller| caller.name.as_deref()),
            decision: if self.passed { "pass" } else { "answer" },
            engine: Some(self.engine),
            engine_reason: self.left_fast_path.map(LeftFastPath::word),
            page: over.page.or(match self.page {
                Touched::No => None,
                Touched::Left(why) | Touched::Instead(why) => Some(why),
                Touched::Page => Some("head"),
            }),
            error: self.error,
            config: running.short_hash(),
        }
    }
}
