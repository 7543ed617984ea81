//! Where the Markdown of a page is, and of which page a path of Markdown is.

/// The media type of Markdown (RFC 7763).
pub const MEDIA_TYPE: &str = "text/markdown";

/// Where the Markdown of a page is, by the page's path and query: `/docs/x?y` has `/docs/x.md?y`, and `/docs/` has
/// `/docs/index.md`.
pub fn path_of(target: &str) -> String {
    pieces_of(target).concat()
}

/// The same in pieces.
pub fn pieces_of(target: &str) -> [&str; 3] {
    let (path, query) = split(target);
    let name = if path.ends_with('/') { "index.md" } else { ".md" };
    [path, name, query]
}

/// The pages that may be meant by the path of a Markdown document, the likeliest first; empty where it is no such path.
pub fn pages_of(target: &str) -> Vec<String> {
    let (path, query) = split(target);
    let Some(page) = path.strip_suffix(".md").filter(|page| page.starts_with('/')) else { return Vec::new() };
    let (folder, name) = page.split_at(page.rfind('/').map_or(0, |slash| slash + 1));
    let pages = match name {
        "" => vec![folder.to_owned()],
        "index" => vec![folder.to_owned(), page.to_owned(), format!("{page}.html")],
        name if name.contains('.') => vec![page.to_owned()],
        // Not `/x/`, of which the Markdown is at `/x/index.md`: rules in front of us may be about all below it.
        _ => vec![page.to_owned(), format!("{page}.html")],
    };
    pages.into_iter().map(|page| page + query).collect()
}

/// Is it a path and nothing else? Two slashes at its beginning make a reference to another host of it (RFC 3986 §4.2),
/// and some readers take a backslash for a slash.
pub fn is_plain(target: &str) -> bool {
    target.strip_prefix('/').is_some_and(|rest| !rest.starts_with(['/', '\\']))
}

/// Does a path ask for Markdown?
pub fn is_path(target: &str) -> bool {
    split(target).0.ends_with(".md")
}

fn split(target: &str) -> (&str, &str) {
    target.split_at(target.find('?').unwrap_or(target.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_there_and_back() {
        for (page, markdown) in [
            ("/", "/index.md"),
            ("/docs/", "/docs/index.md"),
            ("/docs/x", "/docs/x.md"),
            ("/docs/x.html", "/docs/x.html.md"),
            ("/docs/x?a=1.md", "/docs/x.md?a=1.md"),
            ("/a.md", "/a.md.md"),
        ] {
            assert_eq!(path_of(page), markdown);
            assert!(is_path(markdown));
            assert_eq!(pages_of(markdown)[0], page);
        }
        assert_eq!(pages_of("/docs/x.md?y"), ["/docs/x?y", "/docs/x.html?y"]);
        assert_eq!(pages_of("/docs/.md"), ["/docs/"]);
        assert_eq!(pages_of("/docs/x"), [""; 0]);
        assert!(!is_path("/x?a.md"));
        assert!(is_plain("/x") && is_plain("/"));
        assert!(!is_plain("//evil.example/x.md") && !is_plain("/\\evil.example") && !is_plain("http://a.example/"));
    }
}
