//! The id of a link, and the keys of its records.

use std::fmt;

use frontdesk_base::text::{hex, unhex};
use frontdesk_state::NotKept;
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};

/// Bytes of an id.
pub(super) const ID: usize = 16;

/// Random bytes.
///
/// # Errors
///
/// There is no randomness.
pub fn random<const N: usize>() -> Result<[u8; N], NotKept> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NotKept::Away)?;
    Ok(bytes)
}

/// The id of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LinkId([u8; ID]);

impl LinkId {
    /// A new one.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn new() -> Result<Self, NotKept> {
        random().map(Self)
    }

    pub(super) fn of(bytes: [u8; ID]) -> Self {
        Self(bytes)
    }

    /// The id that was written as hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        unhex(text)?.try_into().ok().map(Self)
    }

    /// Its hexadecimal digits, for the store.
    pub fn written(self) -> String {
        hex(&self.0)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A name for it that does not show it, for forms.
    pub fn handle(self) -> String {
        let named = [b"frontdesk: handle of a link\0", &self.0[..]].concat();
        hex(&digest::digest(&digest::SHA256, &named).as_ref()[..16])
    }

    /// The key of its record.
    pub fn place(self) -> String {
        format!("oauth:link:{}", self.written())
    }

    /// The key of the record of its last use.
    pub fn noted(self) -> String {
        format!("oauth:used:{}", self.written())
    }

    /// The key of the record of its authorization code.
    pub fn code(self) -> String {
        format!("oauth:code:{}", self.written())
    }
}

// An id ends a link, together with anything that looks like a token.
impl fmt::Debug for LinkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LinkId")
    }
}
