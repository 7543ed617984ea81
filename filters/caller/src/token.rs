//! Bearer tokens: a JWT (RFC 7519) signed by one of the issuer's keys, for this site, and in time.
//!
//! By hand over ring, because a JWT library would do the smaller half: splitting three parts. What matters (the
//! algorithm from the key and not from the header, claims at a given time, keys of which one is odd, one answer for
//! every key that does not fit) would be ours either way, with an adapter for its cryptography on top, which it keeps
//! in a global of the process and panics without.
//!
//! The order is the point: bounds, form and algorithm first, which cost nothing and tell nothing; then the signature;
//! and only then what the token claims. So nobody without a genuine token learns why it would not do.
//!
//! A token that verified is remembered under its SHA-256, so that an agent's thousandth call costs a hash and not a
//! signature; `exp` is looked at each time. One that failed is not: whoever sends bad tokens can make each a new one,
//! so remembering them would only give an attacker memory to fill, while failures are counted and limited elsewhere.
//! The whole dies with its keys: a change of the configuration or of the keys builds a new one.

mod claims;
mod header;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use quick_cache::{Weighter, sync::Cache};
use ring::digest;

use self::{claims::Expected, header::Header};
use super::{key_set::KeySet, rejected::Rejected};

/// Bytes of the longest token that is looked at.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Seconds by which the issuer's clock may differ from ours, for `exp`, `nbf` and `iat`.
const LEEWAY_SECONDS: u64 = 30;
/// Bytes of verified tokens that are remembered, by [`Bytes`].
const CACHE_BYTES: u64 = 4 * 1024 * 1024;
/// How many that is about; it sizes the tables at the start.
const CACHE_TOKENS: usize = 4096;

/// What a verified token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// `sub`, else `client_id`, else `azp`. Not empty, no control characters; any other text.
    pub subject: String,
    /// The scopes granted, each once (`scope`, RFC 8693 §4.2, else `scp`).
    pub scopes: Vec<String>,
    /// The values of `acr` and `amr` (OpenID Connect Core §2, RFC 8176): how strongly the subject was authenticated.
    pub authentication: Vec<String>,
    /// `exp` in Unix seconds.
    pub expires: u64,
}

/// Verifies tokens with the keys known at the moment.
pub struct Tokens {
    expected: Expected,
    keys: Option<KeySet>,
    verified: Cache<[u8; 32], Arc<Token>, Bytes>,
}

impl Tokens {
    /// Tokens of this issuer for this audience; of any where `None`. Keys that are not fetched yet are `None`.
    pub fn new(issuer: Option<String>, audience: Option<String>, keys: Option<KeySet>) -> Self {
        let verified = Cache::with_weighter(CACHE_TOKENS, CACHE_BYTES, Bytes);
        Self { expected: Expected { issuer, audience }, keys, verified }
    }

    /// The same for whoever is refused nothing for a bad token: one that claims to be for somebody else is not looked
    /// into, so that a site's own tokens, in front of which we stand, cost next to nothing.
    ///
    /// # Errors
    ///
    /// Of no meaning but that nobody is verified.
    pub fn verify_if_ours(&self, token: &str, now: u64) -> Result<Arc<Token>, Rejected> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Rejected::TokenMalformed);
        }
        let payload = token.split('.').nth(1).ok_or(Rejected::TokenMalformed)?;
        self.expected.read(&decode(payload)?, now)?;
        self.verify(token, now)
    }

    /// Verifies a token in the compact form, at a time in Unix seconds.
    ///
    /// # Errors
    ///
    /// Why it is refused; [`Rejected::KeysAway`] is no fault of the token's.
    pub fn verify(&self, token: &str, now: u64) -> Result<Arc<Token>, Rejected> {
        let keys = self.keys.as_ref().ok_or(Rejected::KeysAway)?;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Rejected::TokenMalformed);
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        if let Some(known) = self.verified.get(&hash) {
            if claims::has_expired(known.expires, now) {
                self.verified.remove(&hash);
                return Err(Rejected::TokenExpired);
            }
            return Ok(known);
        }
        let verified = Arc::new(self.verify_anew(keys, token, now)?);
        self.verified.insert(hash, verified.clone());
        Ok(verified)
    }

    /// RFC 7515 §5.2, then RFC 7519 §7.2.
    fn verify_anew(&self, keys: &KeySet, token: &str, now: u64) -> Result<Token, Rejected> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Rejected::TokenMalformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Rejected::TokenMalformed)?;
        // A point is no letter of base64url, so more parts (RFC 7516's encrypted tokens have five) end here.
        let header = Header::parse(&decode(header)?)?;
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        if !keys.verify(header.algorithm, header.kid.as_deref(), signed.as_bytes(), &signature) {
            return Err(Rejected::TokenNotValid);
        }
        self.expected.read(&payload, now)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the cache: it is other people's.
        let Self { expected, keys, verified } = self;
        write!(out, "Tokens({expected:?}, {} keys, {} cached)", keys.as_ref().map_or(0, KeySet::len), verified.len())
    }
}

/// Base64url without padding; bits that belong to no byte must be zero, so that a token has one spelling only.
fn decode(part: &str) -> Result<Vec<u8>, Rejected> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Rejected::TokenMalformed)
}

/// What remembering a token costs, in bytes, near enough.
#[derive(Clone)]
struct Bytes;

impl Weighter<[u8; 32], Arc<Token>> for Bytes {
    fn weight(&self, _: &[u8; 32], token: &Arc<Token>) -> u64 {
        /// The key, the token itself, the counts around it, the table's own entry.
        const FIXED: usize = 256;
        let texts = token.scopes.iter().chain(&token.authentication).map(|text| text.len() + size_of::<String>());
        (FIXED + token.subject.len() + texts.sum::<usize>()) as u64
    }
}
