//! The destination of a URL: host and port, with or without TLS.

use ::http::HeaderValue;
use frontdesk_filters::harness::Lost;
use pingora::upstreams::peer::HttpPeer;
use url::Url;

use crate::outbound::external_target::{bare, peer};

/// Keeps these connections apart from those to the site and to other services.
const GROUP: u64 = u64::MAX - 1;
/// The most addresses of one name to try in order: `localhost` has two, and a server often listens on one.
const MOST_ADDRESSES: usize = 4;

/// A server, by its name.
pub(super) struct Place {
    /// Without the brackets of an IPv6 address.
    name: String,
    port: u16,
    pub(super) tls: bool,
    /// The value of `Host`.
    pub(super) authority: HeaderValue,
    /// Path and query.
    pub(super) target: String,
}

impl Place {
    /// Parses a URL whose scheme has a host. Refuses credentials in it, because they would end up in logs.
    pub(super) fn of(url: &Url) -> Result<Self, String> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL must not have a user or a password; put the secret into token".into());
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the URL has no host")?;
        let authority = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
        let path = if url.path().is_empty() { "/" } else { url.path() };
        Ok(Self {
            name: bare(host).to_owned(),
            port: url.port_or_known_default().ok_or("the URL has no port")?,
            tls: matches!(url.scheme(), "https" | "wss"),
            authority: HeaderValue::try_from(authority).map_err(|_| "the URL's host cannot be sent in a header")?,
            target: url.query().map_or(path.to_owned(), |query| format!("{path}?{query}")),
        })
    }

    /// The addresses to connect to, in order. There is at least one.
    pub(super) async fn peers(&self) -> Result<Vec<HttpPeer>, Lost> {
        let found = tokio::net::lookup_host((self.name.as_str(), self.port)).await;
        let found = found.map_err(|e| Lost(format!("{}: {e}", self.name)))?;
        let peers: Vec<HttpPeer> = found
            .take(MOST_ADDRESSES)
            .map(|address| {
                let mut peer = peer(address, self.tls, self.name.clone());
                peer.group_key = GROUP;
                peer
            })
            .collect();
        if peers.is_empty() { Err(Lost(format!("{} has no address", self.name))) } else { Ok(peers) }
    }
}
