//! The front matter of a page's Markdown: what the page says of itself, as YAML between two lines of dashes.

use url::Url;

use crate::content::Page;

/// The front matter of a page that was found at `at`, with an empty line after it. `modified`: when it changed, where
/// the page itself does not say (W3C date and time).
pub fn front_matter(page: &Page, at: &Url, modified: Option<&str>) -> String {
    let canonical = page.canonical.as_deref().and_then(|canonical| at.join(canonical).ok());
    let lines = [
        ("title", Some(page.title.as_str())),
        ("description", page.description.as_deref()),
        ("canonical", Some(canonical.as_ref().unwrap_or(at).as_str())),
        ("last-updated", page.modified.as_deref().or(modified)),
        ("language", page.language.as_deref()),
    ];
    let mut out = String::from("---\n");
    for (name, value) in lines {
        let Some(value) = value else { continue };
        // A string of JSON is one of YAML 1.2.
        let Ok(quoted) = serde_json::to_string(value) else { continue };
        out.extend([name, ": ", &quoted, "\n"]);
    }
    out.push_str("---\n\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::testing::page;

    #[test]
    fn it_says_what_the_page_says_of_itself() {
        let at = Url::parse("https://a.test/x?utm=1").unwrap();
        let page = Page {
            description: Some("Says \"a: b\"\n---\nand more".into()),
            language: Some("en".into()),
            canonical: Some("/x".into()),
            ..page("/x?utm=1", "A: title", "words")
        };
        assert_eq!(
            front_matter(&page, &at, Some("2026-01-02T03:04:05Z")),
            "---\ntitle: \"A: title\"\ndescription: \"Says \\\"a: b\\\"\\n---\\nand more\"\n\
             canonical: \"https://a.test/x\"\nlast-updated: \"2026-01-02T03:04:05Z\"\nlanguage: \"en\"\n---\n\n"
        );
        let own = Page { modified: Some("2026-05".into()), description: None, language: None, ..page };
        let told = front_matter(&own, &at, Some("2025"));
        assert!(told.contains("last-updated: \"2026-05\"") && !told.contains("description"), "{told}");
        let unknown = Page { modified: None, canonical: None, ..own };
        let told = front_matter(&unknown, &at, None);
        assert!(!told.contains("last-updated") && told.contains("canonical: \"https://a.test/x?utm=1\""), "{told}");
    }
}
