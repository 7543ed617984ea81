//! Sealing: AES-256-GCM with random nonces, bound to the link that the text belongs to.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_state::NotKept;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};

use super::id::{LinkId, random};

const KEY: usize = 32;

/// A key.
#[derive(Clone)]
pub struct Key([u8; KEY]);

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Key")
    }
}

impl Key {
    /// A new one.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn new() -> Result<Self, NotKept> {
        random().map(Self)
    }

    /// The key that a secret gives for a purpose.
    pub fn of(secret: &[u8], purpose: &[u8]) -> Self {
        let with = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let tag = hmac::sign(&with, &[b"frontdesk: key of a token\0", purpose].concat());
        let mut key = [0; KEY];
        key.copy_from_slice(tag.as_ref());
        Self(key)
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &self.0).ok().map(LessSafeKey::new)
    }

    /// Seals bytes for a link.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn seal(&self, id: LinkId, plain: &[u8]) -> Result<String, NotKept> {
        self.seal_for(id.bytes(), plain)
    }

    /// Seals bytes for a purpose.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn seal_for(&self, purpose: &[u8], plain: &[u8]) -> Result<String, NotKept> {
        let nonce = random::<NONCE_LEN>()?;
        let mut bytes = plain.to_vec();
        let cipher = self.cipher().ok_or(NotKept::Away)?;
        cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(purpose), &mut bytes)
            .map_err(|_| NotKept::Away)?;
        Ok(STANDARD.encode([&nonce[..], &bytes].concat()))
    }

    /// Opens them. `None`: they were sealed with another key, or for another link.
    pub fn open(&self, id: LinkId, sealed: &str) -> Option<Vec<u8>> {
        self.open_for(id.bytes(), sealed)
    }

    /// Opens bytes that were sealed for a purpose.
    pub fn open_for(&self, purpose: &[u8], sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        Some(self.cipher()?.open_in_place(nonce, Aad::from(purpose), &mut bytes).ok()?.to_vec())
    }

    /// Seals this key with another one.
    pub(super) fn sealed_with(&self, other: &Self, id: LinkId) -> Result<String, NotKept> {
        other.seal(id, &self.0)
    }

    pub(super) fn opened_with(other: &Self, id: LinkId, sealed: &str) -> Option<Self> {
        other.open(id, sealed)?.try_into().ok().map(Self)
    }
}
