//! The one spelling under which each address of the site is known, and which addresses are pages of it.

use std::borrow::Cow;

use url::Url;

use super::{robots, rules::Rules};

/// The longest path with its query that is asked for, in bytes.
const LONGEST: usize = 1_024;
/// The most segments of a path: calendars and broken relative links go on for ever.
const MOST_SEGMENTS: usize = 16;
/// How often one segment may stand in a path.
const MOST_REPEATED: usize = 3;
/// The most parameters of a query.
const MOST_PARAMETERS: usize = 4;
/// Parameters that say where a visitor came from, or who it is, and not what is shown.
const OF_VISITORS: [&str; 8] = ["gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "phpsessid", "jsessionid", "sid"];
/// What is no page, by its ending.
const NO_PAGES: &[&str] = &[
    "7z", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "csv", "deb", "dmg", "doc", "docx", "eot", "epub", "exe",
    "gif", "gz", "ico", "ics", "iso", "jar", "jpeg", "jpg", "js", "json", "m4a", "map", "mjs", "mov", "mp3", "mp4",
    "mpeg", "odt", "ogg", "otf", "pdf", "png", "ppt", "pptx", "rar", "rpm", "svg", "tar", "tgz", "tif", "tiff", "ttf",
    "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
];

impl Rules {
    /// The path and query under which a link is asked for; `None` where it leads off the site, or to what is no page.
    pub fn target(&self, link: &str, at: &Url) -> Option<String> {
        // Longer ones are not worth taking apart.
        if link.len() > 4 * LONGEST {
            return None;
        }
        let url = at.join(link.trim()).ok()?;
        let target = self.spelled(&url)?;
        plausible(&target).then_some(target)
    }

    /// The same for an address that the operator or the site lists: nobody has to guess whether there is an end to it.
    pub fn listed(&self, link: &str, at: &Url) -> Option<String> {
        if link.len() > 4 * LONGEST {
            return None;
        }
        self.spelled(&at.join(link.trim()).ok()?)
    }

    /// The address of a target.
    pub fn url(&self, target: &str) -> Option<Url> {
        self.origin.join(target).ok().filter(|url| self.is_here(url))
    }

    pub(super) fn is_here(&self, url: &Url) -> bool {
        let same = |other: &Url| {
            let usual = |url: &Url| url.port().is_none();
            // A site says http:// of itself and means https://.
            url.host() == other.host()
                && (url.port_or_known_default() == other.port_or_known_default() || usual(url) && usual(other))
        };
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && (same(&self.origin) || self.also.as_ref().is_some_and(same))
    }

    pub(super) fn spelled(&self, url: &Url) -> Option<String> {
        if self.is_here(url) { self.spelled_anywhere(url) } else { None }
    }

    pub(super) fn spelled_anywhere(&self, url: &Url) -> Option<String> {
        let path = robots::normal(url.path());
        let path = without_session(&path);
        let mut target = path.into_owned();
        let query: Vec<&str> = url.query().unwrap_or_default().split('&').filter(|p| says_what(p)).collect();
        for (index, parameter) in query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(&robots::normal(parameter));
        }
        (target.len() <= LONGEST).then_some(target)
    }
}

/// A path that is not more of the same, with a query that is not a whole form.
fn plausible(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let repeated = |segment: &&&str| segments.iter().filter(|other| other == segment).count() > MOST_REPEATED;
    let ending = segments.last().and_then(|last| last.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    segments.len() <= MOST_SEGMENTS
        && !segments.iter().any(|segment| repeated(&segment))
        && query.split('&').count() <= MOST_PARAMETERS
        && ending.is_none_or(|ending| NO_PAGES.binary_search(&ending.as_str()).is_err())
}

/// Whether a parameter is about what is shown.
fn says_what(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    !parameter.is_empty() && !name.starts_with("utm_") && !OF_VISITORS.contains(&name.as_str())
}

/// A session that a site writes into its paths would make every page another at every visit.
fn without_session(path: &str) -> Cow<'_, str> {
    let lower = path.to_ascii_lowercase();
    let Some(at) = lower.find(";jsessionid=") else { return Cow::Borrowed(path) };
    let end = path[at + 1..].find([';', '/']).map_or(path.len(), |end| at + 1 + end);
    Cow::Owned(format!("{}{}", &path[..at], &path[end..]))
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    fn rules(more: &str) -> Rules {
        testing::rules(&format!("[upstream]\nurl = 'http://10.0.0.1:3000'\n{more}"))
    }

    fn site() -> Rules {
        rules("[site]\norigin = 'https://site.test'\n")
    }

    #[test]
    fn one_page_has_one_spelling() {
        let (rules, at) = (site(), Url::parse("https://site.test/a/b").unwrap());
        for (link, expected) in [
            ("c", "/a/c"),
            ("../c#part", "/c"),
            ("/%7euser/%c3%bc", "/~user/%C3%BC"),
            ("/ü", "/%C3%BC"),
            ("http://site.test/x", "/x"),
            ("//SITE.test:443/x", "/x"),
            ("http://10.0.0.1:3000/x", "/x"),
            ("/x?b=2&a=1&utm_source=y&gclid=z", "/x?b=2&a=1"),
            ("/x?utm_source=y", "/x"),
            ("/x;jsessionid=123?a=1", "/x?a=1"),
            ("?page=2", "/a/b?page=2"),
            (" /x\n", "/x"),
        ] {
            assert_eq!(rules.target(link, &at).as_deref(), Some(expected), "{link}");
        }
    }

    #[test]
    fn what_is_elsewhere_or_no_page_is_not_asked_for() {
        let (rules, at) = (site(), Url::parse("https://site.test/").unwrap());
        for link in [
            "https://other.test/x",
            "https://site.test.evil.test/",
            "https://site.test@evil.test/",
            "https://user@site.test/",
            "https://sub.site.test/",
            "https://site.test:8443/",
            "//other.test/",
            "\\\\other.test\\x",
            "ftp://site.test/",
            "mailto:a@site.test",
            "javascript:alert(1)",
            "data:text/html,x",
            "/x.PNG",
            "/a/b.pdf?x=1",
            "/?a&b&c&d&e",
            "/a/x/a/x/a/x/a",
            "http://[::1",
        ] {
            assert_eq!(rules.target(link, &at), None, "{link}");
        }
        assert_eq!(rules.target(&format!("/{}", "x".repeat(LONGEST)), &at), None);
        assert!(rules.target(&format!("/{}", "x".repeat(LONGEST - 1)), &at).is_some());
        let deep = |count: usize| (0..count).map(|n| format!("/{n}")).collect::<String>();
        assert!(rules.target(&deep(MOST_SEGMENTS), &at).is_some());
        assert_eq!(rules.target(&deep(MOST_SEGMENTS + 1), &at), None);
        assert_eq!(rules.listed(&deep(MOST_SEGMENTS + 1), &at).unwrap().len(), deep(MOST_SEGMENTS + 1).len());
    }

    #[test]
    fn the_endings_are_in_order() {
        assert!(NO_PAGES.is_sorted());
    }

    #[test]
    fn without_an_origin_it_is_the_upstreams_name() {
        let rules = rules("");
        let at = rules.url("/a").unwrap();
        assert_eq!(rules.target("http://10.0.0.1:3000/b", &at).as_deref(), Some("/b"));
        assert_eq!(rules.target("http://10.0.0.1:3001/b", &at), None);
        assert_eq!(rules.url("//evil.test/"), None);
    }
}
