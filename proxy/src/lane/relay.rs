//! A plain request goes to the site, and its answer back, in one task.

use std::{pin::pin, task::Poll, time::Instant};

use bytes::Bytes;
use http::{Method, StatusCode, Version, header};
use pingora::{
    Error, ErrorType, Result,
    http::{RequestHeader, ResponseHeader},
    modules::http::HttpModule,
    protocols::http::v1::client::HttpSession,
};

use super::reply::Reply;
use crate::{
    front::{Front, ctx::Ctx, head},
    live::Running,
    rewrite::{self, PageBody, Touched},
    upstream::{Backend, Plain},
};

/// What is relayed, and for whom.
pub(super) struct Relay<'a, 'r> {
    pub(super) front: &'a Front,
    pub(super) running: &'r Running,
    pub(super) request: &'a RequestHeader,
    pub(super) ctx: &'a mut Ctx,
    pub(super) page: &'a mut PageBody,
}

impl<'r> Relay<'_, 'r> {
    /// Asks the site, and passes what it answers. Errors are the library's: whose fault it is stands in them.
    pub(super) async fn run(&mut self, reply: &mut Reply<'_>) -> Result<()> {
        self.ctx.upstream_began = Some(Instant::now());
        let (plain, backend) = self.connect().await?;
        let mut site = HttpSession::new(Box::new(plain));
        site.read_timeout = backend.patience();
        site.write_timeout = backend.patience();
        let asked = self.ask(&mut site).await?;
        let head = self.head(&mut site, reply).await?;
        let head = self.rewritten(head, &asked)?;
        reply.begin(&self.request.method, head)?;
        let last = self.body(&mut site, reply).await?;
        // Whoever reads slowly holds nothing of the site's.
        keep(site, backend).await;
        self.ctx.place = None;
        reply.body(&last, true).await
    }

    /// Connects to the next in turn; once more where that fails, for no byte of the request has left.
    async fn connect(&mut self) -> Result<(Plain, &'r Backend)> {
        let pool = &self.running.pool;
        loop {
            let index = pool.choose(self.ctx.tried);
            self.ctx.upstream = Some(index);
            let backend = &pool.backends()[index];
            match backend.connect().await {
                Ok(plain) => return Ok((plain, backend)),
                Err(e) if *e.etype() == ErrorType::HTTPStatus(503) => return Err(e),
                Err(e) => {
                    pool.refused(index);
                    if self.ctx.tried.replace(index).is_some() {
                        return Err(e);
                    }
                    self.front.metrics.upstream_retries.inc();
                }
            }
        }
    }

    async fn ask(&mut self, site: &mut HttpSession) -> Result<rewrite::Asked> {
        let mut request = Box::new(self.request.clone());
        request.remove_header(&header::CONNECTION);
        let asked = rewrite::prepare_request(&self.running.snapshot, &mut request, Version::HTTP_11)?;
        head::forward(self.request, &mut request, self.ctx, self.running)?;
        site.write_request_header(request).await.map_err(Error::into_up)?;
        Ok(asked)
    }

    /// The head of the site's answer, after whatever it says before.
    async fn head(&mut self, site: &mut HttpSession, reply: &mut Reply<'_>) -> Result<ResponseHeader> {
        loop {
            tokio::select! {
                biased;
                read = site.read_response() => { read.map_err(Error::into_up)?; }
                () = reply.conn.gone() => return Err(left()),
            }
            let Some(head) = site.resp_header() else {
                return Error::e_explain(ErrorType::InvalidHTTPHeader, "no head").map_err(Error::into_up);
            };
            if !head.status.is_informational() {
                self.ctx.upstream_took = self.ctx.upstream_began.map(|began| began.elapsed());
                return Ok(head.clone());
            }
            if head.status == StatusCode::SWITCHING_PROTOCOLS {
                return Error::e_explain(ErrorType::InvalidHTTPHeader, "101 that nobody asked for")
                    .map_err(Error::into_up);
            }
            reply.interim(head).await?;
        }
    }

    /// The head as the client is to see it.
    fn rewritten(&mut self, mut head: ResponseHeader, asked: &rewrite::Asked) -> Result<ResponseHeader> {
        head::end_hop(&mut head);
        let (snapshot, page) = (&self.running.snapshot, Some(&mut *self.page));
        self.ctx.page = rewrite::prepare_response(snapshot, self.request, asked, &mut head, page, &self.front.metrics)?;
        let bodiless = self.request.method == Method::HEAD || matches!(head.status.as_u16(), 204 | 304);
        let headers = &head.headers;
        let framed = headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING);
        if !bodiless && !framed {
            head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
        }
        if let Some(link) = &snapshot.link {
            head.append_header("Link", link.clone())?;
        }
        // A proxy answers as what it is, not as the site (RFC 9110 §6.2).
        head.set_version(Version::HTTP_11);
        Ok(head)
    }

    /// The body, part by part, a page through what looks into it: all but the last part, which is given back.
    async fn body(&mut self, site: &mut HttpSession, reply: &mut Reply<'_>) -> Result<Bytes> {
        let touched = self.ctx.page == Touched::Page;
        loop {
            if site.is_body_done() {
                let rest = if touched { self.page.response_done_filter()? } else { None };
                return Ok(rest.unwrap_or_default());
            }
            let mut part = part(site, reply).await?;
            let last = site.is_body_done();
            if touched {
                self.page.response_body_filter(&mut part, last)?;
            }
            match part {
                part if last => return Ok(part.unwrap_or_default()),
                Some(part) => reply.body(&part, false).await?,
                None => {}
            }
        }
    }
}

/// What the site sends next. What is there already is taken at once; else the head does not wait for it.
async fn part(site: &mut HttpSession, reply: &mut Reply<'_>) -> Result<Option<Bytes>> {
    let mut reading = pin!(site.read_body_bytes());
    let read = match std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
        Poll::Ready(read) => read,
        Poll::Pending => {
            reply.flush().await?;
            tokio::select! {
                biased;
                read = reading => read,
                () = reply.conn.gone() => return Err(left()),
            }
        }
    };
    read.map_err(Error::into_up)
}

fn left() -> Box<Error> {
    Error::explain(ErrorType::ConnectionClosed, "the client left").into_down()
}

/// Keeps the connection for another request, if the site does.
async fn keep(mut site: HttpSession, backend: &Backend) {
    site.respect_keepalive();
    if let Some(stream) = site.reuse().await
        && let Ok(plain) = stream.into_any().downcast::<Plain>()
    {
        backend.keep(*plain);
    }
}
