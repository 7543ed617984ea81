//! A violation of a schema: the place in an input, and the message.

/// Maximum bytes of the place, and of the message.
const LONGEST: usize = 300;

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// A JSON Pointer (RFC 6901); empty for the whole input.
    pub pointer: String,
    pub message: String,
}

impl Violation {
    /// A violation of one member of an input.
    pub fn of(name: &str, message: &str) -> Self {
        Self::new(&format!("/{}", escaped(name)), message)
    }

    /// Both texts are cut, because names in an input can be as long as the input.
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
