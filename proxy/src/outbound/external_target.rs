//! Servers other than the site, named by a URL: name resolution, `Host` and target of the request, and a connection
//! within our limits.

use std::net::SocketAddr;

use pingora::upstreams::peer::HttpPeer;
use url::Url;

use super::CONNECT;

/// The server of a URL.
pub(super) struct ExternalTarget<'u> {
    url: &'u Url,
    /// As in the URL.
    host: &'u str,
    /// Without brackets: the name to resolve and to verify the certificate for.
    pub(super) name: &'u str,
    pub(super) port: u16,
}

impl<'u> ExternalTarget<'u> {
    pub(super) fn of(url: &'u Url) -> Result<Self, String> {
        let host = url.host_str().ok_or("the URL has no host")?;
        Ok(Self { url, host, name: bare(host), port: url.port_or_known_default().unwrap_or(443) })
    }

    /// Its addresses, in order.
    pub(super) async fn addresses(&self) -> Result<impl Iterator<Item = SocketAddr>, String> {
        tokio::net::lookup_host((self.name, self.port)).await.map_err(|e| format!("{}: {e}", self.host))
    }

    /// A peer at its first address.
    pub(super) async fn peer(&self) -> Result<HttpPeer, String> {
        let address = self.addresses().await?.next().ok_or_else(|| self.has_no_address())?;
        Ok(self.peer_at(address))
    }

    /// A peer at another address.
    pub(super) fn peer_at(&self, address: SocketAddr) -> HttpPeer {
        peer(address, self.url.scheme() == "https", self.name.to_owned())
    }

    pub(super) fn has_no_address(&self) -> String {
        format!("{} has no address", self.host)
    }

    /// The value of `Host`.
    pub(super) fn authority(&self) -> String {
        self.url.port().map_or(self.host.to_owned(), |port| format!("{}:{port}", self.host))
    }

    /// Path and query.
    pub(super) fn target(&self) -> &'u str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }
}

/// A host without the brackets of an IPv6 address.
pub(super) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// A connection to another server. Always gives the name: without one the library would not verify the certificate.
pub(super) fn peer(address: SocketAddr, tls: bool, name: String) -> HttpPeer {
    let mut peer = HttpPeer::new(address, tls, name);
    peer.options.connection_timeout = Some(CONNECT);
    peer.options.total_connection_timeout = Some(CONNECT);
    peer
}
