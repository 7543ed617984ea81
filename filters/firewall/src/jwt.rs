//! Finds JSON Web Tokens (RFC 7519): three parts, the first of which is a valid header.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// `{"` in base64url, with which every header begins.
pub(super) const ANCHOR: &str = "eyJ";

/// Maximum bytes of a header.
const HEADER: usize = 2048;
/// Maximum bytes of a token. The stream scanner takes a longer one up to here and on to its end.
pub(super) const LONGEST: usize = 16 * 1024;

/// The end of a token that begins at `start`.
pub(super) fn confirm(text: &[u8], start: usize) -> Option<usize> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if start.checked_sub(1).is_some_and(|at| letter(text[at]) || text[at] == b'.') || !text[start..].starts_with(b"eyJ")
    {
        return None;
    }
    let part = |at: usize, most: usize| text[at..].iter().take(most).take_while(|byte| letter(**byte)).count();
    let header = part(start, HEADER);
    let is_header = || {
        let decoded = URL_SAFE_NO_PAD.decode(&text[start..start + header]).ok()?;
        let value: serde_json::Value = serde_json::from_slice(&decoded).ok()?;
        (value.get("alg").is_some() || value.get("typ").is_some()).then_some(())
    };
    let second = start + header;
    if header < 12 || text.get(second) != Some(&b'.') {
        return None;
    }
    let payload = part(second + 1, LONGEST);
    let third = second + 1 + payload;
    if payload < 4 || text.get(third) != Some(&b'.') {
        return None;
    }
    is_header()?;
    let mut end = third + 1 + part(third + 1, LONGEST);
    // An encrypted token has five parts.
    for _ in 0..2 {
        let more = if text.get(end) == Some(&b'.') { part(end + 1, LONGEST) } else { 0 };
        end += if more >= 8 { more + 1 } else { 0 };
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_to_be_one() {
        let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
        assert_eq!(confirm(format!("{token}.").as_bytes(), 0), Some(token.len()));
        assert_eq!(confirm(format!("x {token} y").as_bytes(), 2), Some(token.len() + 2));
        // {"foo":"bar"} is no header, two parts are no token, nor is a part of another word.
        assert_eq!(confirm(b"eyJmb28iOiJiYXIifQ.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", 0), None);
        assert_eq!(confirm(b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", 0), None);
        assert_eq!(confirm(format!("a{token}").as_bytes(), 1), None);
    }
}
