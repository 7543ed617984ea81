//! Whether a response is a page that may be touched, and its head re-framed as a whole when it is (decision 3).

use std::sync::Arc;

use frontdesk_filters::{
    page::{Coding, kind, validators},
    site::Snapshot,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use pingora::http::{RequestHeader, ResponseHeader};

use super::{
    Asked,
    body::{PageBody, Place},
    known, text,
};
use crate::admin::metrics::Metrics;

/// Validators and promises about bytes that are no longer true of a rewritten page.
const UNTRUE: [HeaderName; 6] = [
    header::CONTENT_LENGTH,
    header::ACCEPT_RANGES,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// What a response turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched {
    /// Not a page.
    No,
    /// A page whose head was changed; the body follows (or would, for HEAD).
    Page,
    /// A page that is passed as it is, and why.
    Left(&'static str),
    /// Not passed at all: something made of it, or in its place, was answered.
    Instead(&'static str),
}

/// Looks at a response's head as the site sent it, before the library frames it. Informational ones are not for here.
pub fn prepare(
    snapshot: &Snapshot,
    request: &RequestHeader,
    asked: &Asked,
    head: &mut ResponseHeader,
    body: Option<&mut PageBody>,
    metrics: &Arc<Metrics>,
) -> pingora::Result<Touched> {
    let (method, version) = (&request.method, request.version);
    if !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
        return Ok(Touched::No);
    }
    let html = head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| is_html(kind.as_bytes()));
    if html && head.status != StatusCode::NOT_MODIFIED {
        sign(snapshot, head)?;
        // Under this address there is its Markdown too, and the manifest, for whoever asks for them.
        if (snapshot.settings.content.markdown || snapshot.insertion.is_some()) && *method != Method::POST {
            add_vary(head)?;
        }
    }
    let Some((insertion, hash)) = &snapshot.insertion else { return Ok(Touched::No) };
    if head.status == StatusCode::NOT_MODIFIED {
        if let Some(matched) = &asked.matched {
            // Tagged again like its 200, by the site's tag if it repeats one.
            let tag = retagged(&head.headers, hash).unwrap_or_else(|| matched.clone());
            set_tag(head, &tag)?;
            add_vary(head)?;
        }
        return Ok(Touched::No);
    }
    if head.status == StatusCode::OK && *method != Method::POST {
        known::learn(request.raw_path(), html);
    }
    if !html {
        return Ok(Touched::No);
    }
    let coding = match left_alone(head, version) {
        Ok(coding) => coding,
        Err(why) => {
            metrics.pages_untouched.with_label_values(&[why]).inc();
            return Ok(Touched::Left(why));
        }
    };
    let place = match coding {
        Coding::Identity => None,
        _ => match Place::take(snapshot.settings.protection.max_recoding) {
            Some(place) => Some(place),
            None => {
                metrics.pages_untouched.with_label_values(&["max_recoding"]).inc();
                return Ok(Touched::Left("max_recoding"));
            }
        },
    };
    if let Some(tag) = retagged(&head.headers, hash) {
        set_tag(head, &tag)?;
    }
    // Nothing stays nothing: an answer that has ended with its head is framed by no chunks.
    let empty = text(&head.headers, header::CONTENT_LENGTH) == Some("0");
    for name in UNTRUE.iter().filter(|name| !empty || **name != header::CONTENT_LENGTH) {
        head.remove_header(name);
    }
    if *method != Method::HEAD
        && let Some(body) = body
    {
        let is_page = head.status == StatusCode::OK && *method == Method::GET;
        let of_page = std::str::from_utf8(request.raw_path()).ok().filter(|_| is_page);
        let of_page = of_page.map(|target| insertion.link_of(target)).unwrap_or_default();
        body.arm(coding, insertion.clone(), of_page, place, metrics.clone());
    }
    Ok(Touched::Page)
}

/// Whether the answer to a GET or HEAD goes by as it is: it is no page, and says nothing about one. Remembers that much.
pub fn goes_by(snapshot: &Snapshot, request: &RequestHeader, status: u16, content_type: Option<&[u8]>) -> bool {
    if content_type.is_some_and(is_html) || status == StatusCode::NOT_MODIFIED.as_u16() {
        return false;
    }
    if snapshot.insertion.is_some() && status == StatusCode::OK.as_u16() {
        known::learn(request.raw_path(), false);
    }
    true
}

/// The coding of a page that may be touched, or why it may not.
fn left_alone(head: &ResponseHeader, version: Version) -> Result<Coding, &'static str> {
    let headers = &head.headers;
    if version == Version::HTTP_10 {
        return Err("http_1_0");
    }
    if matches!(head.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT) {
        return Err("status");
    }
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err("range");
    }
    let cache_control = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok());
    if kind::no_transform(cache_control) {
        return Err("no_transform");
    }
    if !text(headers, header::CONTENT_TYPE).is_some_and(kind::is_page) {
        return Err("charset");
    }
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(Coding::Identity),
        (Some(one), None) => one.to_str().ok().and_then(Coding::parse).ok_or("coding"),
        _ => Err("coding"),
    }
}

/// Whatever its charset.
fn is_html(content_type: &[u8]) -> bool {
    let kind = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/html")
}

fn retagged(headers: &HeaderMap, hash: &str) -> Option<String> {
    validators::tagged(text(headers, header::ETAG), text(headers, header::LAST_MODIFIED), hash)
}

/// What may be done with the page, where the operator says so and the site does not.
fn sign(snapshot: &Snapshot, head: &mut ResponseHeader) -> pingora::Result<()> {
    let Some(signals) = &snapshot.signals else { return Ok(()) };
    for (cased, name, value) in signals.told() {
        if !head.headers.contains_key(name) {
            head.insert_header(cased, value.clone())?;
        }
    }
    Ok(())
}

/// `Vary: Accept`, once.
fn add_vary(head: &mut ResponseHeader) -> pingora::Result<()> {
    let already = head
        .headers
        .get_all(header::VARY)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|v| v.trim() == "*" || v.trim().eq_ignore_ascii_case("accept"));
    if !already {
        head.append_header("Vary", HeaderValue::from_static("Accept"))?;
    }
    Ok(())
}

fn set_tag(head: &mut ResponseHeader, tag: &str) -> pingora::Result<()> {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        head.insert_header("ETag", tag)?;
    }
    Ok(())
}
