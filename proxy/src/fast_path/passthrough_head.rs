//! An answer that goes by: line by line from what was read to what is written, never taken apart into a map.

use frontdesk_filters::{discovery::links::LinkLine, redirects::may_name, site::UpstreamUrl};
use frontdesk_http1::{Body, Line, ResponseHead, field::FieldClass, framing::digits, response_writer::ClientFraming};
use http::{HeaderName, Response, StatusCode, header};
use pingora::{ErrorType, OrErr, Result, http::ResponseHeader};

use super::http1::Http1;
use crate::{pingora_head::header_map, rewrite::Changes};

/// What has to be known of an answer that goes by.
#[derive(Default)]
pub(super) struct HeadSummary {
    /// A line frames the body, in a way that holds here too.
    framed: bool,
    dated: bool,
}

/// Looks at the lines that matter. `None`: one of them says more than usual, and the whole head is to be looked at.
/// `upstreams`: those whose addresses are not to be seen.
pub(super) fn look(head: &ResponseHead, body: Body, upstreams: Option<&[UpstreamUrl]>) -> Option<HeadSummary> {
    // Such a line is for who can unfold it.
    if head.is_folded() {
        return None;
    }
    let mut by = HeadSummary::default();
    for Line { value, class, .. } in head.lines() {
        match class {
            Some(FieldClass::Connection) => {
                if !value.eq_ignore_ascii_case(b"keep-alive") && !value.eq_ignore_ascii_case(b"close") {
                    return None;
                }
                continue;
            }
            Some(FieldClass::Date) => {
                by.dated = true;
                continue;
            }
            Some(FieldClass::ContentLength) => _ = digits(value)?,
            Some(FieldClass::TransferEncoding) if value == b"chunked" && body == Body::Chunked => {}
            Some(FieldClass::TransferEncoding) => return None,
            // Where it leads is looked at in any case.
            Some(FieldClass::Location) if upstreams.is_some() && value.windows(2).any(|two| two == b"//") => {
                return None;
            }
            Some(FieldClass::Address) if upstreams.is_some_and(|upstreams| may_name(upstreams, value)) => return None,
            Some(FieldClass::HopByHop | FieldClass::Trailer | FieldClass::Location | FieldClass::Address) | None => {
                continue;
            }
        };
        if std::mem::replace(&mut by.framed, true) {
            return None;
        }
    }
    // A 204 has no length (RFC 9110 §8.6).
    if by.framed && head.status == StatusCode::NO_CONTENT { None } else { Some(by) }
}

impl HeadSummary {
    /// Makes the head as the client is to see it.
    pub(super) fn pass(
        self,
        head: &ResponseHead,
        body: Body,
        changes: &Changes,
        link: Option<LinkLine<'_>>,
        reply: &mut Http1<'_>,
    ) {
        reply.writer.start(head.status, head.reason());
        let mut framed = self.framed;
        for line in head.lines() {
            if matches!(line.class, Some(FieldClass::Connection | FieldClass::HopByHop | FieldClass::Trailer)) {
                continue;
            }
            if changes.remove(line.name) {
                framed &= line.class != Some(FieldClass::ContentLength);
                continue;
            }
            reply.writer.line_as_sent(line.name, line.value, line.whole);
        }
        for (name, value) in changes.added() {
            reply.writer.line(name.as_bytes(), value.as_bytes());
        }
        if !framed && body != Body::Absent {
            reply.writer.line(b"Transfer-Encoding", b"chunked");
        }
        if let Some(link) = link {
            reply.writer.line_of(b"Link", &link.pieces());
        }
        let framing = match body {
            Body::Absent => ClientFraming::Bodiless,
            Body::Length(length) if framed => ClientFraming::Length(length),
            Body::Length(_) | Body::Chunked | Body::UntilClose => ClientFraming::Chunked,
        };
        reply.end(framing, self.dated);
    }
}

/// The same as a map, where it leaves in frames: those have their own ways to frame a body.
pub(super) fn mapped(head: &ResponseHead, changes: &Changes, link: Option<LinkLine<'_>>) -> Result<ResponseHeader> {
    let (mut mapped, ()) = Response::new(()).into_parts();
    mapped.status = head.status;
    mapped.headers = header_map(head, ROOM, |line| {
        !matches!(
            line.class,
            Some(FieldClass::Connection | FieldClass::HopByHop | FieldClass::Trailer | FieldClass::TransferEncoding)
        ) && !changes.remove(line.name)
    })?;
    for (name, value) in changes.added() {
        let name = HeaderName::from_bytes(name.as_bytes()).or_err(ErrorType::InternalError, "a header of ours")?;
        mapped.headers.append(name, value.clone());
    }
    if let Some(link) = link {
        mapped.headers.append(header::LINK, link.value());
    }
    Ok(mapped.into())
}

/// For what comes to the site's lines.
const ROOM: usize = 4;
