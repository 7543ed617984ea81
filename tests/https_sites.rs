//! Promise: the fast path serves an HTTPS site over HTTP/1.1 as pingora does: the same trust, the same bytes to the
//! site, the same answers, and no connection that outlives its configuration.

use crate::support::calls::{call, query, site};
use crate::support::{Answer, Ask, Desk, Origin, Reply, Request, SOON, Setup, Step, Tls, Via, eventually};
use crate::support::{fast_path_is_off, page::PAGE};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// In front of a site whose certificate is trusted, in HTTP/1.1 and through one of the engines.
fn before(origin: &Origin, tls: &Tls, fast_path: bool) -> Setup {
    let setup = Setup::before(origin).trusting(tls).set("upstream", "http2 = \"off\"");
    setup.set("runtime", &format!("fast_path = {fast_path}"))
}

/// Which engine served the last request for this path.
async fn engine(desk: &Desk, path: &str) -> String {
    let found = || desk.access_log().into_iter().rfind(|line| line["url.path"] == path);
    eventually("its line", SOON, async || found().is_some()).await;
    found().expect("its line")["frontdesk.engine"].as_str().unwrap_or_default().to_owned()
}

fn word(fast_path: bool) -> &'static str {
    if fast_path { "fast_path" } else { "pingora" }
}

/// What a site is told, but for what differs each time. Over HTTP/2 the engines write names in another case.
fn told(request: &Request) -> Vec<(String, String)> {
    let lines = request.headers.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let mut lines: Vec<_> = lines.filter(|(name, _)| name != "x-request-id").collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn https_sites_are_asked_and_answer_alike_on_both_engines() {
    let tls = Tls::new();
    let large: Arc<[u8]> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let body = large.clone();
    let origin = Origin::start_tls(&tls, move |r: &Request| match r.target.as_str() {
        "/page" => Reply::html(PAGE),
        "/large" => Reply::new(200).header("Content-Type", "application/octet-stream").body(&body[..]),
        "/chunked" => {
            Reply::new(200).header("Content-Type", "text/plain").body(&body[..90_000]).pieces_of(777).chunked()
        }
        _ => Reply::json("{\"a\":1}"),
    })
    .await;
    let read = query("read", "\nupstream = { method = \"GET\", path = \"/api/read\" }");
    let mut seen = Vec::new();
    for fast_path in [true, false] {
        let setup = site(&origin, &read).trusting(&tls).set("upstream", "http2 = \"off\"").set("listen", "h2c = true");
        let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).start().await;
        let mut answers = Vec::new();
        for (via, ask) in [
            (Via::H1, Ask::get("/page").header("Cookie", "a=1").header("X-Forwarded-For", "203.0.113.9")),
            (Via::H2c, Ask::get("/over-h2")),
            (Via::H1, Ask::get("/large")),
            (Via::H2c, Ask::get("/large")),
            (Via::H1, Ask::get("/chunked")),
            (Via::H1, Ask::new("HEAD", "/page")),
        ] {
            let path = ask.target.clone();
            let response = desk.ask(via, ask).await;
            assert_eq!((response.status, response.complete), (200, true), "{path}");
            assert_eq!(engine(&desk, &path).await, word(fast_path), "{path}");
            answers.push((path, response.body, told(&origin.last())));
        }
        assert_eq!(answers[2].1, large[..]);
        assert_eq!(desk.call(call("/agent/read", &json!({}))).await.status, 200);
        let asked = origin.requests().into_iter().rfind(|request| request.target == "/api/read").expect("a call");
        answers.push(("a call".to_owned(), Vec::new(), told(&asked)));
        // An upload is pingora's in any case.
        assert_eq!(desk.ask(Via::H1, Ask::post("/upload", "x")).await.status, 200);
        assert_eq!(engine(&desk, "/upload").await, "pingora");
        // What was opened is used again, but for the connection of the upload, which waits for its own client only, and that
        // of HEAD.
        assert_eq!(desk.get("/again").await.status, 200);
        assert_eq!(desk.call(call("/agent/read", &json!({}))).await.status, 200);
        let opened = origin.settled().await;
        for _ in 0..5 {
            assert_eq!(desk.get("/again").await.status, 200);
            assert_eq!(desk.call(call("/agent/read", &json!({}))).await.status, 200);
        }
        assert_eq!(origin.connections(), opened, "{fast_path}");
        seen.push(answers);
    }
    for (fast, pingora) in seen[0].iter().zip(&seen[1]) {
        assert!(fast.1 == pingora.1, "{}: another body", fast.0);
        assert_eq!(fast.2, pingora.2, "{}", fast.0);
    }
}

/// What a site chooses is known once pingora has asked it; HTTP/2 stays with pingora.
#[tokio::test]
async fn https_sites_that_choose_http1_are_the_fast_paths() {
    if fast_path_is_off() {
        return;
    }
    let tls = Tls::new();
    let answer = |r: &Request| Reply::json("{}").header("X-Version", &r.version);
    for (offers, engines, version) in [
        (&["http/1.1"][..], ["pingora", "fast_path"], "HTTP/1.1"),
        (&["h2", "http/1.1"], ["pingora", "pingora"], "HTTP/2.0"),
    ] {
        let origin = Origin::accepting(tls.acceptor_offering(offers), answer).await;
        let desk = Setup::before(&origin).trusting(&tls).start().await;
        for (path, expected) in ["/1", "/2"].into_iter().zip(engines) {
            let response = desk.get(path).await;
            assert_eq!((response.status, response.header("x-version")), (200, Some(version)), "{path}");
            assert_eq!(engine(&desk, path).await, expected, "{path} of a site that offers {offers:?}");
        }
    }
}

/// The line that says why a request failed, without the address that the connection had here and without numbers: some
/// of them are times.
async fn why(desk: &Desk) -> String {
    desk.says("a request failed").await;
    let lines = desk.stderr();
    let line = lines.lines().find_map(|line| line.split_once("a request failed")).expect("the line").1;
    let line: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
    match line.split_once(", because of local address ") {
        Some((before, after)) => {
            format!("{before} {}", after.split_once(' ').map_or("", |(_, rest)| rest)).trim_end().to_owned()
        }
        None => line,
    }
}

#[tokio::test]
async fn https_sites_whose_certificate_is_not_accepted_fail_alike_on_both_engines() {
    let (own, ca, past) = (Tls::new(), Tls::of_a_ca(), Tls::of_the_years(2001, 2002));
    for (shows, trusted, name) in [
        (&own, &Tls::new(), "localhost"),
        (&own, &own, "elsewhere.test"),
        (&ca, &ca, "localhost"),
        (&past, &past, "localhost"),
    ] {
        let origin = Origin::start_tls(shows, |_: &Request| Reply::json("{}")).await;
        let mut said = Vec::new();
        for fast_path in [true, false] {
            let upstream = format!("http2 = \"off\"\nca = \"upstream-ca.pem\"\nserver_name = \"{name}\"");
            let mut setup = Setup::before(&origin).set("upstream", &upstream);
            setup.upstream_ca = Some(trusted.clone());
            let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).start().await;
            let response = desk.get("/").await;
            assert_eq!(response.status, 502);
            assert_eq!(engine(&desk, "/").await, word(fast_path));
            said.push((response.text(), why(&desk).await));
        }
        assert_eq!(said[0], said[1]);
    }
}

#[tokio::test]
async fn https_sites_get_the_certificate_that_they_ask_for() {
    let (tls, client) = (Tls::new(), Tls::new());
    let origin = Origin::accepting(tls.acceptor_for_clients_of(&client), |_: &Request| Reply::json("{}")).await;
    for fast_path in [true, false] {
        let without = before(&origin, &tls, fast_path);
        let with = without.clone().file("client.crt", &client.cert_pem).file("client.key", &client.key_pem);
        let with = with.set("upstream", "client_cert = \"client.crt\"\nclient_key = \"client.key\"");
        for (setup, status) in [(with, 200), (without, 502)] {
            let desk = setup.start().await;
            assert_eq!(desk.get("/").await.status, status, "fast path: {fast_path}");
            assert_eq!(engine(&desk, "/").await, word(fast_path));
        }
    }
}

#[tokio::test]
async fn https_sites_are_asked_on_no_connection_of_an_earlier_configuration() {
    let tls = Tls::new();
    let origin = Origin::start_tls(&tls, |_: &Request| Reply::json("{}")).await;
    for fast_path in [true, false] {
        let trusted = before(&origin, &tls, fast_path);
        let other = ["url = \"{}\"", "ca = \"upstream-ca.pem\"", "server_name = \"elsewhere.test\"", "http2 = \"off\""];
        let other = trusted.clone().instead("upstream", &other.join("\n").replace("{}", &origin.url()));
        let desk = trusted.clone().start().await;
        for (setup, status) in [(&trusted, 200), (&other, 502), (&trusted, 200)] {
            desk.swap(setup).await;
            assert_eq!(desk.get("/").await.status, status, "fast path: {fast_path}");
        }
    }
}

fn script(text: &str, late: &str, end: Step) -> Answer {
    let pause = Step::Pause(Duration::from_millis(30));
    vec![Step::Write(text.as_bytes().to_vec()), pause, Step::Write(late.as_bytes().to_vec()), end].into()
}

/// What a site sends beyond its answer is part of no other answer, in the same record of TLS or in a later one.
#[tokio::test]
async fn https_sites_say_nothing_into_the_next_answer() {
    const OWN: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nown";
    const FORGED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nforged";
    let tls = Tls::new();
    let origin = Origin::start_tls(&tls, |r: &Request| match r.target.as_str() {
        "/at-once" => script(&format!("{OWN}{FORGED}"), "", Step::KeepAlive),
        "/later" => script(OWN, FORGED, Step::KeepAlive),
        "/head" => script("HTTP/1.1 304 Not Modified\r\n\r\n", FORGED, Step::KeepAlive),
        _ => Reply::json("{\"own\":1}").into(),
    })
    .await;
    for fast_path in [true, false] {
        let desk = before(&origin, &tls, fast_path).start().await;
        for _ in 0..3 {
            for path in ["/at-once", "/later", "/head", "/own"] {
                let text = desk.get(path).await.text();
                assert!(!text.contains("forged"), "fast path: {fast_path}, {path}: {text}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The end of a socket without a goodbye of TLS is no end of an answer.
#[tokio::test]
async fn https_sites_that_are_cut_off_have_not_answered_in_full() {
    let tls = Tls::new();
    let origin = Origin::start_tls(&tls, |r: &Request| match r.target.as_str() {
        "/length" => script("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "short", Step::Close),
        "/chunked" => script("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "", Step::Close),
        "/close" => script("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", "short", Step::Close),
        _ => script("HTTP/1.1 200 OK\r\nContent-Le", "", Step::Close),
    })
    .await;
    for fast_path in [true, false] {
        let desk = before(&origin, &tls, fast_path).start().await;
        for path in ["/length", "/chunked", "/close"] {
            let response = desk.get(path).await;
            assert!(!response.complete, "fast path: {fast_path}, {path}: {response:?}");
        }
        assert_eq!(desk.get("/head").await.status, 502, "fast path: {fast_path}");
    }
}
