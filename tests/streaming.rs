//! Promise: all bodies are streamed: data arrives when the site sends it, and memory does not grow with a body.

use crate::support::page::{PAGE, assert_rewritten, take_out};
use crate::support::{Ask, Coding, Desk, Framing, Gate, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};
use bytes::Bytes;

/// Nothing is read in the background, and nothing loaded for it, while memory is measured.
const QUIET: &str = "concierge = false\nllms_txt = \"off\"";
const MB: usize = 1 << 20;

/// How much the desk may grow for a body of 64 MB.
const ROOM_KB: u64 = 20_000;

fn slow_page(gate: &Gate) -> Reply {
    let (first, rest) = PAGE.split_once("<p>").expect("a paragraph");
    Reply::html(format!("{first}<p>first")).wait(gate).then(rest).chunked()
}

#[tokio::test]
async fn streaming_a_page_begins_before_the_site_has_ended_it() {
    let (tls, gate) = (Tls::new(), Gate::closed());
    let shut = gate.clone();
    let h1 = Origin::start(move |_: &Request| slow_page(&shut)).await;
    let shut = gate.clone();
    let h2 = Origin::start_h2(move |_: &Request| slow_page(&shut)).await;
    for origin in [&h1, &h2] {
        let desk = Setup::before(origin).reading(QUIET).tls(&tls).start().await;
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/").bytes()).await;
        let began = String::from_utf8_lossy(&conn.until("<p>first").await).into_owned();
        assert_eq!(take_out(&began).links.len(), 3, "with the links in it");
        let mut incoming = desk.h2(Via::H2Tls).await.begin(&Ask::get("/")).await;
        incoming.until("<p>first").await;
        assert!(incoming.response.text().contains("ahp-manifest"));
    }
    gate.open();
}

#[tokio::test]
async fn streaming_a_compressed_page_begins_before_the_site_has_ended_it() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(PAGE.as_bytes()).and_then(|()| encoder.flush()).expect("in memory");
    let flushed = encoder.get_ref().clone();
    let gate = Gate::closed();
    let shut = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        Reply::html(&flushed).wait(&shut).hang_up().chunked().header("Content-Encoding", "gzip")
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).reading(QUIET).tls(&tls).start().await;
    let mut incoming = desk.h2(Via::H2Tls).await.begin(&Ask::get("/").header("Accept-Encoding", "gzip")).await;
    // Enough of it has come for the client to show the whole text, though the stream has not ended.
    let mut decoder = flate2::write::GzDecoder::new(Vec::new());
    let mut fed = 0;
    let shown = async {
        while !String::from_utf8_lossy(decoder.get_ref()).contains("everyone") {
            incoming.until_longer_than(fed).await;
            let new = &incoming.response.body[fed..];
            decoder.write_all(new).and_then(|()| decoder.flush()).expect("valid so far");
            fed += new.len();
        }
    };
    crate::support::soon("the flushed part of a compressed page", shown).await;
    gate.open();
}

#[tokio::test]
async fn streaming_events_arrive_one_by_one() {
    let gates: Vec<Gate> = (0..3).map(|_| Gate::closed()).collect();
    let shut = gates.clone();
    let origin = Origin::start(move |_: &Request| {
        let mut reply = Reply::new(200).header("Content-Type", "text/event-stream").body("data: 0\n\n").chunked();
        for (n, gate) in shut.iter().enumerate() {
            reply = reply.wait(gate).then(format!("data: {}\n\n", n + 1));
        }
        reply
    })
    .await;
    let desk = Setup::before(&origin).reading(QUIET).start().await;
    let mut conn = desk.conn().await;
    conn.send(Ask::get("/events").accept("text/event-stream").bytes()).await;
    conn.until("data: 0\n\n").await;
    for (n, gate) in gates.iter().enumerate() {
        gate.open();
        conn.until(format!("data: {}\n\n", n + 1)).await;
    }
}

#[tokio::test]
async fn streaming_an_answer_of_a_known_length_arrives_as_it_is_sent() {
    let gate = Gate::closed();
    let shut = gate.clone();
    let origin = Origin::start(move |r: &Request| {
        let reply = Reply::new(200).header("Content-Type", "text/plain").body("first").wait(&shut).then("second");
        if r.target == "/broken" { reply.hang_up() } else { reply }
    })
    .await;
    let desk = Setup::before(&origin).reading(QUIET).start().await;
    // The first goes the short way, the others the library's.
    let asked = [Ask::get("/a"), Ask::post("/a", "x"), Ask::post("/broken", "x")];
    let mut conns = Vec::new();
    for ask in asked {
        let mut conn = desk.conn().await;
        conn.send(ask.bytes()).await;
        conn.until("first").await;
        conns.push(conn);
    }
    gate.open();
    for conn in &mut conns {
        conn.until("second").await;
    }
}

#[tokio::test]
async fn streaming_an_upload_reaches_the_site_before_it_ends() {
    let origin = Origin::start(|r: &Request| Reply::json(r.body.len().to_string())).await;
    let desk = Setup::before(&origin).reading(QUIET).start().await;
    let mut conn = desk.conn().await;
    conn.send("POST /up HTTP/1.1\r\nHost: s\r\nX-Asked-By: test\r\nContent-Length: 20\r\n\r\n0123456789").await;
    eventually("the first half at the origin", SOON, async || origin.body_bytes() == 10).await;
    conn.send("0123456789").await;
    assert_eq!(conn.response("POST").await.text(), "20");
    let mut conn = desk.conn().await;
    conn.send("POST /up HTTP/1.1\r\nHost: s\r\nX-Asked-By: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n")
        .await;
    eventually("the first chunk at the origin", SOON, async || origin.body_bytes() == 25).await;
    conn.send("5\r\nabcde\r\n0\r\n\r\n").await;
    assert_eq!(conn.response("POST").await.text(), "10");
}

async fn grows_little(desk: &Desk, what: &str, work: impl Future<Output = ()>) {
    let before = desk.rss_kb();
    crate::support::within(SOON * 4, what, work).await;
    let peak = desk.rss_peak_kb();
    assert!(peak < before + ROOM_KB, "{what}: from {before} KB to {peak} KB at its highest");
}

async fn moves_64_mb(kind: &'static str, via: Via) {
    let tls = Tls::new();
    let body = if kind == "text/html" { crate::support::page::big(64 * MB) } else { "x".repeat(64 * MB) };
    let body = Bytes::from(body);
    let served = body.clone();
    let origin = Origin::start(move |_: &Request| {
        let mut reply = Reply::new(200).header("Content-Type", kind);
        reply.pieces = served.chunks(MB).map(|c| crate::support::reply::Piece::Bytes(served.slice_ref(c))).collect();
        reply.chunked()
    })
    .await;
    let desk = Setup::before(&origin).reading(QUIET).tls(&tls).start().await;
    desk.admin_get("/metrics").await;
    grows_little(&desk, kind, async {
        let response = desk.ask(via, Ask::get("/")).await;
        assert!(response.complete);
        if kind == "text/html" {
            assert_rewritten(&String::from_utf8_lossy(&body), &response.text(), "64 MB");
        } else {
            assert!(response.body == body, "byte for byte");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streaming_a_64_mb_page_takes_no_memory() {
    moves_64_mb("text/html", Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streaming_a_64_mb_download_takes_no_memory() {
    moves_64_mb("application/octet-stream", Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streaming_a_64_mb_download_over_http2_takes_no_memory() {
    moves_64_mb("application/octet-stream", Via::H2Tls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streaming_a_64_mb_upload_takes_no_memory() {
    let origin = Origin::start(|r: &Request| Reply::json(r.body.len().to_string())).await;
    let desk = Setup::before(&origin).reading(QUIET).start().await;
    desk.admin_get("/metrics").await;
    grows_little(&desk, "an upload", async {
        let mut conn = desk.conn().await;
        conn.send(format!("POST /up HTTP/1.1\r\nHost: s\r\nContent-Length: {}\r\n\r\n", 64 * MB)).await;
        let piece = vec![b'u'; MB];
        for _ in 0..64 {
            conn.send(&piece).await;
        }
        assert_eq!(conn.response("POST").await.text(), (64 * MB).to_string());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streaming_waits_for_a_client_that_does_not_read() {
    let body = Bytes::from("x".repeat(64 * MB));
    let origin = Origin::start(move |_: &Request| {
        let mut reply = Reply::new(200).header("Content-Type", "application/octet-stream");
        reply.pieces = vec![crate::support::reply::Piece::Bytes(body.clone())];
        reply
    })
    .await;
    let desk = Setup::before(&origin).reading(QUIET).start().await;
    desk.admin_get("/metrics").await;
    grows_little(&desk, "a client that does not read", async {
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/").bytes()).await;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let response = conn.response("GET").await;
        assert_eq!(response.framing, Framing::Length(64 * MB));
        assert!(response.complete);
    })
    .await;
}

#[tokio::test]
async fn streaming_ends_visibly_when_the_site_hangs_up_in_mid_page() {
    let tls = Tls::new();
    for coding in [Coding::Identity, Coding::Gzip] {
        let coded = coding.encode(crate::support::page::big(300_000).as_bytes());
        let half = coded[..coded.len() / 2].to_vec();
        for chunked in [true, false] {
            let (half, whole) = (half.clone(), coded.len());
            let origin = Origin::start(move |_: &Request| {
                let reply = Reply::html(&half).hang_up();
                let reply = if chunked {
                    reply.chunked()
                } else {
                    reply.verbatim().header("Content-Length", &whole.to_string())
                };
                if let Some(name) = coding.name() { reply.header("Content-Encoding", name) } else { reply }
            })
            .await;
            let desk = Setup::before(&origin).reading(QUIET).tls(&tls).start().await;
            for via in [Via::H1, Via::H2Tls] {
                let response = desk.ask(via, Ask::get("/").header("Accept-Encoding", "gzip")).await;
                assert!(!response.complete, "half a page as if it were whole: {via:?}, {coding:?}, chunked {chunked}");
            }
        }
    }
}

#[tokio::test]
async fn streaming_events_may_be_silent_for_long_once_they_have_begun() {
    let origin = Origin::start(|_: &Request| {
        let silence = std::time::Duration::from_secs(3);
        Reply::new(200)
            .header("Content-Type", "text/event-stream")
            .body("data: 0\n\n")
            .pause(silence)
            .then("data: 1\n\n")
            .chunked()
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin)
        .reading(QUIET)
        .set("upstream", "read_timeout = \"1s\"")
        .set("protection", "idle_timeout = \"1s\"")
        .tls(&tls)
        .start()
        .await;
    let ask = Ask::get("/events").accept("text/event-stream");
    let (h1, h2) = tokio::join!(desk.ask(Via::H1, ask.clone()), desk.ask(Via::H2Tls, ask));
    for response in [h1, h2] {
        assert_eq!((response.status, response.text().as_str()), (200, "data: 0\n\ndata: 1\n\n"));
        assert!(response.complete, "{}", response.version);
    }
}
