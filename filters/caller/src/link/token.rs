//! The text of tokens and codes: the id of a link and a secret, with a prefix by which secret scanners find them.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use frontdesk_base::text::hex;
use frontdesk_state::NotKept;
use ring::{digest, hmac};

use super::{
    id::{ID, LinkId, random},
    seal::Key,
};

const SECRET: usize = 32;
/// Bytes of the mark of a refresh token.
const MARK: usize = digest::SHA256_OUTPUT_LEN;

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
    /// Shows that a refresh token was once given for its link; other kinds have none.
    mark: Option<[u8; MARK]>,
}

/// Marks the refresh tokens of one link. The mark tells an old token that is used again from an invented one, so that
/// knowing the id of a link is not enough to end it. A reader of the store could make marks, but open no link with them.
#[derive(Clone)]
pub(super) struct Marks(pub(super) [u8; SECRET]);

impl fmt::Debug for Marks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Marks")
    }
}

impl Marks {
    pub(super) fn new() -> Result<Self, NotKept> {
        random().map(Self)
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }

    /// A new refresh token.
    pub(super) fn token(&self, id: LinkId) -> Result<Token, NotKept> {
        let token = Token::new(Kind::Refresh, id)?;
        let tag = hmac::sign(&self.key(), &token.marked());
        Ok(Token { mark: tag.as_ref().try_into().ok(), ..token })
    }

    /// Whether it was given for its link once.
    pub(super) fn are_of(&self, token: &Token) -> bool {
        token.mark.is_some_and(|mark| hmac::verify(&self.key(), &token.marked(), &mark).is_ok())
    }
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
        Ok(Self { kind, id, secret: random()?, mark: None })
    }

    /// What a mark is made of.
    fn marked(&self) -> Vec<u8> {
        [b"frontdesk: mark of a refresh token\0", self.id.bytes(), &self.secret].concat()
    }

    /// Reads one of this kind.
    pub fn parse(text: &str, kind: Kind) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(kind.prefix())?).ok()?;
        let (id, rest) = bytes.split_first_chunk::<ID>()?;
        let (secret, mark) = rest.split_first_chunk::<SECRET>()?;
        let mark = match (kind, mark) {
            (Kind::Refresh, mark) => Some(mark.try_into().ok()?),
            (_, []) => None,
            _ => return None,
        };
        Some(Self { kind, id: LinkId::of(*id), secret: *secret, mark })
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
        let mark = self.mark.as_ref().map_or(&[][..], |mark| mark);
        let bytes = [self.id.bytes(), &self.secret, mark].concat();
        format!("{}{}", self.kind.prefix(), URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What the store keeps of it.
    pub fn hash(&self) -> String {
        let mark = self.mark.as_ref().map_or(&[][..], |mark| mark);
        let prefix = self.kind.prefix().as_bytes();
        let parts = [b"frontdesk: hash of a token\0", prefix, self.id.bytes(), &self.secret, mark];
        hex(digest::digest(&digest::SHA256, &parts.concat()).as_ref())
    }

    /// The key that only it gives.
    pub fn key(&self) -> Key {
        Key::of(&self.secret, self.kind.prefix().as_bytes())
    }
}
