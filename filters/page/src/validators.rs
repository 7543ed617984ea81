//! Entity tags of pages that carry something of ours (decision 3).
//!
//! A page's tag is weakened and tagged with a hash of what was inserted, and translated back on its way to the site:
//! a changed notice must beat a 304, and the site must still recognise its own tag.
//! Shape: `W/"<the site's opaque tag>;fd=<hash><kind>"`, where kind is `s` or `w` for a strong or weak tag of the
//! site's, and `n` for none: then the opaque part is the page's Last-Modified in seconds.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderName, header};

/// What promises something about the very bytes of a body, and is not true of others.
pub static OF_BYTES: [HeaderName; 5] = [
    header::ACCEPT_RANGES,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// Between the site's opaque tag and our hash.
const MARK: &str = ";fd=";

/// The tag of a rewritten page, from the site's own (`ETag` as received) or from its `Last-Modified`.
/// `None` when the page has neither, or a tag that is not one.
pub fn tagged(etag: Option<&str>, last_modified: Option<&str>, hash: &str) -> Option<String> {
    if let Some(etag) = etag {
        let (weak, opaque) = parse(etag)?;
        return Some(["W/\"", opaque, MARK, hash, if weak { "w\"" } else { "s\"" }].concat());
    }
    let seconds = httpdate::parse_http_date(last_modified?).ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(format!("W/\"{seconds:x}{MARK}{hash}n\""))
}

/// A tag of ours, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    /// The site's own tag as it wrote it; `None` when it had only a Last-Modified.
    pub original: Option<String>,
    /// The page's Last-Modified as an HTTP date, when that is all the site had.
    pub last_modified: Option<String>,
    /// Hash of what had been inserted.
    pub hash: String,
}

/// Takes one entity tag apart if it is one of ours.
pub fn ours(tag: &str) -> Option<Ours> {
    let (_, opaque) = parse(tag)?;
    let at = opaque.rfind(MARK)?;
    let (original, rest) = (&opaque[..at], &opaque[at + MARK.len()..]);
    let kind = rest.chars().last().filter(char::is_ascii)?;
    let hash = rest[..rest.len() - 1].to_owned();
    let ours = |original, last_modified| Some(Ours { original, last_modified, hash: hash.clone() });
    match kind {
        's' => ours(Some(format!("\"{original}\"")), None),
        'w' => ours(Some(format!("W/\"{original}\"")), None),
        'n' => {
            let seconds = u64::from_str_radix(original, 16).ok().filter(|s| *s < 253_402_300_800)?;
            ours(None, Some(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))))
        }
        _ => None,
    }
}

/// What a conditional request becomes on its way to the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conditions {
    /// Nothing of ours in it: as it came.
    AsSent,
    /// It carries a current tag of ours: `If-None-Match` becomes this (`None`: removed), and `If-Modified-Since`
    /// becomes this where the site has no tags. A 304 to it is to be tagged again, with `matched` if it has no tag.
    Translated { if_none_match: Option<String>, if_modified_since: Option<String>, matched: String },
    /// What the client holds carries something else than what would be inserted now: ask anew.
    Unconditional,
}

/// Translates `If-None-Match`. `hash` is that of the current insertion, `None` when pages are not touched.
pub fn if_none_match(value: &str, hash: Option<&str>) -> Conditions {
    let mut originals: Vec<String> = Vec::new();
    let mut matched = None;
    let mut modified_since = None;
    let mut stale = false;
    for tag in tags(value) {
        match ours(tag) {
            Some(o) if Some(o.hash.as_str()) == hash => {
                matched.get_or_insert_with(|| tag.to_owned());
                modified_since = modified_since.or(o.last_modified);
                originals.extend(o.original);
            }
            Some(_) => stale = true,
            // Beside one of ours it is not sent up: a 304 to it would be taken for one to ours.
            None => {}
        }
    }
    match matched {
        Some(matched) => Conditions::Translated {
            if_none_match: (!originals.is_empty()).then(|| originals.join(", ")),
            if_modified_since: modified_since,
            matched,
        },
        None if stale => Conditions::Unconditional,
        None => Conditions::AsSent,
    }
}

/// Translates `If-Match`: the site's own tags, whatever had been inserted (a write concerns the site's page, not the
/// notice in it). `None` when nothing of ours is in it.
pub fn if_match(value: &str) -> Option<String> {
    let mut any = false;
    let translated: Vec<String> = tags(value)
        .map(|tag| match ours(tag).and_then(|o| o.original) {
            Some(original) => {
                any = true;
                original
            }
            None => tag.to_owned(),
        })
        .collect();
    any.then(|| translated.join(", "))
}

/// The entity tags of a list; commas inside quotes belong to the tag.
fn tags(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return None;
        }
        let open = rest.find('"').filter(|&i| rest[..i].trim() == "W/" || i == 0);
        let end = match open {
            Some(open) => rest[open + 1..].find('"').map_or(rest.len(), |close| open + 1 + close + 1),
            None => rest.find(',').unwrap_or(rest.len()),
        };
        let (tag, after) = rest.split_at(end);
        rest = after;
        Some(tag.trim())
    })
}

/// Whether the tag is weak, and its opaque part (RFC 9110 §8.8.3).
fn parse(tag: &str) -> Option<(bool, &str)> {
    let tag = tag.trim();
    let (weak, quoted) = match tag.strip_prefix("W/") {
        Some(rest) => (true, rest),
        None => (false, tag),
    };
    let opaque = quoted.strip_prefix('"')?.strip_suffix('"')?;
    (!opaque.contains('"')).then_some((weak, opaque))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_remembers_what_it_was() {
        for original in ["\"abc\"", "W/\"abc\"", "\"\"", "\"a,b\"", "\"x;fd=y\""] {
            let tag = tagged(Some(original), None, "12ab").unwrap();
            assert!(tag.starts_with("W/\""), "{tag}");
            let o = ours(&tag).unwrap();
            assert_eq!((o.original.as_deref(), o.hash.as_str()), (Some(original), "12ab"));
        }
        let date = "Sat, 21 Nov 2026 10:00:00 GMT";
        let tag = tagged(None, Some(date), "12ab").unwrap();
        assert_eq!(ours(&tag).unwrap().last_modified.as_deref(), Some(date));
        assert_eq!(tagged(None, None, "12ab"), None);
        assert_eq!(tagged(Some("unquoted"), Some(date), "12ab"), None);
        assert_eq!(ours("\"abc\""), None);
    }

    #[test]
    fn a_current_tag_is_translated_and_a_stale_one_asks_anew() {
        let current = tagged(Some("\"a\""), None, "now").unwrap();
        let stale = tagged(Some("\"a\""), None, "old").unwrap();
        let Conditions::Translated { if_none_match: inm, matched, .. } =
            if_none_match(&format!("\"z\", {current}"), Some("now"))
        else {
            panic!("not translated")
        };
        assert_eq!(inm.as_deref(), Some("\"a\""));
        assert_eq!(matched, current);
        assert_eq!(if_none_match(&stale, Some("now")), Conditions::Unconditional);
        assert_eq!(if_none_match(&current, None), Conditions::Unconditional);
        assert_eq!(if_none_match("\"a\", W/\"b\"", Some("now")), Conditions::AsSent);
        assert_eq!(if_none_match("*", Some("now")), Conditions::AsSent);
        let modified = tagged(None, Some("Sat, 21 Nov 2026 10:00:00 GMT"), "now").unwrap();
        let Conditions::Translated { if_none_match: None, if_modified_since: Some(since), .. } =
            if_none_match(&modified, Some("now"))
        else {
            panic!("not translated")
        };
        assert_eq!(since, "Sat, 21 Nov 2026 10:00:00 GMT");
    }

    #[test]
    fn a_write_is_bound_to_the_sites_own_tag() {
        let tag = tagged(Some("\"a,b\""), None, "old").unwrap();
        assert_eq!(if_match(&tag).as_deref(), Some("\"a,b\""));
        assert_eq!(if_match("\"a\""), None);
        assert_eq!(if_match("*"), None);
    }

    #[test]
    fn lists_are_cut_at_commas_outside_quotes() {
        let cut: Vec<&str> = tags("\"a,b\" , W/\"c\",d, \"e").collect();
        assert_eq!(cut, ["\"a,b\"", "W/\"c\"", "d", "\"e"]);
    }
}
