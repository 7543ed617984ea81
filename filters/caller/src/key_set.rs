//! The keys that an issuer publishes (a JWK Set, RFC 7517 §5), as far as they verify tokens.
//!
//! A set may hold keys for other uses: other types, encryption, future algorithms. They are skipped, each with a
//! reason for the operator. Only a text that is not a JWK Set is an error. An empty set is valid, and then no token
//! verifies: an issuer can so revoke all of them.

use serde_json::Value;

use super::jwk::{Algorithm, PublicKey};

/// Maximum bytes of a set.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum keys in a set.
const MAX_KEYS: usize = 100;
/// Maximum keys that a token is tried against. It matters only where the token has no `kid`, or many keys share one.
const MAX_TRIES: usize = 8;

/// The keys that verify tokens.
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    keys: Vec<Key>,
    skipped: Vec<String>,
}

#[derive(Debug, Clone)]
struct Key {
    kid: Option<String>,
    public: PublicKey,
}

impl KeySet {
    /// Reads a JWK Set.
    ///
    /// # Errors
    ///
    /// The reason, for the operator, why it is not a JWK Set or exceeds the bounds (64 KB, 100 keys).
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let mut set = Self::default();
        for (index, jwk) in entries(json)?.iter().enumerate() {
            match PublicKey::from_jwk(jwk) {
                Ok(public) => {
                    let kid = jwk.get("kid").and_then(Value::as_str).map(str::to_owned);
                    set.keys.push(Key { kid, public });
                }
                Err(why) => set.skipped.push(format!("keys[{index}] {why}")),
            }
        }
        Ok(set)
    }

    /// How many keys verify tokens.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key verifies tokens, so that every token is refused.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The unusable keys and the reasons, for the operator.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Whether a key of this algorithm made the signature. Candidates are the keys named `kid`, then those without a
    /// name; any key where the token has no `kid` (RFC 7515 §4.1.4: it is a hint).
    ///
    /// For an unknown `kid` another key of the same algorithm is tried and its result ignored, so that it takes as
    /// long as a bad signature. A match does not end the search early either.
    pub(super) fn verify(&self, algorithm: Algorithm, kid: Option<&str>, message: &[u8], signature: &[u8]) -> bool {
        let fitting = || self.keys.iter().filter(|key| key.public.algorithm() == algorithm);
        let named = || fitting().filter(|key| kid.is_none() || key.kid.as_deref() == kid);
        let nameless = fitting().filter(|key| kid.is_some() && key.kid.is_none());
        let decoy = if named().next().is_none() { fitting().next() } else { None };
        let counting = named().chain(nameless).map(|key| (key, true));
        let tries = decoy.map(|key| (key, false)).into_iter().chain(counting).take(MAX_TRIES);
        // `&` and `|` evaluate both sides.
        tries.fold(false, |valid, (key, counts)| valid | (key.public.verify(message, signature) & counts))
    }
}

/// The keys of a JWK Set, of any kind.
///
/// # Errors
///
/// The reason, for the operator, why it is not a JWK Set or exceeds the bounds.
pub(super) fn entries(json: &[u8]) -> Result<Vec<Value>, String> {
    if json.len() > MAX_BYTES {
        return Err(format!("is {} bytes long; at most {MAX_BYTES} are read", json.len()));
    }
    let mut set: Value = serde_json::from_slice(json).map_err(|error| format!("is not JSON: {error}"))?;
    match set.get_mut("keys").map(Value::take) {
        Some(Value::Array(keys)) if keys.len() > MAX_KEYS => {
            Err(format!("has {} keys; at most {MAX_KEYS} are read", keys.len()))
        }
        Some(Value::Array(keys)) => Ok(keys),
        _ => Err("is not a JWK Set: an object with a list of keys (RFC 7517)".into()),
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn jwk(seed: u8, kid: Option<&str>) -> Value {
        let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(pair(seed).public_key())});
        if let Some(kid) = kid {
            jwk["kid"] = json!(kid);
        }
        jwk
    }

    fn set(keys: Vec<Value>) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn verifies(set: &KeySet, kid: Option<&str>, seed: u8) -> bool {
        set.verify(Algorithm::EdDsa, kid, b"m", pair(seed).sign(b"m").as_ref())
    }

    #[test]
    fn keys_that_are_not_for_us_are_skipped_with_a_reason() {
        let odd = vec![
            json!({"kty": "oct", "k": "c2VjcmV0", "kid": "1"}),
            json!({"kty": "new"}),
            json!("key"),
            json!({"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "2"}),
            jwk(1, Some("3")),
        ];
        let set = set(odd);
        assert_eq!((set.len(), set.skipped().len()), (1, 4));
        assert!(set.skipped()[0].starts_with("keys[0] is a shared secret"), "{:?}", set.skipped());
        assert!(verifies(&set, Some("3"), 1) && !set.is_empty());
    }

    #[test]
    fn what_is_no_set_is_an_error_and_an_empty_set_is_none() {
        for text in
            ["", "[]", "{}", "{\"keys\":{}}", "{\"keys\":null}", "{\"keys\":[]", "null", "\u{feff}{\"keys\":[]}"]
        {
            assert!(KeySet::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(KeySet::parse(&[0xff, 0xfe]).is_err());
        let deep = format!("{{\"keys\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        assert!(KeySet::parse(deep.as_bytes()).is_err());
        let empty = set(vec![]);
        assert!(empty.is_empty() && !verifies(&empty, None, 1));
    }

    #[test]
    fn sets_are_bounded() {
        assert_eq!(set(vec![jwk(1, None); MAX_KEYS]).len(), MAX_KEYS);
        let many = json!({"keys": vec![json!({}); MAX_KEYS + 1]}).to_string();
        assert!(KeySet::parse(many.as_bytes()).unwrap_err().contains("101 keys"));
        let fill = |len: usize| format!("{{\"keys\":[]}}{}", " ".repeat(len - 11));
        assert!(KeySet::parse(fill(MAX_BYTES).as_bytes()).is_ok());
        assert!(KeySet::parse(fill(MAX_BYTES + 1).as_bytes()).unwrap_err().contains("65537 bytes"));
    }

    #[test]
    fn a_kid_chooses_and_without_one_all_are_tried() {
        let set = set(vec![jwk(1, Some("a")), jwk(2, Some("a")), jwk(3, Some("b")), jwk(4, None)]);
        // Duplicates are fine: each is tried.
        assert!(verifies(&set, Some("a"), 1) && verifies(&set, Some("a"), 2));
        assert!(!verifies(&set, Some("a"), 3), "right key, other name");
        assert!(verifies(&set, Some("b"), 3));
        assert!((1..=4).all(|seed| verifies(&set, None, seed)) && !verifies(&set, None, 5));
        assert!(verifies(&set, Some("c"), 4) && verifies(&set, Some("a"), 4), "one without a name goes with every kid");
        assert!(!verifies(&set, Some("c"), 1) && !verifies(&set, Some(""), 1), "the decoy's answer counts for nothing");
    }

    #[test]
    fn the_algorithm_is_the_keys_own() {
        let set = set(vec![jwk(1, Some("a"))]);
        let signature = pair(1).sign(b"m");
        assert!(!set.verify(Algorithm::Es256, Some("a"), b"m", signature.as_ref()));
        assert!(!set.verify(Algorithm::Rs256, None, b"m", signature.as_ref()));
    }

    #[test]
    fn tries_are_bounded() {
        let nine: Vec<Value> = (1..=9).map(|seed| jwk(seed, None)).collect();
        let set = set(nine);
        assert!(verifies(&set, None, 8) && !verifies(&set, None, 9));
    }

    proptest::proptest! {
        #[test]
        fn no_set_makes_it_panic(n in "[A-Za-z0-9_-]{0,400}", e in "[A-Za-z0-9_-]{0,12}", text in "\\PC{0,100}") {
            let rsa = json!({"kty": "RSA", "n": n, "e": e, "x": text});
            let ec = json!({"kty": "EC", "crv": "P-256", "x": e, "y": n});
            for key in &set(vec![rsa, ec, json!(text)]).keys {
                proptest::prop_assert!(!key.public.verify(b"m", &[1; 256]));
            }
            proptest::prop_assert!(KeySet::parse(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn names_of_other_types_are_no_names() {
        let mut numbered = jwk(1, None);
        numbered["kid"] = json!(5);
        assert!(verifies(&set(vec![numbered]), Some("5"), 1));
    }
}
