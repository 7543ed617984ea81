//! The address that a visitor asked, and what of the site's own answers is put in its place.

use std::sync::atomic::{AtomicBool, Ordering};

use frontdesk_filters::{
    caller::forwarded,
    redirects::{Addresses, NAMING},
    site::Settings,
};
use frontdesk_http1::forwarding::X_FORWARDED_PROTO;
use http::{HeaderMap, HeaderName, HeaderValue, Version, header, uri::Authority};
use pingora::{
    Result,
    http::{RequestHeader, ResponseHeader},
};

use super::head::{authority, said_to_be_tls};
use crate::{accept::ConnInfo, running::Running};

const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The address that a visitor asked, beside those of the upstreams. `None`: nothing is put in anything's place.
pub fn addresses<'a>(
    request: &'a RequestHeader,
    connection: Option<&ConnInfo>,
    running: &'a Running,
) -> Option<Addresses<'a>> {
    let settings = &running.snapshot.settings;
    if !settings.upstream.rewrite_redirects {
        return None;
    }
    let trusted = &settings.listen.trusted_proxies;
    let tls = connection.is_some_and(|c| c.tls) || said_to_be_tls(request, connection, trusted);
    let by_proxy = connection.filter(|c| forwarded::is_trusted(c.client.ip(), trusted));
    let stated = by_proxy.and_then(|_| first(&request.headers, &X_FORWARDED_HOST));
    let asked = authority(request);
    let stated = stated.filter(|stated| may_be_asked(stated, asked, settings.site.origin.as_deref()));
    Addresses::new(&settings.upstream.urls, stated.unwrap_or(asked), tls)
}

/// Whether visitors may be led to a host because a proxy says that they asked for it. Many proxies pass on what a client
/// wrote, so it has to be the host of the request itself or of `site.origin`.
fn may_be_asked(stated: &str, asked: &str, origin: Option<&str>) -> bool {
    let host = |authority: &str| authority.parse::<Authority>().ok().map(|authority| authority.host().to_lowercase());
    let known = [Some(asked), origin.and_then(|origin| origin.split_once("://").map(|(_, rest)| rest))];
    let stated = host(stated);
    stated.is_some() && known.into_iter().flatten().any(|known| host(known.trim_end_matches('/')) == stated)
}

/// The first member of a list, where there is one.
fn first<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let list = headers.get(name)?.to_str().ok()?;
    list.split(',').next().map(str::trim).filter(|first| !first.is_empty())
}

/// Puts the address that was asked in the place of the upstream's, wherever a head names that.
pub fn rename(head: &mut ResponseHeader, addresses: &Addresses<'_>) -> Result<()> {
    for name in NAMING.iter().filter(|name| head.headers.contains_key(*name)).cloned().collect::<Vec<_>>() {
        let mut changed = false;
        let mut lines = Vec::new();
        for sent in head.headers.get_all(&name) {
            let told = std::str::from_utf8(sent.as_bytes()).ok().and_then(|sent| addresses.instead(&name, sent));
            let told = told.and_then(|told| HeaderValue::from_bytes(told.as_bytes()).ok());
            changed |= told.is_some();
            lines.push(told.unwrap_or_else(|| sent.clone()));
        }
        if changed {
            head.remove_header(&name);
            for line in lines {
                head.append_header(name.clone(), line)?;
            }
        }
    }
    if head.status.is_redirection() {
        warn_of_another_host(head, addresses);
    }
    Ok(())
}

/// Says once that the site sends visitors to another host: often that is its own inner address.
fn warn_of_another_host(head: &ResponseHeader, addresses: &Addresses<'_>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.load(Ordering::Relaxed) {
        return;
    }
    let location = head.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(to) = location.and_then(|location| addresses.elsewhere(location)) else { return };
    if !SAID.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            to,
            advice = "if that is this site itself, set its own base URL to the address that visitors use, and site.origin \
                      to the same; if it is another site (a sign-in, say), nothing is to be done",
            "the site redirects visitors to another host; the redirect is passed on as it is (this is said once)"
        );
    }
}

/// Says once that a proxy in front speaks HTTP/1.0, as nginx does unless it is told otherwise: pages then go without the
/// notice, and each request needs a connection of its own.
pub fn warn_of_http_1_0(request: &RequestHeader, connection: &ConnInfo, settings: &Settings) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.load(Ordering::Relaxed) || request.version != Version::HTTP_10 {
        return;
    }
    let peer = connection.client.ip().to_canonical();
    let is_proxy = forwarded::is_trusted(peer, &settings.listen.trusted_proxies)
        || first(&request.headers, &X_FORWARDED_PROTO.name).is_some();
    if is_proxy && !SAID.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "{peer} asks over HTTP/1.0: pages that it gets have no notice for agents; if it is nginx, write \
             proxy_http_version 1.1 (this is said once)"
        );
    }
}

/// Says once that a peer speaks of visitors over TLS and is not believed: to a site that insists on TLS each of their
/// requests comes without, and it sends them round for ever.
pub fn warn_of_a_terminator(request: &RequestHeader, connection: &ConnInfo, settings: &Settings) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let listen = &settings.listen;
    // With the PROXY protocol it is not known here who the peer is.
    if SAID.load(Ordering::Relaxed) || connection.tls || listen.proxy_protocol {
        return;
    }
    let says_https =
        first(&request.headers, &X_FORWARDED_PROTO.name).is_some_and(|it| it.eq_ignore_ascii_case("https"));
    let peer = connection.client.ip().to_canonical();
    if says_https && !forwarded::is_trusted(peer, &listen.trusted_proxies) && !SAID.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "{peer} sends X-Forwarded-Proto: https and is not in listen.trusted_proxies: the site is told that visitors come \
             without TLS; if it is your TLS terminator or load balancer, write trusted_proxies = [\"{peer}\"] under [listen] \
             (this is said once)"
        );
    }
}
