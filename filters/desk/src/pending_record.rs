//! The records of a question as the store has them: sealed. The page's opens with its id, which only its address has; the
//! call's with what the call is bound to, of which the store has a hash alone. So the store by itself shows neither who
//! asks, nor in whose name, nor what.

use bytes::Bytes;
use frontdesk_caller::link::Key;
use frontdesk_state::NotKept;
use serde_json::Value;

use super::records;

/// A record that its own secret opens.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'s> {
    /// A page's, by its id.
    Page(&'s str),
    /// The one that leads from a call to its page, by the call's binding.
    Call(&'s str),
}

impl Place<'_> {
    /// The name of the record.
    pub(super) fn name(self) -> String {
        match self {
            Self::Page(id) => format!("p:{}", records::fingerprint(&[id.as_bytes()])),
            Self::Call(binding) => format!("q:{}", records::fingerprint(&[b"question about", binding.as_bytes()])),
        }
    }

    fn parts(self) -> (&'static [u8], Key) {
        let (purpose, secret): (&[u8], &str) = match self {
            Self::Page(id) => (b"frontdesk: page of a question\0", id),
            Self::Call(binding) => (b"frontdesk: question about a call\0", binding),
        };
        (purpose, Key::of(secret.as_bytes(), purpose))
    }

    /// Its value as the store has it.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub(super) fn sealed(self, value: &Value) -> Result<Bytes, NotKept> {
        let (purpose, key) = self.parts();
        key.seal_for(purpose, value.to_string().as_bytes()).map(Bytes::from)
    }

    /// The value; `None`: it was not sealed for this place, as before an update.
    pub(super) fn opened(self, stored: &[u8]) -> Option<Value> {
        let (purpose, key) = self.parts();
        let plain = key.open_for(purpose, std::str::from_utf8(stored).ok()?)?;
        serde_json::from_slice(&plain).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_opens_with_its_own_secret_alone() {
        let value = json!({ "subject": "ada@lovelace.test", "summary": "Buy Emma" });
        for (place, others) in [
            (Place::Page("0f"), [Place::Page("1f"), Place::Call("0f")]),
            (Place::Call("0f"), [Place::Call("1f"), Place::Page("0f")]),
        ] {
            let stored = place.sealed(&value).unwrap();
            let text = String::from_utf8_lossy(&stored);
            assert!(!text.contains("ada") && !text.contains("Emma"), "{text}");
            assert_eq!(place.opened(&stored), Some(value.clone()));
            for other in others {
                assert_eq!(other.opened(&stored), None, "{other:?}");
                assert_ne!(other.name(), place.name());
            }
        }
        assert_eq!(Place::Page("0f").opened(b"{\"decision\":\"confirmed\"}"), None, "one from before an update");
    }
}
