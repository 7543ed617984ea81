//! The text of tokens and codes: the id of a link and a secret, with a prefix by which secret scanners find them.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use frontdesk_base::text::hex;
use frontdesk_state::NotKept;
use ring::digest;

use super::{
    id::{ID, LinkId, random},
    seal::Key,
};

const SECRET: usize = 32;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Access,
    Refresh,
    Code,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Access, Self::Refresh, Self::Code];

    fn prefix(self) -> &'static str {
        match self {
            Self::Access => "fdat_",
            Self::Refresh => "fdrt_",
            Self::Code => "fdac_",
        }
    }
}

/// A token or a code.
pub struct Token {
    pub kind: Kind,
    pub id: LinkId,
    secret: [u8; SECRET],
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Token({:?})", self.kind)
    }
}

impl Token {
    /// A new one for a link.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn new(kind: Kind, id: LinkId) -> Result<Self, NotKept> {
        Ok(Self { kind, id, secret: random()? })
    }

    /// Reads one of this kind.
    pub fn parse(text: &str, kind: Kind) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(kind.prefix())?).ok()?;
        let (id, secret) = bytes.split_first_chunk::<ID>()?;
        Some(Self { kind, id: LinkId::of(*id), secret: secret.try_into().ok()? })
    }

    /// Reads one of any kind.
    pub fn parse_any(text: &str) -> Option<Self> {
        Kind::ALL.into_iter().find_map(|kind| Self::parse(text, kind))
    }

    /// Whether a credential looks like one of these, and so is for nobody but Frontdesk.
    pub fn is_like(credential: &[u8]) -> bool {
        Kind::ALL.iter().any(|kind| credential.starts_with(kind.prefix().as_bytes()))
    }

    /// The text that the client gets.
    pub fn text(&self) -> String {
        let bytes = [self.id.bytes(), &self.secret].concat();
        format!("{}{}", self.kind.prefix(), URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What the store keeps of it.
    pub fn hash(&self) -> String {
        let parts = [b"frontdesk: hash of a token\0", self.kind.prefix().as_bytes(), self.id.bytes(), &self.secret];
        hex(digest::digest(&digest::SHA256, &parts.concat()).as_ref())
    }

    /// The key that only it gives.
    pub fn key(&self) -> Key {
        Key::of(&self.secret, self.kind.prefix().as_bytes())
    }
}
