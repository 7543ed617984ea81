//! Parses `Accept`: the media type that a client prefers, and whether it names the type itself.
//!
//! It works on the bytes of a line without allocating, because it runs for every page request.

use std::borrow::Cow;

use http::{HeaderMap, header};

use crate::text::{joined, parts, unquoted};

/// The client's `Accept`, all lines joined.
pub fn of(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    // An empty value names nothing and so rules out nothing (RFC 9110 §12.5.1).
    joined(headers, header::ACCEPT).filter(|accept| accept.contains(|c: char| c != ',' && !c.is_whitespace()))
}

/// One member of an `Accept` header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member<'a> {
    /// `type/subtype` as written, trimmed.
    pub media: &'a str,
    /// The parameters as written, from the first `;` on, weight included.
    pub parameters: &'a str,
    /// Weight in thousandths, 0 to 1000. An unreadable weight counts as 1000.
    pub weight: u16,
}

impl<'a> Member<'a> {
    /// The value of a parameter, unquoted, by its case-insensitive name.
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        parts(self.parameters, b';').find_map(|p| {
            let (key, value) = p.split_once('=')?;
            key.trim().eq_ignore_ascii_case(name).then(|| unquoted(value.trim()))
        })
    }

    /// Whether this member accepts a media type, by name or by wildcard.
    pub fn admits(&self, media: &str) -> bool {
        if self.media.eq_ignore_ascii_case(media) || self.media == "*/*" {
            return true;
        }
        match (self.media.strip_suffix("/*"), media.split_once('/')) {
            (Some(range), Some((kind, _))) => range.eq_ignore_ascii_case(kind),
            _ => false,
        }
    }
}

/// The members of one `Accept` value, in the order written.
pub fn members(value: &str) -> impl Iterator<Item = Member<'_>> {
    parts(value, b',').filter_map(|member| {
        let (media, parameters) = match member.find(';') {
            Some(at) => (&member[..at], &member[at + 1..]),
            None => (member, ""),
        };
        let media = media.trim();
        if media.is_empty() {
            return None;
        }
        let mut out = Member { media, parameters, weight: 1000 };
        if !parameters.is_empty() {
            out.weight = out.parameter("q").map_or(1000, weight);
        }
        Some(out)
    })
}

fn weight(text: &str) -> u16 {
    match text.parse::<f32>() {
        Ok(q) if (0.0..=1.0).contains(&q) => (q * 1000.0).round() as u16,
        _ => 1000,
    }
}

/// The media type or range of the most preferred member (RFC 9110 §12.5.1). Of equal weights the first wins.
pub fn preferred(accept: &str) -> Option<&str> {
    let mut best: Option<Member<'_>> = None;
    for member in members(accept) {
        if member.weight > 0 && best.is_none_or(|b| member.weight > b.weight) {
            best = Some(member);
        }
    }
    best.map(|best| best.media)
}

/// Whether the most preferred member names exactly this media type; a wildcard does not count.
pub fn prefers_explicitly(accept: &str, media: &str) -> bool {
    preferred(accept).is_some_and(|preferred| preferred.eq_ignore_ascii_case(media))
}

/// Whether a media type is named with a weight above zero; wildcards do not count.
pub fn names(accept: &str, media: &str) -> bool {
    members(accept).any(|m| m.weight > 0 && m.media.eq_ignore_ascii_case(media))
}

/// Whether a media type is named with weight zero.
pub fn rules_out(accept: &str, media: &str) -> bool {
    members(accept).any(|m| m.weight == 0 && m.media.eq_ignore_ascii_case(media))
}

/// The weight of a media type by its most specific member; 0 where none accepts it.
pub fn weight_of(accept: &str, media: &str) -> u16 {
    let mut best = (0u8, 0u16);
    for member in members(accept).filter(|m| m.admits(media)) {
        let precision = match member.media {
            "*/*" => 1,
            m if m.ends_with("/*") => 2,
            _ => 3,
        };
        if precision > best.0 {
            best = (precision, member.weight);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_first_choice_is_told_from_a_wildcard() {
        let agent = "application/agent+json";
        assert!(prefers_explicitly("application/agent+json", agent));
        assert!(prefers_explicitly("text/html;q=0.5, Application/Agent+JSON", agent));
        assert!(prefers_explicitly("application/agent+json, */*;q=0.1", agent));
        assert!(prefers_explicitly("application/agent+json;v=1;q=0.9, text/html;q=0.8", agent));
        assert!(!prefers_explicitly("*/*", agent));
        assert!(!prefers_explicitly("text/html, application/agent+json", agent));
        assert!(!prefers_explicitly("text/html, application/agent+json;q=0.5", agent));
        assert!(!prefers_explicitly("application/agent+json;q=0", agent));
        assert!(!prefers_explicitly("application/*", agent));
        assert!(!prefers_explicitly("", agent));
    }

    #[test]
    fn the_most_specific_member_weighs() {
        assert_eq!(weight_of("*/*;q=0.1, text/*;q=0.5, text/html;q=0", "text/html"), 0);
        assert_eq!(weight_of("*/*;q=0.1, text/*;q=0.5", "text/html"), 500);
        assert_eq!(weight_of("application/json", "text/html"), 0);
        assert_eq!(weight_of("text/html;q=oops", "text/html"), 1000);
    }

    #[test]
    fn parameters_are_found_by_name() {
        let m = members("application/aicp+toml; Version=\"9.9\"; q=0.3").next().unwrap();
        assert_eq!(m.parameter("version"), Some("9.9"));
        assert_eq!(m.weight, 300);
    }

    #[test]
    fn what_is_quoted_is_no_member_and_no_weight() {
        let mut all = members("text/html;a=\"x;q=0, */*\";q=0.5, text/plain");
        let m = all.next().unwrap();
        assert_eq!((m.media, m.weight, m.parameter("a")), ("text/html", 500, Some("x;q=0, */*")));
        assert_eq!(all.map(|m| m.media).collect::<Vec<_>>(), ["text/plain"]);
    }
}
