//! What a page's headers say about being read: X-Robots-Tag, and what kind of thing it is.

use http::{HeaderMap, HeaderName, header};

use super::robots::TOKEN;
use frontdesk_base::media::essence;

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
/// Rules that have a value of their own after a colon; before any other colon stands the name of a crawler.
const WITH_VALUES: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// What X-Robots-Tag asks of us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    /// It is not to be found.
    pub(super) noindex: bool,
    /// Its links are not to be followed.
    pub(super) nofollow: bool,
}

impl Wishes {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut wishes = Self::default();
        for value in headers.get_all(&X_ROBOTS_TAG) {
            // What is not ASCII is still read as far as it is.
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            let mut for_us = true;
            for rule in value.split(',') {
                let mut rule = rule.trim();
                if let Some((name, rest)) = rule.split_once(':')
                    && !WITH_VALUES.contains(&name.trim())
                {
                    // What follows on this line is for that crawler.
                    for_us = matches!(name.trim(), "*" | TOKEN);
                    rule = rest.trim();
                }
                if for_us {
                    wishes.noindex |= matches!(rule, "noindex" | "none");
                    wishes.nofollow |= matches!(rule, "nofollow" | "none");
                }
            }
        }
        wishes
    }
}

/// What a body is, by its Content-Type and where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Markdown,
    /// Plain text: nothing that is a page by itself.
    Text,
    Other,
}

impl Kind {
    pub(super) fn of(headers: &HeaderMap, target: &str) -> Self {
        let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
        let media = essence(value).to_ascii_lowercase();
        let path = target.split('?').next().unwrap_or(target);
        match media.as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/markdown" | "text/x-markdown" => Self::Markdown,
            // Many servers do not know the ending.
            "text/plain" if path.ends_with(".md") => Self::Markdown,
            "text/plain" => Self::Text,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn wishes(lines: &[&str]) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&X_ROBOTS_TAG, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        let wishes = Wishes::of(&headers);
        (wishes.noindex, wishes.nofollow)
    }

    #[test]
    fn only_what_is_said_to_us_counts() {
        for (lines, expected) in [
            (&[][..], (false, false)),
            (&["noindex"], (true, false)),
            (&["NoIndex, NOFOLLOW"], (true, true)),
            (&["none"], (true, true)),
            (&["otherbot: noindex, nofollow"], (false, false)),
            (&["otherbot: noindex", "nofollow"], (false, true)),
            (&["Frontdesk: noindex"], (true, false)),
            (&["*: noindex"], (true, false)),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], (true, false)),
            (&["max-snippet:20, noindex"], (true, false)),
            (&["otherbot: nofollow, frontdesk: noindex"], (true, false)),
            (&["noindexing, index"], (false, false)),
        ] {
            assert_eq!(wishes(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn kinds_are_told_by_type_and_ending() {
        let kind = |media: &'static str, target: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
            Kind::of(&headers, target)
        };
        assert_eq!(kind("Text/HTML; charset=utf-8", "/x"), Kind::Html);
        assert_eq!(kind("text/plain", "/x.md?y"), Kind::Markdown);
        assert_eq!(kind("text/plain", "/x?y=.md"), Kind::Text);
        assert_eq!(kind("application/pdf", "/x"), Kind::Other);
        assert_eq!(Kind::of(&HeaderMap::new(), "/x"), Kind::Other);
    }
}
