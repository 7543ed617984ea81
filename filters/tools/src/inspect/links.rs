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
    /// The announced media type, in lower case.
    pub(super) kind: String,
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
            let kind = parameter(parameters, "type").unwrap_or_default().to_ascii_lowercase();
            links.push(Link { rel: rel.to_ascii_lowercase(), target: target.trim().to_owned(), kind });
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
    tags(page, b"link", |tag| {
        let [rel, href, kind] = attributes(tag, ["rel", "href", "type"]);
        if let (Some(rel), Some(target)) = (rel, href) {
            let kind = kind.unwrap_or_default().to_ascii_lowercase();
            links.push(Link { rel: rel.to_ascii_lowercase(), target: target.trim().to_owned(), kind });
        }
        links.len() < LINKS
    });
    links
}

/// The addresses of a page's scripts.
pub(super) fn scripts_of_page(page: &[u8]) -> Vec<String> {
    let mut scripts = Vec::new();
    tags(page, b"script", |tag| {
        let [src] = attributes(tag, ["src"]);
        scripts.extend(src.filter(|src| !src.trim().is_empty()));
        scripts.len() < LINKS
    });
    scripts
}

/// The attributes of the first tag of this name.
pub(super) fn first_tag<const N: usize>(page: &[u8], name: &[u8], wanted: [&str; N]) -> Option<[Option<String>; N]> {
    let mut found = None;
    tags(page, name, |tag| {
        found = Some(attributes(tag, wanted));
        false
    });
    found
}

/// Calls `each` with what follows the name of each tag, while it returns true.
pub(super) fn tags(page: &[u8], name: &[u8], mut each: impl FnMut(&str) -> bool) {
    let (mut at, mut seen) = (0, 0);
    while let Some(found) = memchr::memchr(b'<', &page[at..])
        && seen < TAGS
    {
        at += found + 1;
        let tag = &page[at..];
        let named = tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if named && tag.get(name.len()).is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')) {
            seen += 1;
            if !each(&String::from_utf8_lossy(&tag[name.len()..tag.len().min(name.len() + TAG)])) {
                return;
            }
        }
    }
}

/// Maximum bytes of a tag that are examined.
const TAG: usize = 4096;

/// The values of these attributes in the tag here.
pub(super) fn attributes<const N: usize>(mut text: &str, wanted: [&str; N]) -> [Option<String>; N] {
    let mut values = [const { None }; N];
    loop {
        text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = text.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            if name.is_empty() {
                return values;
            }
            text = rest;
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => match value[1..].split_once(quote) {
                Some(parts) => parts,
                None => return values,
            },
            None => value.split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len())),
        };
        if let Some(nth) = wanted.iter().position(|wanted| name.eq_ignore_ascii_case(wanted)) {
            values[nth].get_or_insert_with(|| value.replace("&amp;", "&"));
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
