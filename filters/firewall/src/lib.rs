//! What leaves for an agent, looked through on its way out: secrets, what is about persons, and words that speak to the
//! model that reads them.
//!
//! Anchors find the places where something could be (one pass for all of them), and what stands there is confirmed by its
//! shape, its checksum or the name beside it. Every confirmation looks a bounded way ahead and back, so that the time is
//! linear in the text whatever it says. Looking beside names could read each byte many times: it reads a few times the
//! text's length, and takes what is left of a text that would need more for a secret (`unread`). What is found is told by
//! rule and place, never by value.
//!
//! A crate of its own, so that its rules can be judged and tested by themselves. It gets bytes and says what is in them;
//! it knows no caller, no dialect and no configuration but the modes and patterns that it is made with.

#![forbid(unsafe_code)]

mod address;
mod anchors;
mod assigned;
mod escapes;
mod finding;
mod hide;
mod ignore;
mod json;
mod jwt;
mod numbers;
mod pass;
mod pem;
mod phrases;
mod random;
mod raw;
mod stream;
#[cfg(test)]
mod tests;
mod token;
mod utf16;
mod words;

use std::borrow::Cow;

use frontdesk_base::{Fault, Refusal};

use anchors::Anchor;
use escapes::Plain;
pub use finding::{Finding, Kind, Rule};
use finding::{Findings, Sure};
pub use hide::is_hidden;
pub use hide::is_hidden_path;
pub use ignore::{Pattern, Wrong, patterns};
pub use pass::header;
pub use pass::{Flags, Form, Passed};
use phrases::Phrases;
pub use stream::Stream;
use token::TOKENS;
pub use utf16::Utf16;

/// What whoever asked is told of an answer that is blocked: nothing of what is in it.
pub const MUST_NOT_LEAVE: &str = "The site's answer holds something that must not leave, and is not passed on.";

/// The refusal that says so.
pub fn blocked() -> Refusal {
    Refusal { reason: "firewall_blocked", ..Fault::Malformed.into() }.saying(MUST_NOT_LEAVE)
}

/// What becomes of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nobody looks.
    Off,
    /// It is told, and stays.
    Report,
    /// `[redacted:rule]` takes its place.
    Redact,
    /// The whole answer is refused.
    Block,
}

impl Mode {
    /// As the operator writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Redact => "redact",
            Self::Block => "block",
        }
    }
}

/// A mode for each kind of finding. Injection is never redacted: its content stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    pub secrets: Mode,
    pub pii: Mode,
    pub injection: Mode,
}

impl Modes {
    /// Everything is told and nothing changed: for whoever checks files rather than answers.
    pub const REPORT: Self = Self { secrets: Mode::Report, pii: Mode::Report, injection: Mode::Report };

    fn of(self, kind: Kind) -> Mode {
        match kind {
            Kind::Secret => self.secrets,
            Kind::Pii => self.pii,
            Kind::Injection => self.injection,
        }
    }
}

/// The firewall: made once at load, used by every answer.
#[derive(Debug, Clone)]
pub struct Firewall {
    modes: Modes,
    /// Values that are about nobody in particular; compared without the case of letters.
    exempt: Box<[Box<[u8]>]>,
    own: Box<[Pattern]>,
}

impl Firewall {
    /// `exempt`: exact values that are no personal data; `own`: the operator's patterns.
    pub fn new(modes: Modes, exempt: impl IntoIterator<Item = String>, own: Vec<Pattern>) -> Self {
        let exempt = exempt.into_iter().map(|value| value.into_bytes().into_boxed_slice()).collect();
        let own = own.into_iter().filter(|pattern| modes.of(pattern.kind()) != Mode::Off).collect();
        Self { modes, exempt, own }
    }

    /// Whether nothing is ever looked for.
    pub fn is_off(&self) -> bool {
        self.modes == Modes { secrets: Mode::Off, pii: Mode::Off, injection: Mode::Off }
    }

    /// What is found in a text, in its order; of the kinds whose mode is not `off`. Secrets and personal data do not
    /// overlap.
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        let mut found = Findings::default();
        self.look(text, &mut found);
        found.settled()
    }

    /// The same in a JSON text, where strings may be spelled with escapes. Places are those of the spelling.
    pub fn scan_json(&self, text: &[u8]) -> Vec<Finding> {
        let mut found = Findings::default();
        self.look_at(text, &mut found);
        let mut spans = Vec::new();
        let mut deeper = Findings::default();
        json::escaped(text, |string| {
            spans.push((string.start, string.end));
            let mut within = Findings::default();
            self.look(&string.read, &mut within);
            for (finding, sure) in within.into_parts() {
                if finding.end > string.name {
                    let (start, end) = (string.place(finding.start), string.place(finding.end));
                    deeper.add(Finding { start, end, ..finding }, sure);
                }
            }
        });
        found.retain(|finding| {
            // All the rest of the text is meant.
            if finding.end == text.len() {
                return true;
            }
            let next = spans.partition_point(|(_, end)| *end < finding.start);
            spans.get(next).is_none_or(|(start, _)| finding.end < *start)
        });
        deeper.into_parts().into_iter().for_each(|(finding, sure)| found.add(finding, sure));
        found.settled()
    }

    /// Everything there is in one text, as it reads without its backslashes.
    fn look(&self, text: &[u8], found: &mut Findings) {
        let plain = Plain::of(text);
        if matches!(plain.read, Cow::Borrowed(_)) {
            self.look_at(text, found);
            return;
        }
        let mut within = Findings::default();
        self.look_at(&plain.read, &mut within);
        for (finding, sure) in within.into_parts() {
            let (start, end) = (plain.place(finding.start), plain.place(finding.end));
            found.add(Finding { start, end, ..finding }, sure);
        }
    }

    /// Everything there is in one text, as it reads; how many bytes were read beside names.
    fn look_at(&self, text: &[u8], found: &mut Findings) -> usize {
        if self.is_off() || text.is_empty() {
            return 0;
        }
        let mut reading = assigned::Reading::of(text);
        let on = |kind| self.modes.of(kind) != Mode::Off;
        let (secrets, pii, injection) = (on(Kind::Secret), on(Kind::Pii), on(Kind::Injection));
        let mut phrases = Phrases::default();
        // What lies within a picture or a key is not looked into.
        let mut passed_over: Vec<(usize, usize)> = Vec::new();
        anchors::each(text, |anchor, start, end| {
            let mut past = 0;
            match anchor {
                Anchor::Phrase(index) if injection && is_word(text, start, end) => {
                    phrases.at(text, start, Some(index), found);
                }
                Anchor::Word if secrets => reading.beside(text, start, end, found),
                Anchor::Url if secrets => address::password(text, end, found),
                Anchor::Token(index) if secrets => {
                    let token = &TOKENS[index];
                    if let Some(end) = token.confirm(text, start) {
                        found.secret(token.rule, Sure::Shape, start, end);
                    }
                }
                Anchor::Jwt if secrets => {
                    if let Some(end) = jwt::confirm(text, start) {
                        found.secret("jwt", Sure::Shape, start, end);
                    }
                }
                Anchor::Pem if secrets => {
                    if let Some(end) = pem::confirm(text, start) {
                        found.secret("private-key", Sure::Shape, start, end);
                        past = end;
                    }
                }
                Anchor::Authorization if secrets => assigned::authorization(text, start, end, found),
                Anchor::Data => {
                    past = end + text[end..].iter().take_while(|byte| pem::is_base64(**byte)).count();
                }
                Anchor::Odd if injection => {
                    phrases.at(text, words::letters_before(text, start), None, found);
                }
                Anchor::Mark(index) if injection && text[start..end] == *phrases::MARKS[index].0.as_bytes() => {
                    found.injection(phrases::MARKS[index].1, start, end);
                }
                _ => {}
            }
            if past > 0 {
                passed_over.push((start, past));
            }
            past
        });
        if injection {
            words::marked(text).for_each(|start| phrases.at(text, start, None, found));
        }
        phrases.finish(found);
        if pii {
            let mut over = passed_over.iter().peekable();
            for at in memchr::memchr_iter(b'@', text) {
                while over.next_if(|(_, past)| *past <= at).is_some() {}
                if over.peek().is_none_or(|(start, _)| at < *start) {
                    address::email(text, at, found);
                }
            }
            numbers::numbers(text, found);
        }
        for pattern in &self.own {
            pattern.find(text, found);
        }
        if pii && !self.exempt.is_empty() {
            let exempt = |value: &[u8]| self.exempt.iter().any(|known| known.eq_ignore_ascii_case(value));
            found.retain(|finding| finding.kind != Kind::Pii || !exempt(&text[finding.start..finding.end]));
        }
        reading.read(text)
    }
}

/// Whether letters stand for themselves rather than within a longer word.
fn is_word(text: &[u8], start: usize, end: usize) -> bool {
    let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    !start.checked_sub(1).is_some_and(letter) && !letter(end)
}
