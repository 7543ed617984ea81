//! A page of which something is made: it is fetched for the client, read on a thread that may be blocked, and answered.
//!
//! Whatever goes wrong on the way, the request passes to the site as any other; or, where the site has begun to answer
//! it already, that answer goes on to the client, so that nothing that may be had once is asked for twice.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{
    Decision, Got, Making, Question, Refusal, Site, Work, desk::Answer, make, page::markdown::Written,
    redirects::Addresses,
};
use frontdesk_http1::{
    framing::is_bodiless,
    hop::{connection_options, is_of_requests_hop},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use parking_lot::Mutex;
use pingora::{
    Result,
    http::{RequestHeader, ResponseHeader},
    proxy::Session,
};
use tokio::sync::Semaphore;

use super::{Front, address, answer_head, ctx::Ctx, head, worker_threads::apart};
use crate::{
    outbound::{Body, Outbound, PageMemory, Rest, room_to_read},
    rewrite::{Touched, learn_markdown},
    running::Running,
    traces::Place,
};

/// Pages of which something is being made at a time; beyond it requests pass.
static FETCHED: Semaphore = Semaphore::const_new(64);

/// What is about a body that is not there. Nothing is asked for in a coding that we would only undo.
const NOT_ASKED: [HeaderName; 3] = [header::CONTENT_LENGTH, header::EXPECT, header::ACCEPT_ENCODING];
/// What would make the answer less than a whole page.
const CONDITIONS: [HeaderName; 6] = [
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
    header::RANGE,
];

impl Front {
    /// What is made, or that the request passes; `None` where the site's answer has been sent.
    pub(super) async fn make(&self, session: &mut Session, ctx: &mut Ctx, making: Making) -> Result<Option<Decision>> {
        let running = ctx.running(&self.live);
        if !session.is_body_empty() || !session.req_header().raw_path_is_utf8() {
            return Ok(Some(Decision::Pass));
        }
        let Ok(place) = FETCHED.try_acquire() else { return Ok(Some(Decision::Pass)) };
        let target = head::target(session.req_header()).into_owned();
        let site = Fetching {
            target: &target,
            rest: Mutex::default(),
            outbound: &self.outbound,
            running: &running,
            told: told(session, ctx, &running)?,
            addresses: address::addresses(session.req_header(), ctx.connection.as_deref(), &running),
            client: ctx.client,
            trace: ctx.trace.as_ref().map(|trace| trace.place()),
            took: Mutex::default(),
            held: Mutex::default(),
        };
        let Some(caller) = &ctx.caller else { return Ok(Some(Decision::Pass)) };
        let request = super::decide::request(session.req_header(), ctx, &running, &self.outbound, &target);
        let counters = running.store.counters.as_ref();
        let by_accept = making == Making::MarkdownByAccept;
        let made = make(&running.snapshot, counters, &request, caller, making, &site).await;
        let Fetching { took, rest, held, .. } = site;
        let rest = rest.into_inner().filter(|_| matches!(made.decision, Decision::Pass));
        if rest.is_some() || !matches!(made.decision, Decision::Pass) {
            ctx.upstream_took = Some(took.into_inner());
            ctx.page = Touched::Instead(made.what);
        }
        match &made.decision {
            Decision::Answer(reply) if by_accept && reply.status == StatusCode::OK => match made.what {
                "markdown" => learn_markdown(target.as_bytes(), true),
                "html" => learn_markdown(target.as_bytes(), false),
                _ => {}
            },
            _ => {}
        }
        self.metrics.pages_made.with_label_values(&[made.what]).inc();
        self.metrics.flagged(&made.flags);
        // What is sent on as it comes takes no room.
        drop(place);
        let Some((mut head, rest)) = rest else {
            return Ok(Some(self.held(session.req_header(), ctx, made.decision, held.into_inner())));
        };
        if let Some(link) = running.snapshot.links.every() {
            head.append_header("Link", link.clone())?;
        }
        send_on(session, head, *rest, running.snapshot.settings.upstream.read_timeout).await.map(|()| None)
    }

    /// What was made takes room until it has left.
    fn held(&self, head: &RequestHeader, ctx: &mut Ctx, decision: Decision, mut held: PageMemory) -> Decision {
        let size = match &decision {
            Decision::Answer(reply) | Decision::Refuse(reply, _) => reply.body.len(),
            _ => return decision,
        };
        if held.resize(size) {
            ctx.held = Some(held);
            return decision;
        }
        let refusal = Refusal::crowded();
        Decision::Refuse(self.explained(head, ctx, &refusal), refusal.reason)
    }
}

/// Fetches for one client.
struct Fetching<'a> {
    outbound: &'a Outbound,
    running: &'a Running,
    /// What the site would be told if the request passed.
    told: RequestHeader,
    /// What a redirect of the site's may name, and what it names instead.
    addresses: Option<Addresses<'a>>,
    /// Whose share of the places at the site is taken.
    client: Option<IpAddr>,
    /// What it is fetched for, while traces are made.
    trace: Option<&'a Place>,
    took: Mutex<Duration>,
    /// What the client itself asked for.
    target: &'a str,
    /// Room for what was read.
    held: Mutex<PageMemory>,
    /// The answer to that, as far as it was not waited for.
    rest: Mutex<Option<(ResponseHeader, Box<Rest>)>>,
}

#[async_trait]
impl Site for Fetching<'_> {
    async fn get(&self, question: Question<'_>) -> Option<Got> {
        let mut request = RequestHeader::build(Method::GET, question.target.as_bytes(), Some(24)).ok()?;
        for (name, value) in &self.told.headers {
            if question.accept.is_none() || !CONDITIONS.contains(name) && *name != header::ACCEPT {
                request.append_header(name.clone(), value.clone()).ok()?;
            }
        }
        if let Some(accept) = question.accept {
            request.insert_header(header::ACCEPT, accept).ok()?;
        }
        let span = self.trace.map(|place| place.question(&Method::GET, None, question.target));
        if let Some(span) = &span {
            span.place().tell_request(&mut request).ok()?;
        }
        let began = Instant::now();
        let limit = self.running.snapshot.settings.upstream.read_timeout;
        let answered = self.outbound.page(self.running, &request, question.most, limit, self.client).await;
        *self.took.lock() += began.elapsed();
        if let Some(span) = span {
            span.got(answered.as_ref().map(|(head, _)| head.status.as_u16()).ok_or("unreachable"));
        }
        let (mut head, body) = answered?;
        answer_head::end_hop(&mut head, &Method::GET, false).ok()?;
        if let Some(addresses) = &self.addresses {
            address::rename(&mut head, addresses).ok()?;
        }
        let (status, headers) = (head.status, head.headers.clone());
        Some(match body {
            Body::Whole(body, held) => {
                self.held.lock().merge(held);
                Got::Whole(Answer { status, headers, body })
            }
            Body::Rest(rest) => {
                if question.target == self.target {
                    *self.rest.lock() = Some((head, rest));
                }
                Got::Head(status, headers)
            }
        })
    }

    async fn work(&self, bytes: usize, work: Work) -> Option<Written> {
        let _room = room_to_read(bytes).await?;
        apart(work).await.flatten()
    }
}

/// Sends an answer on as it comes. Each piece may take this long.
async fn send_on(session: &mut Session, mut head: ResponseHeader, mut rest: Rest, limit: Duration) -> Result<()> {
    let request = session.req_header();
    let (version, is_head) = (request.version, request.method == Method::HEAD);
    let bodiless = is_head || is_bodiless(head.status);
    head.set_version(Version::HTTP_11);
    if !bodiless && !head.headers.contains_key(header::CONTENT_LENGTH) {
        head.remove_header(&header::TRANSFER_ENCODING);
        if version == Version::HTTP_11 {
            head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
        } else if version < Version::HTTP_11 {
            // Its end is that of the connection.
            session.set_keepalive(None);
        }
    }
    let downstream = session.as_downstream_mut();
    downstream.write_response_header(Box::new(head)).await?;
    if bodiless {
        return Ok(());
    }
    while let Some(chunk) = rest.next(limit).await? {
        downstream.write_response_body(chunk, false).await?;
    }
    downstream.write_response_body(Bytes::new(), true).await
}

/// The request's headers as they would go up, but for what belongs to the connection.
fn told(session: &Session, ctx: &Ctx, running: &Running) -> Result<RequestHeader> {
    let incoming = session.req_header();
    let named: Vec<HeaderName> = connection_options(&incoming.headers).collect();
    let mut told = RequestHeader::build(Method::GET, b"/", Some(incoming.headers.len() + 8))?;
    for (name, value) in &incoming.headers {
        if !is_of_requests_hop(name) && !NOT_ASKED.contains(name) && !named.contains(name) {
            told.append_header(name.clone(), value.clone())?;
        }
    }
    if let Ok(host) = HeaderValue::from_str(head::authority(incoming)) {
        told.insert_header(header::HOST, host)?;
    }
    told.insert_header(header::ACCEPT_ENCODING, "identity")?;
    head::forward(incoming, &mut told, ctx, running)?;
    Ok(told)
}
