//! What goes up to the site: a plain request's lines as they came, but for what is said anew.

use frontdesk_http1::field::{cased, put, put_as_sent};
use http::{HeaderMap, HeaderValue, Version, header};
use pingora::Result;

use super::plain_request::Sent;
use crate::{
    front::{ctx::Ctx, forwarding::UpstreamHeaders, head::forward},
    rewrite::{self, Asked},
    running::Running,
    upstream::Backend,
};

/// Room for a head.
const HEAD: usize = 1024;

/// The request's head as the site gets it, and what is to be remembered of it.
pub(super) fn head(sent: &Sent, ctx: &Ctx, running: &Running, backend: &Backend) -> Result<(Vec<u8>, Asked)> {
    let mut wire = Vec::with_capacity(HEAD);
    let head = &sent.request;
    for part in [head.method.as_str().as_bytes(), b" ", head.raw_path(), b" HTTP/1.1\r\n"] {
        wire.extend_from_slice(part);
    }
    let asked = if rewrite::is_prepared(&head.headers) && !has_crumbs(&head.headers) {
        as_sent(&mut wire, sent, ctx, running, backend)?;
        Asked::default()
    } else {
        let mut request = sent.to_be_changed()?;
        request.remove_header(&header::CONNECTION);
        request.set_version(Version::HTTP_11);
        if let (false, Some(host)) = (head.headers.contains_key(header::HOST), head.uri.authority()) {
            request.insert_header(header::HOST, host.as_str())?;
        }
        let asked = rewrite::prepare_request(&running.snapshot, &mut request, Version::HTTP_11)?;
        forward(head, &mut request, ctx, running)?;
        request.header_to_h1_wire(&mut wire);
        asked
    };
    wire.extend_from_slice(b"\r\n");
    Ok((wire, asked))
}

/// The same lines as [`forward`] has them, without a map to put them in.
fn as_sent(wire: &mut Vec<u8>, sent: &Sent, ctx: &Ctx, running: &Running, backend: &Backend) -> Result<()> {
    let head = &sent.request;
    let upward = UpstreamHeaders::of(head, &head.headers, ctx, running, Some(backend))?;
    if sent.raw.is_some() {
        for (name, value, whole) in sent.lines() {
            match &upward.host {
                Some(host) if name.eq_ignore_ascii_case(b"host") => put(wire, name, host.as_bytes()),
                _ if name.eq_ignore_ascii_case(b"connection") || upward.replaces(name) => {}
                _ => put_as_sent(wire, name, value, whole),
            }
        }
    } else {
        // Over HTTP/2 the host is no header, and names have no case.
        let asked = head.uri.authority().map(|authority| authority.as_str().as_bytes());
        if let Some(host) = upward.host.as_ref().map(HeaderValue::as_bytes).or(asked) {
            put(wire, b"Host", host);
        }
        for (name, value) in head.headers.iter().filter(|(name, _)| !upward.replaces(name.as_ref())) {
            put(wire, cased(name).unwrap_or(name.as_str()).as_bytes(), value.as_bytes());
        }
    }
    for (name, value) in upward.fixed_lines() {
        put(wire, name.cased.as_bytes(), value.as_bytes());
    }
    for (name, value) in upward.named_lines() {
        put(wire, name.as_str().as_bytes(), value.as_bytes());
    }
    Ok(())
}

/// More than one line of cookies.
fn has_crumbs(headers: &HeaderMap) -> bool {
    headers.get_all(header::COOKIE).iter().nth(1).is_some()
}
