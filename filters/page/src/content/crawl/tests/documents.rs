//! Documentation and other sites to read, with no sitemap: what shows that they are, and what is read of them.

use super::*;

const NOW: u64 = 1_700_000_000;
const WRITTEN: &str = "Sat, 01 Jan 2022 00:00:00 GMT";

/// A page as a server of files sends it.
fn file(head: &str, words: &str, links: &[&str]) -> Option<Said> {
    let links: String = links.iter().map(|link| format!("<li><a href=\"{link}\">x</a></li>")).collect();
    let body =
        format!("<!doctype html><title>{words}</title>{head}<ul>{links}</ul><main><p>{words} is here.</p></main>");
    let headers = [("content-type", "text/html"), ("last-modified", WRITTEN), ("etag", "\"61cf-2\"")];
    said(200, &headers, &body)
}

/// The same by a program.
fn made(head: &str, words: &str, links: &[&str]) -> Option<Said> {
    file(head, words, links).map(|(status, headers, body)| (status, headers[..1].to_vec(), body))
}

fn read(site: &Site<impl Fn(&Ask) -> Option<Said>>) -> Vec<String> {
    paths(&site.round("follow = []", Books::default(), NOW).0)
}

#[test]
fn a_tree_of_files_is_read_whatever_its_pages_are_called() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => file("", "Manual", &["git-reset.html", "cli/", "/app/stop", "cli/stop.html?x=1", "/cli/5/kill.html"]),
        "/git-reset.html" | "/cli/5/kill.html" => file("", &ask.target, &["/delete.html"]),
        "/cli/" => file("", "CLI", &["stop/", "/cli/delete/", "/other/"]),
        "/cli/stop/" | "/cli/delete/" | "/delete.html" | "/other/" => file("", &ask.target, &[]),
        _ => missing(),
    });
    let all = ["/", "/cli/", "/cli/5/kill.html", "/cli/delete/", "/cli/stop/", "/delete.html", "/git-reset.html"];
    assert_eq!(read(&site), all);
}

#[test]
fn a_folder_without_a_start_page_is_read_by_its_listing() {
    let listing = "<!doctype html><title>Directory listing for /</title><h1>Directory listing for /</h1>\
                   <li><a href=\"faq.en.html\">faq.en.html</a><li><a href=\"guide/\">guide/</a>\
                   <li><a href=\"run.cgi\">run.cgi</a>";
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => said(200, &[("content-type", "text/html")], listing),
        "/faq.en.html" | "/guide/" => file("", &ask.target, &[]),
        _ => missing(),
    });
    assert_eq!(read(&site), ["/", "/faq.en.html", "/guide/"]);
}

#[test]
fn a_site_of_a_generator_is_read_by_its_clean_addresses() {
    let head = "<meta name=generator content='Docusaurus v3'>";
    let site = Site::new(|ask: &Ask| match &*ask.target {
        _ if ask.if_none_match.is_some() => said(304, &[], ""),
        "/" => file(head, "Docs", &["/reference/cli/docker/container/stop", "/reference/cli/docker/", "/logout"]),
        "/reference/cli/docker/" => {
            file(head, "CLI", &["/reference/cli/docker/logout/", "/reference/cli/prune", "/containers/5/stop"])
        }
        other if other.starts_with("/reference/") => file("", other, &[]),
        _ => missing(),
    });
    let all = [
        "/",
        "/reference/cli/docker/",
        "/reference/cli/docker/container/stop",
        "/reference/cli/docker/logout/",
        "/reference/cli/prune",
    ];
    let (books, _) = site.round("follow = []", Books::default(), NOW);
    assert_eq!(paths(&books), all);
    assert!(!site.asked().iter().any(|asked| asked == "/logout" || asked == "/containers/5/stop"));
    let (books, _) = site.round("follow = []", books, NOW + 1);
    assert_eq!(paths(&books), all, "also by pages that have not changed");
}

#[test]
fn a_page_that_was_written_a_moment_ago_is_asked_for_once_more() {
    let site = Site::new(|ask: &Ask| {
        let young = |reply: Option<Said>| {
            let (status, mut headers, body) = reply?;
            headers.push(("date", "Sat, 01 Jan 2022 00:00:01 GMT".to_owned()));
            Some((status, headers, body))
        };
        match &*ask.target {
            "/" if ask.if_none_match.is_some() => said(304, &[], ""),
            "/" if ask.depth == 0 && ask.if_modified_since.is_none() => young(file("", "Start", &["a/"])),
            _ => missing(),
        }
    });
    let (books, _) = site.round("follow = []", Books::default(), NOW);
    let start = books.get("/").unwrap();
    assert_eq!((&start.etag, &start.last_modified, start.links.len()), (&None, &None, 0));
}

#[test]
fn a_blog_is_read_by_its_feed_and_the_shape_of_its_addresses() {
    let post = |path: &str| format!("<link rel=canonical href={path}><meta property=og:type content=article>");
    let feed = "<link rel=alternate type=application/rss+xml href=/feed/>";
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" if ask.if_none_match.is_some() => said(304, &[], ""),
        "/" => {
            let (status, mut headers, body) = made(feed, "Blog", &["/2024/05/third-post/", "/cart/add/5"])?;
            headers.push(("etag", "W/\"1\"".to_owned()));
            Some((status, headers, body))
        }
        "/feed/" => said(
            200,
            &[("content-type", "application/rss+xml")],
            "<rss><channel><item><link>http://site.test/2024/05/first-post/</link></item>\
             <item><link>http://site.test/posts/2/delete</link></item></channel></rss>",
        ),
        "/2024/05/first-post/" => made(
            &post(&ask.target),
            "First",
            &["/2023/11/second-post/", "/cart/add/5", "/2024/05/first-post/like/", "/clear-cache/", "/tag/tea/"],
        ),
        "/2023/11/second-post/" => made(&post(&ask.target), "Second", &[]),
        target => made("", target, &[]),
    });
    let all = ["/", "/2023/11/second-post/", "/2024/05/first-post/"];
    let (books, _) = site.round("follow = []", Books::default(), NOW);
    assert_eq!(paths(&books), all);
    let (books, _) = site.round("follow = []", books, NOW + 1);
    assert_eq!(paths(&books), all, "the feed of a page that has not changed is read again");
    assert!(!site.asked().iter().any(|asked| asked == "/posts/2/delete"));
}

#[test]
fn a_wiki_with_queries_is_read_by_what_it_calls_its_pages() {
    let canonical = |target: &str| {
        format!("<link rel=canonical href='http://site.test{target}'><meta name=generator content=DokuWiki>")
    };
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => made(&canonical("/doku.php?id=start"), "Start", &["/doku.php?do=login"]),
        "/doku.php?id=start" => made(
            &canonical("/doku.php?id=start"),
            "Start",
            &[
                "/doku.php?id=wiki:syntax",
                "/doku.php?id=start&amp;do=edit",
                "/doku.php?do=recent",
                "/doku.php?idx=wiki",
            ],
        ),
        "/doku.php?id=wiki:syntax" => made(&canonical("/doku.php?id=wiki:syntax"), "Syntax", &[]),
        _ => missing(),
    });
    assert_eq!(read(&site), ["/doku.php?id=start", "/doku.php?id=wiki:syntax"]);
    assert!(!site.asked().iter().any(|asked| asked.contains("do=") || asked.contains("idx")));
}

#[test]
fn a_page_of_a_program_is_left_out_and_counted_unless_it_is_named() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => made("", "Start", &["/about", "/docs/stop", "/docs/install", "/docs/5/delete"]),
        "/robots.txt" | "/sitemap.xml" | "/llms.txt" => missing(),
        target => made("", target, &[]),
    });
    let (books, _, left_out) = site.noted("follow = []", Books::default(), NOW);
    assert_eq!((paths(&books), left_out.count), (vec!["/".to_owned()], 4));
    let first: Vec<(&str, WhyLeftOut)> = left_out.first.iter().map(|left| (&*left.link, left.why)).collect();
    assert_eq!(first, [("/docs/5/delete", WhyLeftOut::Acts), ("/about", WhyLeftOut::Unlisted)]);
    let (books, _) = site.round("follow = ['/docs/*']", Books::default(), NOW);
    assert_eq!(paths(&books), ["/", "/docs/install"], "the operator says that this is documentation");
}

/// A site whose pages are files that were written a second before it is read for the first time, or which a program dates by
/// the clock.
#[test]
fn a_first_page_that_was_written_only_now_is_asked_for_again() {
    let date = |seconds: u64| httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds));
    let read = |is_file: bool| {
        let pages = std::cell::Cell::new(0);
        let site = Site::new(|ask: &Ask| {
            let now = NOW + 1 + 3 * pages.get();
            let headers = vec![("last-modified", date(if is_file { NOW } else { now })), ("date", date(now))];
            let page = match &*ask.target {
                "/" => html(headers, "Start", &["/delivery.html"]),
                "/delivery.html" => html(headers, "Delivery", &[]),
                _ => return missing(),
            };
            pages.set(pages.get() + 1);
            page
        });
        let (books, _, left_out) = site.noted("follow = []", Books::default(), NOW);
        (paths(&books), left_out.count, site.asked().iter().filter(|target| *target == "/").count())
    };
    assert_eq!(read(true), (vec!["/".to_owned(), "/delivery.html".to_owned()], 0, 2));
    assert_eq!(read(false), (vec!["/".to_owned()], 1, 2));
}
