//! A plain request goes to the site, and its answer back, in one task.

use std::{pin::pin, task::Poll, time::Instant};

use bytes::Bytes;
use frontdesk_filters::page::Parts;
use frontdesk_http1::{Body, ResponseHead};
use http::header;
use pingora::{Error, ErrorSource, ErrorType, Result, http::RequestHeader};

use super::{
    passthrough_head,
    plain_request::Sent,
    read_ahead::ReadAhead,
    reply::{Reply, To},
    upstream_request,
};
use crate::{
    front::{Front, address, answer_head, ctx::Ctx},
    pingora_head::response_header,
    rewrite::{self, Asked, PageBody},
    running::Running,
    upstream::{Backend, Exchange, Place, PooledConn, UNRESOLVED},
};

/// What is relayed, and for whom.
pub(super) struct Relay<'a, 'r> {
    pub(super) front: &'a Front,
    pub(super) running: &'r Running,
    pub(super) sent: &'a Sent,
    pub(super) ctx: &'a mut Ctx,
    pub(super) page: &'a mut PageBody,
}

impl<'r> Relay<'_, 'r> {
    /// Asks the site, and passes what it answers. Errors are the library's: whose fault it is stands in them.
    pub(super) async fn run(&mut self, reply: &mut Reply<'_>) -> Result<()> {
        let began = Instant::now();
        self.ctx.upstream_began = Some(began);
        let (plain, backend) = self.connect(began).await?;
        let mut site = Exchange::new(plain, backend.patience());
        let (wire, asked) = upstream_request::head(self.sent, self.ctx, self.running, backend)?;
        let head = match self.head(&mut site, &wire, reply).await {
            // Boxed: it is seldom.
            Err(e) if self.sent.request.method.is_safe() && site.has_parted(&e) && !is_ours(&e) => {
                self.front.metrics.upstream_retries.inc();
                self.trace(backend);
                site = Exchange::new(Box::pin(backend.connect_again()).await?, backend.patience());
                Box::pin(self.head(&mut site, &wire, reply)).await?
            }
            head => head?,
        };
        let took = began.elapsed();
        self.ctx.upstream_took = Some(took);
        let framing = site.expect(&self.sent.request.method, &head).map_err(Error::into_up)?;
        self.begin(&head, framing.body, &asked, reply)?;
        drop(head);
        let mut source =
            Source { site: Some(site), backend, answered: began + took, ahead: ReadAhead::default(), failed: None };
        self.body(&mut source, reply).await
    }

    /// Connects at `now` to the next in turn; once more where that fails, for no byte of the request has left.
    async fn connect(&mut self, mut now: Instant) -> Result<(PooledConn, &'r Backend)> {
        let pool = &self.running.pool;
        loop {
            let index = pool.choose(self.ctx.tried);
            self.ctx.upstream = Some(index);
            let backend = &pool.backends()[index];
            self.trace(backend);
            match backend.connect(now).await {
                Ok(plain) => return Ok((plain, backend)),
                Err(e) if *e.etype() == UNRESOLVED => return Err(e),
                Err(e) => {
                    pool.refused(index);
                    if self.ctx.tried.replace(index).is_some() {
                        return Err(e);
                    }
                    self.front.metrics.upstream_retries.inc();
                    now = Instant::now();
                }
            }
        }
    }

    /// Notes in the request's spans, where traces are made, which upstream is asked next.
    fn trace(&mut self, backend: &Backend) {
        if let Some(trace) = &mut self.ctx.trace {
            let request = &self.sent.request;
            trace.passes(&request.method, &backend.label, request.uri.path());
        }
    }

    /// Asks; the head of the site's answer, after whatever it says before.
    async fn head(&mut self, site: &mut Exchange, wire: &[u8], reply: &mut Reply<'_>) -> Result<ResponseHead> {
        site.ask(wire).await.map_err(Error::into_up)?;
        let mut interim = 0;
        loop {
            let head = tokio::select! {
                biased;
                read = site.head() => read.map_err(Error::into_up)?,
                () = reply.gone() => return Err(left()),
            };
            match head.status.as_u16() {
                100..=199 => {
                    interim += 1;
                    let mut head = response_header(&head, true).map_err(Error::into_up)?;
                    // Who asks for an upgrade is the library's.
                    answer_head::check_interim(&head, interim, None).map_err(Error::into_up)?;
                    answer_head::end_hop(&mut head, &self.sent.request.method, false).map_err(Error::into_up)?;
                    Box::pin(reply.interim(&head)).await?;
                }
                _ => return Ok(head),
            }
        }
    }

    /// The head as the client is to see it.
    fn begin(&mut self, head: &ResponseHead, body: Body, asked: &Asked, reply: &mut Reply<'_>) -> Result<()> {
        let (snapshot, request) = (&self.running.snapshot, &self.sent.request);
        let method = &request.method;
        let (page, metrics) = (Some(&mut *self.page), &self.front.metrics);
        let upstream = &snapshot.settings.upstream;
        let named = upstream.rewrite_redirects.then_some(&upstream.urls[..]);
        if let Some(by) = passthrough_head::look(head, body, named) {
            let sent = (head.status, head);
            let (page, changes) = rewrite::prepare_response(snapshot, request, asked, sent, page, metrics);
            self.ctx.page = page;
            reply.status = head.status.as_u16();
            let link = snapshot.links.of(changes.answer, target(request));
            match &mut reply.to {
                To::Http1(to) => by.pass(head, body, &changes, link, to),
                To::Http2(to) => {
                    to.begin(method, passthrough_head::mapped(head, &changes, link).map_err(Error::into_up)?)
                }
            }
            return Ok(());
        }
        let mut head = response_header(head, matches!(reply.to, To::Http1(_))).map_err(Error::into_up)?;
        answer_head::end_hop(&mut head, method, false).map_err(Error::into_up)?;
        if let Some(addresses) = address::addresses(request, self.ctx.connection.as_deref(), self.running) {
            address::rename(&mut head, &addresses)?;
        }
        let sent = (head.status, &head.headers);
        let (page, changes) = rewrite::prepare_response(snapshot, request, asked, sent, page, metrics);
        self.ctx.page = page;
        changes.apply(&mut head)?;
        let headers = &head.headers;
        let framed = headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING);
        if body != Body::Absent && !framed {
            head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
        }
        if let Some(link) = snapshot.links.of(changes.answer, target(request)) {
            head.append_header("Link", link.value())?;
        }
        reply.begin(method, head);
        Ok(())
    }

    /// The body, part by part, a page through what looks into it.
    async fn body(&mut self, source: &mut Source<'_>, reply: &mut Reply<'_>) -> Result<()> {
        source.settle(&mut self.ctx.place);
        loop {
            let part = source.part(reply).await?;
            source.settle(&mut self.ctx.place);
            let last = source.is_over();
            let Parts { made, rest, after } = self.page.pass(part, last)?;
            // What was put together goes with what comes after it.
            let part = match rest.is_empty() {
                true => made,
                false => {
                    reply.hold(made).await?;
                    rest
                }
            };
            if last {
                return reply.body_and(part, after, true).await;
            }
            if !part.is_empty() || !after.is_empty() {
                source.read_ahead(reply, part, after, &mut self.ctx.place).await?;
            }
        }
    }
}

/// Where the body of an answer comes from.
struct Source<'a> {
    /// `None`: it has sent all of it.
    site: Option<Exchange>,
    backend: &'a Backend,
    /// When the site began to answer.
    answered: Instant,
    /// What it sent that the client has not been sent yet.
    ahead: ReadAhead,
    /// How it failed after that.
    failed: Option<Box<Error>>,
}

impl Source<'_> {
    /// Whether nothing is left.
    fn is_over(&self) -> bool {
        self.site.is_none() && self.ahead.is_empty()
    }

    /// Gives the site's connection back, and its place, once it has sent all of the answer: a slow reader holds
    /// nothing of the site's.
    fn settle(&mut self, place: &mut Option<Place>) {
        if let Some(site) = self.site.take_if(|site| site.is_done()) {
            self.backend.keep(site, self.answered);
            *place = None;
        }
    }

    /// The next part: what was read ahead, or else what the site sends next.
    async fn part(&mut self, reply: &mut Reply<'_>) -> Result<Option<Bytes>> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        match (self.failed.take(), &mut self.site) {
            (Some(failed), _) => Err(failed),
            (None, Some(site)) => part(site, reply).await,
            (None, None) => Ok(None),
        }
    }

    /// Writes a part that is not the last. Where that has to wait for the client, the site's answer is read on meanwhile.
    async fn read_ahead(
        &mut self,
        reply: &mut Reply<'_>,
        part: Bytes,
        after: Bytes,
        place: &mut Option<Place>,
    ) -> Result<()> {
        let length = part.len() + after.len();
        let mut writing = pin!(reply.body_and(part, after, false));
        if let Poll::Ready(written) = std::future::poll_fn(|cx| Poll::Ready(writing.as_mut().poll(cx))).await {
            return written;
        }
        while let (Some(site), None) = (&mut self.site, &self.failed)
            && self.ahead.has_room(length)
        {
            tokio::select! {
                biased;
                written = &mut writing => return written,
                read = site.part() => match read {
                    Ok(read) => read.into_iter().for_each(|read| self.ahead.push(read)),
                    // The client gets what came before it.
                    Err(e) => self.failed = Some(e.into_up()),
                },
            }
            self.settle(place);
        }
        writing.await
    }
}

/// What the site sends next. What is there already is taken at once; else the head does not wait for it.
async fn part(site: &mut Exchange, reply: &mut Reply<'_>) -> Result<Option<Bytes>> {
    let mut reading = pin!(site.part());
    let read = match std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
        Poll::Ready(read) => read,
        Poll::Pending => {
            reply.flush().await?;
            tokio::select! {
                biased;
                read = reading => read,
                () = reply.gone() => return Err(left()),
            }
        }
    };
    read.map_err(Error::into_up)
}

/// The path and query as sent; empty where they are not UTF-8.
fn target(request: &RequestHeader) -> &str {
    std::str::from_utf8(request.raw_path()).unwrap_or_default()
}

/// Whether it is the client's doing.
fn is_ours(e: &Error) -> bool {
    *e.esource() == ErrorSource::Downstream
}

fn left() -> Box<Error> {
    Error::explain(ErrorType::ConnectionClosed, "the client left").into_down()
}
