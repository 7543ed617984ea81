//! The typed settings of the listeners, their bounds, and the upstream.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use serde_json::{Value, json};

/// `[listen]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Listen {
    pub http: Vec<SocketAddr>,
    pub h2c: bool,
    pub https: Vec<SocketAddr>,
    pub agtp: Option<SocketAddr>,
    pub admin: SocketAddr,
    pub trusted_proxies: Vec<IpNet>,
    pub proxy_protocol: bool,
    pub upgrade_socket: Option<PathBuf>,
}

impl Listen {
    /// All addresses on which this process listens.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.http.iter().chain(&self.https).chain(&self.agtp).copied().chain([self.admin])
    }

    /// The present listeners, for the operator, whatever the configuration file says by now.
    pub fn shown(&self) -> Value {
        json!({ "http": self.http, "https": self.https, "agtp": self.agtp, "admin": self.admin })
    }

    /// The keys that differ and that need a restart, because sockets are bound once.
    pub fn bound_differently(&self, other: &Self) -> Vec<&'static str> {
        let differing = [
            ("http", self.http != other.http),
            ("h2c", self.h2c != other.h2c),
            ("https", self.https != other.https),
            ("agtp", self.agtp != other.agtp),
            ("admin", self.admin != other.admin),
            ("proxy_protocol", self.proxy_protocol != other.proxy_protocol),
            ("upgrade_socket", self.upgrade_socket != other.upgrade_socket),
        ];
        differing.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
    }
}

/// `[protection]`: the bounds on incoming requests.
#[derive(Debug, Clone)]
pub struct Protection {
    pub max_connections: usize,
    /// Maximum percentage of all connections, and of all requests in progress, for one client address while others
    /// need some.
    pub client_share: usize,
    pub header_timeout: Duration,
    pub idle_timeout: Duration,
    /// Maximum bytes.
    pub max_header: usize,
    pub max_recoding: usize,
    /// Maximum bytes of one call's input.
    pub max_input: usize,
    /// Maximum bytes of the site's answer to one call.
    pub max_answer: usize,
    /// Minimum bytes per second of a client in a transfer; 0: no minimum.
    pub min_rate: u64,
    /// Maximum time for a request's whole body; zero: no maximum.
    pub transfer_timeout: Duration,
    pub shutdown_delay: Duration,
    pub shutdown_timeout: Duration,
}

/// `[tls]`: PEM files, absolute.
#[derive(Debug, Clone)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// `[upstream]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Upstream {
    /// At least one, from `url` or `urls`.
    pub urls: Vec<UpstreamUrl>,
    pub preserve_host: bool,
    /// Whether upstream requests get a `Via` line (RFC 9110 §7.6.3).
    pub via: bool,
    /// URLs in an answer that name an upstream are rewritten to the requested address.
    pub rewrite_redirects: bool,
    pub http2: UpstreamHttp2,
    pub ca: Option<PathBuf>,
    pub server_name: Option<String>,
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub connect_timeout: Duration,
    pub read_timeout: Duration,
    /// Maximum concurrent requests to the site, pages and calls; 0: no maximum.
    pub max_requests: usize,
    pub health_path: Option<String>,
    pub health_interval: Duration,
}

/// An upstream's origin: no path, query, fragment or userinfo (each is a mistake).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

/// `upstream.http2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamHttp2 {
    Auto,
    PriorKnowledge,
    Off,
}
