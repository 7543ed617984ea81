//! Which uploads and answers are watched for slow clients, and under which bounds.

use std::time::Duration;

use frontdesk_http1::framing::{announced, is_held_back};
use http::{HeaderMap, Version, header};
use pingora::proxy::Session;

use super::{
    Front,
    abandon::Unaccounted,
    ctx::Ctx,
    reader_pace::ReaderWatch,
    upload_pace::{Bounds, UploadWatch},
};

impl Front {
    /// Call this when a part of an answer has come, and more of it will.
    pub(super) fn watch_reader(&self, session: &mut Session, ctx: &mut Ctx) {
        if ctx.reading.is_some() || session.as_http2().is_none() {
            return;
        }
        let running = ctx.running(&self.live);
        let protection = &running.snapshot.settings.protection;
        let (lowest, pause) = (protection.min_rate, protection.idle_timeout);
        let (Some(connection), true) = (ctx.connection.clone(), lowest > 0) else { return };
        ctx.unaccounted.get_or_insert_with(|| Box::new(Unaccounted::new(self.clone(), session, ctx.status.as_u16())));
        ctx.reading = Some(ReaderWatch::start(session, lowest, pause, connection));
    }

    /// Call this when the head of a request is about to go up, in this version.
    pub(super) fn watch_upload(&self, session: &mut Session, ctx: &mut Ctx, version: Version) {
        let site = ctx.upstream_socket.filter(|_| version < Version::HTTP_2);
        if let Some(watch) = &ctx.upload {
            // Once more, to another upstream.
            return watch.goes_to(site);
        }
        let is_stream = session.as_http2().is_some();
        let running = ctx.running(&self.live);
        let (protection, upstream) = (&running.snapshot.settings.protection, &running.snapshot.settings.upstream);
        let bounds = Bounds {
            min_rate: protection.min_rate,
            pause: protection.idle_timeout,
            longest: protection.transfer_timeout,
            // The streams of a client share a window: one may wait for the site of another.
            patience: if site.is_some() && !is_stream { Duration::ZERO } else { upstream.read_timeout },
        };
        let headers = &session.req_header().headers;
        // What a client sends once the protocol was switched is no body.
        let has_body = announced(headers).is_some_and(|length| length > 0)
            || headers.contains_key(header::TRANSFER_ENCODING)
            || is_stream && ctx.sends_body;
        // A call that streams both ways may pause for as long as it likes. Over HTTP/1 there are none.
        let streams_both_ways = version == Version::HTTP_2 && streams_both_ways(headers);
        let is_bounded = bounds.min_rate > 0 || !bounds.longest.is_zero();
        let held_back = is_held_back(headers) && !ctx.wants_body && session.body_bytes_read() == 0;
        let (Some(connection), true) = (ctx.connection.clone(), has_body && is_bounded && !streams_both_ways) else {
            return;
        };
        if session.is_body_done() {
            return;
        }
        if is_stream {
            ctx.unaccounted.get_or_insert_with(|| Box::new(Unaccounted::new(self.clone(), session, 0)));
        }
        ctx.upload = Some(UploadWatch::start(bounds, held_back, site, connection, is_stream));
    }
}

/// Whether it is a call of gRPC, or a stream of Connect (connectrpc.com), which names its calls that are no streams otherwise.
fn streams_both_ways(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let is = |known: &[u8]| kind.get(..known.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(known));
    is(b"application/grpc") || is(b"application/connect+")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn calls_that_stream_both_ways_are_known_by_their_type() {
        for (kind, is) in [
            ("application/grpc", true),
            ("Application/gRPC+proto", true),
            ("application/connect+json", true),
            ("application/json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(streams_both_ways(&headers), is, "{kind}");
        }
        assert!(!streams_both_ways(&HeaderMap::new()));
    }
}
