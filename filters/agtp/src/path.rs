//! The grammar of paths (AGTP-API §5), as far as requests must follow it.
//!
//! The path names a thing and the verb before it the action, so a verb in the path is an error. Segments are decoded
//! once and checked after that. A segment that a site could split into several is refused, because the site's paths
//! are built from these values.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::catalog::Catalog;

/// Maximum inputs in a query.
const MAX_INPUTS: usize = 256;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// As it was sent, without the query.
    pub path: Cow<'a, str>,
    /// Decoded; none for `/`.
    pub segments: Vec<Cow<'a, str>>,
    /// As it was sent, without the `?`.
    pub query: Cow<'a, str>,
}

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// 400: it cannot be read; 460: it can, and is against the grammar.
    pub status: u16,
    pub code: &'static str,
    /// The segment that is to blame, decoded; always there with 460.
    pub segment: Option<String>,
    /// What is the matter with it, as the rest of a sentence that begins with the path.
    pub detail: String,
}

impl Asked<'_> {
    /// The same, of nothing but itself.
    pub fn alone(self) -> Asked<'static> {
        let segments = self.segments.into_iter().map(|segment| Cow::Owned(segment.into_owned())).collect();
        Asked { path: self.path.into_owned().into(), segments, query: self.query.into_owned().into() }
    }
}

impl PathError {
    fn malformed(detail: impl Into<String>) -> Self {
        Self { status: 400, code: "invalid-request-line", segment: None, detail: detail.into() }
    }

    pub(super) fn violation(segment: &str, detail: impl Into<String>) -> Self {
        Self { status: 460, code: "endpoint-violation", segment: Some(segment.into()), detail: detail.into() }
    }
}

/// Parses the target of a request: a path and an optional query.
///
/// # Errors
///
/// The first malformed part (400), else the first violation of the grammar (460).
pub fn read<'a>(target: &'a str, catalog: &Catalog) -> Result<Asked<'a>, PathError> {
    if target.contains('#') {
        return Err(PathError::malformed("has a fragment, which is never sent"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut segments = Vec::new();
    for piece in pieces(path, catalog, false)? {
        if let Piece::Literal(segment) = piece {
            segments.push(segment);
        }
    }
    Ok(Asked { path: path.into(), segments, query: query.into() })
}

/// The inputs in a query (§5.5): decoded once, `+` is literal, the last value of a name counts.
///
/// # Errors
///
/// 400 for an invalid escape, or for too many inputs.
pub fn inputs(query: &str) -> Result<Map<String, Value>, PathError> {
    let mut inputs = Map::new();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    for (count, pair) in pairs.enumerate() {
        if count == MAX_INPUTS {
            return Err(PathError::malformed(format!("has more than {MAX_INPUTS} inputs in its query")));
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        inputs.insert(unescaped(name)?.into_owned(), Value::String(unescaped(value)?.into_owned()));
    }
    Ok(inputs)
}

/// A segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Decoded.
    Literal(Cow<'a, str>),
    /// The name of an input.
    Place(Cow<'a, str>),
}

/// Splits a path. Malformed parts are reported before violations of the grammar, wherever they are, because an unknown
/// verb is reported between the two.
pub(super) fn pieces<'a>(path: &'a str, catalog: &Catalog, declared: bool) -> Result<Vec<Piece<'a>>, PathError> {
    let mut violation = None;
    let rest = path.strip_prefix('/').unwrap_or_else(|| {
        violation = Some(PathError::violation(path.split('/').next().unwrap_or_default(), "must begin with \"/\""));
        path
    });
    let mut pieces = Vec::new();
    let mut segments = rest.split('/').filter(|_| !rest.is_empty()).peekable();
    while let Some(sent) = segments.next() {
        if sent.is_empty() {
            let what = if segments.peek().is_none() { "must not end with \"/\"" } else { "has an empty segment" };
            violation.get_or_insert_with(|| PathError::violation("", what));
            continue;
        }
        if declared && sent.contains(['{', '}']) {
            pieces.push(Piece::Place(place(sent)?.into()));
            continue;
        }
        let segment = segment(sent)?;
        if let Some(verb) = catalog.leaked_by(&segment) {
            violation.get_or_insert_with(|| PathError::violation(&segment, leak(&segment, verb)));
        }
        if segment.contains(['{', '}']) {
            let what = || {
                format!("has the segment \"{segment}\"; braces are for declared paths, send what stands in their place")
            };
            violation.get_or_insert_with(|| PathError::violation(&segment, what()));
        }
        pieces.push(Piece::Literal(segment));
    }
    violation.map_or(Ok(pieces), Err)
}

fn leak(segment: &str, verb: &str) -> String {
    let written = if segment.eq_ignore_ascii_case(verb) { "" } else { " in another spelling" };
    format!(
        "has the segment \"{segment}\", which is the verb {verb}{written}; a path says what, the verb before it what is done"
    )
}

/// The name of a placeholder: a whole segment in braces, without the operators of RFC 6570 (§5.3).
fn place(sent: &str) -> Result<&str, PathError> {
    let name = sent.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let what = || {
        format!(
            "has the segment \"{sent}\"; a place is a segment of its own and its name is of letters, digits and \"_\", \
             as in \"/orders/{{order_id}}\""
        )
    };
    if word { Ok(name) } else { Err(PathError::violation(sent, what())) }
}

/// Decodes a segment.
fn segment(sent: &str) -> Result<Cow<'_, str>, PathError> {
    // RFC 3986 §3.3
    let stands = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%{}".contains(&byte);
    if !sent.bytes().all(stands) {
        return Err(PathError::malformed("has a character that must be written in percent"));
    }
    let segment = unescaped(sent)?;
    // A site could read these as more than one segment; braces are placeholders.
    if matches!(&*segment, "." | "..") || segment.contains(['/', '\\']) || segment.chars().any(char::is_control) {
        return Err(PathError::malformed("has a segment that could be read as more than one, or as none"));
    }
    Ok(segment)
}

/// Decodes once.
fn unescaped(sent: &str) -> Result<Cow<'_, str>, PathError> {
    let bytes = sent.as_bytes();
    let escape = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    if !sent.match_indices('%').all(|(at, _)| escape(at)) {
        return Err(PathError::malformed("has a \"%\" without two hex digits behind it"));
    }
    percent_decode_str(sent).decode_utf8().map_err(|_| PathError::malformed("is not UTF-8 when it is decoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(target: &str) -> (u16, Option<String>) {
        let wrong = read(target, &Catalog::built_in()).expect_err(target);
        (wrong.status, wrong.segment)
    }

    #[test]
    fn what_is_asked_for_is_taken_apart_and_decoded_once() {
        let catalog = Catalog::built_in();
        let asked = read("/orders/a%2520b/caf%C3%A9?q=1?2", &catalog).unwrap();
        assert_eq!((&*asked.path, &*asked.query), ("/orders/a%2520b/caf%C3%A9", "q=1?2"));
        assert_eq!(asked.segments, ["orders", "a%20b", "café"]);
        for root in ["/", "/?a=b"] {
            assert!(read(root, &catalog).unwrap().segments.is_empty(), "{root}");
        }
        // Neither the query nor a part of a segment is judged.
        for fine in
            ["/flights?search=list", "/search-results", "/x/a;b=c", "/.well-known", "/_agtp", "/searches", "/a/.../b"]
        {
            assert!(read(fine, &catalog).is_ok(), "{fine}");
        }
    }

    #[test]
    fn a_verb_in_a_path_is_refused_however_it_is_spelled() {
        for (target, segment) in [
            ("/search", "search"),
            ("/check-out", "check-out"),
            ("/C_h-e_cK-oUt", "C_h-e_cK-oUt"),
            ("/%67et", "get"),
            ("/orders/7/c%61ncel", "cancel"),
            ("/orders/-book-", "-book-"),
            ("/a/patch/search", "patch"),
            ("/{id}", "{id}"),
            ("/a/%7Bid%7D", "{id}"),
        ] {
            assert_eq!(refused(target), (460, Some(segment.into())), "{target}");
        }
    }

    #[test]
    fn empty_segments_are_refused_as_such() {
        for target in ["/orders/", "//", "/a//b", "//a", "/a/?q"] {
            assert_eq!(refused(target), (460, Some(String::new())), "{target}");
        }
        assert_eq!(refused("orders/7"), (460, Some("orders".into())));
        assert_eq!(refused(""), (460, Some(String::new())));
    }

    #[test]
    fn what_cannot_be_read_is_malformed_before_it_is_against_the_grammar() {
        for target in [
            "/a#b",
            "/a?b#c",
            "/%",
            "/%4",
            "/%zz",
            "/%ff",
            "/a%2fb",
            "/a%5Cb",
            "/a\\b",
            "/a%00",
            "/a%0ab",
            "/%7F",
            "/.",
            "/..",
            "/a/%2e%2E/b",
            "/%2e",
            "/a b",
            "/café",
            "/a\"b",
            "/%C2%85",
            "/search/%zz",
            "/a//..",
        ] {
            assert_eq!(refused(target), (400, None), "{target}");
        }
    }

    #[test]
    fn a_query_is_decoded_once_and_its_last_word_counts() {
        let read = inputs("a=1&b=x+y&a=2&c=%2541&d&&e=a=b&caf%C3%A9=%0A").unwrap();
        let expected = serde_json::json!({"a": "2", "b": "x+y", "c": "%41", "d": "", "e": "a=b", "café": "\n"});
        assert_eq!(Value::Object(read), expected);
        for wrong in ["a=%", "a=%f", "%g0=1", "a=%FF"] {
            assert_eq!(inputs(wrong).map_err(|wrong| wrong.status), Err(400), "{wrong}");
        }
        assert!(inputs(&"a&".repeat(MAX_INPUTS)).is_ok());
        assert_eq!(inputs(&"a&".repeat(MAX_INPUTS + 1)).map_err(|wrong| wrong.status), Err(400));
    }
}
