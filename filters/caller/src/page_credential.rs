//! Finds API keys of Frontdesk in the `Authorization` lines of a page request, also where they are spelled in a way that
//! no agent endpoint accepts (`Token KEY`, `KEY`, `Bearer "KEY"`). The site must not learn them.
//!
//! What could be a key and is none counts as a guess. Otherwise the site's answer would tell which of many guesses is
//! right: the site does not see the right one. So a value counts only if its form is one that keys are sent in; passwords,
//! signatures and other values that change with each request do not.

/// Schemes of the site's own credentials: passwords, and values that change with each request.
const OF_THE_SITE: [&[u8]; 5] = [b"basic", b"digest", b"negotiate", b"ntlm", b"kerberos"];
/// Names that a key may have inside of a value: `Token token="KEY"`.
const NAMES: [&[u8]; 7] = [b"token", b"key", b"apikey", b"api-key", b"api_key", b"access_token", b"bearer"];
/// How many parts of a `Bearer` line are looked at.
const MOST_PARTS: usize = 8;
/// Lines of other schemes with more parts are signatures and the like.
const MOST_PARTS_OF_OTHERS: usize = 3;
/// How many values of all lines are looked at.
const MOST: usize = 16;

/// What a page request's `Authorization` holds.
#[derive(Debug, PartialEq, Eq)]
pub enum OnPage<'h> {
    /// An API key that is known here.
    Ours,
    /// The site's own, or wrong guesses.
    Other(Vec<&'h [u8]>),
}

/// What is in these `Authorization` lines; `None`: nothing that could be an API key.
pub(super) fn of_lines<'h>(
    lines: impl Iterator<Item = &'h [u8]>,
    is_ours: impl Fn(&[u8]) -> bool,
) -> Option<OnPage<'h>> {
    let all: Vec<&[u8]> = lines.flat_map(values).take(MOST).collect();
    if all.iter().any(|value| spellings(value).any(&is_ours)) {
        return Some(OnPage::Ours);
    }
    let others: Vec<_> = all.into_iter().filter(|value| !spellings(value).any(is_jwt)).collect();
    (!others.is_empty()).then_some(OnPage::Other(others))
}

/// The values in a line that could be an API key.
fn values(line: &[u8]) -> Vec<&[u8]> {
    let line = line.trim_ascii();
    let mut parts: Vec<&[u8]> = line.split(|byte| is_separator(*byte)).filter(|part| !part.is_empty()).collect();
    let Some(first) = parts.first().copied() else { return Vec::new() };
    let is_bearer = is_bearer(first);
    if is_bearer {
        parts.truncate(MOST_PARTS);
    } else if parts.len() > MOST_PARTS_OF_OTHERS || OF_THE_SITE.iter().any(|scheme| first.eq_ignore_ascii_case(scheme))
    {
        return Vec::new();
    }
    if parts.len() > 1 {
        parts.remove(0);
    } else if is_bearer_word(first) {
        return Vec::new();
    }
    // `account:signature`, `a=b&c=d`.
    let is_signature = |part: &&[u8]| part.iter().any(|byte| matches!(byte, b':' | b'&')) && after_name(part).is_none();
    if !is_bearer && parts.iter().any(is_signature) {
        return Vec::new();
    }
    // Of several parameters, those with other names are no keys.
    let is_list = !is_bearer && parts.len() > 1;
    let is_value = |part: &&[u8]| !(is_bearer_word(part) || is_list && is_parameter(part));
    let mut values: Vec<&[u8]> = parts.into_iter().filter(is_value).collect();
    // As an agent endpoint reads it, whatever is in it.
    let whole = line.get(first.len()..).unwrap_or_default().trim_ascii();
    if is_bearer && !whole.is_empty() && values.first() != Some(&whole) {
        values.insert(0, whole);
    }
    values
}

/// The ways in which a value may be meant.
fn spellings(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let named = after_name(value).unwrap_or(value);
    [value, named, unquoted(named)].into_iter()
}

/// Without quotes and punctuation around it.
fn unquoted(value: &[u8]) -> &[u8] {
    let is_around = |byte: &u8| matches!(byte, b'"' | b'\'' | b':' | b'.' | b'<' | b'>' | b'(' | b')' | b'[' | b']');
    let begin = value.iter().position(|byte| !is_around(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_around(byte)).map_or(begin, |last| last + 1);
    value.get(begin..end).unwrap_or_default()
}

/// The value of `token=value` and `Bearer:value`.
fn after_name(part: &[u8]) -> Option<&[u8]> {
    let at = part.iter().position(|byte| matches!(byte, b'=' | b':'))?;
    let (name, value) = part.split_at(at);
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)).then(|| &value[1..])
}

/// Whether a part is `name=value` with a name that no key has. A `=` at the end belongs to the value.
fn is_parameter(part: &[u8]) -> bool {
    let value = part.iter().position(|byte| *byte == b'=').and_then(|at| part.get(at + 1..));
    value.is_some_and(|value| value.iter().any(|byte| *byte != b'=')) && after_name(part).is_none()
}

fn is_bearer(first: &[u8]) -> bool {
    is_bearer_word(first)
        || first.get(..7).is_some_and(|start| {
            start[..6].eq_ignore_ascii_case(b"bearer") && matches!(start[6], b':' | b'=' | b'"' | b'\'')
        })
}

fn is_bearer_word(part: &[u8]) -> bool {
    unquoted(part).eq_ignore_ascii_case(b"bearer")
}

/// A JWT is never a guess: it cannot be an API key's value by chance.
fn is_jwt(value: &[u8]) -> bool {
    value.starts_with(b"eyJ") && value.iter().filter(|byte| **byte == b'.').count() == 2
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b';' | 0..=b' ' | 0x7f..)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k3y-With_=chars==";

    fn found<'h>(lines: &[&'h str]) -> Option<OnPage<'h>> {
        of_lines(lines.iter().map(|line| line.as_bytes()), |value| value == KEY.as_bytes())
    }

    #[test]
    fn a_key_is_found_in_every_spelling() {
        for form in [
            "Bearer KEY",
            "bearer  KEY ",
            "Bearer\tKEY",
            "Bearer \"KEY\"",
            "Bearer KEY,",
            "Bearer KEY;x",
            "Bearer x, Bearer KEY",
            "Bearer: KEY",
            "Bearer:KEY",
            "Bearer=KEY",
            "Bearer token=KEY",
            "Bearer \u{a0}KEY",
            "Bearer KEY\u{a0}",
            "Bearer Bearer KEY",
            "KEY",
            "\"KEY\"",
            "Token KEY",
            "token token=KEY",
            "Token token=\"KEY\"",
            "Token token=\"KEY\", nonce=\"x\"",
            "ApiKey KEY",
            "Api-Key: KEY",
            "Key KEY",
            "key=KEY",
            "Unheard-Of KEY",
        ] {
            let line = form.replace("KEY", KEY);
            assert_eq!(found(&[&line]), Some(OnPage::Ours), "{line}");
            assert_eq!(found(&["Basic dTpw", &line]), Some(OnPage::Ours), "{line}");
            let other = form.replace("KEY", "another");
            assert!(matches!(found(&[&other]), Some(OnPage::Other(_))), "a wrong one is a guess: {other}");
        }
    }

    #[test]
    fn what_the_site_may_want_is_no_guess() {
        for line in [
            "",
            "Bearer",
            "Bearer eyJhbGciOiJub25lIn0.e30.x",
            "Basic dXNlcjpwYXNz",
            "Digest username=\"a\", realm=\"b\", nonce=\"c\"",
            "Negotiate YII=",
            "NTLM TlRMTVNTUAAB",
            "SharedKey account:c2lnbmF0dXJl",
            "AWS AKID:c2lnbmF0dXJl",
            "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c",
            "HMAC-SHA256 Credential=a&SignedHeaders=b&Signature=c",
            "Hawk id=\"a\", ts=\"1\", nonce=\"b\", mac=\"c\"",
            "Signature keyId=\"a\", signature=\"b\"",
            "DPoP eyJhbGciOiJub25lIn0.e30.x",
        ] {
            assert_eq!(found(&[line]), None, "{line}");
        }
    }

    #[test]
    fn every_guess_counts() {
        let lines = ["Bearer a", "Token b", "Bearer c, d", "Bearer eyJh.e30.x"];
        let Some(OnPage::Other(guesses)) = found(&lines) else { panic!("guesses") };
        assert_eq!(guesses, [&b"a"[..], b"b", b"c, d", b"c", b"d"]);
        let many = "Bearer x".to_owned();
        let lines: Vec<&str> = (0..100).map(|_| many.as_str()).collect();
        assert!(matches!(found(&lines), Some(OnPage::Other(guesses)) if guesses.len() == MOST));
    }
}
