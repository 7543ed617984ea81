//! Pages for tests.

use super::Page;

/// A page with these words.
pub fn page(path: &str, title: &str, markdown: &str) -> Page {
    Page {
        path: path.into(),
        title: title.into(),
        description: None,
        language: None,
        markdown: markdown.into(),
        links: Vec::new(),
        canonical: None,
        noindex: false,
        nofollow: false,
        alternate_markdown: None,
        modified: None,
        anchors: Vec::new(),
    }
}
