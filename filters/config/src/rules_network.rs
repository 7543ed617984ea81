//! Checks the listeners and the upstream: conflicting addresses, and settings without effect.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
};

use super::{
    Declaration, UpstreamUrl, forms, lower,
    mistake::Findings,
    raw::Item,
    rules_shared::{is_true, one_of_url_and_urls, one_or_list},
};

pub(super) fn listen(root: &Item, found: &mut Findings) {
    let line = |key| root.at(&["listen", key]).map_or(0, |item| item.line);
    let tls = root.get("tls").is_some();
    let https = root.at(&["listen", "https"]);
    if let Some(https) = https.filter(|_| !tls) {
        found.mistake(https.line, "listen.https", "needs [tls] with cert and key");
    }
    if let Some((item, address)) = root.at(&["listen", "agtp"]).and_then(|item| Some((item, address(item)?)))
        && !tls
        && !address.ip().is_loopback()
    {
        found.mistake(item.line, "listen.agtp", "needs [tls], or a loopback address").hint("write \"127.0.0.1:4480\"");
    }

    let no_http = root.at(&["listen", "http"]).is_some_and(|item| one_or_list(Some(item)).is_empty());
    if no_http && https.is_none() {
        found.mistake(line("http"), "listen.http", "is empty, and there is no listen.https");
    }
    if is_true(root, &["listen", "h2c"]) && no_http {
        found.mistake(line("h2c"), "listen.h2c", "has no cleartext address to speak on").hint("give listen.http one");
    }
    let trusted = root.at(&["listen", "trusted_proxies"]).is_some_and(|item| !item.items().is_empty());
    if is_true(root, &["listen", "proxy_protocol"]) && !trusted {
        found
            .mistake(line("proxy_protocol"), "listen.proxy_protocol", "believes nobody")
            .hint("name the peers that send it in listen.trusted_proxies");
    }

    let everybody =
        |item: &&Item| item.str().and_then(|text| forms::read_network(text).ok()).is_some_and(|n| n.prefix_len() == 0);
    if let Some(item) = one_or_list(root.at(&["listen", "trusted_proxies"])).into_iter().find(everybody) {
        let what = format!("{} trusts every client's statement about its address", item.shown());
        found.warning(item.line, "listen.trusted_proxies", what).hint("name the proxies in front");
    }

    let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
    for (key, default) in [("http", lower::HTTP), ("https", ""), ("agtp", ""), ("admin", lower::ADMIN)] {
        for address in addresses(root, key, default) {
            if let Some((other, _)) = taken.iter().find(|(_, taken)| clash(*taken, address)) {
                let what = format!("{address} is already taken by listen.{other}");
                // Report the line of a written address; the other may be a default.
                let line = if line(key) > 0 { line(key) } else { line(other) };
                found.mistake(line, format_args!("listen.{key}"), what);
            }
            taken.push((key, address));
        }
    }
}

/// Whether the second address cannot be bound beside the first. Port 0 lets the system choose.
fn clash(first: SocketAddr, second: SocketAddr) -> bool {
    let same_family = first.is_ipv4() == second.is_ipv4();
    let overlap = first.ip() == second.ip() || first.ip().is_unspecified() || second.ip().is_unspecified();
    first.port() == second.port() && first.port() != 0 && same_family && overlap
}

impl Declaration {
    /// Warns of an upstream that is this process itself. Called once the listeners are final, since the command line
    /// can override them. `path` is the file's name in the message.
    ///
    /// Only literal addresses are compared, because the address of a name can change.
    pub fn warn_of_loops(&mut self, path: &Path) {
        let mut found = Findings::new(path.into());
        let listening: Vec<_> = self.settings.listen.addresses().collect();
        for url in &self.settings.upstream.urls {
            if let Some(own) = listening.iter().find(|own| is_at(url, **own)) {
                let what = format!("{} port {} is {own}, where Frontdesk itself listens", url.host, url.port);
                found.warning(0, "upstream", what).hint("each request would make another; give the site's own address");
            }
        }
        self.warnings.extend(found.into_sorted());
    }
}

/// Whether a connection to the site reaches this listener.
fn is_at(url: &UpstreamUrl, own: SocketAddr) -> bool {
    let ip = match url.host.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical(),
        Err(_) if url.host.eq_ignore_ascii_case("localhost") => Ipv4Addr::LOCALHOST.into(),
        Err(_) => return false,
    };
    let here = ip.is_loopback() || ip.is_unspecified();
    let heard = own.ip().is_ipv6() || ip.is_ipv4();
    url.port == own.port() && (ip == own.ip().to_canonical() || own.ip().is_unspecified() && here && heard)
}

pub(super) fn upstream(root: &Item, contract_alone: bool, found: &mut Findings) {
    let Some(upstream) = root.get("upstream") else {
        let what = match contract_alone {
            true => "missing: this is a contract on its own; where is the site that keeps it?",
            false => "missing: where is the site?",
        };
        found.mistake(0, "upstream", what).hint("write [upstream] and url = \"http://127.0.0.1:3000\"");
        return;
    };
    one_of_url_and_urls(root, "upstream", "where is the site?", found);

    let urls: Vec<_> = one_or_list(upstream.get("url").or(upstream.get("urls")));
    let tls = |item: &&Item| item.str().is_some_and(|url| url.starts_with("https:"));
    if let Some(item) = upstream.get("http2").filter(|item| item.str() == Some("prior-knowledge"))
        && urls.iter().any(tls)
    {
        found
            .mistake(
                item.line,
                "upstream.http2",
                "\"prior-knowledge\" is HTTP/2 without TLS, but the upstream is https",
            )
            .hint("\"auto\" speaks HTTP/2 with it by ALPN");
    }
    both_of_a_client_certificate(upstream, "upstream", found);
    if !urls.is_empty() && !urls.iter().any(tls) {
        for key in ["ca", "server_name", "client_cert", "client_key"] {
            if let Some(item) = upstream.get(key) {
                found.warning(item.line, format_args!("upstream.{key}"), "has no effect: the upstream is not https");
            }
        }
    }
    if let Some(item) = upstream.get("health_interval").filter(|_| upstream.get("health_path").is_none()) {
        found.warning(item.line, "upstream.health_interval", "has no effect without upstream.health_path");
    }
}

/// Checks that a client certificate comes with its key, and the other way round.
pub(super) fn both_of_a_client_certificate(table: &Item, name: &str, found: &mut Findings) {
    for (key, other) in [("client_cert", "client_key"), ("client_key", "client_cert")] {
        if let Some(item) = table.get(key).filter(|_| table.get(other).is_none()) {
            found.mistake(item.line, format_args!("{name}.{key}"), format!("needs {name}.{other} beside it"));
        }
    }
}

pub(super) fn admin(root: &Item, found: &mut Findings) {
    let token = root.at(&["admin", "token_sha256"]).and_then(Item::str).is_some_and(|token| !token.is_empty());
    if let Some(item) = root.at(&["listen", "admin"])
        && address(item).is_some_and(|address| !address.ip().is_loopback())
        && !token
    {
        found
            .warning(
                item.line,
                "listen.admin",
                "can be reached from elsewhere and has no token; most of it answers 403",
            )
            .hint("set admin.token_sha256");
    }
}

fn address(item: &Item) -> Option<SocketAddr> {
    forms::read_address(item.str()?).ok()
}

fn addresses(root: &Item, key: &str, default: &str) -> Vec<SocketAddr> {
    match root.at(&["listen", key]) {
        Some(item) => one_or_list(Some(item)).into_iter().filter_map(address).collect(),
        None => forms::read_address(default).into_iter().collect(),
    }
}
