//! The head of a response through pingora: what Frontdesk reads and changes when the site's head arrives, and when the
//! head goes to the client.

use http::{Method, StatusCode, Version, header};
use pingora::{Error, Result, http::ResponseHeader, proxy::Session};

use super::{Front, LONG_LIVED, address, answer_head, ctx::Ctx, early_answer, upload_pace::UploadWatch};
use crate::{
    rewrite::{self, PageBody},
    sys,
};
use frontdesk_http1::Body;

impl Front {
    /// Checks and changes the head of the site's response. The page phase is decided here, before pingora frames the
    /// body.
    pub(super) fn site_answers(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        // A connection of HTTP/2 carries other requests too.
        let socket = ctx.upstream_socket.filter(|_| response.version < Version::HTTP_2);
        if let Some(socket) = socket {
            // A head is here. What does not come with it may wait for that to be acknowledged.
            sys::acknowledge(socket);
        }
        let running = ctx.running(&self.live);
        if let Some(backend) = ctx.upstream.and_then(|index| running.pool.backends().get(index)) {
            backend.spoke(response.version);
        }
        ctx.interim += usize::from(response.status.is_informational());
        let asked = session.is_upgrade_req().then(|| &session.req_header().headers);
        answer_head::check_interim(response, ctx.interim, asked).map_err(Error::into_up)?;
        if response.status == StatusCode::SWITCHING_PROTOCOLS {
            // From here on either side may be silent.
            (ctx.abandon_timer, ctx.unaccounted) = (None, None);
            if let Some(connection) = &ctx.connection {
                connection.is_upgraded();
            }
            ctx.upload_is_over();
            session.set_read_timeout(Some(LONG_LIVED));
        }
        answer_head::trim_response(response)?;
        if response.status.is_informational() {
            if response.status == StatusCode::CONTINUE {
                ctx.wants_body = true;
                ctx.upload.iter().for_each(UploadWatch::is_wanted);
            }
            return answer_head::end_hop(response, &session.req_header().method, false)
                .map(drop)
                .map_err(Error::into_up);
        }
        ctx.abandon_timer = None;
        // An upload that goes on is watched, and accounted for if it is ended.
        ctx.unaccounted =
            ctx.unaccounted.take().filter(|unaccounted| ctx.upload.is_some() && !unaccounted.waits_for_the_site());
        ctx.upstream_took.get_or_insert_with(|| ctx.upstream_began.map(|b| b.elapsed()).unwrap_or_default());
        // The library passes them on from frames to frames, and over anywhere else.
        let has_trailers = response.version == Version::HTTP_2 && session.req_header().version == Version::HTTP_2;
        let method = &session.req_header().method;
        let framing = answer_head::end_hop(response, method, has_trailers).map_err(Error::into_up)?;
        ctx.site_keeps = framing.keeps || socket.is_none();
        if let (Some(socket), Body::Absent) = (socket, framing.body) {
            // Some sites send a body all the same (to HEAD, with 304), and it would be taken for the next response. The
            // fast path lets such a connection rest; the library's pool knows no rest.
            early_answer::retire(socket);
        }
        self.head_arrived(session, ctx, response, framing.body);
        if let Some(addresses) = address::addresses(session.req_header(), ctx.connection.as_deref(), &running) {
            address::rename(response, &addresses)?;
        }
        let Session { downstream_session, downstream_modules_ctx, .. } = session;
        let (page, changes) = rewrite::prepare_response(
            &running.snapshot,
            downstream_session.req_header(),
            &ctx.asked,
            (response.status, &response.headers),
            downstream_modules_ctx.get_mut::<PageBody>(),
            &self.metrics,
        );
        ctx.page = page;
        ctx.link_for = changes.answer;
        changes.apply(response)
    }

    /// Completes the head that goes to the client: our `Link`, the version, and whether the connection stays open.
    pub(super) fn client_is_answered(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        if response.status.is_informational() {
            return Ok(());
        }
        let running = ctx.running(&self.live);
        let target = std::str::from_utf8(session.req_header().raw_path()).unwrap_or_default();
        if let Some(link) = running.snapshot.links.of(ctx.link_for, target) {
            response.append_header("Link", link.value())?;
        }
        // An interim response to a client that is still sending makes the library give up the connection. Once the answer
        // begins before the request is complete, nothing follows on this connection.
        let is_complete = session.is_body_done();
        session.set_keepalive(ctx.keepalive.filter(|_| is_complete));
        if let (Some(connection), Some(date), true) =
            (&ctx.connection, response.headers.get(header::DATE), session.as_http1().is_some())
        {
            connection.keep_date(date);
        }
        if session.req_header().version == Version::HTTP_10 && !response.headers.contains_key(header::CONTENT_LENGTH) {
            // It knows no chunks: the end of the connection is the end of the body.
            response.remove_header(&header::TRANSFER_ENCODING);
            session.set_keepalive(None);
        }
        let framed = response.headers.contains_key(header::CONTENT_LENGTH)
            || response.headers.contains_key(header::TRANSFER_ENCODING)
            || session.req_header().method == Method::HEAD;
        if response.version < Version::HTTP_11 && framed {
            // A proxy answers as what it is, not as the site (RFC 9110 §6.2). What nobody framed the library does.
            response.set_version(Version::HTTP_11);
        }
        Ok(())
    }
}
