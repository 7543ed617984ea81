//! An answer that goes by: line by line from what was read to what is written, never taken apart into a map.

use http::{HeaderName, HeaderValue, Method, Response, header};
use pingora::{ErrorType, OrErr, Result, http::ResponseHeader};

use super::http1::{Framing, Http1};
use crate::{
    answer::is_bodiless,
    framing::digits,
    rewrite::Changes,
    upstream::{Head, Line, Matters},
};

/// What has to be known of an answer that goes by.
#[derive(Default)]
pub(super) struct By {
    /// How its body is framed, if the site says so in a way that holds here too.
    framing: Option<Framing>,
    dated: bool,
}

/// Looks at the lines that matter. `None`: one of them says more than usual, and the whole head is to be looked at.
pub(super) fn look(head: &Head) -> Option<By> {
    // Such a line is for who can unfold it.
    if head.is_folded() {
        return None;
    }
    let mut by = By::default();
    for Line { value, matters, .. } in head.lines() {
        let framing = match matters {
            Some(Matters::Connection) => {
                if !value.eq_ignore_ascii_case(b"keep-alive") && !value.eq_ignore_ascii_case(b"close") {
                    return None;
                }
                continue;
            }
            Some(Matters::Date) => {
                by.dated = true;
                continue;
            }
            Some(Matters::Length) => Framing::Length(digits(value)?),
            Some(Matters::Coding) if value.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
            Some(Matters::Coding) => return None,
            Some(Matters::Hop) | None => continue,
        };
        if by.framing.replace(framing).is_some() {
            return None;
        }
    }
    Some(by)
}

impl By {
    /// Makes the head as the client is to see it.
    pub(super) fn pass(
        self,
        head: &Head,
        method: &Method,
        changes: &Changes,
        link: Option<&HeaderValue>,
        reply: &mut Http1<'_>,
    ) {
        reply.start(head.status, head.reason());
        let mut framing = self.framing;
        for line in head.lines() {
            if matches!(line.matters, Some(Matters::Connection | Matters::Hop)) {
                continue;
            }
            if changes.remove(line.name) {
                if line.matters == Some(Matters::Length) {
                    framing = None;
                }
                continue;
            }
            reply.line_as_sent(line.name, line.value, line.whole);
        }
        for (name, value) in changes.added() {
            reply.line(name.as_bytes(), value.as_bytes());
        }
        let bodiless = *method == Method::HEAD || is_bodiless(head.status);
        if framing.is_none() && !bodiless {
            reply.line(b"Transfer-Encoding", b"chunked");
        }
        if let Some(link) = link {
            reply.line(b"Link", link.as_bytes());
        }
        reply.end(if bodiless { Framing::Bodiless } else { framing.unwrap_or(Framing::Chunked) }, self.dated);
    }
}

/// The same as a map, where it leaves in frames: those have their own ways to frame a body.
pub(super) fn mapped(head: &Head, changes: &Changes, link: Option<&HeaderValue>) -> Result<ResponseHeader> {
    let (mut mapped, ()) = Response::new(()).into_parts();
    mapped.status = head.status;
    mapped.headers = head.map(ROOM, |line| {
        !matches!(line.matters, Some(Matters::Connection | Matters::Hop | Matters::Coding))
            && !changes.remove(line.name)
    })?;
    for (name, value) in changes.added() {
        let name = HeaderName::from_bytes(name.as_bytes()).or_err(ErrorType::InternalError, "a header of ours")?;
        mapped.headers.append(name, value.clone());
    }
    if let Some(link) = link {
        mapped.headers.append(header::LINK, link.clone());
    }
    Ok(mapped.into())
}

/// For what comes to the site's lines.
const ROOM: usize = 4;
