//! What goes up to the site: a plain request's lines as they came, but for what is said anew.

use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use pingora::{Result, http::RequestHeader};

use crate::{
    answer,
    front::{
        ctx::Ctx,
        head::{forward, whence},
    },
    live::Running,
    rewrite::{self, Asked},
    upstream::Backend,
};

/// Room for a head.
const HEAD: usize = 1024;

/// The request's head as the site gets it, and what is to be remembered of it.
pub(super) fn head(sent: &RequestHeader, ctx: &Ctx, running: &Running, backend: &Backend) -> Result<(Vec<u8>, Asked)> {
    let mut wire = Vec::with_capacity(HEAD);
    wire.extend_from_slice(sent.method.as_str().as_bytes());
    wire.push(b' ');
    wire.extend_from_slice(sent.raw_path());
    wire.extend_from_slice(b" HTTP/1.1\r\n");
    let asked = if rewrite::is_prepared(&sent.headers) && !has_crumbs(&sent.headers) {
        as_sent(&mut wire, sent, ctx, running, backend)?;
        Asked::default()
    } else {
        let mut request = sent.clone();
        request.remove_header(&header::CONNECTION);
        request.set_version(Version::HTTP_11);
        if let (false, Some(host)) = (sent.headers.contains_key(header::HOST), sent.uri.authority()) {
            request.insert_header(header::HOST, host.as_str())?;
        }
        let asked = rewrite::prepare_request(&running.snapshot, &mut request, Version::HTTP_11)?;
        forward(sent, &mut request, ctx, running)?;
        request.header_to_h1_wire(&mut wire);
        asked
    };
    wire.extend_from_slice(b"\r\n");
    Ok((wire, asked))
}

/// The same lines as [`forward`] has them, without a map to put them in.
fn as_sent(wire: &mut Vec<u8>, sent: &RequestHeader, ctx: &Ctx, running: &Running, backend: &Backend) -> Result<()> {
    let whence = whence(sent, ctx);
    let said = whence.as_ref().map(|whence| whence.says(&sent.headers, running)).transpose()?;
    let host = match running.snapshot.settings.upstream.preserve_host {
        true => whence.as_ref().and_then(|whence| whence.host.as_ref()),
        false => Some(&backend.authority),
    };
    let mut passes = |cased: &[u8], name: &HeaderName, value: &HeaderValue| {
        let value = host.filter(|_| *name == header::HOST).unwrap_or(value);
        if *name != header::CONNECTION && !said.as_ref().is_some_and(|said| said.replaces(name)) {
            line(wire, cased, value);
        }
    };
    if sent.has_case() {
        let names = sent.headers.iter().map(|(name, _)| name);
        for ((cased, value), name) in sent.case_header_iter().zip(names) {
            passes(cased.as_slice(), name, value);
        }
    } else {
        // Over HTTP/2 the host is no header, and names have no case.
        if let Some(host) = host {
            passes(b"Host", &header::HOST, host);
        }
        for (name, value) in &sent.headers {
            passes(answer::cased(name).unwrap_or(name.as_str()).as_bytes(), name, value);
        }
    }
    if let Some(said) = said {
        for (name, _, value) in &said.lines {
            line(wire, name.as_bytes(), value);
        }
        line(wire, b"Via", &said.via);
    }
    for (name, value) in ctx.caller.iter().flat_map(|caller| caller.told()) {
        line(wire, name.as_str().as_bytes(), &value);
    }
    Ok(())
}

/// More than one line of cookies.
fn has_crumbs(headers: &HeaderMap) -> bool {
    headers.get_all(header::COOKIE).iter().nth(1).is_some()
}

fn line(wire: &mut Vec<u8>, name: &[u8], value: &HeaderValue) {
    for part in [name, b": ", value.as_bytes(), b"\r\n"] {
        wire.extend_from_slice(part);
    }
}
