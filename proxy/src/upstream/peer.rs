//! What every connection to an upstream has in common: its protocol, its certificates, its bounds.

use std::{panic::catch_unwind, path::Path, sync::Arc, time::Duration};

use frontdesk_filters::site::{Upstream, UpstreamHttp2, UpstreamUrl};
use pingora::{
    protocols::{ALPN, TcpKeepalive},
    upstreams::peer::HttpPeer,
    utils::tls::{CertKey, WrappedX509, parse_x509},
};

use frontdesk_files::{certified_key, chain, private_key};

/// How long an idle connection is kept, to an upstream or to somebody else.
pub const KEPT: Duration = Duration::from_secs(55);
/// Requests at a time on one HTTP/2 connection to an upstream.
const STREAMS: usize = 100;

/// A peer with everything but its address. Connections of different groups are never shared.
pub(super) fn template(settings: &Upstream, url: &UpstreamUrl, group: u64) -> Result<HttpPeer, String> {
    // The name is always given: without one the library would not verify the certificate at all.
    let name = settings.server_name.clone().unwrap_or_else(|| url.host.clone());
    let mut peer = HttpPeer::new(("127.0.0.1", url.port), url.tls, name);
    peer.group_key = group;
    let options = &mut peer.options;
    options.alpn = match (settings.http2, url.tls) {
        (UpstreamHttp2::Auto, true) => ALPN::H2H1,
        (UpstreamHttp2::PriorKnowledge, _) => ALPN::H2,
        _ => ALPN::H1,
    };
    options.connection_timeout = Some(settings.connect_timeout);
    options.total_connection_timeout = Some(settings.connect_timeout * 2);
    options.read_timeout = Some(settings.read_timeout);
    options.write_timeout = Some(settings.read_timeout);
    options.idle_timeout = Some(KEPT);
    options.max_h2_streams = STREAMS;
    options.tcp_keepalive = Some(TcpKeepalive {
        idle: Duration::from_secs(60),
        interval: Duration::from_secs(10),
        count: 5,
        #[cfg(target_os = "linux")]
        user_timeout: Duration::ZERO,
    });
    if let Some(ca) = &settings.ca {
        options.ca = Some(authorities(ca)?);
    }
    if let (Some(cert), Some(key)) = (&settings.client_cert, &settings.client_key) {
        peer.client_cert_key = Some(client_certificate(cert, key)?);
    }
    Ok(peer)
}

fn authorities(file: &Path) -> Result<Arc<[WrappedX509]>, String> {
    let mut wrapped = Vec::new();
    let mut store = rustls::RootCertStore::empty();
    for certificate in chain(file)? {
        store.add(certificate.clone()).map_err(|e| format!("{}: {e}", file.display()))?;
        // The library's parser panics on what it cannot read, where the check before let it pass.
        let parsed = catch_unwind(|| WrappedX509::new(certificate.to_vec(), parse_x509));
        wrapped.push(parsed.map_err(|_| format!("{}: a certificate that cannot be read", file.display()))?);
    }
    Ok(wrapped.into())
}

fn client_certificate(cert: &Path, key: &Path) -> Result<Arc<CertKey>, String> {
    certified_key(cert, key)?;
    let chain = chain(cert)?.iter().map(|c| c.to_vec()).collect();
    let private = private_key(key)?;
    let made = catch_unwind(|| CertKey::new(chain, private.secret_der().to_vec()));
    made.map(Arc::new).map_err(|_| format!("{}: a certificate that cannot be read", cert.display()))
}
