//! Host and port by which a site, or this process, is asked.

use std::net::{IpAddr, SocketAddr};

use url::Url;

/// A name by which the site may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// For Host.
    pub authority: String,
    /// A client would ask over TLS.
    pub tls: bool,
}

impl Name {
    /// As `site.origin` has it.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.authority)
    }
}

/// A URL's host and port, as Host has it.
pub(super) fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// How an address on which we listen is called in a browser on this machine.
pub(super) fn authorities(listen: &SocketAddr) -> Vec<String> {
    let port = listen.port();
    let local = listen.ip().is_loopback() || listen.ip().is_unspecified();
    let names = ["127.0.0.1", "localhost", "[::1]"].into_iter().filter(|_| local);
    let address = match listen.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    // The usual ports are not written.
    let written = |name: &str| if matches!(port, 80 | 443) { name.to_owned() } else { format!("{name}:{port}") };
    names.chain([address.as_str()]).map(written).collect()
}
