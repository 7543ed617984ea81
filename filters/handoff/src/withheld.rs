//! A manifest repeats the first words of files, and is what everybody reads first: no secret gets into it that way.

use bytes::Bytes;

use super::manifest::MANIFEST;
use frontdesk_firewall::{Firewall, Form, Mode, Modes};

/// Takes secrets out of what a manifest repeats, and remembers where they came from.
#[derive(Debug)]
pub(super) struct Withheld {
    firewall: Firewall,
    from: Vec<String>,
}

impl Withheld {
    pub(super) fn new() -> Self {
        // Persons and words to the reader are for `lint` to judge; only a secret is worse in two places than in one.
        let modes = Modes { secrets: Mode::Redact, pii: Mode::Off, injection: Mode::Off };
        Self { firewall: Firewall::new(modes, [], Vec::new()), from: Vec::new() }
    }

    /// What is told of a text, read without its secrets. They go first, since half of one is not known for what it is.
    /// `from`: what the text is called.
    pub(super) fn told(&mut self, from: &str, text: &str, tell: impl Fn(&str) -> String) -> String {
        let passed = self.firewall.pass(Bytes::copy_from_slice(text.as_bytes()), Form::Text);
        let told = tell(&String::from_utf8_lossy(&passed.body));
        if told != tell(text) {
            self.from.push(from.escape_debug().to_string());
        }
        told
    }

    /// What is said of it to whoever had the manifest made; `None`: there was none.
    pub(super) fn note(&self) -> Option<String> {
        let from = self.from.join(", ");
        (!from.is_empty())
            .then(|| format!("a secret was left out of {MANIFEST}, from {from}; revoke it, then remove it there"))
    }
}
