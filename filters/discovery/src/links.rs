//! The `Link` header (RFC 8288): what every answer names, and what pages name besides. Everything is prepared but the
//! page's own Markdown, which differs from page to page.

use http::HeaderValue;

use frontdesk_page::markdown_path;

use crate::{API_CATALOG, Entry};

/// Maximum bytes of the line.
pub const MOST_BYTES: usize = 600;

/// What kind of answer a line is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// Anything but a page.
    #[default]
    Other,
    Page,
    /// A page of which there is Markdown.
    PageWithMarkdown,
}

/// The lines of one configuration.
#[derive(Debug, Clone, Default)]
pub struct Links {
    every: Option<HeaderValue>,
    page: Option<HeaderValue>,
    names_markdown: bool,
}

impl Links {
    /// `demanded`: the link-values that every answer has. They stay first, because some clients read only the first.
    /// `entries`: what pages name besides, the most important first; those that have no relation are left out, and
    /// those that no longer fit.
    pub fn new<'a>(demanded: &[String], entries: impl Iterator<Item = &'a Entry>, names_markdown: bool) -> Self {
        let every = demanded.join(", ");
        let mut page = every.clone();
        for value in entries.filter_map(link_value) {
            let separator = if page.is_empty() { "" } else { ", " };
            if page.len() + separator.len() + value.len() <= MOST_BYTES {
                page.push_str(separator);
                page.push_str(&value);
            }
        }
        let value = |text: String| HeaderValue::try_from(text).ok().filter(|value| !value.is_empty());
        Self { every: value(every), page: value(page), names_markdown }
    }

    /// The same line on pages as on everything else.
    pub fn of_demanded(demanded: &[String]) -> Self {
        Self::new(demanded, [].iter(), false)
    }

    /// The line of an answer that is no page.
    pub fn every(&self) -> Option<&HeaderValue> {
        self.every.as_ref()
    }

    /// The line of the site's answer at a path and query.
    pub fn of<'a>(&'a self, answer: Answer, target: &'a str) -> Option<LinkLine<'a>> {
        if answer == Answer::Other {
            return self.every.as_ref().map(|prepared| LinkLine { prepared, markdown: None });
        }
        let prepared = self.page.as_ref()?;
        let names_markdown = self.names_markdown && answer == Answer::PageWithMarkdown && can_be_named(target);
        let markdown = names_markdown.then(|| markdown_path::pieces_of(target));
        let line = LinkLine { prepared, markdown };
        Some(if line.len() <= MOST_BYTES { line } else { LinkLine { prepared, markdown: None } })
    }
}

/// The value of one `Link` line.
#[derive(Debug, Clone, Copy)]
pub struct LinkLine<'a> {
    prepared: &'a HeaderValue,
    /// The address of the page's Markdown.
    markdown: Option<[&'a str; 3]>,
}

const BEFORE: &str = ", <";
const AFTER: &str = ">; rel=\"alternate\"; type=\"text/markdown\"";

impl<'a> LinkLine<'a> {
    /// Its pieces, to be written one after the other.
    pub fn pieces(&self) -> [&'a [u8]; 6] {
        let prepared = self.prepared.as_bytes();
        match self.markdown {
            Some([path, name, query]) => {
                [prepared, BEFORE.as_bytes(), path.as_bytes(), name.as_bytes(), query.as_bytes(), AFTER.as_bytes()]
            }
            None => [prepared, b"", b"", b"", b"", b""],
        }
    }

    /// The same in one piece.
    pub fn value(&self) -> HeaderValue {
        let whole = self.markdown.and_then(|_| HeaderValue::from_bytes(&self.pieces().concat()).ok());
        whole.unwrap_or_else(|| self.prepared.clone())
    }

    fn len(&self) -> usize {
        self.pieces().iter().map(|piece| piece.len()).sum()
    }
}

/// The link-value of an entry. Two relations say by themselves of what type their target is.
fn link_value(entry: &Entry) -> Option<String> {
    let (rel, path) = (entry.rel?, &entry.path);
    let typed = !matches!(rel, "api-catalog" | "sitemap");
    let media_type = if typed { format!("; type=\"{}\"", entry.media_type) } else { String::new() };
    can_be_named(path).then(|| format!("<{path}>; rel=\"{rel}\"{media_type}"))
}

/// Whether a path and query can stand between `<` and `>` (RFC 3986).
fn can_be_named(target: &str) -> bool {
    let is_of_uri =
        |b: u8| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'"' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}');
    markdown_path::is_plain(target) && target.bytes().all(is_of_uri)
}

/// The entry of the list of everything that can be called.
pub fn api_catalog() -> Entry {
    Entry {
        name: "api-catalog",
        rel: Some("api-catalog"),
        path: API_CATALOG.into(),
        media_type: "application/linkset+json",
        title: "Everything that can be called here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(rel: &'static str, path: &str) -> Entry {
        Entry { name: rel, rel: Some(rel), path: path.into(), media_type: "text/plain", title: "" }
    }

    fn demanded() -> Vec<String> {
        vec!["</a>; rel=\"ahp-manifest\"".to_owned(), "</b>; rel=\"agent-interface\"".to_owned()]
    }

    fn text(line: Option<LinkLine<'_>>) -> String {
        let line = line.unwrap();
        assert_eq!(line.value().as_bytes(), line.pieces().concat());
        line.value().to_str().unwrap().to_owned()
    }

    #[test]
    fn pages_name_more_and_what_is_demanded_stays_first() {
        let entries = [entry("describedby", "/llms.txt"), api_catalog(), Entry { rel: None, ..entry("x", "/x") }];
        let links = Links::new(&demanded(), entries.iter(), true);
        let every = demanded().join(", ");
        assert_eq!(text(links.of(Answer::Other, "/x")), every);
        assert_eq!(links.every().unwrap(), &every);
        let page = format!(
            "{every}, </llms.txt>; rel=\"describedby\"; type=\"text/plain\", </.well-known/api-catalog>; rel=\"api-catalog\""
        );
        assert_eq!(text(links.of(Answer::Page, "/x")), page);
        let markdown = |path: &str| format!("{page}, <{path}>; rel=\"alternate\"; type=\"text/markdown\"");
        assert_eq!(text(links.of(Answer::PageWithMarkdown, "/x?y=1")), markdown("/x.md?y=1"));
        assert_eq!(text(links.of(Answer::PageWithMarkdown, "/docs/")), markdown("/docs/index.md"));
        for target in ["/a>b", "/a\"", "//other.example/x", "/ä", "/a b", "http://other.example/"] {
            assert_eq!(text(links.of(Answer::PageWithMarkdown, target)), page, "{target}");
        }
        let plain = Links::new(&demanded(), entries.iter(), false);
        assert_eq!(text(plain.of(Answer::PageWithMarkdown, "/x")), page);
    }

    #[test]
    fn the_line_stays_within_its_bound() {
        let long = format!("/{}", "x".repeat(400));
        let entries = [entry("service-desc", &long), entry("describedby", &long), entry("sitemap", "/sitemap.xml")];
        let links = Links::new(&demanded(), entries.iter(), true);
        let line = text(links.of(Answer::PageWithMarkdown, "/x"));
        assert!(line.contains("service-desc") && !line.contains("describedby") && line.contains("sitemap"), "{line}");
        for n in 0..600 {
            let target = format!("/{}", "y".repeat(n));
            let line = text(links.of(Answer::PageWithMarkdown, &target));
            assert!(line.len() <= MOST_BYTES, "{}", line.len());
        }
    }

    #[test]
    fn nothing_to_say_is_no_line() {
        let links = Links::of_demanded(&[]);
        assert!(links.every().is_none() && links.of(Answer::Page, "/").is_none());
    }
}
