//! Finds secrets by the name beside them: `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …`.
//!
//! The name decides how much the value has to look like a secret: after `DB_PASSWORD=` nearly any value is one, after
//! `"key":` only a value that no person would write. Names of public values (a page token, a sort key) do not count.

mod promise;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    finding::{Findings, Sure},
    json::QUOTE,
    random::{Mix, contains_any_case, entropy, stands_in},
};
use promise::{Beside, Promise, is_password, keeps, promised};

/// The last words of names.
pub(super) const WORDS: [&str; 10] =
    ["key", "secret", "token", "password", "passwd", "passwort", "pwd", "passphrase", "credential", "credentials"];

/// Maximum bytes of a value, and of a name.
const LONGEST: usize = 512;
const LONGEST_NAME: usize = 64;

/// The bound on the work beside the names of one text.
pub(super) struct Reading {
    /// Bytes of values that may still be read.
    left: usize,
    /// The end of the last secret: a name before it is a part of it.
    within: usize,
}

/// Maximum bytes of values that are read in a text of this length, and the cost of a name itself. Only a text with
/// names nested in values, none of them secrets, exceeds it, and such a text is written only to cause work.
pub(super) const fn most_read(length: usize) -> usize {
    4 * length + 256 * 1024
}
const NAME_COST: usize = 16;

impl Reading {
    pub(super) fn of(text: &[u8]) -> Self {
        Self { left: most_read(text.len()), within: 0 }
    }

    /// The number of bytes read.
    pub(super) fn read(&self, text: &[u8]) -> usize {
        most_read(text.len()) - self.left
    }

    /// Examines the value beside the name that ends in the word at `start..end`. When the bound is reached, the rest
    /// of the text counts as a secret.
    pub(super) fn beside(&mut self, text: &[u8], start: usize, end: usize, found: &mut Findings) {
        if start < self.within {
            return;
        }
        let Some(assigned) = value_after(text, start, end) else { return };
        let length = assigned.end - assigned.start;
        match self.left.checked_sub(length + NAME_COST) {
            Some(left) => self.left = left,
            None => {
                found.secret("unread", Sure::Shape, start, text.len());
                self.within = text.len();
                return;
            }
        }
        if judge(text, (start, end), &assigned, found) {
            // A value cut at the maximum length continues behind it.
            let rest = if length + 8 > LONGEST { LONGEST / 8 } else { 0 };
            self.within = assigned.end - rest;
        }
    }
}

/// Adds the value beside a name as a finding if it is a secret.
fn judge(text: &[u8], (start, end): (usize, usize), assigned: &Assigned, found: &mut Findings) -> bool {
    let first = name_start(text, start);
    let name = &text[first..end];
    let Some(promise) = promised(name, &text[start..end], word_before(text, first)) else { return false };
    let value = &text[assigned.start..assigned.end];
    // An upper-case name before an equals sign is an environment variable.
    let shouted = assigned.tight && name.len() > 3 && !name.iter().any(u8::is_ascii_lowercase);
    let member = assigned.member && first.checked_sub(1).is_none_or(|at| text[at] == b'"') && is_password(name);
    let is_one = keeps(promise, value, Beside { shouted, loose: assigned.loose, member });
    if is_one {
        let rule = match promise {
            Promise::Password => "password",
            _ if contains_any_case(name, b"aws") => "aws-secret-key",
            _ => "assigned-secret",
        };
        found.secret(rule, Sure::Beside, assigned.start, assigned.end);
    }
    is_one
}

struct Assigned {
    start: usize,
    end: usize,
    /// `NAME=value`, without blanks.
    tight: bool,
    /// In a sentence: `the password is …`.
    loose: bool,
    /// A JSON member: `name": "value"`.
    member: bool,
}

fn value_after(text: &[u8], start: usize, end: usize) -> Option<Assigned> {
    let gap = |at: usize, signs: &[u8]| text[at..].iter().take(8).take_while(|byte| signs.contains(byte)).count();
    let mut at = end + gap(end, b"\"'`* \t]");
    let close = at == end;
    let (mut tight, mut loose, mut member) = (false, false, false);
    match text.get(at)? {
        b'=' if matches!(text.get(at + 1), Some(b'=')) => return None,
        b'=' => {
            tight = close && !matches!(text.get(at + 1), Some(b' ' | b'>'));
            at += 1 + usize::from(text.get(at + 1) == Some(&b'>'));
        }
        // An XML element: its text follows.
        b'>' if close && start > 0 && matches!(text[start - 1], b'<' | b':' | b'-' | b'_') => at += 1,
        // A list of pairs: {"name": "API_KEY", "value": "…"}.
        b',' if !close => at = member_value(text, at)?,
        b':' if matches!(text.get(at + 1), Some(b':')) => return None,
        b':' => {
            member = text[end..at].trim_ascii_end() == b"\"";
            at += 1 + usize::from(text.get(at + 1) == Some(&b'='));
        }
        // A command-line option.
        _ if !close && start >= 2 && has_dashes(text, start) && text.get(end) == Some(&b' ') => at = end,
        b'i' | b'w' if text[at..].starts_with(b"is ") || text[at..].starts_with(b"was ") => {
            loose = true;
            at += memchr::memchr(b' ', &text[at..])?;
            at += usize::from(text.get(at + 1) == Some(&b':'));
        }
        _ => return None,
    }
    at += gap(at, b" \t*");
    let quote = text.get(at).copied().filter(|byte| matches!(*byte, b'"' | b'\'' | b'`' | QUOTE));
    if let Some(quote) = quote {
        let start = at + 1;
        let line = &text[start..(start + LONGEST).min(text.len())];
        let len = line.iter().position(|byte| *byte == quote || *byte == b'\n')?;
        member &= matches!(quote, b'"' | QUOTE);
        return (line[len] == quote).then_some(Assigned { start, end: start + len, tight, loose: false, member });
    }
    let stops = |byte: &u8| match *byte {
        b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b'\\' | QUOTE => true,
        b',' | b';' | b'&' | b')' | b']' | b'}' | b'|' => !loose || matches!(byte, b'<' | b'>'),
        byte => byte.is_ascii_whitespace(),
    };
    // A value in typographic quotes: “password: …”, password: “…”.
    at += printed_quote(&text[at..]);
    let rest = &text[at..(at + LONGEST).min(text.len())];
    let len = rest.iter().position(stops).unwrap_or(rest.len());
    let len = (0..len).find(|at| printed_quote(&rest[*at..]) > 0).unwrap_or(len);
    // A function call, not a value.
    if matches!(rest.get(len), Some(b'(')) {
        return None;
    }
    let trimmed =
        rest[..len].iter().rposition(|byte| !matches!(byte, b'.' | b',' | b':' | b'?' | b'*')).map_or(0, |at| at + 1);
    Some(Assigned { start: at, end: at + trimmed, tight, loose, member: false })
}

/// The length of a typographic quotation mark at the start.
fn printed_quote(text: &[u8]) -> usize {
    match text {
        [0xe2, 0x80, 0x98..=0x9f | 0xb9 | 0xba, ..] => 3,
        [0xc2, 0xab | 0xbb, ..] => 2,
        _ => 0,
    }
}

/// The start of the value after the comma of `, "value": ` at `at`.
fn member_value(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at + 1..(at + 64).min(text.len())];
    let named = rest.trim_ascii_start();
    let quote = *named.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let after = named[1..].strip_prefix(b"value")?.strip_prefix(&[quote])?.trim_ascii_start().strip_prefix(b":")?;
    Some(at + 1 + rest.len() - after.len())
}

/// Whether a name is an option: `--db-password`.
fn has_dashes(text: &[u8], start: usize) -> bool {
    text[name_start(text, start)..].starts_with(b"--")
}

/// The start of the name whose last word is at `start`.
fn name_start(text: &[u8], start: usize) -> usize {
    let name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    start - text[..start].iter().rev().take(LONGEST_NAME).take_while(name).count()
}

/// The word before a name of one word: `API key`, `client secret`.
fn word_before(text: &[u8], start: usize) -> &[u8] {
    let Some(end) = start.checked_sub(1).filter(|at| text[*at] == b' ') else { return &[] };
    let len = text[..end].iter().rev().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
    &text[end - len..end]
}

/// Examines what follows `Bearer ` or `Basic `, which ends at `end`.
pub(super) fn authorization(text: &[u8], start: usize, end: usize, found: &mut Findings) {
    if start.checked_sub(1).is_some_and(|at| text[at].is_ascii_alphanumeric()) {
        return;
    }
    let letter =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    let end = end + usize::from(text.get(end) == Some(&b' '));
    let len = text[end..].iter().take(4096).take_while(letter).count();
    let value = &text[end..end + len];
    let trimmed = value.iter().rposition(|byte| *byte != b'.').map_or(0, |at| at + 1);
    let value = &value[..trimmed];
    let (rule, is_one) = match text[start] | 0x20 == b'b' && text[start + 1] | 0x20 == b'e' {
        true => {
            let mix = Mix::of(value);
            let dense = value.len() >= 20 && entropy(value) >= 3.3 && mix.digits > 0 && mix.letters() > 0;
            ("bearer-token", dense && !stands_in(value) && mix.turns * 10 >= value.len())
        }
        false => {
            let pair = STANDARD.decode(value).ok().filter(|pair| value.len() >= 8 && pair.contains(&b':'));
            // The documentation example (RFC 7617) is no secret.
            let shown = |pair: &[u8]| stands_in(pair) || pair == b"Aladdin:open sesame";
            let printable = |pair: Vec<u8>| pair.iter().all(|byte| (0x20..0x7f).contains(byte)) && !shown(&pair);
            ("basic-credentials", pair.is_some_and(printable))
        }
    };
    if is_one {
        found.secret(rule, Sure::Beside, end, end + trimmed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = Findings::default();
        for word in WORDS {
            for (at, _) in text.to_ascii_lowercase().match_indices(word) {
                Reading::of(text.as_bytes()).beside(text.as_bytes(), at, at + word.len(), &mut found);
            }
        }
        for word in ["bearer ", "basic "] {
            for (at, _) in text.to_ascii_lowercase().match_indices(word) {
                authorization(text.as_bytes(), at, at + word.len(), &mut found);
            }
        }
        found.settled().iter().map(|f| text[f.start..f.end].to_owned()).collect()
    }

    #[test]
    fn a_value_beside_its_name_is_found() {
        for (text, value) in [
            ("DB_PASSWORD=correct-horse-battery", "correct-horse-battery"),
            ("\"password\": \"hunter2!x\"", "hunter2!x"),
            ("**API key:** `a8Kd02LmQ71zPq5xW0`", "a8Kd02LmQ71zPq5xW0"),
            ("api_key: 9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"),
            ("https://x.example/?access_token=a8Kd02LmQ71zPq5x&lang=en", "a8Kd02LmQ71zPq5x"),
            ("mysql --password Sup3rS3cret!", "Sup3rS3cret!"),
            ("the admin password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
            ("{\"name\": \"DB_PASSWORD\", \"value\": \"qe3RSjbdhVsF\"}", "qe3RSjbdhVsF"),
            ("<password>4bHrc1fLDFPU</password>", "4bHrc1fLDFPU"),
            ("clientSecret: 'p8e-7Kq.~2ZxVn0sLw4RtYb'", "p8e-7Kq.~2ZxVn0sLw4RtYb"),
            ("Authorization: bearer a8Kd02LmQ71zPq5xW0Tz99", "a8Kd02LmQ71zPq5xW0Tz99"),
            ("Authorization: Basic YWRtaW46czNjcjN0IQ==", "YWRtaW46czNjcjN0IQ=="),
            ("{\"password\":\"correcthorse\"}", "correcthorse"),
            ("“… Also password: hunter2!x.”", "hunter2!x"),
            ("Passwort: „S3cr3t!Pass“", "S3cr3t!Pass"),
            ("password: «S3cr3t!Pass» ", "S3cr3t!Pass"),
            ("DB_PASSWORD=S3cr3t!Pass”", "S3cr3t!Pass"),
            ("{\"password\" : \"12345678\"}", "12345678"),
            ("{\"Pwd\":\"Grüße!2024xY\"}", "Grüße!2024xY"),
            ("{\"passwd\":\"$ecret!2024\"}", "$ecret!2024"),
        ] {
            assert_eq!(found(text), [value], "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "Bearer token",
            "Authorization: Bearer <your-token>",
            "Basic information about passwords",
            "API_KEY=YOUR_API_KEY",
            "TOKEN=${TOKEN}",
            "\"key\": \"home-page-banner-2024\"",
            "\"key\":\"9f86d081884c7d659a2feaa0c55ad015\"",
            "nextPageToken: \"CAUQAA9f86d081884c7d\"",
            "monkey: a8Kd02LmQ71zPq5xW0Tz99",
            "Password: required",
            "Password: at least 12 characters",
            "password: at-least-8-characters",
            "{\"password\":\"at-least-8-characters\"}",
            "{\"password\":\"required|min:8|confirmed\"}",
            "{\"password\":\"Must be eight characters\"}",
            "{\"password\":\"Password\",\"pwd\":\"Kennwort\",\"passwd\":\"Contraseña\"}",
            "{\"password\":\"disabled\",\"pwd\":\"too_short\",\"passwd\":\"is_required\"}",
            "{\"password\":\"forgotPassword\",\"pwd\":\"$DB_PASSWORD\",\"passwd\":\"********\"}",
            "{\"password\":\"#/components/schemas/Pw\",\"pwd\":\"/users/new/pw\"}",
            "{\"forgotten_password\":\"correcthorse\"} password: correcthorse",
            "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "\"password\": \"Forgot-your-password?\"",
            "var token=e.getToken(),n=1",
            "if (token == a8Kd02LmQ71zPq5xW0Tz99)",
            "{\"type\": \"password\", \"value\": \"\"}",
            "<label>Password</label><input>",
            "max_tokens: 4096",
            "type=\"password\" name=\"password\"",
            "password: process.env.DB_PASSWORD",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
