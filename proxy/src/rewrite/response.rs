//! Decides whether a response is a page to rewrite, and changes its head as a whole (decision 0003).

use std::sync::Arc;

use bytes::Bytes;

use frontdesk_filters::{
    Snapshot, accept,
    discovery::{links, not_found},
    page::{Coding, FormMarker, Rewriter, kind, validators},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use pingora::http::RequestHeader;

use super::{
    Asked,
    body::{PageBody, Place},
    changes::{Changes, Fields, text},
    html_path_cache,
    request::rules_out_page,
};
use crate::metrics::Metrics;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched {
    /// Not a page.
    No,
    /// A page whose head was changed. The body follows, except for HEAD.
    Page,
    /// A page that passes unchanged, and why.
    Left(&'static str),
    /// Not passed: Frontdesk answered something made from it, or something else.
    Instead(&'static str),
}

/// Looks at the head that the site sent. Returns its kind and the changes. Not for informational responses.
pub fn prepare(
    snapshot: &Snapshot,
    request: &RequestHeader,
    asked: &Asked,
    (status, sent): (StatusCode, &impl Fields),
    body: Option<&mut PageBody>,
    metrics: &Arc<Metrics>,
) -> (Touched, Changes) {
    let mut changes = Changes::default();
    let (method, version) = (&request.method, request.version);
    if !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
        return (Touched::No, changes);
    }
    // With several different values a client may choose another one than we do.
    let html = sent.has(&header::CONTENT_TYPE) && sent.all(&header::CONTENT_TYPE).all(is_html);
    if html && status != StatusCode::NOT_MODIFIED {
        changes.signed = signed(snapshot, sent);
        // The same URL also has the page's Markdown and the manifest, by `Accept`.
        let others = snapshot.settings.content.markdown || snapshot.insertion.is_some();
        changes.varies = others && *method != Method::POST && !varies(sent);
        changes.answer = links::Answer::Page;
    }
    let coding = html.then(|| left_alone(status, sent, version));
    // The page whose Markdown is announced. An excluded one has none.
    let is_page = status == StatusCode::OK && *method != Method::POST && matches!(coding, Some(Ok(_)));
    let of_page = is_page.then(|| std::str::from_utf8(request.raw_path()).ok()).flatten();
    let of_page = of_page.filter(|target| !snapshot.excludes(target));
    if of_page.is_some() && !html_path_cache::lacks_markdown(request.raw_path()) {
        changes.answer = links::Answer::PageWithMarkdown;
    }
    if let Some(Ok(_)) = coding
        && let Some(instead) = not_found_in_json(snapshot, request, status, sent)
    {
        metrics.pages_made.with_label_values(&[NOT_FOUND]).inc();
        (changes.instead, changes.rewritten, changes.answer) = (true, true, links::Answer::Other);
        changes.signed.clear();
        changes.varies = !varies(sent);
        if let Some(body) = body.filter(|_| *method != Method::HEAD) {
            body.replace(instead);
        }
        return (Touched::Instead(NOT_FOUND), changes);
    }
    let Some((insertion, hash)) = &snapshot.insertion else { return (Touched::No, changes) };
    if status == StatusCode::NOT_MODIFIED {
        if let Some(matched) = &asked.matched {
            // Tag the 304 like its 200; use the site's tag if it repeats one.
            changes.tag = tag(retagged(sent, hash).unwrap_or_else(|| matched.clone()));
            changes.varies = !varies(sent);
            // The site's statements about the page's bytes describe its own bytes.
            changes.rewritten = true;
            // It goes with the page that the client holds.
            changes.answer = match std::str::from_utf8(request.raw_path()) {
                Ok(target) if !snapshot.excludes(target) && !html_path_cache::lacks_markdown(request.raw_path()) => {
                    links::Answer::PageWithMarkdown
                }
                _ => links::Answer::Page,
            };
        }
        return (Touched::No, changes);
    }
    let learns = status == StatusCode::OK && *method != Method::POST;
    let Some(coding) = coding else {
        if learns {
            html_path_cache::learn(request.raw_path(), false);
        }
        return (Touched::No, changes);
    };
    // A page that passes unchanged keeps its 304. If only this client's page does, others may have a changed one.
    let touched = !matches!(coding, Err("no_transform" | "attachment" | "charset" | "coding"));
    // The coding may be one that only this client accepts, whose `Accept-Encoding` passed unchanged.
    let of_this_client = matches!(coding, Err("coding")) && rules_out_page(&request.headers);
    if learns && !of_this_client {
        html_path_cache::learn(request.raw_path(), touched);
    }
    let left = |why| {
        metrics.pages_untouched.with_label_values(&[why]).inc();
        Touched::Left(why)
    };
    let coding = match coding {
        Ok(coding) => coding,
        Err(why) => return (left(why), changes),
    };
    let place = match coding {
        Coding::Identity => None,
        _ => match Place::take(snapshot.settings.protection.max_recoding) {
            Some(place) => Some(place),
            None => return (left("max_recoding"), changes),
        },
    };
    changes.tag = retagged(sent, hash).and_then(tag);
    changes.rewritten = true;
    changes.empty = sent.text(&header::CONTENT_LENGTH) == Some("0");
    if *method != Method::HEAD
        && let Some(body) = body
    {
        let of_page = match is_page {
            true => insertion.of_page(of_page, sent.all(&header::CONTENT_SECURITY_POLICY)),
            false => Bytes::new(),
        };
        let forms = match is_page {
            true => insertion.forms_of(std::str::from_utf8(request.raw_path()).unwrap_or_default()),
            false => Vec::new(),
        };
        let forms = (!forms.is_empty())
            .then(|| FormMarker::new(forms, kind::charset(sent.text(&header::CONTENT_TYPE).unwrap_or_default())));
        body.arm(Rewriter::new(coding, insertion.clone()).of_page(of_page), forms, place, metrics.clone());
    }
    (Touched::Page, changes)
}

/// What a page that is not there is for metrics and the access log.
const NOT_FOUND: &str = "not_found";

/// What a program that prefers JSON is told in place of a page that says that there is none. A browser's script gets what
/// the site has.
fn not_found_in_json(
    snapshot: &Snapshot,
    request: &RequestHeader,
    status: StatusCode,
    sent: &impl Fields,
) -> Option<Bytes> {
    let is_empty = sent.text(&header::CONTENT_LENGTH) == Some("0");
    if status != StatusCode::NOT_FOUND || request.method == Method::POST || is_empty {
        return None;
    }
    let accept = accept::of(&request.headers)?;
    if !not_found::prefers_json(&accept) || request.headers.contains_key(SEC_FETCH_MODE) {
        return None;
    }
    let target = std::str::from_utf8(request.raw_path()).ok()?;
    let origin = snapshot.settings.site.origin.as_deref().unwrap_or_default();
    snapshot.not_found.json(target, origin.trim_end_matches('/'))
}

/// The coding of a page to rewrite, or why it passes unchanged.
fn left_alone(status: StatusCode, sent: &impl Fields, version: Version) -> Result<Coding, &'static str> {
    if version == Version::HTTP_10 {
        return Err("http_1_0");
    }
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT) {
        return Err("status");
    }
    if sent.has(&header::CONTENT_RANGE) {
        return Err("range");
    }
    if kind::no_transform(sent.all(&header::CACHE_CONTROL).filter_map(text)) {
        return Err("no_transform");
    }
    if sent.all(&header::CONTENT_DISPOSITION).any(is_attachment) {
        // A download: the client stores it, so it must stay as the site has it.
        return Err("attachment");
    }
    if !sent.text(&header::CONTENT_TYPE).is_some_and(kind::is_page) {
        return Err("charset");
    }
    let mut codings = sent.all(&header::CONTENT_ENCODING);
    match (codings.next(), codings.next()) {
        (None, _) => Ok(Coding::Identity),
        (Some(one), None) => text(one).and_then(Coding::parse).ok_or("coding"),
        _ => Err("coding"),
    }
}

fn is_attachment(disposition: &[u8]) -> bool {
    let kind = disposition.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"attachment")
}

/// With any charset.
fn is_html(content_type: &[u8]) -> bool {
    let kind = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/html")
}

fn retagged(sent: &impl Fields, hash: &str) -> Option<String> {
    validators::tagged(sent.text(&header::ETAG), sent.text(&header::LAST_MODIFIED), hash)
}

fn tag(tag: String) -> Option<HeaderValue> {
    HeaderValue::try_from(tag).ok()
}

/// Permissions for the page, if the operator states them and the site does not.
fn signed(snapshot: &Snapshot, sent: &impl Fields) -> Vec<(&'static str, HeaderValue)> {
    let told = snapshot.signals.iter().flat_map(|signals| signals.told());
    told.filter(|(_, name, _): &(_, &HeaderName, _)| !sent.has(name))
        .map(|(cased, _, value)| (cased, value.clone()))
        .collect()
}

/// Whether the site already says that the response varies by `Accept`.
fn varies(sent: &impl Fields) -> bool {
    let mut names = sent.all(&header::VARY).filter_map(text).flat_map(|value| value.split(','));
    names.any(|name| name.trim() == "*" || name.trim().eq_ignore_ascii_case("accept"))
}
