//! What goes up to the site: a plain request's lines as they came, but for what is said anew.

use http::{HeaderMap, Version, header};
use pingora::Result;

use super::{head::Sent, line};
use crate::{
    answer,
    front::{
        ctx::Ctx,
        head::{forward, whence},
    },
    live::Running,
    rewrite::{self, Asked},
    traces,
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
    let whence = whence(head, ctx);
    let said = whence.as_ref().map(|whence| whence.says(&head.headers, running)).transpose()?;
    let host = match running.snapshot.settings.upstream.preserve_host {
        true => whence.as_ref().and_then(|whence| whence.host.as_ref()),
        false => Some(&backend.authority),
    };
    let trace = ctx.trace.as_ref().map(|trace| trace.onward().headers());
    let replaced = |name: &[u8]| {
        said.as_ref().is_some_and(|said| said.replaces(name)) || trace.is_some() && traces::is_context(name)
    };
    if sent.raw.is_some() {
        for (name, value, whole) in sent.lines() {
            match host {
                Some(host) if name.eq_ignore_ascii_case(b"host") => line::put(wire, name, host.as_bytes()),
                _ if name.eq_ignore_ascii_case(b"connection") || replaced(name) => {}
                _ => line::put_as_sent(wire, name, value, whole),
            }
        }
    } else {
        // Over HTTP/2 the host is no header, and names have no case.
        if let Some(host) = host {
            line::put(wire, b"Host", host.as_bytes());
        }
        for (name, value) in head.headers.iter().filter(|(name, _)| !replaced(name.as_ref())) {
            line::put(wire, answer::cased(name).unwrap_or(name.as_str()).as_bytes(), value.as_bytes());
        }
    }
    if let Some(said) = &said {
        for (label, value) in &said.lines {
            line::put(wire, label.cased.as_bytes(), value.as_bytes());
        }
        if let Some(via) = &said.via {
            line::put(wire, b"Via", via.as_bytes());
        }
    }
    for (name, value) in ctx.caller.iter().flat_map(|caller| caller.told()) {
        line::put(wire, name.as_str().as_bytes(), value.as_bytes());
    }
    for (name, value) in trace.iter().flatten() {
        if let Some(value) = value {
            line::put(wire, name.as_str().as_bytes(), value.as_bytes());
        }
    }
    Ok(())
}

/// More than one line of cookies.
fn has_crumbs(headers: &HeaderMap) -> bool {
    headers.get_all(header::COOKIE).iter().nth(1).is_some()
}
