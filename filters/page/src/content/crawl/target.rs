//! Which addresses are pages of this site, and the one spelling under which each is known.

use std::{
    borrow::Cow,
    net::{IpAddr, SocketAddr},
};

use frontdesk_base::{path, text::hex};
use ring::digest;
use url::Url;

use super::{
    acts::{self, Verdict},
    glob::Glob,
    left_out::Why,
    robots,
};

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
/// What start pages are called that are not at `/`, in small letters and without ending.
const START_PAGES: [&str; 14] = [
    "home",
    "homepage",
    "index",
    "default",
    "main",
    "welcome",
    "site",
    "web",
    "www",
    "public",
    "shop",
    "store",
    "wiki",
    "main_page",
];
/// What is no page, by its ending.
const NO_PAGES: &[&str] = &[
    "7z", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "csv", "deb", "dmg", "doc", "docx", "eot", "epub", "exe",
    "gif", "gz", "ico", "ics", "iso", "jar", "jpeg", "jpg", "js", "json", "m4a", "map", "mjs", "mov", "mp3", "mp4",
    "mpeg", "odt", "ogg", "otf", "pdf", "png", "ppt", "pptx", "rar", "rpm", "svg", "tar", "tgz", "tif", "tiff", "ttf",
    "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
];

/// What the operator keeps from being read: `content.exclude`.
#[derive(Debug, Clone, PartialEq)]
pub struct Excluded(Vec<Glob>);

impl Excluded {
    /// A path stands for all below it, and "/x/*" for "/x" as well.
    pub fn new(written: &[String]) -> Self {
        Self(written.iter().map(|written| Glob::whole(written.strip_suffix("/*").unwrap_or(written))).collect())
    }

    /// Whether it is kept from being read, in whatever spelling.
    pub fn covers(&self, target: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let canonical = path::canonical(target);
        let ends = canonical.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).chain([canonical.len()]);
        let mut above = ends.map(|end| &canonical[..end]);
        above.any(|path| self.0.iter().any(|glob| glob.matches(path)))
    }
}

/// What is configured of how a site is read.
#[derive(Debug, Clone)]
pub struct CrawlSettings {
    /// `site.origin`: by what name the site goes, where somebody said.
    pub origin: Option<String>,
    /// `upstream.preserve_host`: the upstream is asked by the names that people use.
    pub preserve_host: bool,
    /// The addresses on which this process listens.
    pub listen: Vec<SocketAddr>,
    /// `content.start`: paths, perhaps with queries.
    pub start: Vec<String>,
    /// `content.exclude`: paths, with `*` for anything.
    pub exclude: Vec<String>,
    /// `content.follow_queries`.
    pub follow_queries: bool,
    /// `content.max_pages`.
    pub max_pages: usize,
}

/// What may be read of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// As links name the site.
    pub origin: Url,
    /// Somebody said that it goes by that name; else it is the upstream's, which is nobody's business.
    pub(super) is_named: bool,
    /// Under this name it may link to itself too: what its upstream is called.
    also: Option<Url>,
    /// `content.start`.
    pub start: Vec<String>,
    exclude: Excluded,
    /// Nobody said by what name the site goes, and its upstream is asked by the names that people use.
    learns_name: bool,
    /// Where this process listens: that is the site as well.
    own: Vec<String>,
    /// `content.follow_queries`.
    follow_queries: bool,
    /// `content.max_pages`.
    pub max_pages: usize,
}

/// A name by which the site may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// For Host.
    pub authority: String,
    /// A client would ask over TLS.
    pub tls: bool,
}

impl Name {
    /// As `site.origin` has it.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.authority)
    }
}

/// A URL's host and port, as Host has it.
fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// How an address on which we listen is called in a browser on this machine.
fn authorities(listen: &SocketAddr) -> Vec<String> {
    let port = listen.port();
    let local = listen.ip().is_loopback() || listen.ip().is_unspecified();
    let names = ["127.0.0.1", "localhost", "[::1]"].into_iter().filter(|_| local);
    let address = match listen.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    // The usual ports are not written.
    let written = |name: &str| if matches!(port, 80 | 443) { name.to_owned() } else { format!("{name}:{port}") };
    names.chain([address.as_str()]).map(written).collect()
}

/// Where an address was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met<'a> {
    /// In a page.
    Linked,
    /// In a sitemap, robots.txt or llms.txt.
    Listed,
    /// In a redirect of this target.
    Redirected(&'a str),
}

impl Rules {
    /// From the settings, for a site whose upstream goes by `upstream`: `http://host:port`. `None` where that is no URL.
    pub fn new(settings: CrawlSettings, upstream: &str) -> Option<Self> {
        let parsed = Url::parse(upstream).ok();
        let origin = settings.origin.as_deref().and_then(|origin| Url::parse(origin).ok());
        Some(Self {
            also: parsed.clone().filter(|_| origin.is_some()),
            is_named: origin.is_some(),
            origin: origin.or(parsed)?,
            exclude: Excluded::new(&settings.exclude),
            learns_name: settings.origin.is_none() && settings.preserve_host,
            own: settings.listen.iter().flat_map(authorities).collect(),
            start: settings.start,
            follow_queries: settings.follow_queries,
            max_pages: settings.max_pages,
        })
    }

    /// What tells the site from others.
    pub fn site(&self) -> String {
        let name = format!("{:?}", (&self.origin, &self.also));
        // What was kept before with the upstream's name in it is not used again.
        short(&if self.is_named { name } else { format!("{name}, by paths") })
    }

    /// What tells these rules from others.
    pub fn name(&self) -> String {
        short(&format!("{:?}", (&self.start, &self.exclude.0, self.follow_queries, self.max_pages)))
    }

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

    /// Whether the operator keeps it from being read.
    pub(super) fn excludes(&self, target: &str) -> bool {
        self.exclude.covers(target)
    }

    /// By what name a redirect says that the site is to be asked, and for what; `None` where it says nothing of the kind.
    ///
    /// It does where only the name is another and the path the same, where it names this process, or where the start page
    /// leads to one of a language or the like. The same upstream is asked then, with another Host: it knows best whether it
    /// goes by that name.
    pub(super) fn renamed(&self, location: &str, target: &str) -> Option<(Name, String)> {
        let url = self.url(target)?.join(location.trim()).ok().filter(|_| self.learns_name)?;
        let is_plain =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        let name = Name { tls: url.scheme() == "https", authority: authority(&url)? };
        let to = self.spelled_anywhere(&url)?;
        let is_own = self.own.contains(&name.authority) && self.leaves_out(&to, Met::Redirected(target)).is_none();
        let is_new = url.origin() != self.origin.origin();
        let is_start = target == "/" && is_start_page(&to);
        (is_plain && is_new && (to == target || is_own || is_start)).then_some((name, to))
    }

    /// From here on the site goes by another name than its upstream's.
    pub(super) fn rename(&mut self, name: &Name) {
        if let Ok(origin) = Url::parse(&name.origin()) {
            self.also = Some(std::mem::replace(&mut self.origin, origin));
        }
    }

    /// Why a target is not asked for, although it is a page's: it may act. What the operator begins with is not judged.
    pub(super) fn leaves_out(&self, target: &str, met: Met<'_>) -> Option<Why> {
        let of_documents = self.origin.host_str().is_some_and(acts::is_of_documents);
        let verdict = acts::verdict(target, of_documents);
        let is_fine = match (verdict, met) {
            (Verdict::Reads, _) => true,
            (Verdict::Acts, _) => return Some(Why::Acts),
            (Verdict::Unsure, Met::Linked) => return Some(Why::Unsure),
            // The site itself leads everybody there: from `/items/5` to `/items/5/tea`.
            (Verdict::Unsure, Met::Redirected(_)) => true,
            (_, Met::Listed) | (Verdict::HasQuery, Met::Redirected(_)) => true,
            (Verdict::HasQuery, Met::Linked) => self.follow_queries,
            (Verdict::Document, Met::Redirected(from)) => acts::verdict(from, of_documents) == Verdict::Document,
            (Verdict::Document, Met::Linked) => false,
        };
        (!is_fine).then_some(Why::Unlisted)
    }

    /// The same for a link in a page of an application: there the verbs act as well that are titles elsewhere.
    pub(super) fn leaves_out_of_application(&self, target: &str) -> Option<Why> {
        let of_documents = self.origin.host_str().is_some_and(acts::is_of_documents);
        acts::is_doubtful(target, of_documents).then_some(Why::Unsure)
    }

    fn is_here(&self, url: &Url) -> bool {
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

    fn spelled(&self, url: &Url) -> Option<String> {
        if self.is_here(url) { self.spelled_anywhere(url) } else { None }
    }

    fn spelled_anywhere(&self, url: &Url) -> Option<String> {
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

/// Whether a path is one to which a site leads everybody from `/`: `/en/`, `/de-at/home`, `/index.php`. A page to sign in
/// is none: that is often on another site.
fn is_start_page(target: &str) -> bool {
    let segments: Vec<&str> = target.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_start = |segment: &&str| {
        let name = segment.split('.').next().unwrap_or_default().to_ascii_lowercase();
        is_language(segment) || START_PAGES.contains(&name.as_str())
    };
    !target.contains('?') && (1..=2).contains(&segments.len()) && segments.iter().all(is_start)
}

/// `en`, `de-AT`, `pt_BR`.
fn is_language(segment: &str) -> bool {
    let mut parts = segment.split(['-', '_']);
    let is_code = |part: Option<&str>| part.is_some_and(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_alphabetic()));
    let (language, country) = (parts.next(), parts.next());
    is_code(language) && (country.is_none() || is_code(country)) && parts.next().is_none()
}

fn short(written: &str) -> String {
    hex(&digest::digest(&digest::SHA256, written.as_bytes()).as_ref()[..16])
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
    fn what_is_excluded_is_excluded_in_every_spelling() {
        let rules = rules("[content]\nexclude = ['/admin/*', '/private', '/*/drafts', '/old*']\n");
        for target in [
            "/admin",
            "/admin/",
            "/admin/x?y",
            "//admin/x",
            "/%61dmin/x",
            "/x/../admin",
            "/private",
            "/private/x",
            "/a/drafts/1",
            "/older",
            "/old/x",
        ] {
            assert!(rules.excludes(target), "{target}");
        }
        for target in ["/", "/administration", "/privateer", "/x/admin", "/drafts"] {
            assert!(!rules.excludes(target), "{target}");
        }
    }

    #[test]
    fn a_redirect_may_say_by_what_name_the_site_goes() {
        let rules = rules("[listen]\nhttp = ['0.0.0.0:8080', '10.0.0.9:80']\n");
        let said = |location: &str, target: &str| {
            rules.renamed(location, target).map(|(name, target)| format!("{} {target}", name.origin()))
        };
        for (location, target, expected) in [
            ("http://shop.test/", "/", "http://shop.test /"),
            ("https://shop.test/robots.txt", "/robots.txt", "https://shop.test /robots.txt"),
            ("https://SHOP.test:8443/a?b=1", "/a?b=1", "https://shop.test:8443 /a?b=1"),
            ("//shop.test/a", "/a", "http://shop.test /a"),
            ("https://10.0.0.1:3000/", "/", "https://10.0.0.1:3000 /"),
            ("http://127.0.0.1:8080/en/", "/", "http://127.0.0.1:8080 /en/"),
            ("http://localhost:8080/en/", "/", "http://localhost:8080 /en/"),
            ("http://10.0.0.9/x", "/", "http://10.0.0.9 /x"),
            ("http://shop.test/en/", "/", "http://shop.test /en/"),
            ("https://shop.test/de-AT/home.html", "/", "https://shop.test /de-AT/home.html"),
            ("https://wiki.test/wiki/Main_Page", "/", "https://wiki.test /wiki/Main_Page"),
            ("https://shop.test/index.php", "/", "https://shop.test /index.php"),
        ] {
            assert_eq!(said(location, target).as_deref(), Some(expected), "{location}");
        }
        for (location, target) in [
            ("https://login.test/authorize?next=/", "/"),
            ("http://shop.test/en/", "/about"),
            ("http://shop.test/en/?next=/", "/"),
            ("http://shop.test/en/login", "/"),
            ("http://login.test/login", "/"),
            ("http://shop.test/en/a/b", "/"),
            ("http://10.0.0.1:3000/", "/"),
            ("/", "/"),
            ("http://user@shop.test/", "/"),
            ("http://:secret@shop.test/", "/"),
            ("ftp://shop.test/", "/"),
            ("http://127.0.0.1:8080/posts/2/delete", "/"),
            ("http://[::1", "/"),
            ("", "/"),
        ] {
            assert_eq!(said(location, target), None, "{location}");
        }
        let named = site();
        assert_eq!(named.renamed("http://shop.test/", "/"), None, "the operator said what it is called");
        let hidden = self::rules("preserve_host = false\n");
        assert_eq!(hidden.renamed("http://shop.test/", "/"), None, "no client is known to the site by that name");
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
