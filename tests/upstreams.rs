//! Promise: with several upstreams, one that is away costs no request, and a request that may act is never sent twice.

use crate::support::calls::{AOM, FULL, action, call, query, site};
use crate::support::page::PAGE;
use crate::support::setup::dead_address;
use crate::support::tls::Tls;
use crate::support::{Answer, Ask, Desk, Gate, Origin, Reply, Request, SOON, Setup, Step, Via, eventually};
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;

#[tokio::test]
async fn upstreams_a_dead_one_costs_no_request() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let urls = [format!("http://{}", dead_address()), origin.url()];
    let desk = Setup::before_urls(&urls).start().await;
    for n in 0..20 {
        assert_eq!(desk.get("/").await.status, 200, "request {n}");
        let posted = desk.ask(Via::H1, Ask::post("/", "body")).await;
        assert_eq!(posted.status, 200, "a POST before a byte was sent, {n}");
    }
    assert!(origin.asked().iter().filter(|r| r.method == "POST").all(|r| r.body == b"body"));
}

#[tokio::test]
async fn upstreams_whose_name_leads_nowhere_are_passed_over() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    // Once it is known that it leads nowhere; at the start nothing is known of either.
    let urls = [format!("http://localhost:{}", origin.addr.port()), "http://nowhere.invalid".to_owned()];
    let desk = Setup::before_urls(&urls).start().await;
    eventually("the other one is known", SOON, async || desk.get("/").await.status == 200).await;
    for n in 0..20 {
        assert_eq!(desk.get("/").await.status, 200, "request {n}");
    }
    assert!(desk.stderr().matches("cannot be resolved").count() < 20, "nobody waits for its name");
}

#[tokio::test]
async fn upstreams_take_turns() {
    let origins =
        [Origin::start(|_: &Request| Reply::json("0")).await, Origin::start(|_: &Request| Reply::json("1")).await];
    let urls: Vec<String> = origins.iter().map(Origin::url).collect();
    let desk = Setup::before_urls(&urls).start().await;
    // Our own questions at the start take turns too, and may come just between.
    eventually("each has its share", SOON, async || {
        let before = origins.each_ref().map(|origin| origin.asked().len());
        for _ in 0..20 {
            desk.get("/").await;
        }
        origins.iter().zip(before).all(|(origin, before)| (5..=15).contains(&(origin.asked().len() - before)))
    })
    .await;
}

#[tokio::test]
async fn upstreams_are_not_asked_again_once_a_byte_was_sent() {
    let broken = || Origin::start(|_: &Request| vec![Step::Close]);
    let origins = [broken().await, broken().await];
    let urls: Vec<String> = origins.iter().map(Origin::url).collect();
    let desk = Setup::before_urls(&urls).start().await;
    let response = desk.ask(Via::H1, Ask::post("/buy", "one")).await;
    assert_eq!(response.status, 502);
    let seen: usize = origins.iter().map(|o| o.asked().len()).sum();
    assert_eq!(seen, 1, "bought once");
}

#[tokio::test]
async fn upstreams_that_fail_their_health_check_are_left_out() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let ill = Arc::new(AtomicBool::new(false));
    let state = ill.clone();
    let first = Origin::start(move |r: &Request| match r.target.as_str() {
        "/healthz" if state.load(Ordering::Relaxed) => Reply::new(503).body("ill"),
        "/healthz" => Reply::new(200).body("well"),
        _ => Reply::json("0"),
    })
    .await;
    let second = Origin::start(|_: &Request| Reply::json("1")).await;
    let desk = Setup::before_urls(&[first.url(), second.url()])
        .set("upstream", "health_path = \"/healthz\"\nhealth_interval = \"200ms\"")
        .start()
        .await;
    let six = async || {
        let mut all = String::new();
        for _ in 0..6 {
            all.push_str(&desk.get("/").await.text());
        }
        all
    };
    eventually("both serve", Duration::from_secs(10), async || six().await.contains('0')).await;
    ill.store(true, Ordering::Relaxed);
    eventually("the ill one is left out", Duration::from_secs(10), async || six().await == "111111").await;
    ill.store(false, Ordering::Relaxed);
    eventually("it is back", Duration::from_secs(10), async || six().await.contains('0')).await;
}

#[tokio::test]
async fn upstreams_names_are_resolved_and_connections_reused() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before_urls(&[format!("http://localhost:{}", origin.addr.port())]).start().await;
    for _ in 0..200 {
        assert_eq!(desk.get("/").await.status, 200);
    }
    // What the site already has is asked over connections of their own, about fifty.
    assert!(origin.connections() < 100, "{} connections for 200 requests", origin.connections());
}

#[tokio::test]
async fn upstreams_that_come_back_are_served_from_again() {
    let address = dead_address();
    let desk = Setup::before_urls(&[format!("http://{address}")]).start().await;
    assert_eq!(desk.get("/").await.status, 502);
    let listener = tokio::net::TcpListener::bind(address).await.expect("the port is still free");
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).await;
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nup").await;
        }
    });
    eventually("the site is back", Duration::from_secs(10), async || desk.get("/").await.status == 200).await;
}

/// A site that closes instead of answering; at `/kept` only the first time that it is asked so.
async fn parting() -> (Origin, Desk) {
    let before = std::sync::Mutex::new(HashSet::new());
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/drop" => vec![Step::Close].into(),
        kept if kept.starts_with("/kept") && before.lock().expect("the targets").insert(kept.to_owned()) => {
            vec![Step::Close].into()
        }
        _ => Answer::from(Reply::html(PAGE)),
    })
    .await;
    let desk = Setup::before(&origin).set("runtime", "threads = 1").start().await;
    // Our own questions at the start have connections of their own.
    tokio::time::sleep(Duration::from_secs(1)).await;
    (origin, desk)
}

fn sent(origin: &Origin, target: &str) -> usize {
    origin.asked().iter().filter(|r| r.target == target).count()
}

#[tokio::test]
async fn upstreams_are_asked_no_act_again_on_a_reused_connection_either() {
    let (origin, desk) = parting().await;
    for (n, method) in ["POST", "PUT", "DELETE", "PATCH", "POST"].into_iter().enumerate() {
        assert_eq!(desk.ask(Via::H1, Ask::new(method, "/")).await.status, 200);
        let before = origin.connections();
        let response = desk.ask(Via::H1, Ask::new(method, "/drop")).await;
        assert_eq!(response.status, 502, "{method}: {}", response.text());
        assert_eq!(origin.connections(), before, "{method}: on the connection of the request before");
        assert_eq!(sent(&origin, "/drop"), n + 1, "{method}: sent once: the site may have acted on it");
    }
}

#[tokio::test]
async fn upstreams_that_close_what_they_kept_cost_no_page() {
    let (origin, desk) = parting().await;
    for (n, long) in [false, true, false, true].into_iter().enumerate() {
        // What is more than plain goes by the library.
        let ask = |path: &str| if long { Ask::get(path).header("TE", "trailers") } else { Ask::get(path) };
        assert_eq!(desk.ask(Via::H1, ask("/")).await.status, 200);
        let (path, connections) = (format!("/kept{n}"), origin.connections());
        let response = desk.ask(Via::H1, ask(&path)).await;
        assert_eq!((response.status, sent(&origin, &path)), (200, 2), "long {long}: {}", response.text());
        assert_eq!(origin.connections(), connections + 1, "once more, on a connection of its own");
        // And no more than that.
        let dropped = sent(&origin, "/drop");
        let response = desk.ask(Via::H1, ask("/drop")).await;
        assert_eq!((response.status, sent(&origin, "/drop") - dropped), (502, 2), "long {long}");
    }
}

async fn shown_upstreams(desk: &Desk) -> Vec<String> {
    let metrics = desk.admin_get("/metrics").await.text();
    metrics.lines().filter(|l| l.starts_with("frontdesk_upstream_up{")).map(str::to_owned).collect()
}

#[tokio::test]
async fn upstreams_that_are_gone_from_the_configuration_are_not_shown() {
    let site = || Origin::start(|_: &Request| Reply::html(PAGE));
    let (first, second, third) = (site().await, site().await, site().await);
    let desk = Setup::before_urls(&[first.url(), second.url()]).start().await;
    assert_eq!(shown_upstreams(&desk).await.len(), 2);
    desk.swap(&Setup::before_urls(&[second.url(), third.url()])).await;
    assert_eq!(desk.get("/").await.status, 200);
    let shown = shown_upstreams(&desk).await;
    assert!(shown.len() == 2 && !shown.concat().contains(&first.url()), "{shown:?}");
    desk.swap(&Setup::before(&third)).await;
    let shown = shown_upstreams(&desk).await;
    assert!(shown.len() == 1 && shown[0].contains(&third.url()), "{shown:?}");
}

#[tokio::test]
async fn upstreams_asked_after_their_health_while_they_go_are_not_shown() {
    // The answer to a check comes after the swap that took its upstream away.
    let next = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let slow = Origin::start(|r: &Request| match r.target.as_str() {
        "/healthz" => vec![
            Step::Pause(Duration::from_millis(1500)),
            Step::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()),
            Step::KeepAlive,
        ]
        .into(),
        _ => Answer::from(Reply::html(PAGE)),
    })
    .await;
    let health = "health_path = \"/healthz\"\nhealth_interval = \"200ms\"";
    let desk = Setup::before(&slow).set("upstream", health).start().await;
    let checks = || slow.requests().iter().filter(|r| r.target == "/healthz").count();
    let before = checks();
    eventually("a check has begun", Duration::from_secs(10), async || checks() > before).await;
    desk.swap(&Setup::before(&next).set("upstream", health)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let shown = shown_upstreams(&desk).await;
    assert!(shown.len() == 1 && shown[0].contains(&next.url()), "{shown:?}");
}

/// A page that waits at the gate until the test opens it; anything else is answered at once.
fn held(gate: &Gate, r: &Request) -> Answer {
    match r.target.as_str() {
        "/held" => {
            let page =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{PAGE}", PAGE.len());
            vec![Step::Wait(gate.clone()), Step::Write(page.into_bytes()), Step::KeepAlive].into()
        }
        "/api/do" => Reply::json("{}").into(),
        _ => Reply::html(PAGE).into(),
    }
}

fn asked_for(origin: &Origin, target: &str) -> usize {
    origin.requests().iter().filter(|r| r.target == target).count()
}

#[tokio::test]
async fn upstreams_are_given_no_more_than_max_requests_at_a_time() {
    let gate = Gate::closed();
    let origin = Origin::start({
        let gate = gate.clone();
        move |r: &Request| held(&gate, r)
    })
    .await;
    let query = query("do", "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"");
    let setup = site(&origin, &query).set("upstream", "max_requests = 2");
    let desk = setup.set("protection", "client_share = 100").start().await;
    assert_eq!(desk.call(call("/agent/do", &json!({}))).await.status, 200);
    let (pages, beyond) = tokio::join!(async { tokio::join!(desk.get("/held"), desk.get("/held")) }, async {
        eventually("both are under way", SOON, async || asked_for(&origin, "/held") == 2).await;
        let markdown = desk.ask(Via::H1, Ask::get("/").header("Accept", "text/markdown"));
        let posted = desk.ask(Via::H1, Ask::post("/form", "a=1"));
        let refused = tokio::join!(desk.get("/"), posted, markdown, desk.call(call("/agent/do", &json!({}))));
        let ours = desk.get("/.well-known/agent.json").await;
        gate.open();
        (refused, ours)
    });
    assert_eq!((pages.0.status, pages.1.status), (200, 200));
    let ((page, posted, markdown, called), ours) = beyond;
    for (what, response) in [("a page", &page), ("a form", &posted), ("Markdown", &markdown), ("a call", &called)] {
        assert_eq!(response.status, 503, "{what}: {}", response.text());
        assert_eq!(response.header("retry-after"), Some("1"), "{what}");
    }
    assert_eq!(called.media_type(), AOM, "in the caller's dialect");
    assert_eq!(ours.status, 200, "what the site is not asked for");
    assert_eq!((asked_for(&origin, "/form"), asked_for(&origin, "/api/do")), (0, 1), "nothing was sent");
    let metrics = desk.admin_get("/metrics").await.text();
    assert!(metrics.contains("frontdesk_rejections_total{reason=\"site_busy\"} 4"), "{metrics}");
    let free = async || {
        let (page, called) = tokio::join!(desk.get("/"), desk.call(call("/agent/do", &json!({}))));
        (page.status, called.status) == (200, 200)
    };
    eventually("both places are free again", SOON, free).await;
}

#[tokio::test]
async fn upstreams_that_are_busy_are_asked_later_for_an_action_with_the_same_key() {
    let gate = Gate::closed();
    let origin = Origin::start({
        let gate = gate.clone();
        move |r: &Request| held(&gate, r)
    })
    .await;
    let buy = "\nidempotency_required = true\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"";
    let desk = site(&origin, &action("do", buy)).set("upstream", "max_requests = 1").start().await;
    let ask = call("/agent/do", &json!({})).bearer(FULL).header("Idempotency-Key", "k1");
    let (page, ()) = tokio::join!(desk.get("/held"), async {
        eventually("it is under way", SOON, async || asked_for(&origin, "/held") == 1).await;
        let refused = desk.call(ask.clone()).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.text());
        gate.open();
    });
    assert_eq!((page.status, asked_for(&origin, "/api/do")), (200, 0), "nothing was done");
    // A place is free a moment after the last byte has come.
    eventually("it is taken", SOON, async || desk.call(ask.clone()).await.status == 200).await;
    let again = desk.call(ask).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")), "{}", again.text());
    assert_eq!(asked_for(&origin, "/api/do"), 1, "done once");
}

#[tokio::test]
async fn upstreams_have_their_place_back_whatever_became_of_a_request() {
    let gate = Gate::closed();
    let origin = Origin::start({
        let gate = gate.clone();
        move |r: &Request| match r.target.as_str() {
            "/dies" => vec![Step::Close].into(),
            "/cut" => {
                vec![Step::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nno".to_vec()), Step::Close].into()
            }
            _ => held(&gate, r),
        }
    })
    .await;
    let desk = Setup::before(&origin).set("upstream", "max_requests = 1").start().await;
    for target in ["/dies", "/cut"] {
        let mut conn = desk.conn().await;
        conn.send(format!("GET {target} HTTP/1.1\r\nHost: site.test\r\n\r\n")).await;
        let _ = conn.try_response("GET", SOON).await;
        eventually(target, SOON, async || desk.get("/").await.status == 200).await;
    }
    let mut gone = desk.conn().await;
    gone.send("GET /held HTTP/1.1\r\nHost: site.test\r\n\r\n").await;
    eventually("it is under way", SOON, async || asked_for(&origin, "/held") == 1).await;
    assert_eq!(desk.get("/").await.status, 503);
    drop(gone);
    eventually("a client that left takes no place", SOON, async || desk.get("/").await.status == 200).await;
}

#[tokio::test]
async fn upstreams_that_calls_went_to_are_in_the_access_log() {
    let slow = Duration::from_millis(120);
    let origin = Origin::start(move |r: &Request| match r.target.starts_with("/api/") {
        true => Reply::json("{").pause(slow).then("}"),
        false => Reply::new(404),
    })
    .await;
    let asks = query("lamps.find", "\nupstream = { method = \"GET\", path = \"/api/lamps\" }");
    let urls = [format!("http://{}", dead_address()), origin.url()];
    let desk = Setup::before_urls(&urls).tail(&asks).start().await;
    let line = async |path: &str| {
        let of = || desk.access_log().into_iter().find(|line| line["url.path"] == path);
        eventually("the line", SOON, async || of().is_some()).await;
        of().unwrap_or_default()
    };
    assert_eq!(desk.call(call("/agent/lamps/find", &json!({}))).await.status, 200);
    let called = line("/agent/lamps/find").await;
    assert_eq!(called["frontdesk.decision"], "answer");
    assert_eq!(called["upstream.address"].as_str(), Some(&*origin.url()), "{called}");
    let took = called["upstream.duration_ms"].as_f64().unwrap_or_default();
    assert!(took >= 119.0 && took <= called["duration_ms"].as_f64().unwrap_or_default(), "{called}");
    // No upstream got a request for our own paths.
    assert_eq!(desk.get("/.well-known/agent.json").await.status, 200);
    let ours = line("/.well-known/agent.json").await;
    assert!(ours.get("upstream.address").is_none() && ours.get("upstream.duration_ms").is_none(), "{ours}");
    // That is a figure of pages, as its name says.
    assert_eq!(desk.metric("frontdesk_upstream_request_duration_seconds_count").await, Some(0.0));
}

#[tokio::test]
async fn upstreams_whose_certificate_is_not_accepted_are_explained() {
    let (ca, nobody, own) = (Tls::of_a_ca(), Tls::of_nobody(), Tls::new());
    let (past, future) = (Tls::of_the_years(2001, 2002), Tls::of_the_years(2101, 2102));
    let asks = query("lamps.find", "\nupstream = { method = \"GET\", path = \"/api/lamps\" }");
    let of_a_ca = Origin::start_tls(&ca, |_: &Request| Reply::json("{}")).await;
    let of_nobody = Origin::start_tls(&nobody, |_: &Request| Reply::json("{}")).await;
    let of_the_past = Origin::start_tls(&past, |_: &Request| Reply::json("{}")).await;
    let of_the_future = Origin::start_tls(&future, |_: &Request| Reply::json("{}")).await;
    let site = Origin::start_tls(&own, |_: &Request| Reply::json("{}")).await;
    let named_otherwise = "ca = \"upstream-ca.pem\"\nserver_name = \"elsewhere.test\"";
    let mut elsewhere = Setup::before(&site).set("upstream", named_otherwise);
    elsewhere.upstream_ca = Some(own);
    for (setup, helps) in [
        (Setup::before(&of_a_ca).trusting(&ca), "basicConstraints=critical,CA:FALSE"),
        (Setup::before(&of_nobody).trusting(&nobody), "names nobody"),
        (Setup::before(&of_the_past).trusting(&past), "needs a new certificate"),
        (Setup::before(&of_the_future).trusting(&future), "begins later"),
        (Setup::before(&site), "in upstream.ca"),
        (elsewhere, "in upstream.server_name"),
    ] {
        let desk = setup.tail(&asks).start().await;
        assert_eq!(desk.get("/").await.status, 502);
        desk.says(helps).await;
        assert_eq!(desk.call(call("/agent/lamps/find", &json!({}))).await.status, 502);
        eventually("a call is explained too", SOON, async || desk.stderr().matches(helps).count() > 1).await;
    }
}
