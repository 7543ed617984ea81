//! TLS certificates and keys from PEM files, checked for a match, and the authorities that the system trusts.

use std::path::Path;

use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

use super::regular;

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

/// Until when the first certificate of a chain is valid, in seconds since 1970. `None`: it cannot be read.
pub fn valid_until(chain: &[CertificateDer<'_>]) -> Option<u64> {
    let (_, first) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
    Some(u64::try_from(first.validity().not_after.timestamp()).unwrap_or(0))
}

/// Adds the authorities that the system trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` included).
///
/// # Errors
///
/// The reason why none can be read, or one cannot be used.
pub fn add_system_roots(roots: &mut RootCertStore) -> Result<(), String> {
    let found = rustls_native_certs::load_native_certs();
    if let (true, Some(error)) = (found.certs.is_empty(), found.errors.first()) {
        return Err(format!("the authorities that the system trusts cannot be read: {error}"));
    }
    found.certs.into_iter().try_for_each(|certificate| {
        roots.add(certificate).map_err(|error| format!("an authority that the system trusts cannot be used: {error}"))
    })
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    regular(file).map_err(|e| format!("{}: {e}", file.display()))
}
