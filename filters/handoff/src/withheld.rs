//! Keeps secrets out of a generated manifest, which quotes the first words of files and is the first file that agents
//! read.

use bytes::Bytes;

use super::manifest::MANIFEST;
use frontdesk_firewall::{Firewall, Form, Mode, Modes};

/// Removes secrets from quoted text, and remembers which files they came from.
#[derive(Debug)]
pub(super) struct Withheld {
    firewall: Firewall,
    from: Vec<String>,
}

impl Withheld {
    pub(super) fn new() -> Self {
        // `lint` judges personal data and injections. Only secrets must not be copied to a second place.
        let modes = Modes { secrets: Mode::Redact, pii: Mode::Off, injection: Mode::Off };
        Self { firewall: Firewall::new(modes, [], Vec::new()), from: Vec::new() }
    }

    /// A quotation from a text without its secrets. They are removed before the text is cut, because half a secret
    /// would not be recognised. `from`: the text's name.
    pub(super) fn told(&mut self, from: &str, text: &str, tell: impl Fn(&str) -> String) -> String {
        let passed = self.firewall.pass(Bytes::copy_from_slice(text.as_bytes()), Form::Text);
        let told = tell(&String::from_utf8_lossy(&passed.body));
        if told != tell(text) {
            self.from.push(from.escape_debug().to_string());
        }
        told
    }

    /// The note about removed secrets; `None`: there were none.
    pub(super) fn note(&self) -> Option<String> {
        let from = self.from.join(", ");
        (!from.is_empty())
            .then(|| format!("a secret was left out of {MANIFEST}, from {from}; revoke it, then remove it there"))
    }
}
