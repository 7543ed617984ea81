//! Reads one JSON Web Key (RFC 7517) into a key that ring verifies with.
//!
//! Only the key's own `kty` and `crv` determine the algorithm, so a public key can never be taken for an HMAC secret,
//! nor one curve's key for another's. Symmetric keys are not read, and of a private key only its public members are.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
    },
};
use serde_json::Value;

/// Minimum bits of an RSA modulus (RFC 7518 §3.3).
const RSA_MIN_BITS: usize = 2048;
/// Maximum bits of an RSA modulus; ring's limit.
const RSA_MAX_BITS: usize = 8192;

/// The supported JOSE signature algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Ed25519 (RFC 8037 §3.1).
    EdDsa,
    /// ECDSA on P-256 with SHA-256 (RFC 7518 §3.4).
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    Rs256,
}

impl Algorithm {
    /// The algorithm of an `alg`. Ed25519 has two names: its own since RFC 9864, and the older name of its family.
    pub(super) fn named(alg: &str) -> Option<Self> {
        match alg {
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            "ES256" => Some(Self::Es256),
            "RS256" => Some(Self::Rs256),
            _ => None,
        }
    }
}

/// The public half of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// The point, compressed (RFC 8032).
    Ed25519([u8; 32]),
    /// The point, uncompressed: 4, x, y.
    P256([u8; 65]),
    /// Big-endian, without leading zeros.
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl PublicKey {
    /// Reads a key that verifies signatures.
    ///
    /// # Errors
    ///
    /// The reason, for the operator, why this key cannot be used.
    pub(super) fn from_jwk(jwk: &Value) -> Result<Self, String> {
        let text = |member: &str| jwk.get(member).and_then(Value::as_str);
        let kty = text("kty").ok_or("has no kty")?;
        let key = match (kty, text("crv")) {
            ("OKP", Some("Ed25519")) => Self::Ed25519(octets(jwk, "x")?),
            ("EC", Some("P-256")) => {
                let (x, y): ([u8; 32], [u8; 32]) = (octets(jwk, "x")?, octets(jwk, "y")?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&x);
                point[33..].copy_from_slice(&y);
                Self::P256(point)
            }
            ("RSA", _) => rsa(&bytes(jwk, "n")?, &bytes(jwk, "e")?)?,
            ("OKP" | "EC", crv) => {
                return Err(format!("is on the curve {:?}, not Ed25519 or P-256", crv.unwrap_or("")));
            }
            ("oct", _) => return Err("is a shared secret; those are never used".into()),
            _ => return Err(format!("is of the unknown kty {kty:?}")),
        };
        // Optional members restrict the key's use; those that are present must be right.
        if jwk.get("use").is_some_and(|value| value != "sig") {
            return Err("is not for signatures (use)".into());
        }
        let verifies = |ops: &Value| ops.as_array().is_some_and(|ops| ops.iter().any(|op| op == "verify"));
        if jwk.get("key_ops").is_some_and(|ops| !verifies(ops)) {
            return Err("is not for verifying (key_ops)".into());
        }
        if jwk.get("alg").is_some_and(|alg| alg.as_str().and_then(Algorithm::named) != Some(key.algorithm())) {
            return Err("is for an algorithm that is not verified here (alg)".into());
        }
        Ok(key)
    }

    /// The one algorithm whose signatures this key verifies.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(_) => Algorithm::EdDsa,
            Self::P256(_) => Algorithm::Es256,
            Self::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Whether this key made the signature over the message.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(message, signature),
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature),
            Self::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        }
        .is_ok()
    }
}

/// The SHA-256 thumbprint of an Ed25519 key (RFC 7638 §3, RFC 8037 §2): required members only, in this order, without
/// spaces; base64url. It is computed from the point's bytes, so different spellings of `x` give the same thumbprint.
pub(super) fn thumbprint(point: &[u8; 32]) -> String {
    let json = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, URL_SAFE_NO_PAD.encode(point));
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, json.as_bytes()))
}

fn rsa(n: &[u8], e: &[u8]) -> Result<PublicKey, String> {
    let (n, e) = (significant(n), significant(e));
    let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
    if !(RSA_MIN_BITS..=RSA_MAX_BITS).contains(&bits) {
        return Err(format!("is an RSA key of {bits} bits; {RSA_MIN_BITS} to {RSA_MAX_BITS} are accepted"));
    }
    // ring's limits: odd, at least 3, at most 33 bits.
    let exponent = e.iter().take(8).fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let odd = n.last().is_some_and(|last| last & 1 == 1) && exponent & 1 == 1;
    if !odd || e.len() > 5 || !(3..1 << 33).contains(&exponent) {
        return Err("is an RSA key whose n or e cannot be right".into());
    }
    Ok(PublicKey::Rsa { n: n.to_vec(), e: e.to_vec() })
}

/// Strips leading zeros, which RFC 7518 §6.3.1 forbids and some encoders write.
fn significant(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

/// A member of exactly this many octets (RFC 7518 §6.2.1.2, RFC 8037 §2).
fn octets<const N: usize>(jwk: &Value, member: &str) -> Result<[u8; N], String> {
    bytes(jwk, member)?.try_into().map_err(|_| format!("has a {member} that is not {N} octets"))
}

fn bytes(jwk: &Value, member: &str) -> Result<Vec<u8>, String> {
    let text = jwk.get(member).and_then(Value::as_str).ok_or_else(|| format!("has no {member}"))?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("has a {member} that is not base64url without padding"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RFC 8037 appendix A.2.
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn why(jwk: Value) -> String {
        PublicKey::from_jwk(&jwk).unwrap_err()
    }

    #[test]
    fn the_thumbprint_of_rfc_8037_a_3() {
        let PublicKey::Ed25519(point) = PublicKey::from_jwk(&json!({"kty": "OKP", "crv": "Ed25519", "x": X})).unwrap()
        else {
            panic!()
        };
        assert_eq!(thumbprint(&point), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn the_signature_of_rfc_8037_a_4_verifies() {
        let key = PublicKey::from_jwk(&json!({"kty": "OKP", "crv": "Ed25519", "x": X})).unwrap();
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = URL_SAFE_NO_PAD
            .decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
            .unwrap();
        assert!(key.verify(message, &signature));
        assert!(!key.verify(b"another", &signature));
        assert!(!key.verify(message, &signature[..63]) && !key.verify(message, b""));
    }

    #[test]
    fn a_private_half_changes_nothing() {
        let public = PublicKey::from_jwk(&json!({"kty": "OKP", "crv": "Ed25519", "x": X})).unwrap();
        let private =
            json!({"kty": "OKP", "crv": "Ed25519", "x": X, "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"});
        assert_eq!(PublicKey::from_jwk(&private).unwrap(), public);
    }

    #[test]
    fn what_a_key_says_about_itself_narrows_its_use() {
        let key = |member: &str, value: Value| {
            let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": X});
            jwk[member] = value;
            PublicKey::from_jwk(&jwk)
        };
        assert!(key("use", json!("sig")).is_ok() && key("alg", json!("EdDSA")).is_ok());
        assert!(key("alg", json!("Ed25519")).is_ok() && key("key_ops", json!(["verify"])).is_ok());
        assert!(key("use", json!("enc")).is_err() && key("use", json!(1)).is_err());
        for alg in [json!("ES256"), json!("RS256"), json!("HS256"), json!("Ed448"), json!("none"), json!(7)] {
            assert!(key("alg", alg.clone()).is_err(), "{alg}");
        }
        for ops in [json!(["sign"]), json!([]), json!("verify"), json!(null)] {
            assert!(key("key_ops", ops.clone()).is_err(), "{ops}");
        }
    }

    #[test]
    fn what_is_not_a_key_to_verify_with_is_refused() {
        assert!(why(json!({"kty": "oct", "k": "c2VjcmV0"})).contains("shared secret"));
        assert!(why(json!({"kty": "OKP", "crv": "X25519", "x": X})).contains("curve"));
        assert!(why(json!({"kty": "EC", "crv": "P-384", "x": X, "y": X})).contains("curve"));
        assert!(why(json!({"kty": "EC", "crv": "Ed25519", "x": X, "y": X})).contains("curve"));
        assert!(why(json!({"kty": "AKP"})).contains("unknown kty"));
        assert!(
            why(json!({})).contains("no kty") && why(json!([])).contains("no kty") && why(json!(null)).contains("kty")
        );
        assert!(why(json!({"kty": "OKP", "crv": "Ed25519"})).contains("no x"));
        assert!(why(json!({"kty": "OKP", "crv": "Ed25519", "x": "AAAA"})).contains("32 octets"));
        assert!(why(json!({"kty": "OKP", "crv": "Ed25519", "x": format!("{X}=")})).contains("base64url"));
        assert!(why(json!({"kty": "EC", "crv": "P-256", "x": X, "y": "AA"})).contains("32 octets"));
    }

    #[test]
    fn rsa_keys_are_of_a_fitting_size() {
        let jwk = |n: &[u8], e: &[u8]| {
            PublicKey::from_jwk(&json!({"kty": "RSA", "n": URL_SAFE_NO_PAD.encode(n), "e": URL_SAFE_NO_PAD.encode(e)}))
        };
        let f4: &[u8] = &[1, 0, 1];
        let sized = |first: u8, len: usize| [vec![first], vec![0xff; len - 1]].concat();
        assert!(jwk(&sized(0x80, 256), f4).is_ok() && jwk(&sized(0xff, 1024), f4).is_ok());
        // 2047 bits would round up to the size that ring accepts.
        assert!(jwk(&sized(0x7f, 256), f4).unwrap_err().contains("2047 bits"));
        assert!(jwk(&sized(0x01, 1025), f4).is_err() && jwk(&sized(0xff, 128), f4).is_err() && jwk(&[], f4).is_err());
        // Leading zeros are stripped from both, and do not make a short key long.
        let PublicKey::Rsa { n, e } = jwk(&[&[0], &sized(0x80, 256)[..]].concat(), &[0, 1, 0, 1]).unwrap() else {
            panic!()
        };
        assert_eq!((n.len(), e.len()), (256, 3));
        assert!(jwk(&[vec![0; 200], sized(0xff, 128)].concat(), f4).is_err());
        for e in [&[][..], &[0], &[1], &[2], &[1, 0], &[3, 0, 0, 0, 1], &[0xff; 9]] {
            assert!(jwk(&sized(0x80, 256), e).is_err(), "{e:?}");
        }
        let even = [vec![0x80; 255], vec![0x80]].concat();
        assert!(jwk(&even, f4).is_err());
    }
}
