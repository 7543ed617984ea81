//! Complete tokens: genuine ones, and forgeries.

use std::{hint::black_box, time::Instant};

use proptest::prelude::*;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_800_000_000;
const RS256_KEYS: &[u8] = include_bytes!("../testdata/rs256.jwks.json");
const RS256_TOKEN: &str = include_str!("../testdata/rs256.jwt");

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer with a key of each kind that a test can make.
struct Issuer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap(),
            random,
        }
    }

    /// Its keys, `ed` and `ec`, an unusable one, and the RSA key of the fixture.
    fn keys(&self) -> KeySet {
        let point = self.ec.public_key().as_ref();
        let mut set: Value = serde_json::from_slice(RS256_KEYS).unwrap();
        set["keys"].as_array_mut().unwrap().extend([
            json!({"kty": "oct", "kid": "mac", "k": encode("secret")}),
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(self.ed.public_key())}),
            json!({"kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..])}),
        ]);
        KeySet::parse(set.to_string().as_bytes()).unwrap()
    }

    fn tokens(&self) -> Tokens {
        let (issuer, audience) = ("https://issuer.example".to_owned(), "https://site.example".to_owned());
        Tokens::new(Some(issuer), Some(audience), Some(self.keys()))
    }

    /// A token with this header, signed by the key that its `alg` is for.
    fn sign(&self, header: Value, claims: Value) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = match header["alg"].as_str() {
            Some("ES256") => self.ec.sign(&self.random, signed.as_bytes()).unwrap().as_ref().to_vec(),
            _ => self.ed.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(signature))
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example", "aud": "https://site.example", "sub": "agent-7", "exp": NOW + 300,
        "scope": "flights:read bookings:hold", "acr": "mfa", "iat": NOW,
    })
}

#[test]
fn tokens_of_each_algorithm_verify() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    for header in [
        json!({"alg": "EdDSA", "kid": "ed"}),
        json!({"alg": "Ed25519", "kid": "ed"}),
        json!({"alg": "ES256", "kid": "ec", "typ": "at+jwt"}),
        json!({"alg": "EdDSA"}),
        json!({"alg": "ES256"}),
    ] {
        let token = tokens.verify(&issuer.sign(header.clone(), claims()), NOW).unwrap();
        assert_eq!((token.subject.as_str(), token.expires), ("agent-7", NOW + 300), "{header}");
        assert_eq!(token.scopes, ["flights:read", "bookings:hold"]);
        assert_eq!(token.authentication, ["mfa"]);
    }
    let rsa = tokens.verify(RS256_TOKEN.trim(), NOW).unwrap();
    assert_eq!((rsa.subject.as_str(), rsa.expires), ("rsa-subject", 4_102_444_800));
}

#[test]
fn one_answer_for_every_key_that_does_not_fit() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    let why = |header: Value| tokens.verify(&issuer.sign(header, claims()), NOW).unwrap_err();
    assert_eq!(why(json!({"alg": "EdDSA", "kid": "unknown"})), Rejected::TokenNotValid);
    assert_eq!(why(json!({"alg": "EdDSA", "kid": "ec"})), Rejected::TokenNotValid, "another key's name");
    assert_eq!(why(json!({"alg": "RS256", "kid": "rsa-1"})), Rejected::TokenNotValid, "another key's signature");
    assert_eq!(why(json!({"alg": "RS256", "kid": "ed"})), Rejected::TokenNotValid, "another key's algorithm");
    let stranger = Issuer { ed: Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap(), ..Issuer::new() };
    for header in [json!({"alg": "EdDSA", "kid": "ed"}), json!({"alg": "ES256", "kid": "ec"}), json!({"alg": "EdDSA"})]
    {
        assert_eq!(tokens.verify(&stranger.sign(header, claims()), NOW), Err(Rejected::TokenNotValid));
    }
    // Without a genuine signature, a client does not learn what else is wrong.
    let expired = json!({"exp": 1});
    assert_eq!(tokens.verify(&stranger.sign(json!({"alg": "EdDSA"}), expired), NOW), Err(Rejected::TokenNotValid));
}

#[test]
fn a_public_key_is_no_secret() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    // The classic attack: HMAC with a public value, or with the `oct` key in the set.
    for (secret, kid) in
        [(issuer.ed.public_key().as_ref(), "ed"), (issuer.ec.public_key().as_ref(), "ec"), (b"secret", "mac")]
    {
        let signed =
            format!("{}.{}", encode(json!({"alg": "HS256", "kid": kid}).to_string()), encode(claims().to_string()));
        let mac = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret), signed.as_bytes());
        assert_eq!(tokens.verify(&format!("{signed}.{}", encode(mac)), NOW), Err(Rejected::TokenAlgorithm), "{kid}");
        // The same with a false header.
        let signed =
            format!("{}.{}", encode(json!({"alg": "EdDSA", "kid": kid}).to_string()), encode(claims().to_string()));
        let mac = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA512, secret), signed.as_bytes());
        assert_eq!(tokens.verify(&format!("{signed}.{}", encode(mac)), NOW), Err(Rejected::TokenNotValid), "{kid}");
    }
    let none = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(claims().to_string()));
    assert_eq!(tokens.verify(&none, NOW), Err(Rejected::TokenAlgorithm));
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"EdDSA"}"#), encode(claims().to_string()));
    assert_eq!(tokens.verify(&unsigned, NOW), Err(Rejected::TokenNotValid));
}

#[test]
fn a_key_that_comes_with_the_token_is_not_used() {
    let issuer = Issuer::new();
    let stranger = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap();
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": encode(stranger.public_key())});
    let header = json!({"alg": "EdDSA", "jwk": jwk, "jku": "https://evil.example/keys"});
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims().to_string()));
    let token = format!("{signed}.{}", encode(stranger.sign(signed.as_bytes())));
    assert_eq!(issuer.tokens().verify(&token, NOW), Err(Rejected::TokenNotValid));
}

#[test]
fn every_byte_counts() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    let token = issuer.sign(json!({"alg": "EdDSA", "kid": "ed"}), claims());
    assert!(tokens.verify(&token, NOW).is_ok());
    for index in 0..token.len() {
        let mut other = token.clone().into_bytes();
        other[index] = if other[index] == b'A' { b'B' } else { b'A' };
        assert!(tokens.verify(&String::from_utf8(other).unwrap(), NOW).is_err(), "byte {index}");
        let mut shorter = token.clone();
        shorter.remove(index);
        assert!(tokens.verify(&shorter, NOW).is_err(), "without byte {index}");
    }
    for odd in
        [format!("{token}="), format!("{token}."), format!(".{token}"), format!("{token} "), format!("{token}.a.b")]
    {
        assert_eq!(tokens.verify(&odd, NOW), Err(Rejected::TokenMalformed), "{odd}");
    }
}

#[test]
fn long_tokens_are_not_looked_at() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    let sized = |len: usize| {
        let mut claims = claims();
        claims["x"] = json!("x".repeat(len));
        issuer.sign(json!({"alg": "EdDSA"}), claims)
    };
    let fits = (5000..6200).rev().map(sized).find(|token| token.len() <= MAX_TOKEN_BYTES).unwrap();
    assert!(fits.len() > MAX_TOKEN_BYTES - 4 && tokens.verify(&fits, NOW).is_ok());
    assert_eq!(tokens.verify(&sized(6200), NOW), Err(Rejected::TokenMalformed));
}

#[test]
fn without_keys_it_is_nobodys_fault() {
    let issuer = Issuer::new();
    let token = issuer.sign(json!({"alg": "EdDSA"}), claims());
    assert_eq!(Tokens::new(None, None, None).verify(&token, NOW), Err(Rejected::KeysAway));
    let empty = KeySet::parse(br#"{"keys":[]}"#).unwrap();
    assert_eq!(Tokens::new(None, None, Some(empty)).verify(&token, NOW), Err(Rejected::TokenNotValid));
}

#[test]
fn what_is_remembered_expires_and_is_bounded() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    let token = issuer.sign(json!({"alg": "EdDSA"}), claims());
    let first = tokens.verify(&token, NOW).unwrap();
    assert!(Arc::ptr_eq(&first, &tokens.verify(&token, NOW + 1).unwrap()), "from memory");
    assert_eq!(tokens.verify(&token, NOW + 300 + LEEWAY_SECONDS), Err(Rejected::TokenExpired));
    assert_eq!(tokens.verified.len(), 0);
    // Failures are not cached.
    let _ = tokens.verify(&token[..token.len() - 4], NOW);
    let _ = tokens.verify(&issuer.sign(json!({"alg": "EdDSA"}), json!({"exp": 1})), NOW);
    assert_eq!(tokens.verified.len(), 0);
    // Successes are cached up to the bound.
    let bulky = |n: u64| {
        let scopes: Vec<String> = (0..2000).map(|scope| format!("{scope}")).collect();
        Arc::new(Token { subject: n.to_string(), scopes, authentication: Vec::new(), expires: NOW })
    };
    for n in 0..1000u64 {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&n.to_le_bytes());
        tokens.verified.insert(key, bulky(n));
    }
    assert!(tokens.verified.weight() <= CACHE_BYTES && tokens.verified.len() < 100, "{}", tokens.verified.len());
}

proptest! {
    #[test]
    fn nothing_that_is_sent_makes_it_panic(
        text in "\\PC{0,200}",
        parts in prop::collection::vec("[A-Za-z0-9_-]{0,60}", 1..6),
    ) {
        let tokens = Tokens::new(None, None, KeySet::parse(RS256_KEYS).ok());
        prop_assert!(tokens.verify(&text, NOW).is_err());
        prop_assert!(tokens.verify(&parts.join("."), NOW).is_err());
    }

    #[test]
    fn no_header_or_claims_make_it_panic(header in "\\PC{0,80}", claims in "\\PC{0,80}") {
        let issuer = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": encode(issuer.public_key())}]}).to_string();
        let tokens = Tokens::new(None, None, KeySet::parse(keys.as_bytes()).ok());
        for header in [header.as_str(), r#"{"alg":"EdDSA"}"#] {
            let signed = format!("{}.{}", encode(header), encode(&claims));
            let token = format!("{signed}.{}", encode(issuer.sign(signed.as_bytes())));
            prop_assert!(tokens.verify(&token, NOW).is_err());
        }
    }
}

#[test]
#[ignore = "prints what it costs"]
fn cost_of_verifying() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens();
    let keys = issuer.keys();
    let time = |what: &str, work: &mut dyn FnMut()| {
        // The fastest of many batches, since other load only adds time.
        let mut batch = || {
            let begun = Instant::now();
            (0..20).for_each(|_| work());
            begun.elapsed().as_nanos() / 20
        };
        println!("{what}: {} ns", (0..200).map(|_| batch()).min().unwrap());
    };
    let ed = issuer.sign(json!({"alg": "EdDSA", "kid": "ed"}), claims());
    let ec = issuer.sign(json!({"alg": "ES256", "kid": "ec"}), claims());
    let unknown = issuer.sign(json!({"alg": "EdDSA", "kid": "?"}), claims());
    let wrong = format!("{}AAAA", &ed[..ed.len() - 4]);
    for (what, token) in [("EdDSA", &ed), ("ES256", &ec), ("RS256", &RS256_TOKEN.trim().to_owned())] {
        time(what, &mut || drop(black_box(tokens.verify_anew(&keys, token, NOW).unwrap())));
    }
    time("EdDSA, wrong signature", &mut || assert!(black_box(tokens.verify(&wrong, NOW)).is_err()));
    time("EdDSA, unknown kid", &mut || assert!(black_box(tokens.verify(&unknown, NOW)).is_err()));
    time("remembered", &mut || drop(black_box(tokens.verify(&ed, NOW).unwrap())));
}
