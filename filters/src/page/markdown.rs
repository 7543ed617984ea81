//! Serves a page as Markdown: the request to the site, and the conversion of its answer.

use bytes::Bytes;
use frontdesk_base::date;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use url::Url;

pub use super::markdown_path::{MEDIA_TYPE, path_of};
pub(crate) use super::markdown_path::{is_path, is_plain, pages_of};
use super::{Coding, front_matter::front_matter, kind, signals::Signals, validators::OF_BYTES, whole};
use crate::{
    content, etag,
    firewall::{Firewall, Flags, Form},
    limits::tokens,
    media,
    reply::Reply,
};

/// The `Accept` for the site: its own Markdown, if it has any, else the page.
pub(crate) const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.5, */*;q=0.1";
/// The length of the text in tokens, by the tokenizer of the budgets.
const X_MARKDOWN_TOKENS: HeaderName = HeaderName::from_static("x-markdown-tokens");

/// Headers that apply to the page or its display and not to its Markdown, besides those about its bytes.
const UNTRUE: [HeaderName; 12] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LOCATION,
    header::CONTENT_DISPOSITION,
    header::CONTENT_SECURITY_POLICY,
    header::TRANSFER_ENCODING,
    header::TRAILER,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
    header::REFRESH,
];
/// The page's caching headers.
const FRESHNESS: [HeaderName; 4] = [header::CACHE_CONTROL, header::EXPIRES, header::PRAGMA, header::AGE];

/// Whether this is the site's own Markdown.
pub(crate) fn is_own(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case(MEDIA_TYPE)
}

/// Whether this is a page, in any charset.
pub(crate) fn is_html(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case("text/html")
}

/// Whether what the site has at the path of a Markdown document is none: a page, as sites answer that ignore how a path
/// ends.
pub(crate) fn is_page_instead(status: StatusCode, headers: &HeaderMap) -> bool {
    status == StatusCode::OK && is_html(headers)
}

fn media_type(headers: &HeaderMap) -> &str {
    media::essence(content_type(headers))
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// A page as Markdown.
#[derive(Debug, Clone)]
pub struct Written {
    markdown: Bytes,
    tokens: u32,
    etag: HeaderValue,
    /// The page's canonical URL.
    canonical: Option<String>,
    /// The firewall's findings; `Err`: it must not leave.
    flags: Result<Flags, Flags>,
}

/// Whether an answer of the site may be converted, by its head.
pub(crate) fn may_be_written(status: StatusCode, headers: &HeaderMap) -> bool {
    let cache_control = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok());
    status == StatusCode::OK
        && is_html(headers)
        && coding(headers).is_some()
        && !headers.contains_key(header::CONTENT_RANGE)
        && !kind::no_transform(cache_control)
}

fn coding(headers: &HeaderMap) -> Option<Coding> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Some(Coding::Identity),
        (Some(one), None) => Coding::parse(one.to_str().ok()?),
        _ => None,
    }
}

/// Maximum bytes of the page in this body.
pub(crate) fn read_as(headers: &HeaderMap, body: &[u8]) -> usize {
    match coding(headers) {
        Some(Coding::Identity) => body.len(),
        // The size of a compressed body is known only after decoding.
        _ => content::MAX_BYTES,
    }
}

/// Converts a page; `None` where it cannot be parsed. Slow, so for threads that may block. `opens`: with front matter.
pub(crate) fn write(headers: &HeaderMap, body: &[u8], at: &Url, firewall: &Firewall, opens: bool) -> Option<Written> {
    let body = whole::decoded(coding(headers)?, body, content::MAX_BYTES)?;
    let mut page = content::read(&content::text(&body, content_type(headers))?, at)?;
    let mut markdown = std::mem::take(&mut page.markdown);
    if opens {
        let modified = headers.get(header::LAST_MODIFIED).and_then(|value| date::w3c(value.to_str().ok()?));
        let opening = front_matter(&page, at, modified.as_deref());
        markdown.reserve_exact(opening.len());
        markdown.insert_str(0, &opening);
    }
    let passed = firewall.pass(markdown.into(), Form::Text);
    Some(Written {
        tokens: tokens::count(std::str::from_utf8(&passed.body).unwrap_or_default()),
        etag: etag::strong(&passed.body),
        markdown: passed.body,
        canonical: page.canonical,
        flags: if passed.blocked { Err(passed.flags) } else { Ok(passed.flags) },
    })
}

/// How a page's Markdown was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// At the page's own address by `Accept`: one of its variants, which no shared cache may store.
    Accept,
    /// At an address of its own: cached as long as the page itself.
    Path,
}

impl Written {
    /// The findings in it.
    ///
    /// # Errors
    ///
    /// The findings forbid that it leaves.
    pub(crate) fn passed(&self) -> Result<&Flags, &Flags> {
        self.flags.as_ref()
    }

    /// The reply, with the site's headers for the page at `page`.
    pub(crate) fn reply(
        &self,
        by: By,
        page: &str,
        site: &HeaderMap,
        asked: &HeaderMap,
        signals: Option<&Signals>,
    ) -> Reply {
        let mut headers = HeaderMap::with_capacity(site.len() + 8);
        let is_true = |name: &HeaderName| !UNTRUE.contains(name) && !OF_BYTES.contains(name);
        for (name, value) in site.iter().filter(|(name, _)| is_true(name)) {
            headers.append(name.clone(), value.clone());
        }
        if by == By::Accept {
            FRESHNESS.iter().for_each(|name| drop(headers.remove(name)));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        } else if !headers.contains_key(header::CACHE_CONTROL) && !headers.contains_key(header::EXPIRES) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        // At an address of its own too: a browser gets there what the site has.
        vary(&mut headers);
        headers.insert(header::ETAG, self.etag.clone());
        sign(&mut headers, signals);
        let unmodified = etag::matches(asked, &self.etag);
        let status = if unmodified { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        if !unmodified {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8"));
            headers.insert(X_MARKDOWN_TOKENS, self.tokens.into());
            let canonical = self.canonical.as_deref().unwrap_or(page);
            let link = format!("<{canonical}>; rel=\"canonical\", <{page}>; rel=\"alternate\"; type=\"text/html\"");
            if let Ok(link) = HeaderValue::try_from(link) {
                headers.insert(header::LINK, link);
            }
        }
        let body = if unmodified { Bytes::new() } else { self.markdown.clone() };
        Reply { headers: lines(&headers), body, ..Reply::empty(status) }
    }
}

/// Adds the missing signals.
pub(crate) fn sign(headers: &mut HeaderMap, signals: Option<&Signals>) {
    let missing: Vec<_> = signals.into_iter().flat_map(|signals| signals.missing(headers).cloned()).collect();
    headers.extend(missing.into_iter().map(|(name, value)| (Some(name), value)));
}

/// `Vary: Accept`, once.
pub(crate) fn vary(headers: &mut HeaderMap) {
    let varies = |value: &HeaderValue| {
        let mut names = value.to_str().unwrap_or_default().split(',').map(str::trim);
        names.any(|name| name == "*" || name.eq_ignore_ascii_case("accept"))
    };
    if !headers.get_all(header::VARY).iter().any(varies) {
        headers.append(header::VARY, HeaderValue::from_static("Accept"));
    }
}

/// The headers in a reply's form.
pub(crate) fn lines(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::firewall::Modes;

    #[test]
    fn a_variant_is_private_and_a_document_is_kept_like_its_page() {
        let url = Url::parse("https://a.example/x").unwrap();
        let site = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html")),
            (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
            (header::SET_COOKIE, HeaderValue::from_static("a=1")),
            (header::ETAG, HeaderValue::from_static("\"site\"")),
        ]);
        let written = write(&site, b"<p>Words", &url, &Firewall::new(Modes::REPORT, [], Vec::new()), true).unwrap();
        let asked = HeaderMap::new();
        let header = |reply: &Reply, wanted: HeaderName| {
            reply.headers.iter().find(|(name, _)| *name == wanted).map(|(_, v)| v.to_str().unwrap().to_owned())
        };
        let variant = written.reply(By::Accept, "/x", &site, &asked, None);
        assert_eq!(header(&variant, header::CACHE_CONTROL).as_deref(), Some("private, no-cache"));
        assert_eq!(header(&variant, header::VARY).as_deref(), Some("Accept"));
        assert_eq!(header(&variant, header::SET_COOKIE).as_deref(), Some("a=1"));
        let document = written.reply(By::Path, "/x", &site, &asked, None);
        assert_eq!(header(&document, header::CACHE_CONTROL).as_deref(), Some("public, max-age=60"));
        assert_eq!(header(&document, header::VARY).as_deref(), Some("Accept"));
        let etag = header(&document, header::ETAG).unwrap();
        assert!(etag.starts_with('"') && etag != "\"site\"", "strong, and its own: {etag}");
        let again = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_str(&etag).unwrap())]);
        let unmodified = written.reply(By::Path, "/x", &site, &again, None);
        assert_eq!((unmodified.status, unmodified.body.len()), (StatusCode::NOT_MODIFIED, 0));
    }

    #[test]
    fn only_whole_pages_are_written() {
        let may = |kind: &'static str, more: Option<(HeaderName, &'static str)>| {
            let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            headers.extend(more.map(|(name, value)| (Some(name), HeaderValue::from_static(value))));
            may_be_written(StatusCode::OK, &headers)
        };
        assert!(may("text/html", None));
        assert!(may("Text/HTML; charset=x", Some((header::CONTENT_ENCODING, "gzip"))));
        assert!(!may("text/html", Some((header::CONTENT_ENCODING, "compress"))));
        assert!(!may("text/html", Some((header::CACHE_CONTROL, "max-age=1, no-transform"))));
        assert!(!may("text/plain", None));
    }
}
