//! The changes of a response's head when its body is rewritten. The trait `Fields` hides whether the head is a map or
//! lines.

use frontdesk_filters::{
    discovery::{links, not_found},
    page::validators::OF_BYTES,
};
use frontdesk_http1::ResponseHead;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::http::ResponseHeader;

/// Headers, in any representation.
pub trait Fields {
    /// The values of all lines with this name.
    fn all<'a>(&'a self, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]>;

    /// The first value, if it is text.
    fn text<'a>(&'a self, name: &'a HeaderName) -> Option<&'a str> {
        text(self.all(name).next()?)
    }

    /// Whether there is a line with this name.
    fn has(&self, name: &HeaderName) -> bool {
        self.all(name).next().is_some()
    }
}

/// A value of visible characters and blanks.
pub(super) fn text(value: &[u8]) -> Option<&str> {
    let visible = value.iter().fold(true, |so_far, byte| so_far & matches!(byte, b'\t' | b' '..=b'~'));
    std::str::from_utf8(value).ok().filter(|_| visible)
}

impl Fields for HeaderMap {
    fn all<'a>(&'a self, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]> {
        self.get_all(name).iter().map(HeaderValue::as_bytes)
    }
}

impl Fields for ResponseHead {
    fn all<'a>(&'a self, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]> {
        self.values(name.as_str().as_bytes())
    }
}

/// What is about the site's own body, besides what is about its bytes.
static OF_BODY: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_DISPOSITION,
    header::CACHE_CONTROL,
    header::EXPIRES,
    header::ETAG,
    header::LAST_MODIFIED,
];
/// What is said of the body that is sent in its place.
static INSTEAD: [(&str, HeaderValue); 3] = [
    ("Content-Type", HeaderValue::from_static(not_found::JSON)),
    ("Cache-Control", HeaderValue::from_static("private, no-cache")),
    ("X-Frontdesk-Generated", HeaderValue::from_static("1")),
];

/// The changes.
#[derive(Debug, Default)]
pub struct Changes {
    /// The body changes, so headers that describe its exact bytes are removed.
    pub(super) rewritten: bool,
    /// Keeps the length: a response without a body needs no chunked framing.
    pub(super) empty: bool,
    pub(super) tag: Option<HeaderValue>,
    /// The same URL has other responses, depending on request headers.
    pub(super) varies: bool,
    /// Permissions for the content, if the site states none.
    pub(super) signed: Vec<(&'static str, HeaderValue)>,
    /// Another body is sent, in JSON: what is said of the site's own does not hold.
    pub(super) instead: bool,
    /// What the added `Link` is for.
    pub answer: links::Answer,
}

impl Changes {
    /// Whether to drop this line of the site's head.
    pub fn remove(&self, name: &[u8]) -> bool {
        let is = |other: &HeaderName| name.eq_ignore_ascii_case(other.as_str().as_bytes());
        self.untrue().any(is) || self.tag.is_some() && is(&header::ETAG)
    }

    /// The headers that a rewrite makes wrong.
    fn untrue(&self) -> impl Iterator<Item = &'static HeaderName> {
        static LENGTH: HeaderName = header::CONTENT_LENGTH;
        let promises = if self.rewritten { &OF_BYTES[..] } else { &[] };
        let of_body = if self.instead { &OF_BODY[..] } else { &[] };
        promises.iter().chain(of_body).chain((self.rewritten && !self.empty).then_some(&LENGTH))
    }

    /// The headers to add.
    pub fn added(&self) -> impl Iterator<Item = (&'static str, &HeaderValue)> {
        const ACCEPT: HeaderValue = HeaderValue::from_static("Accept");
        static VARY: HeaderValue = ACCEPT;
        let tag = self.tag.iter().map(|tag| ("ETag", tag));
        let vary = self.varies.then_some(("Vary", &VARY));
        let instead = if self.instead { &INSTEAD[..] } else { &[] };
        let instead = instead.iter().map(|(name, value)| (*name, value));
        self.signed.iter().map(|(name, value)| (*name, value)).chain(vary).chain(tag).chain(instead)
    }

    /// Applies the changes to a map.
    pub fn apply(&self, head: &mut ResponseHeader) -> pingora::Result<()> {
        for name in self.untrue() {
            head.remove_header(name);
        }
        if self.tag.is_some() {
            head.remove_header(&header::ETAG);
        }
        self.added().try_for_each(|(name, value)| head.append_header(name, value).map(drop))
    }
}
