//! Whole rounds over a site that is a table.

mod bounds;
mod consoles;
mod documents;
mod left_alone;
mod renamed;

use std::cell::RefCell;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{testing, *};

type Said = (u16, Vec<(&'static str, String)>, String);

/// A site, and what it was asked.
struct Site<F: Fn(&Ask) -> Option<Said>> {
    answer: F,
    asked: RefCell<Vec<String>>,
}

impl<F: Fn(&Ask) -> Option<Said>> Site<F> {
    fn new(answer: F) -> Self {
        Self { answer, asked: RefCell::default() }
    }

    fn round(&self, content: &str, books: Books, now: u64) -> (Books, Ending) {
        let (books, ending, _) = self.noted(content, books, now);
        (books, ending)
    }

    /// The same, with what was left out.
    fn noted(&self, content: &str, books: Books, now: u64) -> (Books, Ending, LeftOut) {
        // Most tests are about something else than what is followed.
        let follow = if content.contains("follow =") { "" } else { "follow = ['/*']\n" };
        let text = format!("[upstream]\nurl = 'http://site.test'\n[content]\n{follow}{content}\n");
        let rules = testing::rules(&text);
        self.asked.borrow_mut().clear();
        let mut left_out = LeftOut::default();
        let mut crawl = Crawl::new(rules, books, now);
        while let Some(ask) = crawl.next(&|target| target.starts_with("/agent") || target == "/llms.txt") {
            self.asked.borrow_mut().push(ask.target.to_string());
            let answer = (self.answer)(&ask).ok_or_else(|| "no answer".to_owned()).map(|(status, headers, body)| {
                let mut all = HeaderMap::new();
                for (name, value) in headers {
                    all.append(HeaderName::from_static(name), HeaderValue::try_from(value).unwrap());
                }
                Fetched { status: StatusCode::from_u16(status).unwrap(), headers: all, body: body.into() }
            });
            crawl.take(&ask, answer);
            let LeftOut { count, first } = crawl.left_out();
            left_out.count += count;
            left_out.first.extend(first);
        }
        let (books, ending) = crawl.finish();
        (books, ending, left_out)
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.borrow().clone();
        asked.sort();
        asked
    }
}

fn paths(books: &Books) -> Vec<String> {
    books.pages().iter().map(|page| page.path.clone()).collect()
}

fn html(more: Vec<(&'static str, String)>, words: &str, links: &[&str]) -> Option<Said> {
    let links: String = links.iter().map(|link| format!("<a href=\"{link}\">x</a> ")).collect();
    let body = format!(
        "<!doctype html><title>{words}</title><nav>{links}</nav><main><h1>{words}</h1><p>{words} is here.</p></main>"
    );
    let mut headers = vec![("content-type", "text/html".to_owned())];
    headers.extend(more);
    Some((200, headers, body))
}

fn page(words: &str, links: &[&str]) -> Option<Said> {
    html(Vec::new(), words, links)
}

fn said(status: u16, headers: &[(&'static str, &str)], body: &str) -> Option<Said> {
    Some((status, headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(), body.to_owned()))
}

fn missing() -> Option<Said> {
    said(404, &[("content-type", "text/html")], "<html><body>nothing</body></html>")
}

#[test]
fn a_site_is_read_by_its_lists_and_its_links() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => said(200, &[], "User-agent: *\nDisallow: /secret\nSitemap: http://site.test/more.xml\n"),
        "/sitemap.xml" => said(
            200,
            &[("content-type", "application/xml")],
            "<urlset><url><loc>http://site.test/listed</loc></url><url><loc>http://other.test/x</loc></url></urlset>",
        ),
        "/more.xml" => said(200, &[], "<sitemapindex><sitemap><loc>/deep.xml</loc></sitemap></sitemapindex>"),
        "/deep.xml" => said(200, &[], "http://site.test/deep\n"),
        "/llms.txt" => said(200, &[("content-type", "text/plain")], "# X\n- [y](/from-llms): z\n"),
        "/" => page("Start", &["/a", "http://other.test/", "/secret/x", "/agent/converse", "/admin/x", "/p.png"]),
        "/a" => page("A", &["/b#part", "/a", "/missing", "/hidden", "/moved", "/away", "/data"]),
        "/hidden" => html(vec![("x-robots-tag", "noindex".into())], "Hidden", &["/behind-hidden"]),
        "/moved" => said(301, &[("location", "/new-place")], ""),
        "/away" => said(302, &[("location", "https://other.test/login")], ""),
        "/data" => said(200, &[("content-type", "application/json")], "{}"),
        "/words.md" => said(200, &[("content-type", "text/markdown")], "# Words\n\n[c](/c)\n"),
        "/b" => page("B", &["/words.md"]),
        "/listed" | "/deep" | "/from-llms" | "/new-place" | "/behind-hidden" | "/c" => page(&ask.target[1..], &[]),
        _ => missing(),
    });
    let (books, ending) = site.round("", Books::default(), 0);
    assert_eq!(ending, Ending::Complete);
    let expected =
        ["/", "/a", "/b", "/behind-hidden", "/c", "/deep", "/from-llms", "/listed", "/new-place", "/words.md"];
    assert_eq!(paths(&books), expected);
    let asked = site.asked();
    for never in ["/secret/x", "/agent/converse", "/admin/x", "/p.png", "/login", "/x"] {
        assert!(!asked.contains(&never.to_owned()), "{never}");
    }
    let mut once = asked.clone();
    once.dedup();
    assert_eq!(asked, once, "each is asked once");
    let words = books.get("/words.md").unwrap();
    assert_eq!((words.page.title.as_str(), words.links.len()), ("Words", 1));
}

#[test]
fn the_next_round_only_asks_whether_anything_has_changed() {
    let site = |second: bool| {
        Site::new(move |ask: &Ask| match &*ask.target {
            "/" if ask.if_none_match.as_deref() == Some("\"1\"") => said(304, &[], ""),
            "/" => html(vec![("etag", "\"1\"".into())], "Start", &["/a", "/b", "/c"]),
            "/a" if ask.if_modified_since.is_some() => said(304, &[], ""),
            "/a" => html(vec![("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT".into())], "A", &[]),
            "/b" if second => said(410, &[], ""),
            "/b" => page("B", &[]),
            "/c" if second => page("New C", &["/d"]),
            "/c" => page("C", &[]),
            "/d" => page("D", &[]),
            _ => missing(),
        })
    };
    let (books, _) = site(false).round("", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/a", "/b", "/c"]);
    let version = books.version();
    let (same, _) = site(false).round("", books.clone(), 1);
    assert_eq!((same.version(), paths(&same).len()), (version, 4), "what is the same is no news");
    let next = site(true);
    let (books, _) = next.round("", books, 1);
    assert_eq!(paths(&books), ["/", "/a", "/c", "/d"]);
    assert_eq!(books.get("/c").unwrap().page.title, "New C");
    assert!(next.asked().contains(&"/a".to_owned()), "links of a page that has not changed are followed");
}

#[test]
fn a_sitemap_is_believed_for_a_day() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/sitemap.xml" => {
            said(200, &[], "<urlset><url><loc>http://site.test/a</loc><lastmod>2026-01-01</lastmod></url></urlset>")
        }
        "/a" => page("A", &["/b"]),
        "/b" => page("B", &[]),
        _ => missing(),
    });
    let asks = |books: Books, now| {
        let (books, _) = site.round("start = ['/sitemap.xml']", books, now);
        assert_eq!(paths(&books), ["/a", "/b"]);
        (books, site.asked().contains(&"/a".to_owned()))
    };
    let (books, asked) = asks(Books::default(), 1_000);
    assert!(asked);
    let (books, asked) = asks(books, 1_000 + BELIEVED - 1);
    assert!(!asked);
    assert!(asks(books, 1_000 + BELIEVED).1);
}

#[test]
fn what_cannot_be_asked_is_not_gone() {
    let whole = Site::new(|ask: &Ask| match &*ask.target {
        "/" => page("Start", &["/a"]),
        "/a" => page("A", &[]),
        _ => missing(),
    });
    let (books, _) = whole.round("", Books::default(), 0);
    // The site is away; robots.txt fails; a page fails.
    for down in [
        Site::new((|_| None) as fn(&Ask) -> Option<Said>),
        Site::new(|ask: &Ask| if &*ask.target == "/robots.txt" { said(503, &[], "") } else { page("X", &[]) }),
    ] {
        let (still, ending) = down.round("", books.clone(), 0);
        assert!(matches!(ending, Ending::Stopped(_)));
        assert_eq!((paths(&still), down.asked()), (paths(&books), vec!["/robots.txt".to_owned()]));
    }
    let broken = Site::new(|ask: &Ask| match &*ask.target {
        "/" => page("Start", &["/a"]),
        "/a" => said(500, &[], ""),
        _ => missing(),
    });
    let (still, ending) = broken.round("", books.clone(), 0);
    assert_eq!((paths(&still), ending), (paths(&books), Ending::Complete));
}

#[test]
fn a_page_that_answers_everything_is_no_list_and_read_once() {
    let site = Site::new(|_: &Ask| page("App", &["/x"]));
    assert_eq!(paths(&site.round("", Books::default(), 0).0), ["/"]);
}

#[test]
fn another_name_of_a_page_is_not_another_page() {
    let canonical = |words: &str, of: &str| {
        let body = format!(
            "<!doctype html><html><head><title>{words}</title><link rel=\"canonical\" href=\"{of}\"></head>\
             <body><main><h1>{words}</h1><p>{words} it is.</p></main></body></html>"
        );
        said(200, &[("content-type", "text/html")], &body)
    };
    let site = Site::new(move |ask: &Ask| match &*ask.target {
        "/" => page("Start", &["/a?sort=up", "/b", "/back", "/nowhere", "/you", "/me"]),
        "/a?sort=up" => canonical("A sorted", "/a"),
        // Another name that is none.
        "/back" => canonical("Back", "/back/"),
        "/back/" => said(301, &[("location", "/back")], ""),
        "/nowhere" => canonical("Nowhere", "/missing"),
        "/you" => canonical("You", "/me"),
        "/me" => canonical("Me", "/you"),
        "/a" => canonical("A", "/a"),
        "/b" => canonical("B", "https://other.test/b"),
        _ => missing(),
    });
    let (books, _) = site.round("follow_queries = true", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/a", "/b", "/back", "/nowhere", "/you"]);
}

#[test]
fn the_site_may_ask_for_a_pause() {
    let rules = testing::rules("[upstream]\nurl = 'http://site.test'\n");
    let mut crawl = Crawl::new(rules, Books::default(), 0);
    let robots = crawl.next(&|_| false).unwrap();
    crawl.take(&robots, Ok(Fetched { status: StatusCode::OK, headers: HeaderMap::new(), body: "".into() }));
    for (said, expected) in [(Some("7"), 7), (Some("9999"), 30), (None, 2)] {
        let ask = crawl.next(&|_| false).unwrap();
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert("retry-after", HeaderValue::from_static(said));
        }
        crawl.take(&ask, Ok(Fetched { status: StatusCode::TOO_MANY_REQUESTS, headers, body: "".into() }));
        assert_eq!((crawl.pause(), crawl.pause()), (Some(Duration::from_secs(expected)), None));
    }
}
