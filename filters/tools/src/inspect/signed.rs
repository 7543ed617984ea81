//! Verifies a contract's signature (AICP §8.11).
//!
//! The signature is Ed25519 over the exact bytes of the TOML, in base64. A key within the contract itself shows only
//! that no one without that key changed the contract on the way; it does not show whose key it is.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;
use url::Url;

use super::{contract::Contract, plain::plain};

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Signed {
    /// The contract names no signature.
    No,
    /// It names one that could not be verified, and why.
    Unverified(String),
    /// Valid, with the key of this name.
    Verified(String),
    /// Not a signature of this contract.
    Broken(String),
}

/// The URL of the signature, which must be on the contract's origin.
pub(super) fn signature_at(contract: &Contract, base: &Url) -> Result<Option<Url>, String> {
    if !is_signed(contract) {
        return Ok(None);
    }
    let Some(text) = contract.at("integrity", "signature_url").and_then(Value::as_str) else {
        return Err("says so, but not where the signature is (integrity.signature_url)".into());
    };
    match base.join(text) {
        Ok(url) if url.origin() == base.origin() => Ok(Some(url)),
        Ok(_) => Err(format!("the signature is elsewhere and was not fetched: {}", plain(text))),
        Err(_) => Err(format!("integrity.signature_url is no URL: {}", plain(text))),
    }
}

fn is_signed(contract: &Contract) -> bool {
    let integrity = |key| contract.at("integrity", key);
    match integrity("signed").and_then(Value::as_bool) {
        Some(signed) => signed,
        None => integrity("signature_url").is_some(),
    }
}

/// Verifies the fetched signature.
pub(super) fn verify(contract: &Contract, toml: Option<&[u8]>, signature: &[u8]) -> Signed {
    let name = contract.text("integrity", "key_id").unwrap_or_else(|| "without a name".into());
    let Some(key) = contract.at("integrity", "public_key").and_then(Value::as_str) else {
        return Signed::Unverified(format!("with the key {name}, which is not in the contract to verify it with"));
    };
    let Some(key) = STANDARD.decode(key.trim()).ok().filter(|key| key.len() == 32) else {
        return Signed::Broken("integrity.public_key is not the base64 of 32 bytes".into());
    };
    let Some(toml) = toml else {
        return Signed::Unverified("it is over the TOML, and only JSON was found".into());
    };
    let text: Vec<u8> = signature.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let Some(signature) = STANDARD.decode(text).ok().filter(|signature| signature.len() == 64) else {
        return Signed::Broken("what is at integrity.signature_url is not the base64 of 64 bytes".into());
    };
    match UnparsedPublicKey::new(&ED25519, key).verify(toml, &signature) {
        Ok(()) => Signed::Verified(name),
        Err(_) => Signed::Broken(format!("the signature is not one of this contract by the key {name}")),
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    fn signed() -> (Vec<u8>, String) {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let public = STANDARD.encode(key.public_key().as_ref());
        let toml = format!(
            "aicp_version = '0.1'\n[integrity]\nsigned = true\nkey_id = 'k'\npublic_key = '{public}'\n\
             signature_url = 'https://a.example/s.sig'\n"
        )
        .into_bytes();
        let signature = STANDARD.encode(key.sign(&toml));
        (toml, signature + "\n")
    }

    #[test]
    fn a_signature_holds_for_these_bytes_only() {
        let (toml, signature) = signed();
        let contract = Contract::parse(&toml).unwrap();
        assert_eq!(verify(&contract, Some(&toml), signature.as_bytes()), Signed::Verified("k".into()));
        let mut other = toml.clone();
        other.push(b'\n');
        assert!(matches!(verify(&contract, Some(&other), signature.as_bytes()), Signed::Broken(_)));
        for wrong in [&b""[..], b"%%%", b"QUJD", &[0xff; 64]] {
            assert!(matches!(verify(&contract, Some(&toml), wrong), Signed::Broken(_)), "{wrong:?}");
        }
        assert!(matches!(verify(&contract, None, signature.as_bytes()), Signed::Unverified(_)));
    }

    #[test]
    fn a_signature_is_fetched_from_the_same_origin_only() {
        let (toml, _) = signed();
        let contract = Contract::parse(&toml).unwrap();
        let at = |base| signature_at(&contract, &Url::parse(base).unwrap());
        assert_eq!(at("https://a.example/").unwrap().unwrap().path(), "/s.sig");
        for elsewhere in ["https://b.example/", "http://a.example/", "https://a.example:444/"] {
            assert!(at(elsewhere).is_err(), "{elsewhere}");
        }
        let unsigned = Contract::parse(b"aicp_version = '0.1'\n").unwrap();
        assert_eq!(signature_at(&unsigned, &Url::parse("https://a.example/").unwrap()), Ok(None));
    }

    #[test]
    fn a_key_that_is_none() {
        let contract = Contract::parse(b"[integrity]\nsigned = true\npublic_key = 'QUJD'\n").unwrap();
        assert!(matches!(verify(&contract, Some(b""), b""), Signed::Broken(_)));
    }
}
