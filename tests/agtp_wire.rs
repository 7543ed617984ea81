//! Promise: requests on the AGTP socket get their answers in order, and everything else is refused.

use crate::support::calls::declare;
use crate::support::{AgtpConn, Ask, Conn, Desk, Origin, Reply, Request, SOON, Setup, Tls, eventually, soon};
use rustls::version::{TLS12, TLS13};
use serde_json::json;
use std::time::Duration;

/// A query that says what it was asked. Its path is no verb of the catalog's, as "echo" would be.
pub fn lamps() -> String {
    let lines = "risk_level = \"low\"\nauth = \"none\"\nupstream = { method = \"GET\", path = \"/api/echo\" }\n\
        agtp = { method = \"QUERY\", path = \"/lamps\" }\n\
        input_schema = { type = \"object\", properties = { n = { type = \"string\" }, big = { type = \"string\" } } }";
    declare("lamps.find", "query", &format!("\n{lines}"))
}

/// A site that repeats its query; `big` is a megabyte.
pub async fn site() -> (Origin, Setup) {
    let origin = Origin::start(|r: &Request| {
        let query = r.target.split_once('?').map_or("", |(_, query)| query);
        let padding = if query.contains("big") { "x".repeat(1 << 20) } else { String::new() };
        Reply::json(json!({ "query": query, "padding": padding }).to_string())
    })
    .await;
    let setup = Setup::before(&origin).tail(&lamps()).agtp();
    (origin, setup)
}

/// The calls that reached it.
pub fn calls(origin: &Origin) -> Vec<Request> {
    origin.requests().into_iter().filter(|r| r.target.starts_with("/api/")).collect()
}

pub fn asking(n: impl std::fmt::Display) -> Ask {
    Ask::new("QUERY", &format!("/lamps?n={n}"))
}

pub async fn assert_answers(conn: &mut AgtpConn, n: usize) {
    let said = conn.ask(&asking(n)).await;
    assert_eq!((said.status, said.json()["query"].as_str()), (200, Some(&*format!("n={n}"))), "{}", said.text());
}

#[tokio::test]
async fn agtp_wire_one_connection_answers_request_after_request() {
    let (origin, setup) = site().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    for n in 0..3 {
        assert_answers(&mut conn, n).await;
    }
    desk.says(&format!("agtp on {}", desk.ports.agtp)).await;
    eventually("the access lines", SOON, async || desk.access_log().len() == 3).await;
    let line = desk.access_log().pop().expect("an access line");
    assert_eq!(line["network.protocol.name"], "agtp");
    assert_eq!((&line["http.request.method"], &line["url.path"]), (&json!("QUERY"), &json!("/lamps")));
    assert_eq!((&line["http.response.status_code"], &line["client.address"]), (&json!(200), &json!("127.0.0.1")));
    assert_eq!(line["upstream.address"].as_str(), Some(&*origin.url()), "{line}");
    desk.metric_reaches("frontdesk_http_requests_total{engine=\"\",method=", 3.0).await;
    desk.metric_reaches("frontdesk_http_requests_total{protocol=\"agtp\"}", 3.0).await;
}

#[tokio::test]
async fn agtp_wire_a_thousand_pipelined_requests_are_answered_in_order_in_flat_memory() {
    let (_origin, setup) = site().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    let pipeline = async |conn: &mut AgtpConn, from: usize, count: usize| {
        let all: Vec<u8> = (from..from + count).flat_map(|n| asking(n).frame()).collect();
        conn.conn.send(all).await;
        for n in from..from + count {
            let said = conn.response().await;
            assert_eq!(said.json()["query"], format!("n={n}"), "answers keep the order");
        }
    };
    pipeline(&mut conn, 0, 200).await;
    let mut least = u64::MAX;
    // The process takes its memory in leaps, of which one may fall into either round, but not into both.
    for round in [1000, 2000] {
        let before = desk.rss_kb();
        pipeline(&mut conn, round, 1000).await;
        least = least.min(desk.rss_kb().saturating_sub(before));
    }
    assert!(least < 2048, "{least} KB for a thousand requests");
}

#[tokio::test]
async fn agtp_wire_a_client_that_does_not_read_is_not_read_either() {
    let (origin, setup) = site().await;
    let desk = setup.set("protection", "idle_timeout = \"1s\"").start().await;
    let before = desk.rss_kb();
    let mut conn = desk.agtp().await;
    let all: Vec<u8> = (0..500).flat_map(|_| Ask::new("QUERY", "/lamps?big=1").frame()).collect();
    conn.conn.send(all).await;
    // Every answer has a megabyte, and the client reads none: the socket is full long before the last.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let asked = calls(&origin).len();
    assert!((1..100).contains(&asked), "{asked} answers of a megabyte each were made for nobody");
    let grown = desk.rss_kb().saturating_sub(before);
    // Five hundred megabytes were asked for; an allocator keeps some of what it had.
    assert!(grown < 100_000, "{grown} KB");
    conn.conn.until_closed(SOON).await;
    assert_answers(&mut desk.agtp().await, 1).await;
}

#[tokio::test]
async fn agtp_wire_a_line_of_two_tokens_asks_for_the_root() {
    let (_origin, setup) = site().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    let two = conn.raw("AGTP/1.0 DISCOVER\r\n\r\n").await;
    let three = conn.raw("AGTP/1.0 DISCOVER /\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!((two.status, &two.body), (three.status, &three.body), "no length is no body, no path is the root");
    assert_ne!(two.status, 400, "{}", two.text());
}

#[tokio::test]
async fn agtp_wire_what_cannot_be_read_is_refused_and_the_connection_goes_on() {
    let (origin, setup) = site().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    let lines =
        ["QUERY /lamps#top", "QUERY  /lamps", "QUERY agtp://host/lamps", "QU(RY /lamps", "QUERY /lamps?n=\u{e4}"];
    for (n, line) in lines.into_iter().enumerate() {
        let said = conn.raw(format!("AGTP/1.0 {line}\r\nContent-Length: 2\r\n\r\n{{}}")).await;
        assert_eq!((said.status, said.reason.as_str()), (400, "Bad Request"), "{line}");
        assert_eq!(said.json()["error"]["code"], "invalid-request-line", "{line}");
        assert_eq!(said.header("Content-Type"), Some("application/vnd.agtp+json"), "{line}");
        assert_answers(&mut conn, n).await;
    }
    assert_eq!(calls(&origin).len(), lines.len(), "nothing of it reached the site");
    desk.metric_reaches("frontdesk_rejections_total{reason=\"malformed\"}", lines.len() as f64).await;
}

#[tokio::test]
async fn agtp_wire_what_cannot_be_read_counts_by_its_address() {
    let (_origin, setup) = site().await;
    let desk = setup.limits(&[("anonymous", "5/minute")]).start().await;
    let (mut statuses, mut told) = (Vec::new(), None);
    for line in ["QUERY /lamps#a", "QU(RY /lamps", "QUERY  /lamps", "QUERY /lamps#b", "Q", "QU(RY /", "QUERY /lamps#c"]
    {
        let mut conn = desk.agtp().await;
        let said = conn.raw(format!("AGTP/1.0 {line}\r\n\r\n")).await;
        statuses.push(said.status);
        told = said.header("Retry-After").map(|wait| (wait.to_owned(), said.json()));
    }
    // What can be read counts as well: "Q" is a method, and none of the catalog's.
    assert_eq!(statuses, [400, 400, 400, 400, 459, 429, 429]);
    let (wait, body) = told.expect("and is told when to try again");
    assert_eq!(body["retry_after"].to_string(), wait, "in the body as well: {body}");
    assert_eq!(body["retry_after"], body["error"]["retry_after"], "{body}");
}

#[tokio::test]
async fn agtp_wire_a_verb_that_is_lexically_wrong_is_no_malformed_line() {
    let (_origin, setup) = site().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    for verb in ["query", "CHECK-OUT", "NOSUCHVERB"] {
        let said = conn.ask(&Ask::new(verb, "/lamps")).await;
        assert_eq!((said.status, said.reason.as_str()), (459, "Method Violation"), "{verb}: {}", said.text());
    }
    assert_answers(&mut conn, 1).await;
}

/// What is answered with this code, and ends the connection.
async fn refused_and_closed(desk: &Desk, bytes: impl AsRef<[u8]>, code: &str) {
    let shown = String::from_utf8_lossy(bytes.as_ref()).into_owned();
    let shown = shown.get(..80).unwrap_or(&shown).to_owned();
    let mut conn = desk.agtp().await;
    let said = conn.raw(bytes).await;
    assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(code)), "{shown:?}");
    let (rest, after) = conn.conn.until_closed(SOON).await;
    assert!(rest.is_empty(), "{shown:?}: {}", String::from_utf8_lossy(&rest));
    assert!(after < Duration::from_secs(5), "{shown:?}: closed only after {after:?}");
}

#[tokio::test]
async fn agtp_wire_what_leaves_the_next_request_in_doubt_closes() {
    let (origin, setup) = site().await;
    let desk = setup.start().await;
    let next = "AGTP/1.0 QUERY /lamps?n=smuggled\r\n\r\n";
    let framing = [
        "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 0, 0\r\n\r\n",
        "Content-Length : 0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "A: b\r\n c\r\n\r\n",
        "A: b\nContent-Length: 0\r\n\r\n",
        "A: b\rContent-Length: 0\r\n\r\n",
    ];
    for lines in framing {
        let bytes = format!("AGTP/1.0 QUERY /lamps\r\n{lines}{next}");
        refused_and_closed(&desk, bytes, "invalid-framing").await;
    }
    for garbage in
        ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "AGTP/2.0 QUERY /\r\n\r\n", "\0\0\0\0"]
    {
        refused_and_closed(&desk, format!("{garbage}{next}"), "invalid-request-line").await;
    }
    assert!(calls(&origin).is_empty(), "{:?}", calls(&origin).first());
}

#[tokio::test]
async fn agtp_wire_what_is_too_large_is_refused_unread() {
    let (origin, setup) = site().await;
    let desk = setup.set("protection", "max_header = \"2KB\"\nmax_input = \"1KB\"").start().await;
    let large = "x".repeat(2100);
    for head in [format!("QUERY /{large}"), format!("QUERY /lamps\r\nA: {large}"), format!("QUERY /lamps\r\n{large}")] {
        refused_and_closed(&desk, format!("AGTP/1.0 {head}"), "request-too-large").await;
    }
    for length in ["1025", "99999999999999999999999"] {
        let head = format!("AGTP/1.0 QUERY /lamps\r\nContent-Length: {length}\r\n\r\n");
        refused_and_closed(&desk, head, "request-too-large").await;
    }
    assert!(calls(&origin).is_empty());
    let fits =
        Ask::new("QUERY", "/lamps").header("A", &"x".repeat(1800)).body(format!("{{\"n\":\"{}\"}}", "y".repeat(900)));
    assert_eq!(desk.say(fits).await.status, 200, "below the bounds it is taken");
    // Who asks for what is known all the same: it is told, and goes on record.
    let agent = "a0".repeat(32);
    let head = format!("AGTP/1.0 QUERY /lamps?n=1\r\nAgent-ID: {agent}\r\nContent-Length: 1025\r\n\r\n");
    let said = desk.agtp().await.raw(head).await;
    assert_eq!(said.status, 400, "{}", said.text());
    assert_eq!(said.headers.get("agent-id"), Some(&*agent));
    assert!(said.headers.has("attribution-record") && said.headers.has("audit-id"), "{:?}", said.headers);
    let (json, about) = (said.json(), |json: &serde_json::Value, name: &str| json["error"][name].clone());
    assert_eq!((about(&json, "method"), about(&json, "path")), (json!("QUERY"), json!("/lamps")));
    desk.metric_reaches("frontdesk_rejections_total{reason=\"header_too_large\"}", 3.0).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"too_large\"}", 3.0).await;
}

#[tokio::test]
async fn agtp_wire_tls_is_1_3_with_its_own_protocol_or_none() {
    let (_origin, setup) = site().await;
    let tls = Tls::new();
    let desk = setup.tls(&tls).start().await;
    for alpn in [&[][..], &["agtp"], &["h2", "agtp"]] {
        let io = soon("a handshake", tls.connect(desk.ports.agtp, alpn)).await.expect("TLS 1.3");
        let expected = alpn.contains(&"agtp").then_some(&b"agtp"[..]);
        assert_eq!(io.get_ref().1.alpn_protocol(), expected, "{alpn:?}");
        assert_answers(&mut AgtpConn { conn: Conn::over(io) }, 7).await;
    }
    for alpn in [&["h2"][..], &["http/1.1"]] {
        assert!(tls.connect(desk.ports.agtp, alpn).await.is_err(), "{alpn:?} is spoken elsewhere");
    }
    let old = tls.connect_in(&[&TLS12], desk.ports.agtp, &["agtp"]).await;
    let refused = old.expect_err("TLS 1.2").to_string();
    assert!(refused.to_lowercase().contains("version"), "{refused}");
    assert!(tls.connect_in(&[&TLS13], desk.ports.agtp, &["agtp"]).await.is_ok());
    assert!(tls.connect_in(&[&TLS12], desk.ports.https, &[]).await.is_ok(), "HTTP goes on taking it");
    // Cleartext where TLS is spoken gets no answer in it.
    let mut plain = Conn::open(desk.ports.agtp).await;
    plain.send(asking(1).frame()).await;
    let (said, _) = plain.until_closed(SOON).await;
    assert!(!said.starts_with(b"AGTP"), "{}", String::from_utf8_lossy(&said));
    desk.metric_reaches("frontdesk_rejections_total{reason=\"tls_handshake\"}", 4.0).await;
}

#[tokio::test]
async fn agtp_wire_certificates_are_swapped_from_disk() {
    let (_origin, setup) = site().await;
    let (old, new) = (Tls::new(), Tls::new());
    let desk = setup.tls(&old).start().await;
    assert!(new.connect(desk.ports.agtp, &[]).await.is_err(), "not yet");
    new.write(&desk.dir);
    eventually("the new certificate", SOON, async || new.connect(desk.ports.agtp, &["agtp"]).await.is_ok()).await;
}

#[tokio::test]
async fn agtp_wire_the_site_is_told_where_a_call_came_from_and_not_whose_it_is() {
    let (origin, setup) = site().await;
    let tls = Tls::new();
    let desk = setup.tls(&tls).start().await;
    let ask = asking(1)
        .header("Host", "elsewhere.test:4480")
        .header("Agent-ID", &"6".repeat(64))
        .header("X-Forwarded-For", "203.0.113.9")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_eq!(desk.say(ask).await.status, 200);
    let request = calls(&origin).pop().expect("a call");
    for name in ["agent-id", "x-asked-by", "owner-id"] {
        assert!(!request.headers.has(name), "{name}: {request:?}");
    }
    assert!(!format!("{request:?}").contains("203.0.113.9"), "{request:?}");
    assert!(!format!("{request:?}").contains("666666"), "{request:?}");
}
