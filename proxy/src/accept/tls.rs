//! TLS acceptors for client connections.

use std::sync::Arc;

use rustls::{
    ServerConfig, SupportedProtocolVersion,
    crypto::ring,
    version::{TLS12, TLS13},
};
use tokio_rustls::TlsAcceptor;

use crate::certificate::Certificate;

/// An acceptor for TLS 1.2 and 1.3 that offers HTTP/2 and HTTP/1.1.
pub(super) fn http(certificate: Arc<Certificate>) -> Result<TlsAcceptor, rustls::Error> {
    acceptor(certificate, &[&TLS13, &TLS12], &["h2", "http/1.1"])
}

/// An acceptor for TLS 1.3 only. A client without ALPN is assumed to speak this socket's protocol; a client that offers
/// only other protocols is refused.
#[cfg(feature = "agtp")]
pub(super) fn frames(certificate: Arc<Certificate>) -> Result<TlsAcceptor, rustls::Error> {
    acceptor(certificate, &[&TLS13], &[frontdesk_filters::frames::PROTOCOL])
}

fn acceptor(
    certificate: Arc<Certificate>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> Result<TlsAcceptor, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}
