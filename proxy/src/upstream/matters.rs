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
    /// It leads elsewhere.
    Location,
    /// It may name an address of the site.
    Address,
}

impl Matters {
    /// By its name.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let begins = |letter: u8| name[0] | 0x20 == letter;
        let (lower, what): (&[u8], Self) = match name.len() {
            4 if begins(b'd') => (b"date", Self::Date),
            4 => (b"link", Self::Address),
            7 if begins(b't') => (b"trailer", Self::Hop),
            7 if begins(b'u') => (b"upgrade", Self::Hop),
            7 => (b"refresh", Self::Address),
            8 => (b"location", Self::Location),
            10 if begins(b'c') => (b"connection", Self::Connection),
            10 if begins(b'k') => (b"keep-alive", Self::Hop),
            10 => (b"set-cookie", Self::Address),
            14 => (b"content-length", Self::Length),
            16 if begins(b'p') => (b"proxy-connection", Self::Hop),
            16 => (b"content-location", Self::Address),
            17 => (b"transfer-encoding", Self::Coding),
            _ => return None,
        };
        // Of one length, which the arm has settled; without an early end, so many bytes are looked at at a time. A token
        // has no byte that becomes another's small letter but a letter.
        name.iter().zip(lower).fold(true, |same, (a, b)| same & (a | 0x20 == *b)).then_some(what)
    }
}
