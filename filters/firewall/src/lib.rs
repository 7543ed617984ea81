//! The firewall scans everything that leaves for an agent: for secrets, personal data, and text aimed at the model
//! that reads it.
//!
//! Anchors find candidates in one pass. Each candidate is then confirmed by its format, its checksum or the name
//! beside it. Every confirmation reads a bounded distance ahead and back, so the time is linear in the text. Values
//! beside names could be read many times; a bound of a few times the text's length applies, and the rest of a text
//! beyond it counts as a secret (`unread`). A finding says rule and place, never the value.
//!
//! This is a crate of its own, so that its rules can be reviewed and tested alone. It gets bytes and returns findings;
//! it knows no caller, dialect or configuration except its modes and patterns.

#![forbid(unsafe_code)]

mod address;
mod anchors;
mod escapes;
mod finding;
mod hide;
mod ignore;
mod json;
mod jwt;
mod named_secrets;
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

/// The message for a blocked answer, without any of its content.
pub const MUST_NOT_LEAVE: &str = "The site's answer holds something that must not leave, and is not passed on.";

/// The refusal with that message.
pub fn blocked() -> Refusal {
    Refusal { reason: "firewall_blocked", ..Fault::Malformed.into() }.saying(MUST_NOT_LEAVE)
}

/// What happens to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// No search.
    Off,
    /// Reported, and left in place.
    Report,
    /// Replaced by `[redacted:rule]`.
    Redact,
    /// The whole answer is refused.
    Block,
}

impl Mode {
    /// The word in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Redact => "redact",
            Self::Block => "block",
        }
    }
}

/// A mode for each kind of finding. Injections are never redacted, because content stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    pub secrets: Mode,
    pub pii: Mode,
    pub injection: Mode,
}

impl Modes {
    /// Report everything and change nothing, for checks of files.
    pub const REPORT: Self = Self { secrets: Mode::Report, pii: Mode::Report, injection: Mode::Report };

    fn of(self, kind: Kind) -> Mode {
        match kind {
            Kind::Secret => self.secrets,
            Kind::Pii => self.pii,
            Kind::Injection => self.injection,
        }
    }
}

/// The firewall, built at load and used for every answer.
#[derive(Debug, Clone)]
pub struct Firewall {
    modes: Modes,
    /// Values that are no personal data; compared case-insensitively.
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

    /// Whether all modes are `off`.
    pub fn is_off(&self) -> bool {
        self.modes == Modes { secrets: Mode::Off, pii: Mode::Off, injection: Mode::Off }
    }

    /// The findings in a text, in order, of the kinds whose mode is not `off`. Secrets and personal data do not
    /// overlap.
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        let mut found = Findings::default();
        self.look(text, &mut found);
        found.settled()
    }

    /// The same in a JSON text with escapes in strings. Places refer to the raw text.
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
            // It covers the rest of the text.
            if finding.end == text.len() {
                return true;
            }
            let next = spans.partition_point(|(_, end)| *end < finding.start);
            spans.get(next).is_none_or(|(start, _)| finding.end < *start)
        });
        deeper.into_parts().into_iter().for_each(|(finding, sure)| found.add(finding, sure));
        found.settled()
    }

    /// Scans one text without its backslash escapes.
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

    /// Scans one text as it is; returns the bytes read beside names.
    fn look_at(&self, text: &[u8], found: &mut Findings) -> usize {
        if self.is_off() || text.is_empty() {
            return 0;
        }
        let mut reading = named_secrets::Reading::of(text);
        let on = |kind| self.modes.of(kind) != Mode::Off;
        let (secrets, pii, injection) = (on(Kind::Secret), on(Kind::Pii), on(Kind::Injection));
        let mut phrases = Phrases::default();
        // The inside of a data URL or a key is not scanned.
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
                Anchor::Authorization if secrets => named_secrets::authorization(text, start, end, found),
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

/// Whether letters form a whole word.
fn is_word(text: &[u8], start: usize, end: usize) -> bool {
    let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    !start.checked_sub(1).is_some_and(letter) && !letter(end)
}
