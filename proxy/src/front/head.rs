//! A request's head: what is refused before anything else, and what it carries on its way up.

use std::borrow::Cow;

use frontdesk_filters::{Fault, accept, caller::forwarded};
use frontdesk_http1::{
    field::is_authority,
    forwarding::X_FORWARDED_PROTO,
    framing::{COUNTABLE, FOLDED_NAMES, has_content_length},
    hop::wrong_connection_option,
};
use http::{HeaderName, HeaderValue, Method, Version, header};
use ipnet::IpNet;
use pingora::{Result, http::RequestHeader, proxy::Session};

use super::{ctx::Ctx, forwarding::UpstreamHeaders};
use crate::{accept::ConnInfo, running::Running};

/// The path as it was sent, query included.
pub fn target(request: &RequestHeader) -> Cow<'_, str> {
    match request.uri.path_and_query() {
        Some(path) if request.raw_path_is_utf8() => Cow::Borrowed(path.as_str()),
        _ => String::from_utf8_lossy(request.raw_path()),
    }
}

/// Whom the client asked for: `Host`, or what HTTP/2 has in its place.
pub fn authority(request: &RequestHeader) -> &str {
    let host = request.headers.get(header::HOST).and_then(|v| v.to_str().ok());
    host.or_else(|| request.uri.authority().map(|a| a.as_str())).unwrap_or("")
}

/// Whether a trusted proxy says that the client spoke TLS to it.
pub fn said_to_be_tls(request: &RequestHeader, connection: Option<&ConnInfo>, trusted: &[IpNet]) -> bool {
    let Some(connection) = connection.filter(|c| forwarded::is_trusted(c.client.ip(), trusted)) else { return false };
    let said = match request.headers.get(&X_FORWARDED_PROTO.name) {
        Some(said) => said.to_str().ok(),
        None => forwarded::stated(connection.client.ip(), &request.headers, trusted).and_then(|said| said.scheme),
    };
    said.is_some_and(|proto| proto.trim().eq_ignore_ascii_case("https"))
}

/// Whether what is asked for may be silent once it has begun: a protocol upgrade, or a stream of events and nothing else.
/// A request with a body waits for an answer.
pub fn may_be_silent(session: &mut Session) -> bool {
    if !session.is_body_empty() {
        return false;
    }
    let request = session.req_header();
    let accept = accept::of(&request.headers);
    session.is_upgrade_req()
        || request.method == Method::GET && accept.is_some_and(|a| accept::prefers_explicitly(&a, "text/event-stream"))
}

/// What makes a request ambiguous or too large. The library has already refused what it could not parse.
/// `raw`: as it came, over HTTP/1.
pub fn check(
    request: &RequestHeader,
    raw: Option<&[u8]>,
    max_header: usize,
) -> std::result::Result<(), (Fault, String)> {
    let path = request.raw_path();
    let is = |scheme: &[u8]| path.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let fits = path.starts_with(b"/")
        || path == b"*" && request.method == Method::OPTIONS
        || is(b"http://")
        || is(b"https://");
    if !fits {
        // The library takes whatever it cannot read for "/" and sends it on as it came; a site may read a path in it.
        let detail = "The request's target is no path and no URL of this site (RFC 9112 §3.2).";
        return Err((Fault::BadRequest, detail.into()));
    }
    let listed = || request.headers.iter().map(|(n, v)| n.as_str().len() + v.len() + 4).sum::<usize>() + path.len();
    let size = raw.map_or_else(listed, <[u8]>::len);
    if size > max_header {
        let detail = format!("The request's head has {size} bytes; this site accepts {max_header}.");
        return Err((Fault::HeaderTooLarge, detail));
    }
    if request.headers.contains_key(header::TRANSFER_ENCODING) && raw.is_some_and(has_content_length) {
        // The library lets Transfer-Encoding win and forgets the length: somebody before us may have done otherwise.
        let detail = "The request has both Content-Length and Transfer-Encoding; send one of them.";
        return Err((Fault::BadRequest, detail.into()));
    }
    let mut lengths = request.headers.get_all(header::CONTENT_LENGTH).iter();
    if lengths.next().is_some_and(|v| v.as_bytes().contains(&b',')) || lengths.next().is_some() {
        // Even where they agree: the site may read a list otherwise than we do.
        return Err((Fault::BadRequest, "The request has more than one Content-Length; send one.".into()));
    }
    if request.headers.get(header::CONTENT_LENGTH).is_some_and(|v| v.len() > COUNTABLE) {
        // Some site counts in 63 bits and has no length then, or another.
        return Err((Fault::BadRequest, "The request's Content-Length is more than can be sent.".into()));
    }
    let mut codings = request.headers.get_all(header::TRANSFER_ENCODING).iter();
    let chunked = |v: &HeaderValue| v.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_some_and(|v| !chunked(v)) || codings.next().is_some() {
        let detail = "The only transfer coding that is understood here is chunked, once.";
        return Err((Fault::BadRequest, detail.into()));
    }
    if FOLDED_NAMES.iter().any(|name| request.headers.contains_key(name)) {
        // Nothing to us, but a CGI-like site reads the same name in it, and then there are two framings.
        let detail = "The request has a framing header with an underscore in its name.";
        return Err((Fault::BadRequest, detail.into()));
    }
    if let Some(option) = wrong_connection_option(&request.headers) {
        let option = String::from_utf8_lossy(&option[..option.len().min(REPEATED)]);
        let detail =
            format!("Connection says {option:?}, which is no connection option (RFC 9110 §7.6.1); leave it out.");
        return Err((Fault::BadRequest, detail));
    }
    match request.headers.get(header::HOST) {
        Some(host) if !is_authority(host) => Err((Fault::BadRequest, "The Host header is not a host.".into())),
        None if request.version == Version::HTTP_11 && request.uri.authority().is_none() => {
            Err((Fault::BadRequest, "The request has no Host header.".into()))
        }
        _ => Ok(()),
    }
}

/// Makes of a request what goes up to the site: in place of what nobody but a trusted proxy may say we say it ourselves,
/// with who was verified and where it belongs in its trace.
pub fn forward(incoming: &RequestHeader, request: &mut RequestHeader, ctx: &Ctx, running: &Running) -> Result<()> {
    let backend = ctx.upstream.and_then(|index| running.pool.backends().get(index));
    let upward = UpstreamHeaders::of(incoming, &request.headers, ctx, running, backend)?;
    let replaced: Vec<HeaderName> =
        request.headers.keys().filter(|name| upward.replaces(name.as_ref())).cloned().collect();
    for name in &replaced {
        request.remove_header(name);
    }
    for (name, value) in upward.fixed_lines() {
        request.append_header(name.cased, value.clone())?;
    }
    as_http1(request)?;
    in_origin_form(request)?;
    if let Some(host) = &upward.host {
        rehost(request, host)?;
    }
    for (name, value) in upward.named_lines() {
        request.append_header(name, value)?;
    }
    Ok(())
}

/// HTTP/2 lets a client send its cookies in crumbs; HTTP/1.1 knows only one line of them (RFC 9113 §8.2.3).
fn as_http1(request: &mut RequestHeader) -> Result<()> {
    if request.headers.get_all(header::COOKIE).iter().nth(1).is_some() {
        let crumbs: Vec<&[u8]> = request.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(cookie) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])) {
            request.insert_header(header::COOKIE, cookie)?;
        }
    }
    Ok(())
}

/// A client may send a whole URL, as to a proxy of its own; a site is asked by path (RFC 9112 §3.2.1, §3.2.4).
fn in_origin_form(request: &mut RequestHeader) -> Result<()> {
    let sent = request.raw_path();
    if sent.starts_with(b"/") || sent == b"*" {
        return Ok(());
    }
    let authority = sent.windows(3).position(|at| at == b"://").map_or(sent.len(), |at| at + 3);
    let rest = &sent[authority.min(sent.len())..];
    let path = rest.iter().position(|b| matches!(b, b'/' | b'?')).map_or(&b""[..], |at| &rest[at..]);
    let path = match path.first() {
        Some(b'/') => path.to_owned(),
        None if request.method == Method::OPTIONS => b"*".to_vec(),
        _ => [b"/", path].concat(),
    };
    request.set_raw_path(&path)
}

/// Gives the request the upstream's own name. The target must agree, or the library refuses it.
fn rehost(request: &mut RequestHeader, authority: &HeaderValue) -> Result<()> {
    if request.uri.authority().is_some() {
        let mut parts = request.uri.clone().into_parts();
        parts.authority = authority.to_str().ok().and_then(|a| a.parse().ok());
        if let Ok(uri) = http::Uri::from_parts(parts) {
            request.set_uri(uri);
        }
    }
    request.insert_header(header::HOST, authority.clone())
}

/// The most bytes of a header that an error repeats to its sender.
const REPEATED: usize = 64;
