//! By what name a site is asked: its own, which it may tell by a redirect.

use url::Url;

use super::{
    acts,
    authority::{Name, authority},
    rules::Rules,
};

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
impl Rules {
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
        let is_own = self.own.contains(&name.authority) && !acts::acts(&to);
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
}
