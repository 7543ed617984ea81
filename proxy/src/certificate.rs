//! Certificates and keys from disk: read, checked against each other, and swapped without a restart.

use std::{path::Path, sync::Arc};

use arc_swap::ArcSwapOption;
use frontdesk_filters::site::Tls;
use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// The certificate in use. Handshakes read it; a reload replaces it.
#[derive(Debug, Default)]
pub struct Certificate(ArcSwapOption<CertifiedKey>);

impl Certificate {
    /// Loads both files, and takes them into use only if they fit together. The error says which file and why.
    pub fn load(&self, files: &Tls) -> Result<(), String> {
        self.0.store(Some(Arc::new(certified_key(&files.cert, &files.key)?)));
        Ok(())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

/// Reads a PEM chain and its key, and checks that they belong together.
pub fn certified_key(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = chain(cert)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|e| format!("{}: no private key: {e}", key.display()))?;
    CertifiedKey::from_der(chain, private, &ring::default_provider())
        .map_err(|e| format!("{} and {} do not fit together: {e}", cert.display(), key.display()))
}

/// Reads a PEM file with one certificate or more.
pub fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|e| format!("{}: {e}", file.display()))?.collect();
    match certificates {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(format!("{}: holds no certificate", file.display())),
        Err(e) => Err(format!("{}: {e}", file.display())),
    }
}
