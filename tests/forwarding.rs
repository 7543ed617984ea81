//! Promise: the site learns the client from us and never from a stranger's headers, and hop-by-hop headers stay on
//! their hop.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};

async fn desk(trusted: &str) -> (Origin, Desk) {
    let tls = Tls::new();
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let listen = format!("trusted_proxies = {trusted}");
    let desk = Setup::before(&origin).set("listen", &listen).tls(&tls).start().await;
    (origin, desk)
}

#[tokio::test]
async fn forwarding_headers_are_set() {
    let (origin, desk) = desk("[]").await;
    desk.get("/").await;
    let seen = origin.last();
    assert_eq!(seen.header("host"), Some("site.test"), "preserved");
    assert_eq!(seen.headers.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(seen.headers.all("x-forwarded-proto"), ["http"]);
    assert_eq!(seen.headers.all("x-forwarded-host"), ["site.test"]);
    desk.ask(Via::H2Tls, Ask::get("/")).await;
    let seen = origin.last();
    assert_eq!(seen.header("host"), Some("site.test"), "from :authority");
    assert_eq!(seen.headers.all("x-forwarded-proto"), ["https"]);
}

#[tokio::test]
async fn forwarding_headers_of_strangers_are_not_believed() {
    let (origin, desk) = desk("[]").await;
    let ask = Ask::get("/")
        .header("X-Forwarded-For", "6.6.6.6")
        .header("X-Forwarded-For", "7.7.7.7")
        .header("X-Forwarded-Proto", "https")
        .header("X-Forwarded-Host", "evil.test")
        .header("Forwarded", "for=6.6.6.6;proto=https;host=evil.test")
        .header("X_Forwarded_For", "6.6.6.6")
        .header("X-Real-IP", "6.6.6.6");
    desk.ask(Via::H1, ask).await;
    let seen = origin.last();
    assert_eq!(seen.headers.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(seen.headers.all("x-forwarded-proto"), ["http"]);
    assert_eq!(seen.headers.all("x-forwarded-host"), ["site.test"]);
    let head = String::from_utf8_lossy(&seen.raw_head).into_owned();
    assert!(!head.contains("6.6.6.6") && !head.contains("7.7.7.7") && !head.contains("evil.test"), "{head}");
}

#[tokio::test]
async fn forwarding_headers_of_trusted_proxies_are_continued() {
    let (origin, desk) = desk("[\"127.0.0.0/8\"]").await;
    let ask = Ask::get("/")
        .header("X-Forwarded-For", "203.0.113.9")
        .header("X-Forwarded-Proto", "https")
        .header("X-Forwarded-Host", "www.site.test");
    desk.ask(Via::H1, ask).await;
    let seen = origin.last();
    let chain = seen.headers.tokens("x-forwarded-for");
    assert_eq!(chain.first().map(String::as_str), Some("203.0.113.9"), "{chain:?}");
    assert_eq!(seen.headers.all("x-forwarded-proto"), ["https"]);
    assert_eq!(seen.headers.all("x-forwarded-host"), ["www.site.test"]);
}

/// A site that reads the names of old is told the same by them.
#[tokio::test]
async fn forwarding_by_the_one_header_is_told_by_the_others() {
    let (origin, desk) = desk("[\"127.0.0.0/8\"]").await;
    let said = "for=203.0.113.9;proto=https;host=\"www.site.test\"";
    for via in [Via::H1, Via::H2Tls] {
        desk.ask(via, Ask::get("/").header("Forwarded", said)).await;
        let seen = origin.last();
        assert_eq!(seen.headers.tokens("x-forwarded-for"), ["203.0.113.9", "127.0.0.1"], "{via:?}");
        assert_eq!(seen.headers.all("x-forwarded-proto"), ["https"], "{via:?}");
        assert_eq!(seen.headers.all("x-forwarded-host"), ["www.site.test"], "{via:?}");
        assert_eq!(seen.headers.all("x-real-ip"), ["203.0.113.9"], "{via:?}");
        assert!(seen.headers.joined("forwarded").starts_with(said), "{via:?}: {:?}", seen.headers);
    }
    // What is no host names nobody.
    desk.ask(Via::H1, Ask::get("/").header("Forwarded", "for=203.0.113.9;host=\"a b\"")).await;
    assert_eq!(origin.last().headers.all("x-forwarded-host"), ["site.test"]);
    // Who speaks by another name may have passed on what a client wrote.
    let strangers = || Ask::get("/").header("Forwarded", "for=203.0.113.9;proto=https;host=evil.test");
    for (name, value) in [("X-Real-IP", "203.0.113.9"), ("X-Forwarded-Proto", "http")] {
        desk.ask(Via::H1, strangers().header(name, value)).await;
        assert_eq!(origin.last().headers.all("x-forwarded-proto"), ["http"], "{name}");
        assert_eq!(origin.last().headers.all("x-forwarded-host"), ["site.test"], "{name}");
    }
}

/// A site is asked by path, whatever a client took us for (RFC 9112 §3.2).
#[tokio::test]
async fn forwarding_asks_by_path() {
    let (origin, desk) = desk("[]").await;
    for (sent, target) in [
        ("http://site.test/a//b?q=1", "/a//b?q=1"),
        ("HTTP://site.test/%61", "/%61"),
        ("http://site.test", "/"),
        ("http://site.test?q=http://x/y", "/?q=http://x/y"),
    ] {
        let response = desk.ask(Via::H1, Ask::get(sent)).await;
        let seen = origin.last();
        assert_eq!((response.status, seen.target.as_str()), (200, target), "{sent}");
        assert_eq!(seen.headers.all("host"), ["site.test"], "{sent}");
    }
    for (sent, target) in [("http://site.test", "*"), ("http://site.test/", "/"), ("*", "*")] {
        desk.ask(Via::H1, Ask::new("OPTIONS", sent)).await;
        assert_eq!(origin.last().target, target, "OPTIONS {sent} (RFC 9112 §3.2.4)");
    }
}

#[tokio::test]
async fn forwarding_our_own_headers_cannot_be_forged_in_any_spelling() {
    for trusted in ["[]", "[\"127.0.0.0/8\"]"] {
        let (origin, desk) = desk(trusted).await;
        let mut ask = Ask::get("/").header("Connection", "X-Frontdesk-Caller, close");
        for name in [
            "X-Frontdesk-Caller",
            "x-frontdesk-caller",
            "X_Frontdesk_Caller",
            "X-Frontdesk_Caller",
            "X_FRONTDESK-CALLER",
            "X-Frontdesk-Agent",
            "X_Frontdesk_Agent",
            "X-Frontdesk-Verified",
            "x_frontdesk_verified",
        ] {
            ask = ask.header(name, "forged").header(name, "forged again");
        }
        desk.ask(Via::H1, ask).await;
        let head = String::from_utf8_lossy(&origin.last().raw_head).into_owned();
        assert!(!head.contains("forged"), "{head}");
    }
}

#[tokio::test]
async fn forwarding_removes_what_belongs_to_one_hop() {
    let origin = Origin::start(|_: &Request| {
        Reply::html(PAGE)
            .header("Connection", "X-Hop")
            .header("X-Hop", "site")
            .header("Keep-Alive", "timeout=5")
            .header("Proxy-Authenticate", "Basic")
            .header("X-End", "site")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let ask = Ask::get("/")
        .header("Connection", "keep-alive, X-Private")
        .header("X-Private", "client")
        .header("Keep-Alive", "timeout=9")
        .header("Proxy-Connection", "keep-alive")
        .header("Proxy-Authorization", "Basic xx")
        .header("TE", "gzip")
        .header("X-End", "client");
    let response = desk.ask(Via::H1, ask).await;
    let seen = origin.last();
    for name in ["x-private", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"] {
        assert!(!seen.headers.has(name), "{name} went up: {:?}", seen.headers);
    }
    assert_eq!(seen.header("x-end"), Some("client"));
    for name in ["x-hop", "keep-alive"] {
        assert!(!response.headers.has(name), "{name} came down: {:?}", response.headers);
    }
    assert_eq!(response.header("x-end"), Some("site"));
}

#[tokio::test]
async fn forwarding_connection_cannot_take_away_what_matters() {
    let (origin, desk) = desk("[]").await;
    for (nominated, wrong) in [
        ("close, X-Forwarded-For, Host, Cookie2", "X-Forwarded-For"),
        ("hOst", "hOst"),
        ("X-Forwarded-Proto", "X-Forwarded-Proto"),
        ("close, \"x\"", "\\\"x\\\""),
        (":authority", ":authority"),
    ] {
        for path in ["/", "/.well-known/agent.json"] {
            let response = desk.ask(Via::H1, Ask::get(path).header("Connection", nominated)).await;
            let said = response.json();
            let detail = said["detail"].as_str().unwrap_or_else(|| said["message"].as_str().unwrap_or_default());
            assert_eq!(response.status, 400, "{path} {nominated}: {}", response.text());
            assert!(detail.starts_with(&format!("Connection says \"{wrong}\"")), "{path} {nominated}: {detail}");
        }
    }
    let long = desk.ask(Via::H1, Ask::get("/").header("Connection", &format!("\"{}\"", "x".repeat(20_000)))).await;
    assert!(long.status == 400 && long.body.len() < 400, "little of it comes back: {}", long.text());
    assert!(origin.asked().is_empty());
    let ask = Ask::post("/", "hello").header("Connection", "close, Content-Length, Content-Type, Cookie2");
    assert_eq!(desk.ask(Via::H1, ask).await.status, 200);
    let seen = origin.last();
    assert_eq!(seen.headers.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!((seen.header("host"), seen.body.as_slice()), (Some("site.test"), &b"hello"[..]));
}

#[tokio::test]
async fn forwarding_uses_the_upstreams_name_if_the_host_is_not_preserved() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("upstream", "preserve_host = false").start().await;
    desk.get("/").await;
    assert_eq!(origin.last().header("host"), Some(origin.addr.to_string().as_str()));
    assert_eq!(origin.last().headers.all("x-forwarded-host"), ["site.test"]);
}

#[tokio::test]
async fn forwarding_leaves_everything_else_as_it_was() {
    let (origin, desk) = desk("[]").await;
    let ask = Ask::get("/p?q=1")
        .header("User-Agent", "curl/8")
        .header("Cookie", "a=1; b=2")
        .header("Authorization", "Basic dXNlcjpwYXNz")
        .header("X-Twice", "1")
        .header("X-Twice", "2")
        .header("Accept", "text/html")
        .header("Via", "1.1 edge");
    desk.ask(Via::H1, ask.clone()).await;
    let seen = origin.last();
    assert_eq!(seen.target, "/p?q=1");
    assert_eq!(seen.headers.all("x-twice"), ["1", "2"]);
    for name in ["User-Agent", "Cookie", "Authorization", "Accept"] {
        let sent = ask.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(seen.header(name), sent, "{name}");
    }
    assert_eq!(seen.headers.all("via"), ["1.1 edge"], "the client's own");
}

/// A server that sees more than it would directly may do less: nginx and IIS do not compress where there is `Via`.
#[tokio::test]
async fn forwarding_adds_only_lines_that_change_nothing_for_common_servers() {
    let (origin, desk) = desk("[]").await;
    desk.get("/page").await;
    let mut names: Vec<_> = origin.last().headers.0.iter().map(|(name, _)| name.to_lowercase()).collect();
    names.sort();
    let expected = [
        "host",
        "x-asked-by",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-frontdesk-verified",
        "x-real-ip",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn forwarding_says_via_where_it_is_wanted() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).tls(&Tls::new()).set("upstream", "via = true").start().await;
    for (via, expected) in [(Via::H1, "1.1 edge, 1.1 frontdesk"), (Via::H2Tls, "1.1 edge, 2 frontdesk")] {
        // The second one goes the library's way.
        for more in ["X-Plain", "Max-Forwards"] {
            setup.ask(via, Ask::get("/").header("Via", "1.1 edge").header(more, "3")).await;
            assert_eq!(origin.last().headers.joined("via"), expected, "{via:?}, {more}");
        }
    }
}

#[tokio::test]
async fn forwarding_joins_the_crumbs_of_a_cookie() {
    let (origin, desk) = desk("[]").await;
    let ask = Ask::get("/").header("Cookie", "a=1").header("Cookie", "b=2; c=3").header("Cookie", "d=\"4\"");
    desk.ask(Via::H2Tls, ask).await;
    assert_eq!(origin.last().headers.all("cookie"), ["a=1; b=2; c=3; d=\"4\""], "one line (RFC 9113 §8.2.3)");
    desk.ask(Via::H2Tls, Ask::get("/").header("Cookie", "a=1")).await;
    assert_eq!(origin.last().headers.all("cookie"), ["a=1"]);
}

#[tokio::test]
async fn forwarding_an_http_1_0_request_gives_it_a_host() {
    let (origin, desk) = desk("[]").await;
    let mut conn = desk.conn().await;
    conn.send("GET /old HTTP/1.0\r\nX-Asked-By: test\r\n\r\n").await;
    assert_eq!(conn.response("GET").await.status, 200);
    let seen = origin.last();
    assert_eq!(seen.headers.all("host"), [origin.addr.to_string()], "{} needs one", seen.version);
    let mut conn = desk.conn().await;
    conn.send("GET /old HTTP/1.0\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n").await;
    assert_eq!(conn.response("GET").await.status, 200);
    assert_eq!(origin.last().headers.all("host"), ["site.test"], "a Host that was sent is kept");
}

#[tokio::test]
async fn forwarding_rarer_names_of_strangers_are_not_believed_either() {
    let (origin, desk) = desk("[]").await;
    for via in [Via::H1, Via::H2Tls] {
        let mut ask = Ask::get("/");
        for name in [
            "Client-IP",
            "Forwarded-For",
            "X-Forwarded",
            "X-Original-Forwarded-For",
            "X.Frontdesk.Caller",
            "client_ip",
            "X.Forwarded.For",
        ] {
            ask = ask.header(name, "6.6.6.6");
        }
        assert_eq!(desk.ask(via, ask).await.status, 200);
        let head = String::from_utf8_lossy(&origin.last().raw_head).into_owned();
        assert!(!head.contains("6.6.6.6"), "{via:?}: {head}");
    }
}

/// Behind a TLS terminator that the configuration does not name: the site sends its visitors round, and the log says why.
#[tokio::test]
async fn forwarding_by_a_terminator_that_is_not_trusted_is_warned_of_once() {
    const WARNING: &str = "sends X-Forwarded-Proto: https and is not in listen.trusted_proxies";
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    for trusted in [false, true] {
        let listen = if trusted { "trusted_proxies = [\"127.0.0.1\"]" } else { "" };
        let desk = Setup::before(&origin).set("listen", listen).start().await;
        assert_eq!(desk.ask(Via::H1, Ask::get("/").header("X-Forwarded-Proto", "http")).await.status, 200);
        assert!(!desk.stderr().contains(WARNING));
        for library in [false, true, false] {
            let ask = Ask::get("/").header("X-Forwarded-Proto", "https");
            let ask = if library { ask.header("TE", "trailers") } else { ask };
            assert_eq!(desk.ask(Via::H1, ask).await.status, 200);
        }
        let expected = usize::from(!trusted);
        eventually("said", SOON, async || desk.stderr().matches(WARNING).count() == expected).await;
        assert!(
            trusted || desk.stderr().contains("127.0.0.1 sends") && desk.stderr().contains("write trusted_proxies = [")
        );
    }
}

#[tokio::test]
async fn forwarding_a_proxy_that_speaks_http_1_0_is_named_once_with_the_line_to_write() {
    const WARNING: &str = "asks over HTTP/1.0: pages that it gets have no notice for agents";
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let desk = Setup::before(&origin).start().await;
    let old = |more: &str| format!("GET / HTTP/1.0\r\nHost: a.test\r\n{more}\r\n");
    assert_eq!(desk.raw(old("")).await.status, 200);
    assert!(!desk.stderr().contains(WARNING), "a client of its own: {}", desk.stderr());
    for _ in 0..2 {
        desk.raw(old("X-Forwarded-Proto: http\r\n")).await;
    }
    eventually("said", SOON, async || desk.stderr().matches(WARNING).count() == 1).await;
    assert!(desk.stderr().contains("proxy_http_version 1.1"), "{}", desk.stderr());
}
