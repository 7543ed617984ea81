//! The content codings that are known here (RFC 9110 §8.4.1).

/// A content coding that can be undone and done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// None.
    Identity,
    /// `gzip`, also called `x-gzip`.
    Gzip,
    /// `deflate`: zlib by the letter, raw by some senders.
    Deflate,
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
}

impl Coding {
    /// The value of a Content-Encoding header, if it names one coding that is known here.
    pub fn parse(value: &str) -> Option<Coding> {
        const NAMES: [(&str, Coding); 7] = [
            ("", Coding::Identity),
            ("identity", Coding::Identity),
            ("gzip", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("deflate", Coding::Deflate),
            ("br", Coding::Brotli),
            ("zstd", Coding::Zstd),
        ];
        let value = value.trim();
        NAMES.iter().find(|(name, _)| value.eq_ignore_ascii_case(name)).map(|(_, coding)| *coding)
    }
}
