//! Scans bodies that are passed on unchanged with the site's media type, wherever they contain text.
//!
//! Declared types are unreliable and too many to list. Images, audio, video and fonts are trusted; for all other types
//! the bytes decide whether it is text.

use bytes::Bytes;
use frontdesk_base::media::essence;
use serde::de::IgnoredAny;

use super::{Firewall, Flags, Form, Passed, pass::is_opaque, utf16::Utf16};

/// Replaces a type that must not leave.
const UNNAMED: &str = "application/octet-stream";

/// JSON, one value per line.
const LINES: [&str; 6] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonl",
    "application/jsonlines",
    "application/x-jsonlines",
];

/// A body and its type after the scan.
#[derive(Debug)]
pub struct PassedRaw {
    /// The site's type, without parameters that must not leave.
    pub content_type: String,
    pub body: Bytes,
    pub flags: Flags,
    /// Something was removed.
    pub is_changed: bool,
}

impl Firewall {
    /// Scans a body and its declared type.
    ///
    /// # Errors
    ///
    /// The findings, where they forbid that it leaves.
    pub fn pass_raw(&self, content_type: &str, body: &Bytes) -> Result<PassedRaw, Flags> {
        let (kept, mut flags) = self.pass_type(content_type)?;
        let passed = self.pass_body(content_type, body);
        flags.merge(&passed.flags);
        if passed.blocked {
            return Err(flags);
        }
        let is_changed = passed.body.as_ptr() != body.as_ptr() || kept != content_type;
        Ok(PassedRaw { content_type: kept, body: passed.body, flags, is_changed })
    }

    /// A type without its parameters, where these must not leave.
    fn pass_type(&self, content_type: &str) -> Result<(String, Flags), Flags> {
        let look = |text: &str| self.pass(Bytes::copy_from_slice(text.as_bytes()), Form::Text);
        let passed = look(content_type);
        if passed.blocked {
            return Err(passed.flags);
        }
        if passed.body == content_type {
            return Ok((content_type.to_owned(), passed.flags));
        }
        let media = essence(content_type);
        let kept = if look(media).body == media { media } else { UNNAMED };
        Ok((kept.to_owned(), passed.flags))
    }

    fn pass_body(&self, content_type: &str, body: &Bytes) -> Passed {
        if let Some(spelled) = Utf16::of(content_type, body) {
            let text = Bytes::from(spelled.read(body));
            let form = form(content_type, &text).unwrap_or(Form::Text);
            let passed = self.pass(text.clone(), form);
            // Unchanged bodies are passed on as they came.
            let body = match passed.body.as_ptr() == text.as_ptr() {
                true => body.clone(),
                false => spelled.write(&String::from_utf8_lossy(&passed.body)).into(),
            };
            return Passed { body, ..passed };
        }
        match form(content_type, body) {
            Some(form) => self.pass(body.clone(), form),
            None => Passed { body: body.clone(), flags: Flags::default(), blocked: false },
        }
    }
}

fn media(content_type: &str) -> String {
    essence(content_type).to_ascii_lowercase()
}

/// How to read a body; `None`: it is not text.
fn form(content_type: &str, body: &[u8]) -> Option<Form> {
    let media = media(content_type);
    let is_lines = LINES.contains(&media.as_str());
    match Form::of(&media) {
        _ if is_opaque(&media) => None,
        // In a body that is not valid JSON, the JSON form could replace nothing outside strings.
        Some(Form::Json) => Some(if is_json(body) { Form::Json } else { Form::Text }),
        _ if is_lines => Some(if is_json(body) { Form::Json } else { Form::Text }),
        Some(Form::Text) => Some(Form::Text),
        // Whatever its parts are.
        None if media.starts_with("multipart/") => Some(Form::Text),
        None => (std::str::from_utf8(body).is_ok() && !body.contains(&0)).then_some(Form::Text),
    }
}

/// Whether it is one or more JSON values.
fn is_json(body: &[u8]) -> bool {
    serde_json::Deserializer::from_slice(body).into_iter::<IgnoredAny>().all(|value| value.is_ok())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Mode, Modes},
        *,
    };

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    const GONE: &str = "[redacted:github-token]";

    fn wall(secrets: Mode) -> Firewall {
        Firewall::new(Modes { secrets, pii: Mode::Redact, ..Modes::REPORT }, [], Vec::new())
    }

    fn left(kind: &str, body: impl Into<Bytes>) -> Vec<u8> {
        wall(Mode::Redact).pass_raw(kind, &body.into()).unwrap().body.to_vec()
    }

    #[test]
    fn text_is_looked_through_whatever_it_is_called() {
        for kind in [
            "application/octet-stream",
            "application/x-javascript",
            "application/x-sh",
            "application/x-pem-file",
            "application/x-whatever; a=b",
            "multipart/mixed; boundary=b",
            "application/json",
            "application/jsonl",
            "image/svg+xml",
            "",
        ] {
            assert_eq!(left(kind, format!("x {TOKEN}")), format!("x {GONE}").as_bytes(), "{kind}");
        }
        let binary = [b"\xff\0 ", TOKEN.as_bytes()].concat();
        assert_eq!(left("application/octet-stream", binary.clone()), binary);
        assert_eq!(left("image/png", format!("x {TOKEN}")), format!("x {TOKEN}").as_bytes());
        let parts = [b"--b\r\n\r\n\xff\0\r\n--b\r\n\r\n", TOKEN.as_bytes(), b"\r\n--b--"].concat();
        assert!(left("multipart/mixed; boundary=b", parts).ends_with(format!("{GONE}\r\n--b--").as_bytes()));
    }

    #[test]
    fn lines_of_json_stay_lines_of_json() {
        let lines = format!("{{\"n\":4111111111111111}}\n{{\"a\":\"\\u0067{}\"}}\n[1]\n", &TOKEN[1..]);
        for kind in ["application/x-ndjson", "application/jsonl; charset=utf-8"] {
            let expected = format!("{{\"n\":\"[redacted:card]\"}}\n{{\"a\":\"{GONE}\"}}\n[1]\n");
            assert_eq!(String::from_utf8(left(kind, lines.clone())).unwrap(), expected, "{kind}");
        }
    }

    #[test]
    fn letters_of_two_bytes_are_read_too() {
        let spelled = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        let (said, expected) = (format!("\u{feff}é {TOKEN}"), format!("\u{feff}é {GONE}"));
        for kind in ["text/plain", "text/csv; charset=utf-16", "application/octet-stream"] {
            assert_eq!(left(kind, spelled(&said)), spelled(&expected), "{kind}");
        }
        let body = Bytes::from(spelled("\u{feff}nothing"));
        assert_eq!(wall(Mode::Redact).pass_raw("text/plain", &body).unwrap().body.as_ptr(), body.as_ptr());
        assert!(wall(Mode::Block).pass_raw("text/plain", &spelled(&said).into()).is_err());
    }

    #[test]
    fn a_type_tells_nothing_that_must_not_leave() {
        let pass = |mode, kind: &str| wall(mode).pass_raw(kind, &Bytes::from_static(b"x"));
        let kind = format!("text/csv; charset=utf-8; note={TOKEN}");
        let passed = pass(Mode::Redact, &kind).unwrap();
        assert_eq!((passed.content_type.as_str(), passed.is_changed), ("text/csv", true));
        assert_eq!(passed.flags.told(), ["secret-redacted;rules=github-token"]);
        assert_eq!(pass(Mode::Redact, &format!("a/{TOKEN}")).unwrap().content_type, UNNAMED);
        assert_eq!(pass(Mode::Report, &kind).unwrap().content_type, kind);
        assert_eq!(pass(Mode::Block, &kind).err().unwrap().counts().count(), 1);
        let plain = pass(Mode::Redact, "text/csv; header=present").unwrap();
        assert_eq!((plain.content_type.as_str(), plain.is_changed), ("text/csv; header=present", false));
    }
}
