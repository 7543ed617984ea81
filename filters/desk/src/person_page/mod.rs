//! Pages of ours for people: one document without scripts, that is readable on a phone, in the dark, and aloud, and that no
//! other site can frame, keep or fill in.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_base::reply::Reply;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ring::digest;

use super::Incoming;

const HTML: &str = "text/html; charset=utf-8";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

static STYLE: &str = include_str!("page.css");

/// Where a form of the page may lead to.
static SELF: LazyLock<HeaderValue> = LazyLock::new(|| policy("'self'"));

/// The page may load nothing, run nothing, be framed by nobody, and send its form to these places only.
fn policy(form_action: &str) -> HeaderValue {
    let hash = STANDARD.encode(digest::digest(&digest::SHA256, STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action {form_action}; frame-ancestors 'none'; base-uri 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

/// A document in a language, with text that is HTML already.
pub fn document(status: StatusCode, language: &str, title: &str, body: &str) -> Reply {
    let text = format!(
        "<!doctype html><html lang=\"{language}\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>\n"
    );
    Reply::new(status, HTML, text)
}

/// Keeps a page out of caches, frames and logs of other sites.
pub fn guarded(reply: Reply) -> Reply {
    guard(reply, SELF.clone())
}

/// The same for a page whose form is answered by a redirect to one of these places too: browsers hold the policy against
/// the redirect.
pub fn guarded_leading_to(reply: Reply, places: &str) -> Reply {
    guard(reply, policy(&format!("'self' {places}")))
}

fn guard(reply: Reply, policy: HeaderValue) -> Reply {
    reply
        .with(header::CACHE_CONTROL, "no-store, private")
        .with_value(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::X_FRAME_OPTIONS, "DENY")
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        // The address may be a secret, so no other site may learn it; the form's own Origin is still sent.
        .with(header::REFERRER_POLICY, "same-origin")
        .with(CROSS_ORIGIN_OPENER_POLICY, "same-origin")
        .with(HeaderName::from_static("x-robots-tag"), "noindex, nofollow")
}

/// Whether a browser says that a form was sent from this origin. A client that says nothing is no browser of today.
/// `own`: `site.origin`. A proxy in front may have put another name into `Host`, so the origin alone is enough.
pub fn is_from_this_origin(request: &Incoming<'_>, own: Option<&str>) -> bool {
    let from = request.headers.get(SEC_FETCH_SITE);
    let origin = request.headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_own = |origin: &str| own.is_some_and(|own| origin.eq_ignore_ascii_case(own.trim_end_matches('/')));
    let is_of_host =
        |origin: &str| origin.split_once("://").is_some_and(|(_, host)| host.eq_ignore_ascii_case(request.authority));
    match (from, origin) {
        (Some(from), None) => from == "same-origin",
        (Some(from), Some(origin)) => from == "same-origin" && (is_own(origin) || is_of_host(origin)),
        // Without the browser's word, `Host` proves little: it is the client's.
        (None, Some(origin)) => is_own(origin) || own.is_none() && is_of_host(origin),
        (None, None) => false,
    }
}

/// The language that the browser prefers among these; the first of them where it prefers none.
pub fn preferred<'l>(headers: &HeaderMap, known: &[&'l str]) -> &'l str {
    let lines = headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|line| line.to_str().ok());
    let mut ranges: Vec<(u16, &str)> = lines.flat_map(|line| line.split(',')).filter_map(range).collect();
    // A stable sort: of two that weigh the same, the first.
    ranges.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let find = |tag: &str| {
        let language = tag.split('-').next().unwrap_or_default();
        known.iter().copied().find(|known| known.eq_ignore_ascii_case(language))
    };
    ranges.into_iter().find_map(|(_, tag)| find(tag)).or(known.first().copied()).unwrap_or("en")
}

/// A language range and its weight in thousandths; `None` where it is refused.
fn range(text: &str) -> Option<(u16, &str)> {
    let (tag, parameters) = text.split_once(';').unwrap_or((text, ""));
    let weight = match parameters.trim().strip_prefix("q=") {
        Some(weight) => weight.trim().parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight))?,
        None => 1.0,
    };
    let thousandths = (weight * 1000.0) as u16;
    (thousandths > 0 && !tag.trim().is_empty()).then(|| (thousandths, tag.trim()))
}

/// A redirect by which a browser goes on with GET.
///
/// # Errors
///
/// The address is no field value.
pub fn see_other(to: &str) -> Result<Reply, http::header::InvalidHeaderValue> {
    Ok(Reply::empty(StatusCode::SEE_OTHER).with_value(header::LOCATION, HeaderValue::from_str(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_chooses_the_language() {
        let known = ["en", "de", "fr", "es", "ja"];
        let with = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, text.parse().unwrap());
            preferred(&headers, &known)
        };
        assert_eq!(with("de-CH, en;q=0.8"), "de");
        assert_eq!(with("en;q=0.2, ja;q=0.9"), "ja");
        assert_eq!(with("nl, fr;q=0.5"), "fr");
        assert_eq!(with("es;q=0"), "en");
        assert_eq!(with("tlh"), "en");
        assert_eq!(preferred(&HeaderMap::new(), &known), "en");
    }
}
