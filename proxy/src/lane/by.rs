//! An answer that goes by: line by line from what was read to what is written, never taken apart into a map.

use http::{HeaderValue, Method};

use super::http1::{Framing, Http1};
use crate::upstream::{Head, digits};

/// What an answer says that it is, or `None` where it says so twice.
pub(super) fn kind(head: &Head) -> Option<Option<&[u8]>> {
    let mut kinds = head.all(b"content-type");
    let kind = kinds.next();
    kinds.next().is_none().then_some(kind)
}

/// Makes the head as the client is to see it. `None`: a line says more than usual, and the whole head is to be looked at.
pub(super) fn pass(head: &Head, method: &Method, link: Option<&HeaderValue>, reply: &mut Http1<'_>) -> Option<()> {
    if head.is_folded() {
        return None;
    }
    let mut framing = None;
    let mut dated = false;
    reply.start(head.status, head.reason());
    for (name, value, whole) in head.lines() {
        match Matters::of(name) {
            Some(Matters::Connection) => {
                if !value.eq_ignore_ascii_case(b"keep-alive") && !value.eq_ignore_ascii_case(b"close") {
                    return None;
                }
                continue;
            }
            Some(Matters::Hop) => continue,
            Some(Matters::Date) => dated = true,
            Some(Matters::Length) => {
                if framing.replace(Framing::Length(digits(value)?)).is_some() {
                    return None;
                }
            }
            Some(Matters::Coding) => {
                if framing.replace(Framing::Chunked).is_some() || !value.eq_ignore_ascii_case(b"chunked") {
                    return None;
                }
            }
            None => {}
        }
        reply.line_as_sent(name, value, whole);
    }
    let bodiless = *method == Method::HEAD || matches!(head.status, 204 | 304);
    if framing.is_none() && !bodiless {
        reply.line(b"Transfer-Encoding", b"chunked");
    }
    if let Some(link) = link {
        reply.line(b"Link", link.as_bytes());
    }
    reply.end(if bodiless { Framing::Bodiless } else { framing.unwrap_or(Framing::Chunked) }, dated);
    Some(())
}

/// A line that matters on the way.
#[derive(Clone, Copy)]
enum Matters {
    Connection,
    Date,
    Length,
    Coding,
    /// It belongs to the hop from the site to here.
    Hop,
}

impl Matters {
    fn of(name: &[u8]) -> Option<Self> {
        let (lower, what): (&[u8], Self) = match name.len() {
            4 => (b"date", Self::Date),
            7 => (b"upgrade", Self::Hop),
            10 if name[0].eq_ignore_ascii_case(&b'c') => (b"connection", Self::Connection),
            10 => (b"keep-alive", Self::Hop),
            14 => (b"content-length", Self::Length),
            16 => (b"proxy-connection", Self::Hop),
            17 => (b"transfer-encoding", Self::Coding),
            _ => return None,
        };
        name.eq_ignore_ascii_case(lower).then_some(what)
    }
}
