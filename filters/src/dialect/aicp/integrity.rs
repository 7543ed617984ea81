//! The contract's signature (§8.11): Ed25519 over the very bytes of the TOML.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::site::Integrity;

/// What signs the contract.
#[derive(Debug)]
pub(crate) struct Signer {
    pair: Ed25519KeyPair,
    pub(super) key_id: Option<String>,
}

impl Signer {
    /// Reads the key.
    ///
    /// # Errors
    ///
    /// What the file has to be.
    pub(crate) fn new(integrity: &Integrity) -> Result<Self, String> {
        let wanted = "is no Ed25519 key in PKCS#8 as PEM; make one with: openssl genpkey -algorithm ed25519";
        let der = std::str::from_utf8(&integrity.key).ok().and_then(der).ok_or(wanted)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| wanted)?;
        Ok(Self { pair, key_id: integrity.key_id.clone() })
    }

    /// The signature, as it is published.
    pub(super) fn sign(&self, contract: &[u8]) -> String {
        STANDARD.encode(self.pair.sign(contract))
    }

    /// The key that it is verified with.
    pub(super) fn public_key(&self) -> String {
        STANDARD.encode(self.pair.public_key())
    }
}

/// What stands between the lines of a PEM file (RFC 7468), the first private key in it.
fn der(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ED25519, UnparsedPublicKey};

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

    fn signer(key: &str) -> Result<Signer, String> {
        Signer::new(&Integrity { key: key.as_bytes().into(), key_id: None })
    }

    #[test]
    fn what_is_signed_can_be_verified() {
        let signer = signer(KEY).unwrap();
        let signature = STANDARD.decode(signer.sign(b"contract")).unwrap();
        let key = STANDARD.decode(signer.public_key()).unwrap();
        let key = UnparsedPublicKey::new(&ED25519, key);
        assert!(key.verify(b"contract", &signature).is_ok() && key.verify(b"contracts", &signature).is_err());
    }

    #[test]
    fn another_file_is_refused_with_a_word_of_help() {
        for other in ["", "{}", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            assert!(signer(other).unwrap_err().contains("openssl"), "{other}");
        }
    }
}
