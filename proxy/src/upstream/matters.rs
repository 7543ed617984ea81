//! The lines of an answer's head that matter on its way, told apart once.

/// A line that matters on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matters {
    Connection,
    Date,
    Length,
    Coding,
    /// It belongs to the hop from the site to here, as trailers do that are passed over.
    Hop,
}

impl Matters {
    /// By its name.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let (lower, what): (&[u8], Self) = match name.len() {
            4 => (b"date", Self::Date),
            7 if name[0].eq_ignore_ascii_case(&b't') => (b"trailer", Self::Hop),
            7 => (b"upgrade", Self::Hop),
            10 if name[0].eq_ignore_ascii_case(&b'c') => (b"connection", Self::Connection),
            10 => (b"keep-alive", Self::Hop),
            14 => (b"content-length", Self::Length),
            16 => (b"proxy-connection", Self::Hop),
            17 => (b"transfer-encoding", Self::Coding),
            _ => return None,
        };
        // Of one length, which the arm has settled; without an early end, so many bytes are looked at at a time. A token
        // has no byte that becomes another's small letter but a letter.
        name.iter().zip(lower).fold(true, |same, (a, b)| same & (a | 0x20 == *b)).then_some(what)
    }
}
