//! An answer that goes by: line by line from what was read to what is written, never taken apart into a map.

use http::{HeaderValue, Method};

use super::{
    http1::{Framing, Http1},
    site::{Head, digits},
};

/// What has to be known of an answer that goes by.
pub(super) struct By<'a> {
    pub(super) content_type: Option<&'a [u8]>,
    framing: Framing,
    /// The site said how its body is framed, in a way that holds here too.
    framed: bool,
    dated: bool,
}

/// Looks at the lines that matter. `None`: one of them says more than usual, and the whole head is to be looked at.
pub(super) fn look<'a>(head: &'a Head, method: &Method) -> Option<By<'a>> {
    let bodiless = *method == Method::HEAD || matches!(head.status, 204 | 304);
    let mut by = By { content_type: None, framing: Framing::Chunked, framed: false, dated: false };
    for (name, value) in head.fields() {
        // A folded line is for who can unfold it.
        if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        match Matters::of(name) {
            Some(Matters::Connection) => {
                if !value.eq_ignore_ascii_case(b"keep-alive") && !value.eq_ignore_ascii_case(b"close") {
                    return None;
                }
            }
            Some(Matters::ContentType) => {
                if by.content_type.replace(value).is_some() {
                    return None;
                }
            }
            Some(Matters::Date) => by.dated = true,
            Some(Matters::Length) => {
                let length = digits(value)?;
                if by.framed {
                    return None;
                }
                (by.framing, by.framed) = (Framing::Length(length), true);
            }
            Some(Matters::Coding) => {
                if by.framed || !value.eq_ignore_ascii_case(b"chunked") {
                    return None;
                }
                (by.framing, by.framed) = (Framing::Chunked, true);
            }
            Some(Matters::Hop) | None => {}
        }
    }
    if bodiless {
        by.framing = Framing::Bodiless;
    }
    Some(by)
}

impl By<'_> {
    /// Writes the head as the client is to see it.
    pub(super) fn pass(&self, head: &Head, link: Option<&HeaderValue>, reply: &mut Http1<'_>) {
        reply.start(head.status, head.reason());
        for (name, value) in head.fields() {
            if !matches!(Matters::of(name), Some(Matters::Connection | Matters::Hop)) {
                reply.line(name, value);
            }
        }
        if !self.framed && self.framing == Framing::Chunked {
            reply.line(b"Transfer-Encoding", b"chunked");
        }
        if let Some(link) = link {
            reply.line(b"Link", link.as_bytes());
        }
        reply.end(self.framing, self.dated);
    }
}

/// A line that matters on the way.
#[derive(Clone, Copy)]
enum Matters {
    Connection,
    ContentType,
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
            12 => (b"content-type", Self::ContentType),
            14 => (b"content-length", Self::Length),
            16 => (b"proxy-connection", Self::Hop),
            17 => (b"transfer-encoding", Self::Coding),
            _ => return None,
        };
        name.eq_ignore_ascii_case(lower).then_some(what)
    }
}
