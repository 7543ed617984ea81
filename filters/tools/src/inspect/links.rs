//! Extracts links by relation from a page or a `Link` header.
//!
//! The input is untrusted; unreadable parts are skipped.

use frontdesk_base::text::{outside_quotes, parts, unquoted};

/// A link to something beside the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Lower case; several are separated by spaces.
    pub(super) rel: String,
    pub(super) target: String,
}

impl Link {
    /// Whether this is one of its relations.
    pub(super) fn is(&self, rel: &str) -> bool {
        self.rel.split_ascii_whitespace().any(|one| one == rel)
    }
}

/// Maximum links of a page or answer.
const LINKS: usize = 100;
/// Maximum tags that are examined.
const TAGS: usize = 1000;

/// The link-values of a `Link` header (RFC 8288 §3).
pub(super) fn of_header(value: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('<')
        && let Some((target, parameters)) = after.split_once('>')
        && links.len() < LINKS
    {
        let end = outside_quotes(parameters, b',');
        let (parameters, after) = parameters.split_at(end);
        rest = after;
        if let Some(rel) = parameter(parameters, "rel") {
            links.push(Link { rel: rel.to_ascii_lowercase(), target: target.trim().to_owned() });
        }
    }
    links
}

/// The value of a parameter, without quotes. The text before the first `;` is no parameter.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parts(parameters, b';').skip(1).find_map(|one| {
        let (key, value) = one.split_once('=').unwrap_or((one, ""));
        key.trim().eq_ignore_ascii_case(name).then(|| unquoted(value.trim()))
    })
}

/// The `<link>` elements of a page. Good enough for links that a site wants to be found; a tag in a comment or script
/// may be included.
pub(super) fn of_page(page: &[u8]) -> Vec<Link> {
    let mut links = Vec::new();
    let (mut at, mut tags) = (0, 0);
    while let Some(found) = memchr::memchr(b'<', &page[at..])
        && links.len() < LINKS
        && tags < TAGS
    {
        at += found + 1;
        let tag = &page[at..];
        let is_link = tag.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"link"));
        if is_link && tag.get(4).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/') {
            tags += 1;
            let text = String::from_utf8_lossy(&tag[4..tag.len().min(4 + TAG)]);
            let (rel, href) = attributes(&text);
            if let (Some(rel), Some(target)) = (rel, href) {
                links.push(Link { rel: rel.to_ascii_lowercase(), target: target.trim().to_owned() });
            }
        }
    }
    links
}

/// Maximum bytes of a tag that are examined.
const TAG: usize = 4096;

/// `rel` and `href` of the tag here.
fn attributes(mut text: &str) -> (Option<String>, Option<String>) {
    let (mut rel, mut href) = (None, None);
    loop {
        text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = text.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            if name.is_empty() {
                return (rel, href);
            }
            text = rest;
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => match value[1..].split_once(quote) {
                Some(parts) => parts,
                None => return (rel, href),
            },
            None => value.split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len())),
        };
        let slot = match name {
            name if name.eq_ignore_ascii_case("rel") => Some(&mut rel),
            name if name.eq_ignore_ascii_case("href") => Some(&mut href),
            _ => None,
        };
        if let Some(slot) = slot {
            slot.get_or_insert_with(|| value.replace("&amp;", "&"));
        }
        text = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(links: &[Link], rel: &str) -> Vec<String> {
        links.iter().filter(|link| link.is(rel)).map(|link| link.target.clone()).collect()
    }

    #[test]
    fn a_header_with_several() {
        let value = "</a.json>; rel=\"ahp-manifest\"; type=\"application/json\", </b?x=1,2>; title=\"a, <b>; rel=no\"; \
                     rel=\"Agent-Interface alternate\", <c>; rel=next";
        let links = of_header(value);
        assert_eq!(targets(&links, "agent-interface"), ["/b?x=1,2"]);
        assert_eq!(targets(&links, "next"), ["c"]);
        assert_eq!(links.len(), 3);
    }

    #[test]
    fn torn_headers_are_passed_over() {
        for value in
            ["", "<", "<a", "<a>", "<a>;", "<a>; rel", "a; rel=b", "<a>; rel=\"b", "<a>, <b>; rel=c", ">><<;;,,=="]
        {
            assert!(of_header(value).len() <= 1, "{value}");
        }
        assert_eq!(of_header(&"<a>; rel=b, ".repeat(100_000)).len(), LINKS);
    }

    #[test]
    fn a_page_with_links() {
        let page = b"<html><linkx rel=agent-interface href=no><LINK\nhref='/a' REL=\"agent-interface\"/>\
            <link rel=stylesheet href=b.css><link disabled rel=agent-interface href=/c?x=1&amp;y=2>";
        assert_eq!(targets(&of_page(page), "agent-interface"), ["/a", "/c?x=1&y=2"]);
    }

    #[test]
    fn torn_pages_end() {
        for page in [
            "<link",
            "<link ",
            "<link rel",
            "<link rel=",
            "<link rel='",
            "<link =",
            "<link = = =>",
            "<link /\u{e9}=\u{e9}",
        ] {
            assert!(of_page(page.as_bytes()).is_empty(), "{page}");
        }
        assert!(of_page("<link a".repeat(500_000).as_bytes()).is_empty());
        assert!(of_page(&[b"<link \xff\xfe rel=".as_slice(); 1000].concat()).is_empty());
    }
}
