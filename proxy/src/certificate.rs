//! TLS certificates and keys from the disk: read, checked for a match, and replaced without a restart.

use std::{path::Path, sync::Arc};

use arc_swap::ArcSwapOption;
use frontdesk_filters::site::Tls;
use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::source::regular;

/// The certificate in use. Handshakes read it, and a reload replaces it.
#[derive(Debug, Default)]
pub struct Certificate(ArcSwapOption<CertifiedKey>);

impl Certificate {
    /// Loads both files, and uses them only if they match. The error names the file and the reason.
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

/// Reads a PEM chain and its key, and checks that they match.
pub fn certified_key(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = chain(cert)?;
    CertifiedKey::from_der(chain, private_key(key)?, &ring::default_provider()).map_err(|e| {
        let (cert, key) = (cert.display(), key.display());
        format!("{cert} and {key} do not fit together: {e}; the first certificate has to be the one that was made for the key")
    })
}

/// Reads the private key in a PEM file.
pub fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|e| {
        let file = file.display();
        format!("{file}: no private key: {e}; write it as PEM, without a passphrase (-----BEGIN PRIVATE KEY-----)")
    })
}

/// Reads a PEM file with at least one certificate.
pub fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match certificates {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => {
            Err(format!("{}: holds no certificate; write it as PEM (-----BEGIN CERTIFICATE-----)", file.display()))
        }
        Err(e) => Err(format!("{}: {e}", file.display())),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    regular(file).map_err(|e| format!("{}: {e}", file.display()))
}
