//! Rewrites upstream addresses in responses to the requested address.
//!
//! A site behind a proxy often knows only its own address. It sends `Location: http://127.0.0.1:3000/login`, or the
//! visitor's host with its own port, which leads visitors past the proxy or nowhere. Configured by
//! `upstream.rewrite_redirects`.

use http::{HeaderName, header};
use memchr::memchr3_iter;

use crate::site::UpstreamUrl;

/// The headers that may contain an address of the site.
pub const NAMING: [HeaderName; 5] =
    [header::LOCATION, header::CONTENT_LOCATION, header::REFRESH, header::LINK, header::SET_COOKIE];

/// The addresses of the site: the requested one, and those of the upstreams.
#[derive(Debug, Clone)]
pub struct Addresses<'a> {
    upstreams: &'a [UpstreamUrl],
    /// The requested authority: `shop.example.com`, `127.0.0.1:8080`.
    asked: &'a str,
    /// The visitor uses TLS.
    tls: bool,
}

/// The relevant parts of an http or https URL.
struct Absolute<'v> {
    /// `None`: the scheme of the page that contains it.
    tls: Option<bool>,
    authority: &'v str,
    /// Path, query and fragment.
    rest: &'v str,
}

impl<'a> Addresses<'a> {
    /// `asked`: the requested host with an optional port; `None` where it is invalid.
    pub fn new(upstreams: &'a [UpstreamUrl], asked: &'a str, tls: bool) -> Option<Self> {
        let is_host = !asked.is_empty() && asked.bytes().all(|b| b.is_ascii_graphic() && !b"/\\@?#\"<>,;".contains(&b));
        is_host.then_some(Self { upstreams, asked, tls })
    }

    /// The rewritten value of a header; `None`: unchanged.
    pub fn instead(&self, name: &HeaderName, value: &str) -> Option<String> {
        match *name {
            header::LOCATION | header::CONTENT_LOCATION => self.url(value.trim()),
            header::REFRESH => self.refresh(value),
            header::LINK => self.links(value),
            header::SET_COOKIE => self.cookie(value),
            _ => None,
        }
    }

    /// The other host of a redirect, with its scheme; `None` where it stays at the requested address.
    pub fn elsewhere<'v>(&self, location: &'v str) -> Option<&'v str> {
        let location = location.trim();
        let to = Absolute::of(location)?;
        let (asked, _) = host_and_port(self.asked);
        let (host, port) = host_and_port(to.authority);
        let own = host.eq_ignore_ascii_case(asked) && (port.is_none() || to.authority.eq_ignore_ascii_case(self.asked));
        (!own).then(|| &location[..location.len() - to.rest.len()])
    }

    /// The path and query of a redirect within the site; `None` where it leads elsewhere, or is relative.
    pub fn path<'v>(&self, location: &'v str) -> Option<&'v str> {
        let to = Absolute::of(location.trim())?;
        let own = self.is_upstream(&to) || self.elsewhere(location).is_none();
        own.then_some(if to.rest.is_empty() { "/" } else { to.rest })
    }

    fn url(&self, value: &str) -> Option<String> {
        let to = Absolute::of(value)?;
        if !self.is_upstream(&to) {
            return None;
        }
        let scheme = if self.tls { "https" } else { "http" };
        let told = format!("{scheme}://{}{}", self.asked, to.rest);
        (told != value).then_some(told)
    }

    /// Whether a URL names an upstream, or the requested host with an upstream's port.
    fn is_upstream(&self, to: &Absolute<'_>) -> bool {
        let (host, port) = host_and_port(to.authority);
        let (asked, _) = host_and_port(self.asked);
        let is_asked = host.eq_ignore_ascii_case(asked);
        if is_asked && port.is_none() && to.tls == Some(true) && !self.tls {
            // The site redirects to TLS; rewriting that would cause a loop.
            return false;
        }
        self.upstreams.iter().any(|upstream| {
            let default = if to.tls.unwrap_or(upstream.tls) { 443 } else { 80 };
            let named = host.eq_ignore_ascii_case(&upstream.host) && port.unwrap_or(default) == upstream.port;
            named || is_asked && port == Some(upstream.port)
        })
    }

    /// `5; url=http://…`, with or without quotes.
    fn refresh(&self, value: &str) -> Option<String> {
        let at = find_ignoring_case(value, "url=")? + "url=".len();
        let (before, url) = value.split_at(at);
        let quote = url.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (bare, after) = match quote {
            Some(quote) => {
                let quoted = &url[1..];
                quoted.split_at(quoted.find(quote).unwrap_or(quoted.len()))
            }
            None => (url.trim(), ""),
        };
        let quote = quote.map(String::from).unwrap_or_default();
        Some(format!("{before}{quote}{}{after}", self.url(bare.trim())?))
    }

    /// `<http://…>; rel=next, <…>; title="…"`: rewrites the parts in angle brackets outside quotes.
    fn links(&self, value: &str) -> Option<String> {
        let mut told = String::with_capacity(value.len());
        let mut changed = false;
        let mut rest = value;
        while let Some(at) = rest.find(['<', '"']) {
            let (before, from) = rest.split_at(at);
            told.push_str(before);
            if from.starts_with('"') {
                let end = end_of_quoted(from);
                told.push_str(&from[..end]);
                rest = &from[end..];
                continue;
            }
            let end = from.find('>')?;
            match self.url(from[1..end].trim()) {
                Some(url) => {
                    changed = true;
                    told.push_str(&format!("<{url}>"));
                }
                None => told.push_str(&from[..=end]),
            }
            rest = &from[end + 1..];
        }
        told.push_str(rest);
        changed.then_some(told)
    }

    /// `id=1; Domain=…`: a browser rejects a cookie for a host other than the requested one.
    fn cookie(&self, value: &str) -> Option<String> {
        let (asked, _) = host_and_port(self.asked);
        let mut changed = false;
        let parts: Vec<String> = value
            .split(';')
            .enumerate()
            .map(|(place, part)| match part.split_once('=') {
                Some((name, domain)) if place > 0 && name.trim().eq_ignore_ascii_case("domain") => {
                    let domain = domain.trim().trim_start_matches('.');
                    let names = |upstream: &UpstreamUrl| domain.eq_ignore_ascii_case(&upstream.host);
                    if domain.eq_ignore_ascii_case(asked) || !self.upstreams.iter().any(names) {
                        return part.to_owned();
                    }
                    changed = true;
                    format!("{name}={asked}")
                }
                _ => part.to_owned(),
            })
            .collect();
        changed.then(|| parts.join(";"))
    }
}

/// Whether a value may name an upstream; a fast check with false positives.
pub fn may_name(upstreams: &[UpstreamUrl], value: &[u8]) -> bool {
    let begins =
        |at: usize, what: &[u8]| value[at..].get(..what.len()).is_some_and(|part| part.eq_ignore_ascii_case(what));
    upstreams.iter().any(|upstream| {
        let (host, mut port) = (upstream.host.as_bytes(), itoa::Buffer::new());
        let port = port.format(upstream.port).as_bytes();
        let first = host.first().copied().unwrap_or(b':');
        memchr3_iter(b':', first.to_ascii_lowercase(), first.to_ascii_uppercase(), value)
            .any(|at| begins(at, host) || value[at] == b':' && begins(at + 1, port))
    })
}

impl<'v> Absolute<'v> {
    /// `None`: a relative reference, another scheme, or an authority with a user.
    fn of(value: &'v str) -> Option<Self> {
        let begins = |with: &str| value.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        let (tls, from) = match value {
            _ if begins("http://") => (Some(false), 7),
            _ if begins("https://") => (Some(true), 8),
            _ if begins("//") => (None, 2),
            _ => return None,
        };
        let after = &value[from..];
        let (authority, rest) = after.split_at(after.find(['/', '?', '#', '\\']).unwrap_or(after.len()));
        (!authority.is_empty() && !authority.contains('@')).then_some(Self { tls, authority, rest })
    }
}

/// A host without brackets, and its port if present.
fn host_and_port(authority: &str) -> (&str, Option<u16>) {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    (host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
}

fn find_ignoring_case(text: &str, what: &str) -> Option<usize> {
    text.as_bytes().windows(what.len()).position(|part| part.eq_ignore_ascii_case(what.as_bytes()))
}

/// The length of a quoted string at the start of a text.
fn end_of_quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(tls: bool, host: &str, port: u16) -> UpstreamUrl {
        UpstreamUrl { tls, host: host.into(), port }
    }

    /// The header for a visitor who requested `asked`, from a site at `http://127.0.0.1:3000` and `http://app`.
    fn told(asked: &str, name: HeaderName, value: &str) -> Option<String> {
        let upstreams = [upstream(false, "127.0.0.1", 3000), upstream(false, "app", 80)];
        let (tls, asked) = asked.strip_prefix("https://").map_or((false, asked), |asked| (true, asked));
        Addresses::new(&upstreams, asked, tls).unwrap().instead(&name, value)
    }

    #[test]
    fn what_names_an_upstream_becomes_the_address_that_was_asked() {
        for (asked, sent, expected) in [
            ("docs.test", "http://127.0.0.1:3000/faq/", "http://docs.test/faq/"),
            ("docs.test:8080", "http://127.0.0.1:3000", "http://docs.test:8080"),
            ("https://docs.test", "http://127.0.0.1:3000?a=b#c", "https://docs.test?a=b#c"),
            ("https://docs.test", "HTTP://127.0.0.1:3000/", "https://docs.test/"),
            ("docs.test", "//127.0.0.1:3000/x", "http://docs.test/x"),
            ("docs.test", "http://app/x", "http://docs.test/x"),
            ("docs.test", "http://APP:80/x", "http://docs.test/x"),
            ("docs.test", "http://docs.test:3000/x", "http://docs.test/x"),
            ("https://docs.test", "http://docs.test:3000/x", "https://docs.test/x"),
            ("docs.test:8080", "http://docs.test:3000/x", "http://docs.test:8080/x"),
            ("[::1]:8080", "http://[::1]:3000/x", "http://[::1]:8080/x"),
        ] {
            for name in [header::LOCATION, header::CONTENT_LOCATION] {
                assert_eq!(told(asked, name, sent).as_deref(), Some(expected), "{asked} {sent}");
            }
        }
    }

    #[test]
    fn what_names_anybody_else_stays() {
        for (asked, sent) in [
            ("docs.test", "/faq/"),
            ("docs.test", "faq"),
            ("docs.test", "https://idp.test/login?next=http://127.0.0.1:3000/"),
            ("docs.test", "http://127.0.0.1:3001/"),
            ("docs.test", "http://127.0.0.1/"),
            ("docs.test", "https://app/"),
            ("docs.test", "http://docs.test/x"),
            ("docs.test", "http://docs.test:9000/x"),
            ("docs.test", "https://docs.test/x"),
            ("docs.test", "http://u@127.0.0.1:3000/"),
            ("docs.test", "ftp://127.0.0.1:3000/"),
            ("docs.test", "http:///x"),
            ("127.0.0.1:3000", "http://127.0.0.1:3000/x"),
        ] {
            assert_eq!(told(asked, header::LOCATION, sent), None, "{asked} {sent}");
        }
        assert_eq!(told("docs.test", header::VIA, "http://127.0.0.1:3000/"), None);
    }

    /// The site redirects to TLS on its own name; rewriting that would cause an endless loop.
    #[test]
    fn a_way_to_tls_stays() {
        let upstreams = [upstream(true, "docs.test", 443)];
        let to = |tls, value| Addresses::new(&upstreams, "docs.test", tls)?.instead(&header::LOCATION, value);
        assert_eq!(to(false, "https://docs.test/x"), None);
        assert_eq!(to(true, "https://docs.test/x"), None);
    }

    #[test]
    fn refresh_links_and_cookies_follow() {
        #[rustfmt::skip]
        let rows = [
            (header::REFRESH, "5; url=http://127.0.0.1:3000/next", Some("5; url=http://docs.test/next")),
            (header::REFRESH, "0;URL='http://127.0.0.1:3000/next'", Some("0;URL='http://docs.test/next'")),
            (header::REFRESH, "0;url=\"http://127.0.0.1:3000/x\"; foo", Some("0;url=\"http://docs.test/x\"; foo")),
            (header::REFRESH, "5", None),
            (header::REFRESH, "5; url=/next", None),
            (header::LINK, "<http://127.0.0.1:3000/a>; rel=next", Some("<http://docs.test/a>; rel=next")),
            (header::LINK, "</a>; title=\"<http://127.0.0.1:3000/>\", <http://app/b>; rel=prev", Some("</a>; title=\"<http://127.0.0.1:3000/>\", <http://docs.test/b>; rel=prev")),
            (header::LINK, "<https://cdn.test/a>; rel=preload", None),
            (header::LINK, "<http://127.0.0.1:3000/a", None),
            (header::SET_COOKIE, "a=1; Domain=app; Path=/", Some("a=1; Domain=docs.test; Path=/")),
            (header::SET_COOKIE, "a=1;domain=.127.0.0.1", Some("a=1;domain=docs.test")),
            (header::SET_COOKIE, "a=1; Domain=docs.test", None),
            (header::SET_COOKIE, "a=1; Domain=example.com", None),
            (header::SET_COOKIE, "domain=app; Path=/", None),
        ];
        for (name, sent, expected) in rows {
            assert_eq!(told("docs.test", name, sent).as_deref(), expected, "{sent}");
        }
    }

    #[test]
    fn another_host_is_elsewhere() {
        let upstreams = [upstream(false, "127.0.0.1", 3000)];
        let addresses = Addresses::new(&upstreams, "docs.test", false).unwrap();
        for (location, elsewhere) in [
            ("http://10.0.0.7:3000/a?secret=1", Some("http://10.0.0.7:3000")),
            ("//idp.test/", Some("//idp.test")),
            ("http://docs.test:9000/", Some("http://docs.test:9000")),
            ("https://docs.test/", None),
            ("/a", None),
        ] {
            assert_eq!(addresses.elsewhere(location), elsewhere, "{location}");
        }
        for (location, path) in [
            ("http://127.0.0.1:3000/done?n=1", Some("/done?n=1")),
            ("http://docs.test", Some("/")),
            ("https://docs.test/done", Some("/done")),
            ("http://10.0.0.7:3000/a", None),
            ("/done", None),
        ] {
            assert_eq!(addresses.path(location), path, "{location}");
        }
        assert!(["", "a b", "a@b", "a/b"].iter().all(|asked| Addresses::new(&upstreams, asked, false).is_none()));
    }

    #[test]
    fn a_quick_look_misses_nothing() {
        let upstreams = [upstream(false, "app", 3000)];
        for value in ["http://APP:3000/", "<http://app/>", "a=1; Domain=app", "http://docs.test:3000/"] {
            assert!(may_name(&upstreams, value.as_bytes()), "{value}");
        }
        assert!(!may_name(&upstreams, b"<https://docs.test/wp-json/>; rel=api"));
    }
}
