//! The two HTTP engines, and their names in logs and metrics.

/// Which HTTP engine served a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Our own engine, for plain requests.
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
