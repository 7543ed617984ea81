//! TLS on the way in.

use std::sync::Arc;

use rustls::{ServerConfig, crypto::ring};
use tokio_rustls::TlsAcceptor;

use crate::certificate::Certificate;

/// An acceptor for TLS 1.2 and 1.3 that offers HTTP/2 and HTTP/1.1.
pub(super) fn acceptor(certificate: Arc<Certificate>) -> Result<TlsAcceptor, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
