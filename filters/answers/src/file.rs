//! An answer that is a file: its name, its type and its size.

use bytes::Bytes;
use frontdesk_base::{fault::Refusal, media::essence};
use serde_json::{Value, json};
use url::Url;

use crate::answered::{Answered, too_large};

/// The largest file that is passed on, in bytes.
pub const LARGEST_FILE: usize = 5 * 1024 * 1024;
/// The longest name of a file, in characters.
const LONGEST_NAME: usize = 120;
/// What a file is whose type the site does not say.
const ANY: &str = "application/octet-stream";

/// A file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub media_type: String,
    pub name: String,
    pub body: Bytes,
}

impl File {
    pub(crate) fn of(answered: &Answered<'_>) -> Result<Self, Refusal> {
        if answered.body.len() > LARGEST_FILE {
            return Err(too_large(format!("The site's file is larger than {} MB.", LARGEST_FILE >> 20)));
        }
        let media_type = essence(answered.content_type).to_ascii_lowercase();
        let media_type = if is_media_type(&media_type) { media_type } else { ANY.to_owned() };
        let name = answered.disposition.and_then(named).or_else(|| last_segment(answered.at));
        Ok(Self { name: name.unwrap_or_else(|| "file".to_owned()), media_type, body: answered.body.clone() })
    }

    /// What a caller is told, with the address of the file.
    pub fn told(&self, url: Option<&str>) -> Value {
        let Self { media_type, name, body } = self;
        json!({ "file": { "url": url, "media_type": media_type, "size": body.len(), "name": name } })
    }
}

fn is_media_type(text: &str) -> bool {
    let is_token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b));
    text.len() <= 100 && text.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub))
}

/// The name in a `Content-Disposition` (RFC 6266): `filename*` before `filename`.
fn named(disposition: &str) -> Option<String> {
    let parameter = |wanted: &str| {
        parameters(disposition).into_iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    let extended = parameter("filename*").and_then(|value| {
        let (charset, rest) = value.split_once('\'')?;
        let (_, coded) = rest.split_once('\'')?;
        let bytes: Vec<u8> = percent_decoded(coded);
        match charset.to_ascii_lowercase().as_str() {
            "utf-8" => String::from_utf8(bytes).ok(),
            "iso-8859-1" => Some(bytes.into_iter().map(char::from).collect()),
            _ => None,
        }
    });
    clean(&extended.or_else(|| parameter("filename"))?)
}

/// The parameters of a header value; quoted values may hold semicolons.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (value, next) = if let Some(quoted) = after.strip_prefix('"') {
            let (mut text, mut escaped, mut end) = (String::new(), false, quoted.len());
            for (at, c) in quoted.char_indices() {
                match c {
                    _ if escaped => {
                        text.push(c);
                        escaped = false;
                    }
                    '\\' => escaped = true,
                    '"' => {
                        end = at;
                        break;
                    }
                    _ => text.push(c),
                }
            }
            (text, quoted[end..].split_once(';').map_or("", |(_, next)| next))
        } else {
            let (text, next) = after.split_once(';').unwrap_or((after, ""));
            (text.trim().to_owned(), next)
        };
        found.push((name.trim().to_owned(), value));
        rest = next;
    }
    found
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let coded = match (first, tail) {
            (b'%', [a, b, ..]) => {
                let hex = |digit: u8| char::from(digit).to_digit(16);
                hex(*a).zip(hex(*b)).and_then(|(a, b)| u8::try_from(a * 16 + b).ok())
            }
            _ => None,
        };
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

/// The last part of an address.
fn last_segment(at: &Url) -> Option<String> {
    let last = at.path_segments()?.next_back()?;
    clean(&String::from_utf8_lossy(&percent_decoded(last)))
}

/// A name without folders and without what no name has.
fn clean(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let name = name.trim().trim_start_matches('.').to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_name_that_the_site_gives_it() {
        for (disposition, expected) in [
            ("attachment; filename=\"a; b.pdf\"", Some("a; b.pdf")),
            ("attachment; filename=plain.pdf; size=3", Some("plain.pdf")),
            ("attachment; filename=x.txt; filename*=UTF-8''na%C3%AFve%20file.txt", Some("naïve file.txt")),
            ("attachment; filename=\"..\\\\..\\\\etc/passwd\"", Some("passwd")),
            ("inline", None),
            ("attachment; filename=\"\"", None),
        ] {
            assert_eq!(named(disposition).as_deref(), expected, "{disposition}");
        }
        let last = |at: &str| last_segment(&Url::parse(at).unwrap());
        assert_eq!(last("http://x/a/my%20map.png?x=1").as_deref(), Some("my map.png"));
        assert_eq!(last("http://x/"), None);
    }
}
