//! Bearer tokens: a JWT (RFC 7519) signed by one of the issuer's keys, for this site, and in time.
//!
//! Written by hand over ring. A JWT library would save the smaller half, splitting three parts. The rest would be ours
//! anyway: the algorithm from the key and not from the header, claims judged at a given time, a set with one unusable
//! key, the same answer for every key that does not fit. It would also need an adapter for its cryptography, which it
//! keeps in a process-wide global and panics without.
//!
//! The order matters. Bounds, form and algorithm come first: they cost nothing and reveal nothing. Then comes the
//! signature, and only then the claims. So a client without a genuine token does not learn why it was refused.
//!
//! A verified token is cached under its SHA-256, so an agent's next call costs a hash and not a signature check; `exp`
//! is checked each time. Failures are not cached: an attacker can send a new bad token each time and would fill the
//! cache, and the limits count failures anyway. The cache lives as long as its keys: a change of configuration or keys
//! builds a new one.

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

/// Maximum bytes of a token.
pub(super) const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Seconds by which the issuer's clock may differ from ours, for `exp`, `nbf` and `iat`.
const LEEWAY_SECONDS: u64 = 30;
/// Maximum bytes of cached tokens, by [`Bytes`].
const CACHE_BYTES: u64 = 4 * 1024 * 1024;
/// About how many tokens that is; it sizes the tables at the start.
const CACHE_TOKENS: usize = 4096;

/// The claims of a verified token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// `sub`, else `client_id`, else `azp`. Not empty and without control characters.
    pub subject: String,
    /// The scopes granted, each once (`scope`, RFC 8693 §4.2, else `scp`).
    pub scopes: Vec<String>,
    /// The values of `acr` and `amr` (OpenID Connect Core §2, RFC 8176): how strongly the subject was authenticated.
    pub authentication: Vec<String>,
    /// `exp` in Unix seconds.
    pub expires: u64,
}

/// Verifies tokens with the present keys.
pub struct Tokens {
    expected: Expected,
    keys: Option<KeySet>,
    verified: Cache<[u8; 32], Arc<Token>, Bytes>,
}

impl Tokens {
    /// Accepts tokens of this issuer for this audience; `None` accepts any. `keys` is `None` until they are fetched.
    pub fn new(issuer: Option<String>, audience: Option<String>, keys: Option<KeySet>) -> Self {
        Self::expecting(Expected { issuer, audiences: audience.into_iter().collect(), is_further: false }, keys)
    }

    /// Accepts tokens of this issuer for one of these audiences. `is_further`: it is not the first issuer, so its name
    /// stands before those of its subjects.
    pub fn of_issuer(issuer: &str, audiences: Vec<String>, keys: Option<KeySet>, is_further: bool) -> Self {
        Self::expecting(Expected { issuer: Some(issuer.to_owned()), audiences, is_further }, keys)
    }

    fn expecting(expected: Expected, keys: Option<KeySet>) -> Self {
        Self { expected, keys, verified: Cache::with_weighter(CACHE_TOKENS, CACHE_BYTES, Bytes) }
    }

    /// Whether a token that names this issuer is one of these.
    pub fn are_of(&self, issuer: &str) -> bool {
        self.expected.issuer.as_deref().is_none_or(|own| own == issuer)
    }

    /// Whether a subject reads as one of these that has the issuer's name before it.
    pub fn names(&self, subject: &str) -> bool {
        let issuer = self.expected.issuer.as_deref().filter(|_| self.expected.is_further);
        issuer.and_then(|issuer| subject.strip_prefix(issuer)).is_some_and(|rest| rest.starts_with('|'))
    }

    /// The same for requests that are not refused for a bad token. A token for another audience is not verified, so a
    /// site's own tokens cost next to nothing here.
    ///
    /// # Errors
    ///
    /// The caller stays unverified. The reason has no meaning.
    pub fn verify_if_ours(&self, token: &str, now: u64) -> Result<Arc<Token>, Rejected> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Rejected::TokenMalformed);
        }
        let payload = token.split('.').nth(1).ok_or(Rejected::TokenMalformed)?;
        self.expected.read(&decode(payload)?, now)?;
        self.verify(token, now)
    }

    /// Verifies a token in compact form, at a time in Unix seconds.
    ///
    /// # Errors
    ///
    /// The reason of the refusal. [`Rejected::KeysAway`] is not the token's fault.
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
        // A dot is not in the base64url alphabet, so tokens with more parts (encrypted ones of RFC 7516 have five)
        // fail here.
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
        // The cache is left out: it holds other callers' tokens.
        let Self { expected, keys, verified } = self;
        write!(out, "Tokens({expected:?}, {} keys, {} cached)", keys.as_ref().map_or(0, KeySet::len), verified.len())
    }
}

/// Judges the answer of an introspection (RFC 7662 §2.2) as the claims of a token. Members that the answer may leave out
/// are not asked for; those that are there have to be right. `until`: when it expires if it does not say.
pub(super) fn claims_of_introspection(
    mut said: serde_json::Value,
    issuer: Option<&str>,
    audience: Option<&str>,
    now: u64,
    until: u64,
) -> Result<Token, Rejected> {
    let mut missing = |name: &str, value: Option<serde_json::Value>| {
        if let (Some(members), Some(value)) = (said.as_object_mut(), value) {
            members.entry(name).or_insert(value);
        }
    };
    missing("iss", issuer.map(Into::into));
    missing("aud", audience.map(Into::into));
    missing("exp", Some(until.into()));
    let username = said.get("username").cloned();
    if let (Some(members), Some(username)) = (said.as_object_mut(), username) {
        members.entry("sub").or_insert(username);
    }
    let audiences = audience.map(str::to_owned).into_iter().collect();
    let expected = Expected { issuer: issuer.map(str::to_owned), audiences, is_further: false };
    expected.read(said.to_string().as_bytes(), now)
}

/// Decodes base64url without padding. Unused bits must be zero, so that a token has only one spelling.
fn decode(part: &str) -> Result<Vec<u8>, Rejected> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Rejected::TokenMalformed)
}

/// The approximate bytes of a cached token.
#[derive(Clone)]
struct Bytes;

impl Weighter<[u8; 32], Arc<Token>> for Bytes {
    fn weight(&self, _: &[u8; 32], token: &Arc<Token>) -> u64 {
        /// Cache key, token struct, reference counts, and the table's own entry.
        const FIXED: usize = 256;
        let texts = token.scopes.iter().chain(&token.authentication).map(|text| text.len() + size_of::<String>());
        (FIXED + token.subject.len() + texts.sum::<usize>()) as u64
    }
}
