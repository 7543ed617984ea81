//! Applications that act on a GET: of their pages only the start page is read, whatever their links are called.

use super::*;

/// Links of real applications that act, in words that no list has: Arduino, Motion, LuCI, Webmin, Zope, Laravel, Jenkins
/// and Django.
const ACTING: [&str; 54] = [
    "/H",
    "/26/on",
    "/gpio/1",
    "/LED=ON",
    "/ledon",
    "/relay1off",
    "/0/action/makemovie",
    "/0/config/write",
    "/cgi-bin/luci/admin/network/iface_reconnect/wan",
    "/cgi-bin/luci/admin/system/reboot/call",
    "/postfix/flushq.cgi",
    "/mount/swap_swap.cgi",
    "/folder/object_cut",
    "/Control_Panel/Database/main/manage_pack",
    "/portal_catalog/refreshCatalog",
    "/config-cache",
    "/optimize-clear",
    "/migrate",
    "/db-seed",
    "/send-test-mail",
    "/notifications/5/read",
    "/impersonate/take/5",
    "/currency/EUR",
    "/wishlist/5",
    "/order/confirm/5",
    "/theme/dark",
    "/job/app/polling",
    "/manage/reload",
    "/computer/n1/launchSlaveAgent",
    "/threadDump/gc",
    "/view/all/builds/now",
    "/hijack/5/",
    "/friends/add/bob/",
    "/items/5/plus/",
    "/next/5/",
    "/activate/MQ/abc123-4f5e6d/",
    "/u/abc123def456",
    "/promote/bob",
    "/users/bob/promote",
    "/orders/INV-2024-001/pay",
    "/tickets/ABC-12/assign-to-me",
    "/vm/web-1/start",
    "/containers/nginx/pull",
    "/services/nginx/reload",
    "/scene/5",
    "/deploy/production",
    "/tasks/run/backup",
    "/sync/now",
    "/poll/5/1",
    "/newgame",
    "/tip/bob/5",
    "/index.html?action=stopall",
    "/stop.html",
    "/list?page=2",
];

/// A start page with these links, in the forms in which consoles have them.
fn console(head: &str, links: &[&str]) -> String {
    let nav: String = links.iter().map(|link| format!("<li><a href='{link}'>All about it</a></li>")).collect();
    let row = |link: &&str| format!("<tr><td>1<td>running<td><a class=button href='{link}'>Go</a></tr>");
    let rows: String = links.iter().map(row).collect();
    let prose: String = links.iter().map(|link| format!("Click <a href='{link}'>here</a> to do it. ")).collect();
    format!(
        "<!doctype html><title>Console</title>{head}<nav><ul>{nav}</ul></nav><main><h1>Console</h1>\
         <p>{prose}</p><table>{rows}</table></main>"
    )
}

fn asked_of(html: &str, headers: &[(&'static str, &str)], content: &str) -> Vec<String> {
    let headers: Vec<(&str, &str)> = [("content-type", "text/html")].iter().chain(headers).copied().collect();
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => said(200, &headers, html),
        "/robots.txt" | "/sitemap.xml" | "/llms.txt" => missing(),
        target => page(target, &[]),
    });
    site.round(content, Books::default(), 1_700_000_000);
    let lists = ["/", "/robots.txt", "/sitemap.xml", "/llms.txt"];
    site.asked().into_iter().filter(|asked| !lists.contains(&asked.as_str())).collect()
}

#[test]
fn nothing_of_a_console_is_pressed() {
    let html = console("", &ACTING);
    for headers in [
        &[][..],
        // Express, Flask and tornado give everything a tag.
        &[("etag", "W/\"1a-xyz\""), ("x-powered-by", "Express")],
        &[("etag", "\"4d1d5c\""), ("server", "TornadoServer/6.4")],
        // Dated by the clock, for one visitor, made by a program.
        &[("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"), ("etag", "\"1\""), ("accept-ranges", "bytes")],
        &[("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("set-cookie", "session=1")],
        &[("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("cache-control", "no-cache, no-store")],
        &[("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("vary", "Cookie")],
        &[("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("x-powered-by", "PHP/8.2.7")],
    ] {
        for content in ["follow = []", "follow = []\nfollow_queries = true"] {
            assert_eq!(asked_of(&html, headers, content), [""; 0], "{headers:?} {content}");
        }
    }
}

#[test]
fn a_front_page_in_a_file_does_not_press_what_a_program_has() {
    // The page lies in `public/`; the program answers what it links to.
    let express = [
        ("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"),
        ("etag", "W/\"264-17e1a\""),
        ("accept-ranges", "bytes"),
        ("cache-control", "public, max-age=0"),
    ];
    let head = "<meta name=viewport content=width=device-width><meta name=description content=Control>";
    let acting: Vec<&str> = ACTING.into_iter().filter(|link| !link.ends_with(".html")).collect();
    assert_eq!(asked_of(&console(head, &acting), &express, "follow = []"), [""; 0]);
    assert_eq!(
        asked_of(&console(head, &["/a.html"]), &express, "follow = []"),
        ["/a.html"],
        "a file beside it is read"
    );
}

#[test]
fn a_front_page_that_declares_itself_presses_no_controls() {
    let html = console("<meta name=generator content='Hugo 0.120'>", &ACTING);
    let headers =
        [("content-type", "text/html"), ("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("etag", "\"1\"")];
    for answer in [page("Done", &[]), said(200, &[("content-type", "application/json")], "{}"), said(204, &[], "")] {
        let site = Site::new(|ask: &Ask| match &*ask.target {
            "/" => said(200, &headers, &html),
            "/robots.txt" | "/sitemap.xml" | "/llms.txt" => missing(),
            _ => answer.clone(),
        });
        let pressed = || site.asked().iter().filter(|asked| ACTING.contains(&asked.as_str())).count();
        let (books, _) = site.round("follow = []", Books::default(), 1_700_000_000);
        assert_eq!((paths(&books), pressed()), (vec!["/".to_owned()], 0), "{:?}", site.asked());
        site.round("follow = []", books, 1_700_000_001);
        assert_eq!(pressed(), 0, "{:?}", site.asked());
    }
}

#[test]
fn a_page_that_shows_a_session_leads_nowhere() {
    let head = "<link rel=canonical href=/><meta property=og:type content=website>";
    let headers = [("set-cookie", "sid=1"), ("cache-control", "private")];
    assert_eq!(asked_of(&console(head, &ACTING), &headers, "follow = []"), [""; 0]);
    assert_eq!(asked_of(&console(head, &ACTING), &[], "follow = []"), [""; 0], "the start page has no shape");
}

/// Links that act and are called like documents, one kind each.
fn rows(links: &[&str], texts: &dyn Fn(usize) -> String) -> String {
    links.iter().enumerate().map(|(n, link)| format!("<p>Row <a href='{link}'>{}</a></p>", texts(n))).collect()
}

fn page_of(head: &str, body: &str) -> String {
    format!("<!doctype html><title>Console</title>{head}<main><h1>Devices</h1><p>Of the plant.</p>{body}</main>")
}

const WRITTEN: [&str; 8] = [
    "/horn.html",
    "/brew.html",
    "/water.html",
    "/arm.html",
    "/dose.html",
    "/mow.html",
    "/light.md",
    "/devices/lamp.html",
];
const CLEAN: [&str; 6] = ["/garage/door/", "/water/plants/", "/light/dim", "/tea/brew/", "/gate/", "/scene/evening"];
const FROM_FILE: [(&str, &str); 3] =
    [("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("etag", "\"1\""), ("accept-ranges", "bytes")];

#[test]
fn a_console_that_declares_itself_is_asked_for_one_link() {
    let all = [&WRITTEN[..], &CLEAN[..]].concat();
    let (titled, alike) = (|n: usize| format!("Device {n}"), |_: usize| "Click".to_owned());
    let og = "<meta property=og:title content=x><meta name=generator content='Console 1.0'>";
    let book = "<link rel=next href=/devices/p2.html>";
    let shaped = "<meta property=og:title content=x><link rel=canonical href=/scene/overview>";
    for (head, headers, links) in [
        (og, &FROM_FILE[..], &all),
        ("<link rel=canonical href=/>", &FROM_FILE[..], &all),
        (book, &[][..], &WRITTEN.to_vec()),
        (shaped, &[][..], &vec!["/scene/evening", "/scene/morning", "/scene/away"]),
    ] {
        let asked = asked_of(&page_of(head, &rows(links, &titled)), headers, "follow = []");
        let pressed = asked.iter().filter(|asked| links.contains(&asked.as_str())).count();
        assert!(pressed <= 1, "{head}: {asked:?}");
        // Controls have the same text in each row.
        let asked = asked_of(&page_of(head, &rows(links, &alike)), headers, "follow = []");
        assert!(!asked.iter().any(|asked| links.contains(&asked.as_str())), "{head}: {asked:?}");
        let button = rows(links, &titled).replace("<a ", "<a class='btn btn-sm' ");
        let asked = asked_of(&page_of(head, &button), headers, "follow = []");
        assert!(!asked.iter().any(|asked| links.contains(&asked.as_str())), "{head}: {asked:?}");
    }
}

#[test]
fn a_kind_that_has_proved_right_is_followed_and_one_that_has_not_is_never_asked_for_again() {
    let links = ["/a.html", "/b.html", "/horn.html"];
    let start = page_of("", &rows(&links, &|n| format!("Title {n}")));
    let site = Site::new(|ask: &Ask| {
        let headers: Vec<_> = [("content-type", "text/html")].into_iter().chain(FROM_FILE).collect();
        match &*ask.target {
            "/" => said(200, &headers, &start),
            "/a.html" | "/b.html" => said(200, &headers, &format!("<title>{0}</title><p>Words of {0}.", ask.target)),
            "/horn.html" => page("Done", &[]),
            _ => missing(),
        }
    });
    let (books, _) = site.round("follow = []", Books::default(), 1_700_000_000);
    assert_eq!(paths(&books), ["/", "/a.html", "/b.html"]);
    assert!(
        site.asked().iter().any(|asked| asked == "/horn.html"),
        "nothing tells it from the others: {:?}",
        site.asked()
    );
    let (books, _) = site.round("follow = []", books, 1_700_000_001);
    assert_eq!(paths(&books), ["/", "/a.html", "/b.html"]);
    assert!(!site.asked().iter().any(|asked| asked == "/horn.html"), "{:?}", site.asked());
}

#[test]
fn lists_of_events_and_of_a_program_are_not_pressed() {
    let entries = ["/ack/7", "/alerts/7/silence", "/alerts/8/silence", "/approve-7", "/jobs/deploy"];
    let items: String = entries.iter().map(|e| format!("<item><link>http://site.test{e}</link></item>")).collect();
    let feed = format!("<rss><channel>{items}</channel></rss>");
    let start = page_of("<link rel=alternate type=application/rss+xml href=/feed>", "");
    let site = Site::new(|ask: &Ask| match &*ask.target {
        "/" => said(200, &[("content-type", "text/html")], &start),
        "/feed" => said(200, &[("content-type", "application/rss+xml")], &feed),
        "/links.txt" => said(200, &[], "- [x](/charge?x=1)\n- [y](/devices/5/arm)\n- [z](/guide)\n"),
        "/robots.txt" | "/sitemap.xml" => missing(),
        target => page(target, &[]),
    });
    let (books, _) = site.round("follow = []\nstart = ['/links.txt', '/']", Books::default(), 1_700_000_000);
    assert_eq!(paths(&books), ["/", "/guide"], "{:?}", site.asked());
    assert!(!site.asked().iter().any(|asked| entries.contains(&asked.as_str()) || asked.starts_with("/charge")));
}

#[test]
fn a_console_that_looks_like_a_listing_of_files_is_asked_for_one_link() {
    let names = ["brew/", "water/", "relay1/", "feed.html", "horn.html"];
    let links: String = names.iter().map(|name| format!("<a href='{name}'>{name}</a> 01-Jan-2022 00:00 -\n")).collect();
    let html = format!("<title>Index of /</title><h1>Index of /</h1><pre><a href='../'>../</a>\n{links}</pre>");
    let asked = asked_of(&html, &[], "follow = []");
    assert!(asked.len() <= 1, "{asked:?}");
}
