//! Links that may act are not followed, wherever they stand.

use super::*;

fn is_asked(site: &Site<impl Fn(&Ask) -> Option<Said>>, target: &str) -> bool {
    site.asked().iter().any(|asked| asked == target)
}

fn left(link: &str, page: &str, why: WhyLeftOut) -> NotFollowed {
    NotFollowed { link: link.into(), page: page.into(), why }
}

#[test]
fn a_process_manager_is_left_running() {
    // The links of Supervisor's own page.
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" | "/sitemap.xml" => missing(),
        "/" | "/index.html" => page(
            "Supervisor Status",
            &[
                "index.html?action=refresh",
                "index.html?action=restartall",
                "index.html?action=stopall",
                "index.html?processname=mailer&amp;action=stop",
                "index.html?processname=mailer&amp;action=clearlog",
                "tail.html?processname=mailer",
                "index.html",
            ],
        ),
        other => page(other, &[]),
    });
    let tail = "/tail.html?processname=mailer";
    for (content, queries, count) in [
        ("follow = []", &[][..], 7),
        ("follow = []\nfollow_queries = true", &[], 7),
        ("follow = ['/*']", &[], 6),
        ("follow = ['/*']\nfollow_queries = true", &[tail], 5),
    ] {
        let (_, _, left_out) = site.noted(content, Books::default(), 0);
        let asked: Vec<String> = site.asked().into_iter().filter(|target| target.contains('?')).collect();
        assert_eq!((asked, left_out.count), (queries.iter().map(|&q| q.to_owned()).collect(), count), "{content}");
        assert_eq!(left_out.first[0], left("/index.html?action=refresh", "/", WhyLeftOut::Acts));
        let unlisted = queries.is_empty().then(|| left(tail, "/", WhyLeftOut::Unlisted));
        assert_eq!(left_out.first.get(1), unlisted.as_ref(), "{content}");
    }
}

#[test]
fn a_query_is_asked_for_where_the_site_lists_it() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => said(200, &[], "Sitemap: http://site.test/more.xml\n"),
        "/sitemap.xml" => said(200, &[], "<urlset><url><loc>http://site.test/?p=1</loc></url></urlset>"),
        // Read after the page that links there.
        "/more.xml" => said(200, &[], "<urlset><url><loc>http://site.test/?p=2</loc></url></urlset>"),
        "/" => page("Start", &["/?p=1", "/?p=2", "/?p=3", "/docs/cli/stop/"]),
        "/?p=1" => page("One", &["/?p=2", "/?p=4"]),
        target => page(target, &[]),
    });
    let (books, _, left_out) = site.noted("", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/?p=1", "/?p=2"]);
    let first = [left("/docs/cli/stop/", "/", WhyLeftOut::Acts), left("/?p=3", "/", WhyLeftOut::Unlisted)];
    assert_eq!((left_out.count, left_out.first), (3, first.to_vec()));
    let (_, _, left_out) = site.noted("", books, 1);
    assert_eq!(left_out.count, 3, "the same the next time");
}

#[test]
fn lists_and_redirects_name_nothing_that_acts() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/robots.txt" => said(200, &[], "Sitemap: http://site.test/sitemap/delete?all\n"),
        "/sitemap.xml" => said(
            200,
            &[],
            "<urlset><url><loc>http://site.test/posts/2/delete</loc></url>\
             <url><loc>http://site.test/?action=stop</loc></url>\
             <url><loc>http://site.test/docs/cli/stop/</loc></url></urlset>",
        ),
        "/llms.txt" => said(200, &[], "- [x](/logout)\n- [y](/purge)\n"),
        "/words.md" => said(200, &[("content-type", "text/markdown")], "# Words\n[x](/clear)\n"),
        "/" => page("Start", &["/moved", "/deep", "/words.md", "/canonical"]),
        "/moved" => said(302, &[("location", "/posts/3/delete")], ""),
        "/deep" => said(302, &[("location", "/deeper?lang=en")], ""),
        "/deeper?lang=en" => said(302, &[("location", "/?do=logout")], ""),
        "/canonical" => html(Vec::new(), "Other</title><link rel=canonical href=/posts/9/delete><title>", &[]),
        target => page(target, &[]),
    });
    let (books, _, left_out) = site.noted("start = ['/sitemap.xml', '/llms.txt', '/']", Books::default(), 0);
    for never in ["/posts/2/delete", "/?action=stop", "/logout", "/purge", "/clear", "/posts/3/delete", "/?do=logout"] {
        assert!(!is_asked(&site, never), "{never}");
    }
    assert!(!is_asked(&site, "/posts/9/delete") && !is_asked(&site, "/sitemap/delete?all"));
    assert!(is_asked(&site, "/docs/cli/stop/"), "a document that the site lists");
    assert!(is_asked(&site, "/deeper?lang=en") && paths(&books).contains(&"/canonical".to_owned()));
    assert_eq!(left_out.first, [left("/posts/2/delete", "/sitemap.xml", WhyLeftOut::Acts)]);
}

#[test]
fn a_redirect_to_what_acts_is_counted_as_such() {
    let text = "[upstream]\nurl = 'http://site.test'\n[content]\nstart = ['/']";
    let rules = testing::rules(text);
    let mut crawl = Crawl::new(rules, Books::default(), 0);
    let mut headers = HeaderMap::new();
    let robots = crawl.next(&|_| false).unwrap();
    headers.insert("location", HeaderValue::from_static("/robots/delete"));
    let answer =
        |headers: &HeaderMap| Ok(Fetched { status: StatusCode::FOUND, headers: headers.clone(), body: "".into() });
    assert_eq!(crawl.take(&robots, answer(&headers)), Outcome::Acts);
    let start = crawl.next(&|_| false).unwrap();
    assert_eq!((&*start.target, crawl.take(&start, answer(&headers))), ("/", Outcome::Acts));
    assert_eq!(crawl.next(&|_| false), None);
    assert_eq!(crawl.left_out().count, 0, "they are counted by their outcome");
}

#[test]
fn what_the_operator_names_is_asked_for() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/container/stop" => page("docker stop", &["/container/kill"]),
        _ => missing(),
    });
    let (books, _) = site.round("start = ['/container/stop']", Books::default(), 0);
    assert_eq!(paths(&books), ["/container/stop"]);
    assert!(!is_asked(&site, "/container/kill"));
}

#[test]
fn some_pages_lead_nowhere() {
    let login = "<title>Sign in</title><main><h1>Sign in</h1><form><input name=u><input type=password></form>\
                 <p><a href=/behind-login>x</a></p></main>";
    let hidden = "<meta name=robots content=noindex><title>H</title><p>Words.</p><a href=/behind-hidden>x</a>";
    let nofollow = "<meta name=robots content=none><title>N</title><p>Words.</p><a href=/behind-none>x</a>";
    let site = Site::new(move |ask: &Ask| match &*ask.target {
        "/" => page("Start", &["/login", "/none", "/tagged", "/basic", "/hidden"]),
        "/login" => said(200, &[("content-type", "text/html")], login),
        "/none" => said(200, &[("content-type", "text/html")], nofollow),
        "/hidden" => said(200, &[("content-type", "text/html")], hidden),
        "/tagged" => html(vec![("x-robots-tag", "nofollow".into())], "Tagged", &["/behind-tagged"]),
        "/basic" => said(401, &[("content-type", "text/html")], "<p>Words <a href=/behind-basic>x</a></p>"),
        behind if behind.starts_with("/behind") => page(behind, &[]),
        _ => missing(),
    });
    site.round("", Books::default(), 0);
    for behind in ["/behind-login", "/behind-none", "/behind-tagged", "/behind-basic"] {
        assert!(!is_asked(&site, behind), "{behind}");
    }
    assert!(is_asked(&site, "/behind-hidden"), "only this page is not to be found");
    site.round("start = ['/hidden']", Books::default(), 0);
    assert!(!is_asked(&site, "/behind-hidden"), "nothing of the site is");
}

#[test]
fn what_leads_back_to_its_page_is_asked_for_once() {
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => page("Users", &["/bannish/5", "/bannish/6", "/old", "/list"]),
        "/list" => page("List", &["/bannish/7"]),
        "/bannish/5" | "/bannish/6" | "/bannish/7" => said(302, &[("location", "/")], ""),
        "/old" => said(301, &[("location", "/")], ""),
        _ => missing(),
    });
    let (books, _) = site.round("", Books::default(), 0);
    let asked = || site.asked().into_iter().filter(|asked| asked.starts_with("/bannish")).count();
    assert_eq!(asked(), 1, "the first of its kind: {:?}", site.asked());
    assert!(is_asked(&site, "/list") && is_asked(&site, "/old"));
    site.round("", books, 1);
    assert_eq!(asked(), 0, "never again: {:?}", site.asked());
}
