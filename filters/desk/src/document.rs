//! A published document, rendered in advance in every variant, so that serving it involves no serialisation.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use memchr::memmem;

use frontdesk_base::{
    accept, etag,
    reply::{Pieces, Reply},
};
use frontdesk_config::Settings;
use frontdesk_firewall::Flags;
use frontdesk_page::signals::Signals;

/// What a document writes for the site's origin where none is declared. The reply has the origin that the client used
/// in its place.
const ORIGIN: &str = "https://origin.invalid";

/// The declared origin, without a slash at its end, or what stands for the one that a client uses. For documents that
/// have to name whole addresses.
pub fn origin(settings: &Settings) -> &str {
    settings.site.origin.as_deref().map_or(ORIGIN, |origin| origin.trim_end_matches('/'))
}

/// Renders a body for an origin, where more than the origin's own text depends on it: names made of the host, digests.
#[derive(Clone)]
struct Render(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl fmt::Debug for Render {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Render")
    }
}

/// On documents that sites have themselves as well.
pub const GENERATED: HeaderName = HeaderName::from_static("x-frontdesk-generated");

/// A text with the origin in it.
fn with_origin(text: &[u8], origin: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memmem::find_iter(text, ORIGIN) {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(origin.as_bytes());
        from = at + ORIGIN.len();
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// A long body for a client that uses this origin.
#[derive(Debug)]
struct AtOrigin {
    pieces: Arc<dyn Pieces>,
    origin: String,
}

impl Pieces for AtOrigin {
    fn piece(&self, nth: usize) -> Option<Bytes> {
        let piece = self.pieces.piece(nth)?;
        Some(match memmem::find(&piece, ORIGIN.as_bytes()) {
            Some(_) => with_origin(&piece, &self.origin).into(),
            None => piece,
        })
    }
}

/// One representation of a document.
#[derive(Debug, Clone)]
pub struct Variant {
    pub media_type: &'static str,
    reply: Reply,
    not_modified: Reply,
    /// `None` for one that is made while it is sent.
    etag: Option<HeaderValue>,
    /// The body has [`ORIGIN`] in it.
    names_origin: bool,
    /// How to render the body for a client's origin; `None`: the origin's text is replaced.
    render: Option<Render>,
}

impl Variant {
    /// Renders the reply, its 304 and its strong entity tag.
    pub fn new(media_type: &'static str, body: impl Into<Bytes>, cache_control: &HeaderValue) -> Self {
        let body = body.into();
        let etag = etag::strong(&body);
        let dress = |reply: Reply| {
            reply
                .with_value(header::ETAG, etag.clone())
                .with_value(header::CACHE_CONTROL, cache_control.clone())
                .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        };
        let reply = dress(Reply::new(StatusCode::OK, media_type, body));
        let not_modified = dress(Reply::empty(StatusCode::NOT_MODIFIED));
        let names_origin = memmem::find(&reply.body, ORIGIN.as_bytes()).is_some();
        Self { media_type, reply, not_modified, etag: Some(etag), names_origin, render: None }
    }

    /// A body that is rendered for the declared origin, or for the one that a client uses.
    pub fn of_origin(
        settings: &Settings,
        media_type: &'static str,
        cache_control: &HeaderValue,
        render: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let variant = Self::new(media_type, render(origin(settings)), cache_control);
        let undeclared = settings.site.origin.is_none().then(|| Render(Arc::new(render)));
        Self { names_origin: undeclared.is_some(), render: undeclared, ..variant }
    }

    /// Adds a header, to the 304 too.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.reply = self.reply.with(name.clone(), value);
        self.not_modified = self.not_modified.with(name, value);
        self
    }

    /// A long document that is made while it is sent. It has no entity tag.
    pub fn streamed(media_type: &'static str, pieces: Arc<dyn Pieces>, cache_control: &HeaderValue) -> Self {
        let whole = Self::new(media_type, Bytes::new(), cache_control);
        let mut reply = whole.reply;
        reply.headers.retain(|(name, _)| name != header::ETAG);
        reply.pieces = Some(pieces);
        Self { reply, etag: None, names_origin: true, ..whole }
    }

    /// Adds `Vary: Accept`, for an address with several representations.
    pub fn varying(self) -> Self {
        let vary = |reply: Reply| reply.with(header::VARY, "Accept");
        Self { reply: vary(self.reply), not_modified: vary(self.not_modified), ..self }
    }

    /// Adds the headers on permitted use.
    pub fn telling(mut self, signals: Option<&Signals>) -> Self {
        for (_, name, value) in signals.into_iter().flat_map(Signals::told) {
            self.reply.headers.push((name.clone(), value.clone()));
        }
        self
    }

    /// Says that Frontdesk made it, and not the site.
    pub fn generated(mut self) -> Self {
        self.reply = self.reply.with(GENERATED, "1");
        self
    }

    /// Adds the firewall's findings.
    pub fn flagged(mut self, flags: &Flags) -> Self {
        self.reply.headers.extend(flags.header());
        self
    }

    /// The same for a client that uses this origin.
    fn at(&self, origin: &str) -> Self {
        let body: Bytes = match &self.render {
            Some(Render(render)) => render(origin).into(),
            None => with_origin(&self.reply.body, origin).into(),
        };
        let mut there = Self { names_origin: false, ..self.clone() };
        if let Some(pieces) = &self.reply.pieces {
            there.reply.pieces = Some(Arc::new(AtOrigin { pieces: pieces.clone(), origin: origin.to_owned() }));
            return there;
        }
        let etag = etag::strong(&body);
        there.reply.body = body;
        for (_, value) in [&mut there.reply, &mut there.not_modified]
            .into_iter()
            .flat_map(|reply| &mut reply.headers)
            .filter(|(name, _)| name == header::ETAG)
        {
            *value = etag.clone();
        }
        there.etag = Some(etag);
        there
    }

    fn answer(&self, headers: &HeaderMap, origin: &dyn Fn() -> String) -> Reply {
        if self.names_origin {
            return self.at(&origin()).answer(headers, origin);
        }
        let Some(etag) = &self.etag else { return self.reply.clone() };
        if etag::fails(headers, etag) {
            return Reply::empty(StatusCode::PRECONDITION_FAILED).with(header::CACHE_CONTROL, "no-store");
        }
        if etag::matches(headers, etag) { self.not_modified.clone() } else { self.reply.clone() }
    }

    /// The body, for a variant of another URL. Where no origin is declared, addresses in it are paths.
    pub fn body(&self) -> Bytes {
        if self.names_origin { self.at("").reply.body } else { self.reply.body.clone() }
    }
}

/// Chooses the variant for an `Accept` header; `Err` is the reply where none is acceptable.
pub type Negotiate = fn(accept: Option<&str>, document: &Document) -> Result<usize, Reply>;

/// A document at a path of its own.
#[derive(Debug, Clone)]
pub struct Document {
    /// The canonical path, as announced.
    pub path: String,
    pub variants: Vec<Variant>,
    /// `None`: always the first variant.
    pub negotiate: Option<Negotiate>,
    /// The protocol versions in which this document is available.
    pub versions: Vec<String>,
}

impl Document {
    /// Answers a GET, HEAD or OPTIONS for this document, conditional requests included. `None` for other methods.
    /// `origin`: what the client used, for documents that name it.
    pub fn respond(&self, method: &Method, headers: &HeaderMap, origin: &dyn Fn() -> String) -> Option<Reply> {
        let accept = accept::of(headers);
        Some(match *method {
            Method::GET | Method::HEAD => {
                match self.negotiate.map_or(Ok(0), |choose| choose(accept.as_deref(), self)) {
                    Ok(variant) => self.variants[variant].answer(headers, origin),
                    Err(refusal) => refusal,
                }
            }
            Method::OPTIONS => Reply::empty(StatusCode::NO_CONTENT)
                .with(header::ALLOW, ALLOW)
                .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
                .with(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOW)
                .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match"),
            _ => return None,
        })
    }
}

/// Whether a document can be asked so.
pub fn takes(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// What a document can be asked.
pub const ALLOW: &str = "GET, HEAD, OPTIONS";

#[cfg(test)]
mod tests {
    use frontdesk_config::testing::{Nowhere, declare_text};

    use super::*;

    fn document() -> Document {
        let variant = Variant::new("application/json", "{}", &HeaderValue::from_static("max-age=1"));
        Document { path: "/x".into(), variants: vec![variant], negotiate: None, versions: Vec::new() }
    }

    #[test]
    fn a_known_tag_is_not_sent_again() {
        let document = document();
        let first = document.respond(&Method::GET, &HeaderMap::new(), &String::new).unwrap();
        let etag = first.headers.iter().find(|(n, _)| n == header::ETAG).unwrap().1.clone();
        for value in [etag.to_str().unwrap().to_owned(), format!("\"a\", W/{}", etag.to_str().unwrap()), "*".into()] {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, value.parse().unwrap());
            assert_eq!(document.respond(&Method::GET, &headers, &String::new).unwrap().status, 304, "{value}");
        }
        let mut other = HeaderMap::new();
        other.insert(header::IF_NONE_MATCH, "\"other\"".parse().unwrap());
        assert_eq!(document.respond(&Method::GET, &other, &String::new).unwrap().status, 200);
    }

    #[test]
    fn a_document_that_is_wanted_as_it_was_is_not_told_as_it_is() {
        let document = document();
        let etag = document.variants[0].etag.as_ref().unwrap().to_str().unwrap().to_owned();
        let asked = |value: &str| {
            let headers = [(header::IF_MATCH, value.parse().unwrap())].into_iter().collect();
            document.respond(&Method::GET, &headers, &String::new).unwrap().status.as_u16()
        };
        for known in [etag.clone(), format!("\"a\", {etag}"), "*".into()] {
            assert_eq!(asked(&known), 200, "{known}");
        }
        for other in ["\"a\"".to_owned(), format!("W/{etag}"), String::new()] {
            assert_eq!(asked(&other), 412, "{other}");
        }
    }

    #[test]
    fn a_document_names_the_origin_that_the_client_used_and_its_tag_follows() {
        let body = format!("{ORIGIN}/a {ORIGIN}/b");
        let variant = Variant::new("text/plain", body, &HeaderValue::from_static("max-age=1"));
        let document = Document { path: "/x".into(), variants: vec![variant], negotiate: None, versions: Vec::new() };
        let told =
            |origin: &str, headers: &HeaderMap| document.respond(&Method::GET, headers, &|| origin.to_owned()).unwrap();
        let tag = |reply: &Reply| reply.headers.iter().find(|(n, _)| n == header::ETAG).unwrap().1.clone();
        let (one, other) = (told("http://a.test", &HeaderMap::new()), told("http://b.test:8", &HeaderMap::new()));
        assert_eq!(
            (&one.body[..], &other.body[..]),
            (&b"http://a.test/a http://a.test/b"[..], &b"http://b.test:8/a http://b.test:8/b"[..])
        );
        assert_ne!(tag(&one), tag(&other));
        let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag(&one))]);
        let again = told("http://a.test", &known);
        assert_eq!((again.status.as_u16(), tag(&again)), (304, tag(&one)));
        assert_eq!(told("http://b.test:8", &known).status, 200);
    }

    #[test]
    fn a_body_that_follows_from_the_origin_is_rendered_for_it() {
        let settings = |more: &str| {
            let text = format!("[upstream]\nurl = 'http://127.0.0.1:9'\n{more}");
            declare_text(std::path::Path::new("/x.toml"), &text, &Nowhere).unwrap().settings
        };
        let render = |origin: &str| format!("{origin} is {}", origin.len());
        let cache = HeaderValue::from_static("max-age=1");
        let variant = Variant::of_origin(&settings(""), "text/plain", &cache, render).with(header::VARY, "X");
        let document = Document { path: "/x".into(), variants: vec![variant], negotiate: None, versions: Vec::new() };
        let told = document.respond(&Method::GET, &HeaderMap::new(), &|| "http://a.test".to_owned()).unwrap();
        assert_eq!(told.body, "http://a.test is 13");
        assert!(told.headers.iter().any(|(name, _)| name == header::VARY));
        let declared = settings("[site]\norigin = 'https://b.test/'\n");
        let variant = Variant::of_origin(&declared, "text/plain", &cache, render);
        assert_eq!(variant.body(), "https://b.test is 14");
    }

    #[test]
    fn a_document_is_only_read() {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            assert!(document().respond(&method, &HeaderMap::new(), &String::new).is_none(), "{method}");
        }
    }
}
