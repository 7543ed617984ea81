//! Prepares requests whose response may be a page: content codings that we can decode, conditions that the site knows.

use frontdesk_filters::{
    Snapshot, accept,
    page::validators::{self, Conditions},
    text::joined,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use pingora::http::RequestHeader;

use super::{html_path_cache, text};

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What to remember of the request until its response comes.
#[derive(Debug, Default)]
pub struct Asked {
    /// Our current entity tag that the client holds: a 304 has to carry it.
    pub matched: Option<String>,
}

/// Prepares a request for the upstream. Only GET and HEAD request pages; HTTP/1.0 clients get no rewritten ones.
pub fn prepare(snapshot: &Snapshot, request: &mut RequestHeader, version: Version) -> pingora::Result<Asked> {
    if let Some(translated) = joined(&request.headers, header::IF_MATCH).as_deref().and_then(validators::if_match) {
        set(request, header::IF_MATCH, Some(translated))?;
    }
    let mut asked = Asked::default();
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Ok(asked);
    }
    let hash = snapshot.insertion.as_ref().map(|(_, hash)| hash.as_str()).filter(|_| version != Version::HTTP_10);
    let takes_page = hash.is_some() && !rules_out_page(&request.headers);
    if takes_page {
        cut_codings(request)?;
    }
    // A range of the rewritten page is not a range of the site's page.
    let of_ours = text(&request.headers, header::IF_RANGE).is_some_and(|v| validators::ours(v).is_some());
    let of_page = takes_page
        && request.headers.contains_key(header::RANGE)
        && html_path_cache::was_page(request.raw_path()).unwrap_or_else(|| is_navigation(&request.headers));
    if of_ours || of_page {
        set(request, header::IF_RANGE, None)?;
        set(request, header::RANGE, None)?;
    }
    let tags = joined(&request.headers, header::IF_NONE_MATCH);
    let tags = tags.as_deref();
    let conditions = match tags.map(|tags| validators::if_none_match(tags, hash)) {
        // The client's copy may be from before Frontdesk: if it is a page, it lacks the notice.
        None | Some(Conditions::AsSent)
            if takes_page
                && tags != Some("*")
                && (tags.is_some() || request.headers.contains_key(header::IF_MODIFIED_SINCE))
                && may_be_page(request) =>
        {
            Conditions::Unconditional
        }
        conditions => conditions.unwrap_or(Conditions::AsSent),
    };
    match conditions {
        Conditions::AsSent => {}
        Conditions::Unconditional => {
            set(request, header::IF_NONE_MATCH, None)?;
            set(request, header::IF_MODIFIED_SINCE, None)?;
        }
        Conditions::Translated { if_none_match, if_modified_since, matched } => {
            set(request, header::IF_NONE_MATCH, if_none_match)?;
            if let Some(since) = if_modified_since {
                set(request, header::IF_MODIFIED_SINCE, Some(since))?;
            }
            asked.matched = Some(matched);
        }
    }
    Ok(asked)
}

/// Whether a request passes unchanged, because [`prepare`] has nothing to do.
pub fn is_prepared(headers: &HeaderMap) -> bool {
    headers.iter().all(|(name, value)| match *name {
        header::IF_MATCH | header::IF_NONE_MATCH | header::IF_MODIFIED_SINCE | header::IF_RANGE | header::RANGE => {
            false
        }
        header::ACCEPT_ENCODING => {
            let mut members = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            members.all(|name| matches!(name, b"gzip" | b"br" | b"zstd" | b"deflate" | b"identity"))
        }
        _ => true,
    })
}

/// The client's `Accept-Encoding` without codings that we cannot decode. Adds none, so the site still decides whether
/// to compress.
fn cut_codings(request: &mut RequestHeader) -> pingora::Result<()> {
    let Some(offered) = joined(&request.headers, header::ACCEPT_ENCODING) else { return Ok(()) };
    let undone = |member: &&str| {
        let mut parts = member.split(';');
        let name = parts.next().unwrap_or("").trim().to_ascii_lowercase();
        let refused =
            parts.any(|p| matches!(p.trim().replace(' ', "").as_str(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        // Keep refusals: they say what the client cannot read.
        refused || matches!(name.as_str(), "gzip" | "x-gzip" | "br" | "zstd" | "deflate" | "identity")
    };
    let members: Vec<&str> = offered.split(',').map(str::trim).filter(|m| !m.is_empty()).collect();
    let kept: Vec<&str> = members.iter().copied().filter(undone).collect();
    if kept.len() == members.len() {
        return Ok(());
    }
    // An empty list would let the site choose.
    let kept = if kept.is_empty() { "identity".to_owned() } else { kept.join(", ") };
    set(request, header::ACCEPT_ENCODING, Some(kept))
}

/// A navigation: a browser opens a page, or the client names HTML.
fn is_navigation(headers: &HeaderMap) -> bool {
    match text(headers, SEC_FETCH_DEST) {
        Some(destination) => matches!(destination, "document" | "iframe" | "frame" | "embed" | "object"),
        None => accept::of(headers).is_some_and(|a| accept::names(&a, "text/html")),
    }
}

/// Whether the request itself shows that its response is no page: a browser fetches an image or a script, or the client
/// does not accept HTML.
pub(super) fn rules_out_page(headers: &HeaderMap) -> bool {
    let for_else = || text(headers, SEC_FETCH_DEST).is_some_and(|to| to != "empty" && !is_navigation(headers));
    for_else() || accept::of(headers).is_some_and(|a| accept::weight_of(&a, "text/html") == 0)
}

/// Whether the response may be a page: by the path's last response, or else by the request.
fn may_be_page(request: &RequestHeader) -> bool {
    if let Some(page) = html_path_cache::was_page(request.raw_path()) {
        return page;
    }
    if is_navigation(&request.headers) {
        return true;
    }
    if request.headers.contains_key(SEC_FETCH_DEST) {
        return false;
    }
    let last = request.uri.path().rsplit('/').next().unwrap_or("");
    match last.rsplit_once('.') {
        Some((_, extension)) => {
            matches!(extension, "html" | "htm" | "php" | "asp" | "aspx" | "jsp" | "do" | "cgi" | "pl" | "shtml")
        }
        None => true,
    }
}

fn set(request: &mut RequestHeader, name: HeaderName, value: Option<String>) -> pingora::Result<()> {
    match value.map(HeaderValue::try_from) {
        Some(Ok(value)) => request.insert_header(name, value)?,
        _ => drop(request.remove_header(&name)),
    }
    Ok(())
}
