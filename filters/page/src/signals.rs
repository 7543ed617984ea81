//! What may be done with the site's words, said where crawlers look: two response headers, and the same as rules of
//! robots.txt.
//!
//! `Content-Signal` is what is in wide use (contentsignals.org); `Content-Usage` is what the IETF is writing down
//! (draft-ietf-aipref-attach, draft-ietf-aipref-vocab: `train-ai` and `search` are all the words that it has).

use http::{HeaderMap, HeaderName, HeaderValue};

/// Their names, as headers and as rules.
pub const NAMES: [&str; 2] = ["Content-Signal", "Content-Usage"];

/// What may be done with the site's words.
#[derive(Debug, Clone, Copy)]
pub struct SignalPolicy {
    /// Models may be trained with them; `None`: nothing is said of that.
    pub ai_train: Option<bool>,
    /// They may be read to answer a question.
    pub ai_input: bool,
    /// They may be found by a search.
    pub search: bool,
}

/// The policy in both vocabularies, prepared.
#[derive(Debug, Clone)]
pub struct Signals {
    values: [(HeaderName, HeaderValue); 2],
}

impl Signals {
    /// The value of the header for a policy; `None` where it cannot be written in a header.
    pub fn new(policy: SignalPolicy) -> Option<Signals> {
        let word = |allowed: bool| if allowed { "yes" } else { "no" };
        let letter = |allowed: bool| if allowed { 'y' } else { 'n' };
        let SignalPolicy { ai_train, ai_input, search } = policy;
        let mut signal = format!("search={}, ai-input={}", word(search), word(ai_input));
        let mut usage = format!("search={}", letter(search));
        if let Some(ai_train) = ai_train {
            signal.push_str(&format!(", ai-train={}", word(ai_train)));
            usage = format!("train-ai={}, {usage}", letter(ai_train));
        }
        let values = [
            (HeaderName::from_static("content-signal"), HeaderValue::try_from(signal).ok()?),
            (HeaderName::from_static("content-usage"), HeaderValue::try_from(usage).ok()?),
        ];
        Some(Signals { values })
    }

    /// The headers that a response does not have yet: what the site says itself holds.
    pub fn missing<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a (HeaderName, HeaderValue)> {
        self.values.iter().filter(|(name, _)| !headers.contains_key(name))
    }

    /// Each as people are used to read its name, its name, and what it says.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, &HeaderName, &HeaderValue)> {
        NAMES.into_iter().zip(&self.values).map(|(cased, (name, value))| (cased, name, value))
    }

    /// As a rule of robots.txt, by its place in [`NAMES`].
    pub(crate) fn rule(&self, nth: usize) -> String {
        let value = self.values[nth].1.to_str().unwrap_or_default();
        format!("{}: {value}", NAMES[nth])
    }
}

#[cfg(test)]
pub(crate) fn for_tests() -> Signals {
    Signals::new(SignalPolicy { ai_train: Some(false), ai_input: true, search: true }).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_say_the_same_and_the_site_goes_first() {
        let signals = for_tests();
        assert_eq!(signals.rule(0), "Content-Signal: search=yes, ai-input=yes, ai-train=no");
        assert_eq!(signals.rule(1), "Content-Usage: train-ai=n, search=y");
        let unsaid = Signals::new(SignalPolicy { ai_train: None, ai_input: true, search: true }).unwrap();
        assert_eq!(unsaid.rule(0), "Content-Signal: search=yes, ai-input=yes");
        assert_eq!(unsaid.rule(1), "Content-Usage: search=y");
        let mut headers = HeaderMap::new();
        assert_eq!(signals.missing(&headers).count(), 2);
        headers.insert("content-usage", HeaderValue::from_static("train-ai=y"));
        let missing: Vec<&str> = signals.missing(&headers).map(|(name, _)| name.as_str()).collect();
        assert_eq!(missing, ["content-signal"]);
    }
}
