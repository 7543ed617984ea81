//! Scans a whole answer on its way out, applies replacements, and reports the findings.

use bytes::Bytes;
use frontdesk_base::media;
use http::{HeaderName, HeaderValue};

use super::{Finding, Firewall, Kind, Mode, Rule, json};

/// The form of a text, which decides how it is read and replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It stays JSON: only text within strings is replaced, and a number becomes a string.
    Json,
    Text,
}

impl Form {
    /// The form of a media type; `None` for types that are no text, which are not scanned.
    pub fn of(content_type: &str) -> Option<Self> {
        let media = media::essence(content_type).to_ascii_lowercase();
        match media.as_str() {
            json if media::is_json(json) => Some(Self::Json),
            text if text.starts_with("text/") || text.ends_with("+xml") || text.ends_with("+yaml") => Some(Self::Text),
            ""
            | "application/xml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/javascript"
            | "application/x-ndjson"
            | "application/sql"
            | "application/x-www-form-urlencoded" => Some(Self::Text),
            _ => None,
        }
    }
}

/// Whether a type is for media to be seen or heard, and not read.
pub(super) fn is_opaque(content_type: &str) -> bool {
    let media = media::essence(content_type).to_ascii_lowercase();
    let seen = ["image/", "audio/", "video/", "font/"].iter().any(|start| media.starts_with(start));
    seen && Form::of(&media).is_none()
}

/// The findings in an answer, for its reader, in the form of [`Flags::told`].
const FLAGS: HeaderName = HeaderName::from_static("x-frontdesk-flags");

/// The header `X-Frontdesk-Flags` of a reply; `None` without findings.
pub fn header(told: &[String]) -> Option<(HeaderName, HeaderValue)> {
    if told.is_empty() {
        return None;
    }
    HeaderValue::try_from(told.join(", ")).ok().map(|value| (FLAGS, value))
}

/// An answer after the scan.
#[derive(Debug)]
pub struct Passed {
    /// Unchanged where nothing had to be replaced.
    pub body: Bytes,
    pub flags: Flags,
    /// It must not leave, whatever `body` contains.
    pub blocked: bool,
}

impl Firewall {
    /// Scans an answer.
    pub fn pass(&self, body: Bytes, form: Form) -> Passed {
        if self.is_off() {
            return Passed { body, flags: Flags::default(), blocked: false };
        }
        let found = match form {
            Form::Json => self.scan_json(&body),
            Form::Text => self.scan(&body),
        };
        if found.is_empty() {
            return Passed { body, flags: Flags::default(), blocked: false };
        }
        let flags = self.flagged(&found);
        let blocked = found.iter().any(|finding| self.modes.of(finding.kind) == Mode::Block);
        let goes = |finding: &&Finding| self.modes.of(finding.kind) == Mode::Redact;
        let body = match found.iter().any(|finding| goes(&finding)) && !blocked {
            true => replaced(&body, found.iter().filter(goes), form).into(),
            false => body,
        };
        Passed { body, flags, blocked }
    }

    pub(super) fn flagged(&self, found: &[Finding]) -> Flags {
        let mut flags = Flags::default();
        for finding in found {
            flags.add(&finding.rule, finding.kind, self.modes.of(finding.kind), 1);
        }
        flags
    }
}

fn replaced<'f>(body: &[u8], found: impl Iterator<Item = &'f Finding>, form: Form) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 64);
    let (mut at, mut walk) = (0, json::Walk::default());
    let mut places = Vec::new();
    for finding in found {
        places.clear();
        match form {
            Form::Json => walk.places(body, (finding.start, finding.end), &mut places),
            _ => places.push(json::Place { start: finding.start, end: finding.end, is_bare: false }),
        }
        for place in &places {
            if place.start < at {
                continue;
            }
            out.extend_from_slice(&body[at..place.start]);
            let quote: &[u8] = if place.is_bare { b"\"" } else { b"" };
            out.extend_from_slice(quote);
            write_marker(&mut out, &finding.rule);
            out.extend_from_slice(quote);
            at = place.end;
        }
    }
    out.extend_from_slice(&body[at..]);
    out
}

/// Writes the replacement of a finding.
pub(super) fn write_marker(out: &mut Vec<u8>, rule: &Rule) {
    out.extend_from_slice(b"[redacted:");
    out.extend_from_slice(rule.as_str().as_bytes());
    out.push(b']');
}

/// The findings by rule, for the audit log, the metrics and the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// Sorted, each rule once.
    seen: Vec<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    kind: Kind,
    mode: Mode,
    rule: Rule,
    count: usize,
}

impl Flags {
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Each rule with its mode and its number of findings.
    pub fn counts(&self) -> impl Iterator<Item = (&Rule, Mode, usize)> {
        self.seen.iter().map(|seen| (&seen.rule, seen.mode, seen.count))
    }

    /// The findings as a reply's header.
    pub fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        header(&self.told())
    }

    /// Adds the findings of another part of the same answer.
    pub fn merge(&mut self, other: &Self) {
        for seen in &other.seen {
            self.add(&seen.rule, seen.kind, seen.mode, seen.count);
        }
    }

    /// Both, without changing either.
    pub fn merged(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.merge(other);
        all
    }

    pub(super) fn add(&mut self, rule: &Rule, kind: Kind, mode: Mode, count: usize) {
        match self.seen.binary_search_by(|seen| (seen.kind, &seen.rule).cmp(&(kind, rule))) {
            Ok(at) => self.seen[at].count += count,
            Err(at) => self.seen.insert(at, Seen { kind, mode, rule: rule.clone(), count }),
        }
    }

    /// The reader's form: `injection-suspect;rules=ignore-instructions`, `secret-redacted;rules=jwt+openai-key`.
    pub fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        let mut last = None;
        for seen in &self.seen {
            let is_new = last != Some((seen.kind, seen.mode));
            match told.last_mut().filter(|_| !is_new) {
                Some(word) => {
                    word.push('+');
                    word.push_str(seen.rule.as_str());
                }
                None => {
                    let word = match (seen.kind, seen.mode) {
                        (Kind::Injection, _) => "injection-suspect",
                        (Kind::Secret, Mode::Redact) => "secret-redacted",
                        (Kind::Secret, _) => "secret-found",
                        (Kind::Pii, Mode::Redact) => "pii-redacted",
                        (Kind::Pii, _) => "pii-found",
                    };
                    told.push(format!("{word};rules={}", seen.rule));
                }
            }
            last = Some((seen.kind, seen.mode));
        }
        told
    }
}
