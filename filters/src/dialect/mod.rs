//! How each protocol says what was declared: a folder each, one table lists them.

pub mod ahp;
pub mod aicp;
pub(crate) mod document;
mod json;

use std::collections::HashSet;

pub use document::{Document, Variant};

use crate::site::Declaration;

/// A protocol that publishes something about the site.
pub struct Dialect {
    /// The folder's name.
    pub name: &'static str,
    /// Renders what is published; called once for each Snapshot.
    pub publish: fn(&Declaration, &Occupied) -> Publication,
}

/// The table of dialects, in the order their links are announced.
pub const DIALECTS: &[Dialect] = &[ahp::DIALECT, aicp::DIALECT];

/// What one dialect publishes.
pub struct Publication {
    pub announcement: Announcement,
    pub documents: Vec<Document>,
}

/// Where an agent finds the dialect's entry document: one link-value of the `Link` header, one `<link>` element.
pub struct Announcement {
    pub rel: &'static str,
    /// An older name of the relation, announced only with `discovery.legacy_link_rel`.
    pub legacy_rel: Option<&'static str>,
    pub media_type: &'static str,
    pub path: String,
}

/// Whether an answer of this Content-Type is a document rather than a page.
pub type IsDocument = fn(content_type: &str) -> bool;

/// Well-known paths where the site has a document of its own, so that ours moves (decision 14).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupied(HashSet<&'static str>);

impl Occupied {
    /// Marks one of [`Occupied::probed`] as the site's own.
    pub fn insert(&mut self, path: &'static str) {
        self.0.insert(path);
    }

    /// Whether the site has its own document there.
    pub fn contains(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    /// The paths to ask the site for, and how to tell a document from a page that answers everything.
    pub fn probed() -> &'static [(&'static str, IsDocument)] {
        &[(ahp::MANIFEST, is_json), (aicp::CONTRACT, is_not_page), (aicp::NEGOTIATED, is_not_page)]
    }

    /// `path`, or where ours is served instead.
    pub(crate) fn or_moved<'a>(&self, path: &'a str, moved: &'a str) -> &'a str {
        if self.contains(path) { moved } else { path }
    }
}

fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    media.ends_with("/json") || media.ends_with("+json")
}

/// A site that answers every path with its start page has no document there.
fn is_not_page(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    !media.is_empty() && media != "text/html" && media != "application/xhtml+xml"
}

/// `Cache-Control` of a document at its own address.
pub(crate) fn cache_control(declaration: &Declaration) -> http::HeaderValue {
    let discovery = &declaration.settings.discovery;
    let (fresh, stale) = (discovery.manifest_max_age.as_secs(), discovery.stale_while_revalidate.as_secs());
    http::HeaderValue::try_from(format!("public, max-age={fresh}, stale-while-revalidate={stale}"))
        .unwrap_or_else(|_| http::HeaderValue::from_static("no-cache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_in_the_table() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dialect");
        let mut folders: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .filter_map(|e| e.ok().filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()))
            .collect();
        let mut table: Vec<String> = DIALECTS.iter().map(|d| d.name.to_owned()).collect();
        folders.sort();
        table.sort();
        assert_eq!(folders, table);
    }

    #[test]
    fn a_page_that_answers_everything_is_not_a_document() {
        assert!(is_json("application/json; charset=utf-8") && is_json("application/a2a+json"));
        assert!(!is_json("text/html") && !is_json(""));
        assert!(is_not_page("application/toml") && is_not_page("text/plain"));
        assert!(!is_not_page("text/html; charset=utf-8") && !is_not_page(""));
    }
}
