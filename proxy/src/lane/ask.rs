//! What goes up to the site: a plain request's lines as they came, but for what is said anew.

use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use pingora::{Result, http::RequestHeader};

use crate::{
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
    let rehosted = !running.snapshot.settings.upstream.preserve_host;
    for ((cased, value), name) in sent.case_header_iter().zip(names(&sent.headers)) {
        let host = if rehosted && *name == header::HOST { &backend.authority } else { value };
        if *name != header::CONNECTION && !said.as_ref().is_some_and(|said| said.replaces(name)) {
            line(wire, cased.as_slice(), host);
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

/// The name of each line, in the map's order.
fn names(headers: &HeaderMap) -> impl Iterator<Item = &HeaderName> {
    headers.iter().map(|(name, _)| name)
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
