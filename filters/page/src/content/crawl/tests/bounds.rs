//! A site that has no end, fails, or leads elsewhere: there is a bound to what it can make of a round.

use super::*;

#[test]
fn a_site_that_fails_is_left_alone() {
    let well = std::cell::Cell::new(true);
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" if well.replace(false) => page("Start", &["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"]),
        "/robots.txt" => missing(),
        _ => said(502, &[], ""),
    });
    let (_, ending) = site.round("start = ['/']", Books::default(), 0);
    assert!(matches!(ending, Ending::Stopped(_)));
    assert_eq!(site.asked().len(), 2 + MOST_FAILURES + 1, "and once more what was there before");
}

#[test]
fn pages_that_fail_do_not_keep_others_from_being_read() {
    let links: Vec<String> = (0..12).map(|n| format!("/bad{n}")).chain(["/good".to_owned()]).collect();
    let site = Site::new(move |ask: &Ask| match &*ask.target {
        "/" => page("Start", &links.iter().map(String::as_str).collect::<Vec<_>>()),
        "/good" => page("Good", &[]),
        bad if bad.starts_with("/bad") => said(500, &[], ""),
        _ => missing(),
    });
    let (books, ending) = site.round("start = ['/']", Books::default(), 0);
    assert_eq!((paths(&books), ending), (vec!["/".to_owned(), "/good".to_owned()], Ending::Complete));
}

#[test]
fn what_fails_once_is_read_in_the_same_round() {
    let failed = std::cell::RefCell::new(std::collections::HashSet::new());
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => page("Start", &["/slow", "/dead", "/good"]),
        "/good" => page("Good", &[]),
        "/slow" if failed.borrow_mut().insert(ask.target.clone()) => None,
        "/slow" => page("Slow", &["/behind"]),
        "/behind" => page("Behind", &[]),
        "/dead" => said(500, &[], ""),
        _ => missing(),
    });
    let (books, ending) = site.round("start = ['/']", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/behind", "/good", "/slow"]);
    assert_eq!(ending, Ending::Complete);
    let asked = |target| site.asked().iter().filter(|asked| *asked == target).count();
    assert_eq!((asked("/slow"), asked("/dead"), asked("/good")), (2, 2, 1));
}

#[test]
fn what_a_round_does_not_come_to_is_kept_for_a_while() {
    let site = |links: Vec<String>| {
        Site::new(move |ask: &Ask| match &*ask.target {
            "/" => page("Start", &links.iter().map(String::as_str).collect::<Vec<_>>()),
            "/known" => page("Known", &["/far"]),
            "/far" => page("Far", &[]),
            _ => missing(),
        })
    };
    let content = "max_pages = 10\nstart = ['/hub', '/']";
    let (books, ending) = site(vec!["/known".to_owned()]).round(content, Books::default(), 1_000);
    assert_eq!((books.len(), ending), (3, Ending::Complete));
    let posted: Vec<String> = (0..ASKED_AT_LEAST).map(|n| format!("/posted{n}")).collect();
    let (books, ending) = site(posted.clone()).round(content, books, 2_000);
    assert_eq!((paths(&books), ending), (vec!["/".into(), "/far".into(), "/known".into()], Ending::Spent));
    let (books, _) = site(posted).round(content, books, 1_001 + KEPT_UNMET);
    assert_eq!(paths(&books), ["/"]);
}

#[test]
fn a_site_without_an_end_has_one() {
    // Every page links to ten more; every page is another.
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => missing(),
        target => {
            let base = target.trim_end_matches('/');
            let links: Vec<String> = (0..10).map(|n| format!("{base}/{n}x{}", base.len())).collect();
            page(target, &links.iter().map(String::as_str).collect::<Vec<_>>())
        }
    });
    let (books, ending) = site.round("max_pages = 50", Books::default(), 0);
    assert_eq!((books.len(), ending), (50, Ending::Complete));
    assert!(site.asked().len() <= ASKED_AT_LEAST);
    // Every page is the same: no more than the bound on requests is asked for.
    let same = Site::new(|ask: &Ask| {
        let links: Vec<String> = (0..10).map(|n| format!("{}{n}/", ask.target)).collect();
        page("Same", &links.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let (books, _) = same.round("max_pages = 150\nstart = ['/']", Books::default(), 0);
    assert_eq!(books.len(), 1);
    assert_eq!(same.asked().len(), 150 * ASKED_FOR_EACH);
}

#[test]
fn redirects_lead_only_so_far() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => said(302, &[("location", "/robots")], ""),
        "/robots" => said(200, &[], "User-agent: *\nDisallow: /no\n"),
        "/" => page("Start", &["/loop", "/hop0", "/to-no", "/to-agent"]),
        "/loop" => said(302, &[("location", "/loop")], ""),
        "/to-no" => said(302, &[("location", "/no")], ""),
        "/to-agent" => said(302, &[("location", "/agent/converse")], ""),
        hop if hop.starts_with("/hop") => {
            let next = hop[4..].parse::<u32>().unwrap() + 1;
            said(307, &[("location", &format!("/hop{next}"))], "")
        }
        _ => missing(),
    });
    let (books, _) = site.round("start = ['/']", Books::default(), 0);
    assert_eq!(paths(&books), ["/"]);
    let hops = site.asked().iter().filter(|target| target.starts_with("/hop")).count();
    assert_eq!(hops, usize::from(MOST_HOPS) + 1);
    assert!(!site.asked().iter().any(|target| target == "/no" || target.starts_with("/agent")));
}

#[test]
fn robots_that_lead_off_the_site_forbid_nothing() {
    for location in ["https://other.test/robots.txt", "/robots.txt"] {
        let site = Site::new(move |ask: &Ask| match &*ask.target {
            "/robots.txt" => said(301, &[("location", location)], ""),
            "/" => page("Start", &[]),
            _ => missing(),
        });
        assert_eq!(paths(&site.round("", Books::default(), 0).0), ["/"], "{location}");
    }
}

#[test]
fn robots_that_lead_to_a_page_are_asked_for_in_every_round() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" if ask.if_none_match.is_some() => said(304, &[], ""),
        "/" => html(vec![("etag", "\"1\"".into())], "Start", &["/a"]),
        "/a" => page("A", &[]),
        _ => said(302, &[("location", "/")], ""),
    });
    let (books, _) = site.round("", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/a"]);
    let (books, ending) = site.round("", books, 1);
    assert_eq!((paths(&books), ending), (vec!["/".to_owned(), "/a".to_owned()], Ending::Complete));
    assert_eq!(site.asked().iter().filter(|target| *target == "/robots.txt").count(), 1);
}

#[test]
fn sitemaps_are_nested_only_so_deep_and_there_are_only_so_many() {
    let deep = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => missing(),
        target => {
            let next = target.len();
            said(200, &[], &format!("<sitemapindex><sitemap><loc>{target}{next}.xml</loc></sitemap></sitemapindex>"))
        }
    });
    deep.round("start = ['/a.xml']", Books::default(), 0);
    assert_eq!(deep.asked().len(), 2 + usize::from(DEEPEST_LIST));
    let wide = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => missing(),
        "/a.xml" => {
            let all: String = (0..500).map(|n| format!("<sitemap><loc>/{n}.xml</loc></sitemap>")).collect();
            said(200, &[], &format!("<sitemapindex>{all}</sitemapindex>"))
        }
        _ => said(200, &[], "<urlset></urlset>"),
    });
    wide.round("start = ['/a.xml']", Books::default(), 0);
    assert_eq!(wide.asked().len(), 1 + MOST_LISTS);
}

#[test]
fn what_is_compressed_all_the_same_is_read_within_its_bound() {
    let packed = gzip::testing::packed(page("Packed", &[]).unwrap().2.as_bytes());
    let bomb = gzip::testing::packed(&vec![b' '; MOST_OF_BODY + 1]);
    let text = "[upstream]\nurl = 'http://site.test'\n[content]\nstart = ['/a', '/b', '/c']";
    let rules = testing::rules(text);
    let mut crawl = Crawl::new(rules, Books::default(), 0);
    let answers = [(None, b"".to_vec()), (Some("gzip"), packed), (Some("gzip"), bomb), (Some("br"), b"x".to_vec())];
    let outcomes = answers.map(|(coding, body)| {
        let ask = crawl.next(&|_| false).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/html"));
        if let Some(coding) = coding {
            headers.insert("content-encoding", HeaderValue::from_static(coding));
        }
        crawl.take(&ask, Ok(Fetched { status: StatusCode::OK, headers, body: body.into() }))
    });
    assert_eq!(outcomes, [Outcome::Robots, Outcome::Page, Outcome::Other, Outcome::Other]);
}

#[test]
fn a_long_page_is_cut() {
    let words = "wörd ".repeat(books::MOST_OF_PAGE / 5);
    let site = Site::new(move |ask: &Ask| match &*ask.target {
        "/x.md" => said(200, &[("content-type", "text/plain")], &words),
        _ => missing(),
    });
    let (books, _) = site.round("start = ['/x.md']", Books::default(), 0);
    let length = books.get("/x.md").unwrap().page.markdown.len();
    assert!(length <= books::MOST_OF_PAGE && length > books::MOST_OF_PAGE - 4, "{length}");
}
