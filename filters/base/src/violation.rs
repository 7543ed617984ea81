//! What is said of an input that is not what it has to be, and where.

/// Bytes of what is said of where and what.
const LONGEST: usize = 300;

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// A JSON Pointer (RFC 6901); empty for the whole input.
    pub pointer: String,
    pub message: String,
}

impl Violation {
    /// About one member of an input.
    pub fn of(name: &str, message: &str) -> Self {
        Self::new(&format!("/{}", escaped(name)), message)
    }

    /// What is said has a bound: names in an input may be as long as it.
    pub fn new(pointer: &str, message: &str) -> Self {
        let cut = |text: &str| match text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST) {
            Some(end) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        Self { pointer: cut(pointer), message: cut(message) }
    }
}

/// A member's name in a JSON Pointer (RFC 6901 §3).
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
