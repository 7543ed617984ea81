//! Proof Key for Code Exchange (RFC 7636), with S256 only.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::digest;

/// Whether a text can be an S256 challenge: 32 bytes in base64url.
pub(crate) fn is_challenge(text: &str) -> bool {
    text.len() == 43 && URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether a verifier belongs to a challenge.
pub(crate) fn verifies(verifier: &str, challenge: &str) -> bool {
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let fits = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    fits && URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes())) == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(is_challenge(challenge) && verifies(verifier, challenge));
        assert!(!verifies(challenge, challenge), "plain is not taken");
        assert!(!verifies("short", challenge) && !verifies(&"a".repeat(129), challenge));
        assert!(!is_challenge("short") && !is_challenge(&"!".repeat(43)));
    }
}
