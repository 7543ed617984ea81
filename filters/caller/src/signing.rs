//! The Ed25519 key of `[integrity]`. Each dialect decides what to sign with it, and in which format.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Sha512, SigningKey, VerifyingKey, hazmat};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use frontdesk_config::Integrity;

/// The offset of the private key in PKCS#8 (RFC 8410 §7), after the headers.
const PRIVATE: usize = 16;
const PRIVATE_LENGTHS: [u8; 4] = [0x04, 0x22, 0x04, 0x20];

/// Signs for the site. ring parses the file, but this signs in a third less time (benches/desk).
#[derive(Debug)]
pub struct Signer {
    /// Of the private half, as RFC 8032 §5.1.5 has it: not made anew for each signature.
    expanded: hazmat::ExpandedSecretKey,
    public: VerifyingKey,
    pub key_id: Option<String>,
}

impl Signer {
    /// Reads the key.
    ///
    /// # Errors
    ///
    /// What the file has to be.
    pub fn new(integrity: &Integrity) -> Result<Self, String> {
        let wanted = "is no Ed25519 key in PKCS#8 as PEM; make one with: openssl genpkey -algorithm ed25519";
        let pem = std::str::from_utf8(&integrity.key).ok();
        let der = pem.and_then(|pem| pem_body(pem, "PRIVATE KEY")).ok_or(wanted)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| wanted)?;
        let lengths = der.get(PRIVATE - PRIVATE_LENGTHS.len()..PRIVATE).filter(|found| *found == PRIVATE_LENGTHS);
        let private = lengths.and_then(|_| der.get(PRIVATE..)?.first_chunk()).ok_or(wanted)?;
        let key = SigningKey::from_bytes(private);
        let public = key.verifying_key();
        // Both libraries must derive the same key.
        if pair.public_key().as_ref() != public.as_bytes() {
            return Err(wanted.into());
        }
        Ok(Self { expanded: key.as_bytes().into(), public, key_id: integrity.key_id.clone() })
    }

    /// 64 bytes.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        // Safe as long as both halves are of one key, and with the hash that the key was expanded with: see `new`.
        hazmat::raw_sign::<Sha512>(&self.expanded, message, &self.public).to_bytes()
    }

    /// What it is verified with: 32 bytes.
    pub fn public_key(&self) -> &[u8] {
        self.public.as_bytes()
    }
}

/// Whether a message was signed with the private half of a key.
pub fn is_signed(message: &[u8], signature: &[u8], public_key: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public_key).verify(message, signature).is_ok()
}

/// What stands between the lines of a PEM file (RFC 7468): the first of its kind.
pub fn pem_body(pem: &str, kind: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {kind}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {kind}-----"))?;
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(body).ok()
}

/// Keys for tests of signatures.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use super::*;

    /// The key of a 32-byte seed, in file form.
    pub(crate) fn of_seed(seed: &[u8], key_id: Option<&str>) -> Integrity {
        // In PKCS#8 (RFC 8410) all bytes but the seed are constant.
        let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
        der.extend_from_slice(seed);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der));
        Integrity { key: pem.as_bytes().into(), key_id: key_id.map(str::to_owned) }
    }

    /// The key of the test vectors: its seed is 00 to 1f, its name `k1`.
    pub fn k1() -> Integrity {
        of_seed(&(0..32).collect::<Vec<u8>>(), Some("k1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_can_be_verified() {
        let signer = Signer::new(&testing::k1()).unwrap();
        let signature = signer.sign(b"contract");
        assert!(is_signed(b"contract", &signature, signer.public_key()));
        assert!(!is_signed(b"contracts", &signature, signer.public_key()));
        assert!(!is_signed(b"contract", &signature, &[0; 31]));
        assert!(!is_signed(b"contract", b"", signer.public_key()));
    }

    #[test]
    fn a_key_that_openssl_made_can_be_read() {
        const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
        assert!(Signer::new(&Integrity { key: KEY.as_bytes().into(), key_id: None }).is_ok());
    }

    #[test]
    fn another_file_is_refused_with_a_word_of_help() {
        for other in ["", "{}", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            let refused = Signer::new(&Integrity { key: other.as_bytes().into(), key_id: None });
            assert!(refused.unwrap_err().contains("openssl"), "{other}");
        }
    }
}
