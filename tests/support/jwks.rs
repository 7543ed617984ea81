//! Keys that sign tokens, their key set, and tokens. It uses ring and shares no code with the desk.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair, RsaPublicKeyComponents};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

pub const ISSUER: &str = "https://id.site.test";
pub const AUDIENCE: &str = "https://site.test";

/// A key pair and its `kid`.
pub struct TokenKey {
    pub kid: String,
    pair: Pair,
}

enum Pair {
    Ed(Ed25519KeyPair),
    Ec(Box<EcdsaKeyPair>),
    Rsa(Box<RsaKeyPair>),
}

impl TokenKey {
    pub fn ed(kid: &str) -> TokenKey {
        let bytes = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("an Ed25519 key");
        let pair = Ed25519KeyPair::from_pkcs8(bytes.as_ref()).expect("the key just made");
        TokenKey { kid: kid.to_owned(), pair: Pair::Ed(pair) }
    }

    pub fn ec(kid: &str) -> TokenKey {
        let (kind, random) = (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let bytes = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("a P-256 key");
        let pair = EcdsaKeyPair::from_pkcs8(kind, bytes.as_ref(), &random).expect("the key just made");
        TokenKey { kid: kid.to_owned(), pair: Pair::Ec(Box::new(pair)) }
    }

    /// ring creates no RSA keys, so openssl does, once for all tests of a process.
    pub fn rsa(kid: &str) -> TokenKey {
        static MADE: OnceLock<Vec<u8>> = OnceLock::new();
        let der = MADE.get_or_init(|| {
            let options = ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-outform", "DER"];
            let made = Command::new("openssl").args(options).stdin(Stdio::null()).output();
            made.unwrap_or_else(|_| panic!("openssl is missing: run deploy/setup")).stdout
        });
        let pair = RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der)).expect("an RSA key");
        TokenKey { kid: kid.to_owned(), pair: Pair::Rsa(Box::new(pair)) }
    }

    pub fn alg(&self) -> &'static str {
        match self.pair {
            Pair::Ed(_) => "EdDSA",
            Pair::Ec(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// Its entry in the key set.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Ed(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key()) }),
            Pair::Ec(pair) => {
                // An uncompressed point: 4, x, y.
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": text(x), "y": text(y) })
            }
            Pair::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": text(public.n), "e": text(public.e) })
            }
        };
        jwk["kid"] = self.kid.as_str().into();
        jwk["alg"] = self.alg().into();
        jwk["use"] = "sig".into();
        jwk
    }

    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.pair {
            Pair::Ed(pair) => pair.sign(bytes).as_ref().to_vec(),
            Pair::Ec(pair) => pair.sign(&SystemRandom::new(), bytes).expect("a signature").as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signed = vec![0; pair.public().modulus_len()];
                let padding = &signature::RSA_PKCS1_SHA256;
                pair.sign(padding, &SystemRandom::new(), bytes, &mut signed).expect("a signature");
                signed
            }
        }
    }

    pub fn header(&self) -> Value {
        json!({ "typ": "JWT", "alg": self.alg(), "kid": self.kid })
    }

    /// A valid token.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&self.header(), claims)
    }

    /// A token with any header.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let unsigned = unsigned(header, claims);
        let signed = text(self.sign(unsigned.as_bytes()));
        format!("{unsigned}.{signed}")
    }

    /// The public key's bytes, which a careless verifier may take for a shared secret.
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rsa(pair) => pair.public().as_ref().to_vec(),
        }
    }
}

/// The key set with these keys.
pub fn jwks(keys: &[&TokenKey]) -> String {
    json!({ "keys": keys.iter().map(|k| k.jwk()).collect::<Vec<_>>() }).to_string()
}

/// Valid claims for one hour.
pub fn claims(subject: &str) -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now(), "nbf": now() - 5, "exp": now() + 3600 })
}

/// The signed part of a token: header and claims.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", text(header.to_string()), text(claims.to_string()))
}

/// A token signed with a shared secret.
pub fn hmac_token(secret: &[u8], header: &Value, claims: &Value) -> String {
    let unsigned = unsigned(header, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    format!("{unsigned}.{}", text(ring::hmac::sign(&key, unsigned.as_bytes())))
}

/// Base64url without padding.
pub fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}
