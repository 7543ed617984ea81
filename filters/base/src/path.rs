//! Canonical paths: every decision about a path uses its canonical form (docs/decisions/0016-path-spellings.md).
//!
//! A site may fold `//`, `%2e` or a backslash in its own way. Every spelling that reaches one of our paths there must
//! be recognised here, or it would bypass us. For that a path has a second form, folded as far as any site might
//! (`folded`).

mod folded;
mod unfold;

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

pub use folded::{Folded, folded_segment, is_short_for};

/// A request's path in its forms.
#[derive(Debug, Clone)]
pub struct Path<'t> {
    /// As sent, query included.
    pub target: &'t str,
    /// The result of [`canonical`].
    pub canonical: Cow<'t, str>,
    /// `None`: the same as the canonical form.
    pub folded: Option<Folded>,
}

impl<'t> Path<'t> {
    /// The forms of a request's target.
    pub fn of(target: &'t str) -> Self {
        let path = without_query(target);
        let folded = is_folded_differently(path).then(|| Folded::of(path));
        Self { target, canonical: canonical(path), folded }
    }

    /// Whether its `..` segments could resolve differently at different sites.
    pub fn is_tangled(&self) -> bool {
        self.folded.as_ref().is_some_and(Folded::is_tangled)
    }
}

/// Whether the folded form may differ from the canonical one. One pass over the bytes, no allocation.
fn is_folded_differently(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'.' => matches!(bytes.get(at + 1), None | Some(b'/')),
        b'%' | b'\\' | b';' | b':' | b'~' | b'A'..=b'Z' | 0..=b' ' | 0x7f.. => true,
        _ => false,
    })
}

/// The canonical form of a request path: percent-decoded once, backslashes as slashes, `;parameters` cut from each
/// segment and blanks from its end, empty, `.` and `..` segments collapsed, no trailing slash except for the root,
/// query and fragment cut.
///
/// Borrows when the path is already canonical, which is the common case.
pub fn canonical(path: &str) -> Cow<'_, str> {
    let path = without_query(path);
    if is_canonical(path) {
        return Cow::Borrowed(path);
    }
    // Decoded once. Invalid UTF-8 is replaced, which none of our paths contains.
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    // A site written in C may stop reading at a NUL.
    let decoded = decoded.split('\0').next().unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        let segment = segment.split(';').next().unwrap_or("");
        let segment = segment.trim_end_matches(|c: char| c.is_control() || c == ' ');
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let mut canonical = String::with_capacity(decoded.len());
    for segment in kept {
        canonical.push('/');
        canonical.push_str(segment);
    }
    if canonical.is_empty() {
        canonical.push('/');
    }
    Cow::Owned(canonical)
}

/// A request's target up to its query, or to a misplaced fragment.
fn without_query(target: &str) -> &str {
    &target[..memchr::memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len())]
}

/// The ways in which a site may split a path that is not canonical: an encoded slash, a backslash, and the part after
/// a semicolon may each belong to a segment. Empty where there is only one way.
pub fn readings(target: &str) -> Vec<Vec<Cow<'_, str>>> {
    let path = without_query(target);
    if memchr::memchr3(b'%', b'\\', b';', path.as_bytes()).is_none() {
        return Vec::new();
    }
    let ways = [(true, true), (true, false), (false, true), (false, false)];
    ways.into_iter().map(|(backslash, semicolon)| segments(path, backslash, semicolon)).collect()
}

fn segments(path: &str, backslash: bool, semicolon: bool) -> Vec<Cow<'_, str>> {
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    for segment in path.split(|c| c == '/' || backslash && c == '\\') {
        let segment = if semicolon { segment.split(';').next().unwrap_or("") } else { segment };
        let segment = percent_decode_str(segment).decode_utf8_lossy();
        match segment.as_ref() {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    kept
}

/// The decoded value of a placeholder; `None` where a site might read its spelling differently.
pub fn value(sent: &str) -> Option<String> {
    let decoded = percent_decode_str(sent).decode_utf8().ok()?;
    let escapes = sent.match_indices('%').all(|(at, _)| {
        sent.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let plain = !sent.contains([';', '\\']) && !decoded.chars().any(char::is_control);
    (escapes && plain && !matches!(&*decoded, "" | "." | "..")).then(|| decoded.into_owned())
}

/// Whether the path is canonical already. One pass over the bytes, no allocation.
fn is_canonical(path: &str) -> bool {
    let bytes = path.as_bytes();
    if bytes.first() != Some(&b'/') {
        return false;
    }
    if bytes.len() == 1 {
        return true;
    }
    if bytes.last() == Some(&b'/') {
        return false;
    }
    let mut start = true;
    for (i, &b) in bytes.iter().enumerate() {
        match b {
            b'/' => {
                if start && i > 0 {
                    return false;
                }
                start = true;
            }
            b'%' | b'\\' | b';' => return false,
            b'.' if start => {
                let rest = &bytes[i..];
                let len = rest.iter().position(|&b| b == b'/').unwrap_or(rest.len());
                if rest[..len].iter().all(|&b| b == b'.') && len <= 2 {
                    return false;
                }
                start = false;
            }
            _ => start = false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_endpoint_have_one_canonical_form() {
        for spelling in [
            "/.well-known/agent.json",
            "//.well-known/agent.json",
            "/.well-known//agent.json",
            "/./.well-known/agent.json",
            "/x/../.well-known/agent.json",
            "/.well-known/agent.json/",
            "/.well-known/agent.json//",
            "/.well-known/agent.json/.",
            "/.well-known/agent.json;v=1",
            "/.well-known;x/agent.json",
            "/%2ewell-known/agent.json",
            "/.well%2dknown/agent.json",
            "/.well-known%2fagent.json",
            "/.well-known%2Fagent.json",
            "/.well-known\\agent.json",
            "/.well-known%5cagent.json",
            "/.well-known/%61gent.json",
            "/../.well-known/agent.json",
            "/%2e%2e/.well-known/agent.json",
            "/.well-known/agent.json?x=1",
            "/.well-known/agent.json#x",
            "/.well-known/x/../agent.json",
            "/.well-known/x/%2e%2e/agent.json",
            "\\.well-known\\agent.json",
            "/a/b/../../.well-known/agent.json",
            "/.well-known/agent.json%00.html",
            "/.well-known/agent.json%0a",
            "/.well-known%20/agent.json%20",
        ] {
            assert_eq!(canonical(spelling), "/.well-known/agent.json", "{spelling}");
        }
    }

    #[test]
    fn decoding_happens_once_and_other_paths_stay_apart() {
        assert_eq!(canonical("/%252ewell-known/agent.json"), "/%2ewell-known/agent.json");
        assert_eq!(canonical("/.well-known/agent.jsonx"), "/.well-known/agent.jsonx");
        assert_eq!(canonical("/.Well-Known/agent.json"), "/.Well-Known/agent.json");
        assert_eq!(canonical("/%zz"), "/%zz");
        assert_eq!(canonical("/.../x"), "/.../x");
        assert_eq!(canonical(""), "/");
        assert_eq!(canonical("*"), "/*");
    }

    #[test]
    fn a_canonical_path_is_borrowed() {
        for path in ["/", "/a/b", "/.well-known/agent.json", "/a.b/..c"] {
            assert!(matches!(canonical(path), Cow::Borrowed(_)), "{path}");
        }
    }
}
