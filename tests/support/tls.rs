//! A certificate for the test, and both ends of TLS that trust it.

use super::dir::Dir;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::server::{WebPkiClientVerifier, danger::ClientCertVerifier};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

#[derive(Clone)]
pub struct Tls {
    pub cert_pem: String,
    pub key_pem: String,
}

impl Tls {
    /// A fresh self-signed certificate for localhost, 127.0.0.1 and site.test.
    pub fn new() -> Tls {
        let names = ["localhost", "127.0.0.1", "site.test"].map(String::from).to_vec();
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        Tls { cert_pem: made.cert.pem(), key_pem: made.signing_key.serialize_pem() }
    }

    /// The same, marked as a CA certificate.
    pub fn of_a_ca() -> Tls {
        let mut wanted = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
        wanted.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Tls::made(wanted)
    }

    /// One with its only name in the CN, which clients ignore.
    pub fn of_nobody() -> Tls {
        let mut wanted = rcgen::CertificateParams::default();
        wanted.distinguished_name.push(rcgen::DnType::CommonName, "localhost");
        Tls::made(wanted)
    }

    /// One that is valid in these years, without the last one.
    pub fn of_the_years(first: i32, end: i32) -> Tls {
        let mut wanted = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
        (wanted.not_before, wanted.not_after) = (rcgen::date_time_ymd(first, 1, 1), rcgen::date_time_ymd(end, 1, 1));
        Tls::made(wanted)
    }

    fn made(wanted: rcgen::CertificateParams) -> Tls {
        let key = rcgen::KeyPair::generate().expect("a key");
        let made = wanted.self_signed(&key).expect("a certificate");
        Tls { cert_pem: made.pem(), key_pem: key.serialize_pem() }
    }

    /// Writes `tls.crt` and `tls.key`.
    pub fn write(&self, dir: &Dir) -> (PathBuf, PathBuf) {
        (dir.write("tls.crt", &self.cert_pem), dir.write("tls.key", &self.key_pem))
    }

    pub fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.cert_pem.as_bytes()).expect("our own PEM")
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor_offering(&["h2", "http/1.1"])
    }

    /// An acceptor with these protocols, in order of preference.
    pub fn acceptor_offering(&self, alpn: &[&str]) -> TlsAcceptor {
        self.acceptor_with(WebPkiClientVerifier::no_client_auth(), alpn)
    }

    /// An acceptor that requires this client certificate.
    pub fn acceptor_for_clients_of(&self, client: &Tls) -> TlsAcceptor {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(client.der()).expect("the client's certificate as a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        self.acceptor_with(verifier.build().expect("who is let in"), &["http/1.1"])
    }

    fn acceptor_with(&self, clients: Arc<dyn ClientCertVerifier>, alpn: &[&str]) -> TlsAcceptor {
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).expect("our own PEM");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![self.der()], key)
            .expect("our own certificate");
        config.alpn_protocols = alpn.iter().map(|a| a.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// Connects, trusting only this certificate, and offers `alpn`.
    pub async fn connect(&self, addr: SocketAddr, alpn: &[&str]) -> std::io::Result<TlsStream<TcpStream>> {
        self.connect_in(rustls::DEFAULT_VERSIONS, addr, alpn).await
    }

    /// The same with one of these TLS versions.
    pub async fn connect_in(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
        addr: SocketAddr,
        alpn: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der()).expect("our own certificate as a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("protocol versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|a| a.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(addr).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }
}
