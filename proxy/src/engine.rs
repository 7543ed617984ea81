//! The two HTTP engines, by the names that logs and metrics give them.

/// Which HTTP engine served a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Ours, for plain requests.
    FastPath,
    /// The proxy library.
    Pingora,
}

impl Engine {
    /// The value of `frontdesk.engine` in the access log and of the label `engine` in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::FastPath => "fast_path",
            Self::Pingora => "pingora",
        }
    }
}
