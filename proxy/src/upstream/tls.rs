//! TLS to an upstream without the proxy library: the same trust, the same certificate of ours and the same name as the
//! library is given in `peer`, and the same errors when a handshake fails.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use frontdesk_filters::site::{Upstream, UpstreamUrl};
use pingora::{Error, ErrorType, OrErr, tls::load_platform_certs_incl_env_into_store};
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::ServerName,
    version::{TLS12, TLS13},
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

use frontdesk_files::{chain, private_key};

/// What the fast path speaks.
const HTTP1: &[u8] = b"http/1.1";

/// Makes TLS connections to one upstream, for HTTP/1.1.
pub(super) struct TlsClient {
    connector: TlsConnector,
    /// The name that the certificate has to be for.
    name: ServerName<'static>,
    /// The same as errors show it.
    shown: String,
    /// How long a handshake may take.
    limit: Duration,
}

impl TlsClient {
    /// `None`: only the library can speak to it, and will say what is in the way.
    ///
    /// # Errors
    ///
    /// Which file of the settings cannot be used, and why.
    pub(super) fn new(settings: &Upstream, url: &UpstreamUrl) -> Result<Option<Self>, String> {
        let shown = with_hyphens(settings.server_name.as_deref().unwrap_or(&url.host));
        let Ok(name) = ServerName::try_from(shown.clone()) else { return Ok(None) };
        let roots = match &settings.ca {
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for certificate in chain(ca)? {
                    roots.add(certificate).map_err(|e| format!("{}: {e}", ca.display()))?;
                }
                Arc::new(roots)
            }
            None => match system_roots() {
                Some(roots) => roots,
                None => return Ok(None),
            },
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS12, &TLS13])
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots);
        let mut config = match (&settings.client_cert, &settings.client_key) {
            (Some(cert), Some(key)) => builder
                .with_client_auth_cert(chain(cert)?, private_key(key)?)
                .map_err(|e| format!("{}: {e}", cert.display()))?,
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![HTTP1.to_vec()];
        if settings.ca.is_some() || settings.client_cert.is_some() {
            // As the library does it: certificates that the operator names are checked for each connection.
            config.resumption = Resumption::disabled();
        }
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Some(Self { connector, name, shown, limit: settings.connect_timeout }))
    }

    /// Shakes hands over a new connection.
    ///
    /// # Errors
    ///
    /// As the library has them.
    pub(super) async fn connect(&self, tcp: TcpStream) -> pingora::Result<Box<TlsStream<TcpStream>>> {
        // Boxed: it is large, and seldom.
        let handshake = Box::pin(self.connector.connect(self.name.clone(), tcp));
        let shaken = timeout(self.limit, handshake).await.or_err(ErrorType::ConnectTimedout, "shaking hands")?;
        shaken.map(Box::new).or_err(ErrorType::TLSHandshakeFailure, "tls connect error").map_err(|e| {
            let failed = format!("TLS connect() failed: {e}, SNI: {}", self.shown);
            Error::explain(ErrorType::TLSHandshakeFailure, failed)
        })
    }
}

/// Certificates for names with an underscore are made for the name with a hyphen; only the first label of a subdomain is
/// looked at so, as the library does it.
fn with_hyphens(name: &str) -> String {
    match name.split_once('.') {
        Some((first, rest)) if rest.contains('.') => format!("{}.{rest}", first.replace('_', "-")),
        _ => name.to_owned(),
    }
}

/// The certificates that this system trusts, read once in the life of the process. `None`: they cannot be read.
fn system_roots() -> Option<Arc<RootCertStore>> {
    static ROOTS: OnceLock<Option<Arc<RootCertStore>>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        load_platform_certs_incl_env_into_store(&mut roots).ok().map(|()| Arc::new(roots))
    };
    ROOTS.get_or_init(read).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_label_of_a_subdomain_has_its_underscores_replaced() {
        for (name, shown) in [
            ("shop_a.example.test", "shop-a.example.test"),
            ("a.shop_b.example.test", "a.shop_b.example.test"),
            ("shop_a.test", "shop_a.test"),
            ("shop_a", "shop_a"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(with_hyphens(name), shown);
        }
    }
}
