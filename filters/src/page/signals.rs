//! What may be done with the site's words, said where crawlers look: two response headers, and the same as rules of
//! robots.txt.
//!
//! `Content-Signal` is what is in wide use (contentsignals.org); `Content-Usage` is what the IETF is writing down
//! (draft-ietf-aipref-attach, draft-ietf-aipref-vocab: `train-ai` and `search` are all the words that it has).

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::site::ContentSignals;

/// Their names, as headers and as rules.
pub const NAMES: [&str; 2] = ["Content-Signal", "Content-Usage"];

/// The policy in both vocabularies, prepared.
#[derive(Debug, Clone)]
pub struct Signals {
    values: [(HeaderName, HeaderValue); 2],
}

impl Signals {
    /// What is told; `None` where the operator did not write the policy down.
    pub(crate) fn new(signals: &ContentSignals) -> Option<Signals> {
        let word = |allowed: bool| if allowed { "yes" } else { "no" };
        let letter = |allowed: bool| if allowed { 'y' } else { 'n' };
        let ContentSignals { ai_train, ai_input, search, .. } = *signals;
        let signal = format!("search={}, ai-input={}, ai-train={}", word(search), word(ai_input), word(ai_train));
        let usage = format!("train-ai={}, search={}", letter(ai_train), letter(search));
        let values = [
            (HeaderName::from_static("content-signal"), HeaderValue::try_from(signal).ok()?),
            (HeaderName::from_static("content-usage"), HeaderValue::try_from(usage).ok()?),
        ];
        signals.told.then_some(Signals { values })
    }

    /// The headers that a response does not have yet: what the site says itself holds.
    pub(crate) fn missing<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a (HeaderName, HeaderValue)> {
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
    let signals =
        ContentSignals { told: true, ai_train: false, ai_input: true, search: true, attribution_required: true };
    Signals::new(&signals).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_say_the_same_and_the_site_goes_first() {
        let signals = for_tests();
        assert_eq!(signals.rule(0), "Content-Signal: search=yes, ai-input=yes, ai-train=no");
        assert_eq!(signals.rule(1), "Content-Usage: train-ai=n, search=y");
        let mut headers = HeaderMap::new();
        assert_eq!(signals.missing(&headers).count(), 2);
        headers.insert("content-usage", HeaderValue::from_static("train-ai=y"));
        let missing: Vec<&str> = signals.missing(&headers).map(|(name, _)| name.as_str()).collect();
        assert_eq!(missing, ["content-signal"]);
        let silent =
            ContentSignals { told: false, ai_train: true, ai_input: true, search: true, attribution_required: false };
        assert!(Signals::new(&silent).is_none());
    }
}
