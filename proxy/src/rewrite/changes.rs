//! What changes of a response's head with its body; told apart from how, for a head may be a map or lines that go by.

use frontdesk_filters::page::validators::OF_BYTES;
use frontdesk_http1::ResponseHead;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::http::ResponseHeader;

/// Headers, however they are kept.
pub trait Fields {
    /// The values of all lines with this name.
    fn all<'a>(&'a self, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]>;

    /// What the first of them says, if it is text.
    fn text<'a>(&'a self, name: &'a HeaderName) -> Option<&'a str> {
        text(self.all(name).next()?)
    }

    /// Whether there is a line with this name.
    fn has(&self, name: &HeaderName) -> bool {
        self.all(name).next().is_some()
    }
}

/// A value that is text: visible characters and blanks.
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

/// What changes.
#[derive(Debug, Default)]
pub struct Changes {
    /// What promises something about the bytes of the body is not true any more.
    pub(super) rewritten: bool,
    /// But for its length: an answer that has ended with its head is framed by no chunks.
    pub(super) empty: bool,
    pub(super) tag: Option<HeaderValue>,
    /// There are other answers under the same address, for whoever asks for them.
    pub(super) varies: bool,
    /// What may be done with it, where the site does not say so.
    pub(super) signed: Vec<(&'static str, HeaderValue)>,
}

impl Changes {
    /// Whether a line of the site's is not passed.
    pub fn remove(&self, name: &[u8]) -> bool {
        let is = |other: &HeaderName| name.eq_ignore_ascii_case(other.as_str().as_bytes());
        self.untrue().any(is) || self.tag.is_some() && is(&header::ETAG)
    }

    /// What is not true of a page that is rewritten.
    fn untrue(&self) -> impl Iterator<Item = &'static HeaderName> {
        static LENGTH: HeaderName = header::CONTENT_LENGTH;
        let promises = if self.rewritten { &OF_BYTES[..] } else { &[] };
        promises.iter().chain((self.rewritten && !self.empty).then_some(&LENGTH))
    }

    /// What comes to those that are left.
    pub fn added(&self) -> impl Iterator<Item = (&'static str, &HeaderValue)> {
        const ACCEPT: HeaderValue = HeaderValue::from_static("Accept");
        static VARY: HeaderValue = ACCEPT;
        let tag = self.tag.iter().map(|tag| ("ETag", tag));
        let vary = self.varies.then_some(("Vary", &VARY));
        self.signed.iter().map(|(name, value)| (*name, value)).chain(vary).chain(tag)
    }

    /// The same for a map.
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
