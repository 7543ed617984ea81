//! Promise: a slow client never blocks upstream capacity. An upload that is too slow is ended, and so is a response
//! that is read too slowly; a short response is buffered ahead of its client.

use crate::support::busy_site::BusySite;
use crate::support::frames_h2::{
    DATA, END, END_HEADERS, FramesH2, HEADERS, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame, get,
};
use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, Response, SOON, Setup, Tls, Via, eventually, within};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

const PLACES: usize = 20;

/// A desk that reads nothing in the background, before a site that takes so many requests at a time.
fn before(site: &BusySite, protection: &str) -> Setup {
    let setup = Setup::before_urls(&[site.url()]).reading("concierge = false\nllms_txt = \"off\"");
    let places = format!("max_requests = {PLACES}");
    // Every client here has the same address.
    let protection = format!("client_share = 100\n{protection}");
    setup.set("upstream", &places).set("protection", &protection).set("listen", "h2c = true")
}

/// Others get their answers again, and the site has nothing to do.
async fn others_are_served_again(desk: &Desk, site: &BusySite) {
    let served = async || desk.get("/").await.status == 200;
    eventually("others are served again", SOON, served).await;
    site.becomes_busy_with(0).await;
}

async fn has_line(desk: &Desk, error: &str, status: u16) {
    let line = |line: &serde_json::Value| line["error.type"] == error && line["http.response.status_code"] == status;
    let told = async || desk.access_log().iter().any(line);
    eventually(&format!("an access line with {error} and {status}"), SOON, told).await;
}

/// Sends a byte every so often until an answer comes. Says how long that took.
async fn drip(mut conn: Conn, every: Duration) -> (Response, Duration) {
    let began = Instant::now();
    loop {
        conn.send("x").await;
        match conn.try_response("POST", every).await {
            Ok(response) => return (response, began.elapsed()),
            Err(e) => assert!(e.starts_with("nothing complete") && began.elapsed() < 2 * SOON, "{e}"),
        }
    }
}

fn upload(length: usize) -> String {
    format!("POST /up HTTP/1.1\r\nHost: site.test\r\nContent-Length: {length}\r\n\r\n")
}

#[tokio::test]
async fn slow_clients_that_upload_give_their_places_back() {
    let site = BusySite::start(0).await;
    let desk = before(&site, "transfer_timeout = \"3s\"").start().await;
    let mut dripping = Vec::new();
    for _ in 0..PLACES + 5 {
        let mut conn = desk.conn().await;
        conn.send(upload(1000)).await;
        dripping.push(tokio::spawn(drip(conn, Duration::from_secs(2))));
    }
    site.becomes_busy_with(PLACES).await;
    assert_eq!(desk.get("/").await.status, 503, "no place is left");
    others_are_served_again(&desk, &site).await;
    let mut statuses = Vec::new();
    for dripped in dripping {
        let (response, _) = dripped.await.expect("a client");
        statuses.push(response.status);
    }
    let count = |status| statuses.iter().filter(|got| **got == status).count();
    assert_eq!((count(408), count(503)), (PLACES, 5), "{statuses:?}");
    desk.metric_reaches("frontdesk_rejections_total{reason=\"slow_upload\"}", PLACES as f64).await;
    has_line(&desk, "slow_upload", 408).await;
}

#[tokio::test]
async fn slow_clients_that_upload_over_http2_are_reset() {
    let site = BusySite::start(0).await;
    let desk = before(&site, "transfer_timeout = \"2s\"").start().await;
    let head = block(&[
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", b"site.test"),
        (b":path", b"/up"),
        (b"content-length", b"1000"),
    ]);
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send(frame(HEADERS, END_HEADERS, 1, &head)).await;
    // Nothing of the body for one, a byte each second for the other.
    conn.send(frame(HEADERS, END_HEADERS, 3, &head)).await;
    site.becomes_busy_with(2).await;
    for _ in 0..2 {
        conn.send(frame(DATA, 0, 3, b"x")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let mut reset = [0; 2];
    for stream in &mut reset {
        *stream = conn.next_of(RST_STREAM).await.expect("a reset").stream;
    }
    reset.sort_unstable();
    assert_eq!(reset, [1, 3]);
    others_are_served_again(&desk, &site).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"slow_upload\"}", 2.0).await;
    has_line(&desk, "slow_upload", 0).await;
}

/// At the lowest rate, and not only at a deadline for the whole.
#[tokio::test]
async fn slow_clients_that_upload_below_the_lowest_rate_are_ended_and_others_not() {
    let site = BusySite::start(0).await;
    let desk = before(&site, "min_rate = \"20B\"").start().await;
    let ended = async {
        let mut conn = desk.conn().await;
        conn.send(upload(1000)).await;
        let (response, took) = drip(conn, Duration::from_secs(1)).await;
        assert_eq!(response.status, 408);
        assert!((8..15).contains(&took.as_secs()), "{took:?}");
    };
    let fast_enough = async {
        let mut conn = desk.conn().await;
        conn.send(upload(13 * 30)).await;
        for _ in 0..13 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            conn.send([b'x'; 30]).await;
        }
        assert_eq!(conn.response("POST").await.text(), (13 * 30).to_string());
    };
    tokio::join!(ended, fast_enough);
}

/// The site's pause is not the client's.
#[tokio::test]
async fn slow_clients_are_not_those_whose_upload_the_site_does_not_take() {
    let site = BusySite::start(0).await;
    let desk = before(&site, "transfer_timeout = \"8s\"").start().await;
    let length = 16 << 20;
    assert_eq!(desk.ask(Via::H1, Ask::post("/pauses", vec![b'x'; length])).await.text(), length.to_string());
}

const BIG: usize = 32 << 20;

/// A client whose system takes little of an answer before it is read, and that has asked.
async fn reader(desk: &Desk, target: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut stream = socket.connect(desk.ports.http).await.expect("a connection");
    let head = format!("GET {target} HTTP/1.1\r\nHost: site.test\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream
}

/// Reads a byte each second, until the other side has closed.
async fn sip(mut stream: TcpStream) {
    let mut byte = [0];
    let began = Instant::now();
    while began.elapsed() < 4 * SOON {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if !matches!(stream.read(&mut byte).await, Ok(1)) {
            return;
        }
    }
    panic!("still served");
}

/// By both engines.
#[tokio::test]
async fn slow_clients_that_read_give_their_places_back() {
    let site = BusySite::start(BIG).await;
    for fast_path in [true, false] {
        let setup = before(&site, "idle_timeout = \"60s\"\nmin_rate = \"20KB\"");
        let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).start().await;
        let mut readers = Vec::new();
        for _ in 0..PLACES + 5 {
            readers.push(tokio::spawn(sip(reader(&desk, "/big").await)));
        }
        site.becomes_busy_with(PLACES).await;
        assert_eq!(desk.get("/").await.status, 503, "no place is left");
        let began = Instant::now();
        within(3 * SOON, "others are served again", others_are_served_again_late(&desk)).await;
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
        site.becomes_busy_with(0).await;
        desk.metric_reaches("frontdesk_rejections_total{reason=\"slow_reader\"}", PLACES as f64).await;
        has_line(&desk, "slow_reader", 200).await;
        readers.iter().for_each(JoinHandle::abort);
    }
}

async fn others_are_served_again_late(desk: &Desk) {
    while desk.get("/").await.status != 200 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn slow_clients_that_read_over_tls_are_ended() {
    let (site, tls) = (BusySite::start(BIG).await, Tls::new());
    let desk = before(&site, "idle_timeout = \"60s\"\nmin_rate = \"1MB\"").tls(&tls).start().await;
    let mut conn = Conn::open_tls(desk.ports.https, &tls).await;
    conn.send(Ask::get("/big").bytes()).await;
    site.becomes_busy_with(1).await;
    let ended = async || desk.access_log().iter().any(|line| line["error.type"] == "slow_reader");
    eventually("its answer is ended", 3 * SOON, ended).await;
    site.becomes_busy_with(0).await;
}

/// pingora writes each piece within a time of its own, and all of this answer fits into its buffer. The pace counts all the
/// same.
#[tokio::test]
async fn slow_clients_that_read_small_pieces_over_http2_are_reset() {
    let origin = Origin::start(|request: &Request| {
        let piece = vec![b'x'; 1000];
        match request.target.as_str() {
            "/pieces" => {
                (0..60).fold(Reply::new(200).body(piece.clone()), |reply, _| reply.then(piece.clone())).chunked()
            }
            _ => Reply::new(200).body("ok"),
        }
    })
    .await;
    let setup = Setup::before(&origin).reading("concierge = false\nllms_txt = \"off\"");
    let desk = setup
        .set("protection", "idle_timeout = \"60s\"")
        .set("upstream", "max_requests = 1")
        .set("listen", "h2c = true")
        .set("runtime", "fast_path = false")
        .start()
        .await;
    let mut conn = FramesH2::connect(desk.ports.http).await;
    let small = frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
    conn.send([PREFACE, &small].concat()).await;
    conn.send(frame(HEADERS, END | END_HEADERS, 1, get("/pieces"))).await;
    let began = Instant::now();
    let ended = async || desk.access_log().iter().any(|line| line["error.type"] == "slow_reader");
    while !ended().await {
        assert!(began.elapsed() < Duration::from_secs(55), "it is still served");
        conn.send(frame(WINDOW_UPDATE, 0, 1, 30_u32.to_be_bytes())).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(desk.get("/").await.status, 200);
}

/// An upload is watched although the site has begun to answer it.
#[tokio::test]
async fn slow_clients_that_upload_to_a_site_that_answers_already_are_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let site = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = [0; 4096];
                let _ = socket.read(&mut read).await;
                let begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n";
                let _ = socket.write_all(begun).await;
                while socket.read(&mut read).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    let desk = Setup::before_urls(&[format!("http://{site}")])
        .reading("concierge = false\nllms_txt = \"off\"")
        .set("protection", "transfer_timeout = \"3s\"")
        .start()
        .await;
    let mut conn = desk.conn().await;
    conn.send(upload(1_000)).await;
    let began = Instant::now();
    let ended = async || desk.access_log().iter().any(|line| line["error.type"] == "slow_upload");
    while !ended().await {
        assert!(began.elapsed() < 3 * SOON, "it is still read");
        conn.send("x").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// By both engines: the fast path judges by the lowest rate, the proxy library by `idle_timeout` alone.
#[tokio::test]
async fn slow_clients_whose_window_stays_closed_are_reset() {
    let site = BusySite::start(BIG).await;
    for fast_path in [true, false] {
        let setup = before(&site, "idle_timeout = \"4s\"");
        let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).start().await;
        let mut conn = FramesH2::connect(desk.ports.http).await;
        // SETTINGS_INITIAL_WINDOW_SIZE = 0.
        let closed = frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
        conn.send([PREFACE, &closed].concat()).await;
        for n in 0..60 {
            conn.send(frame(HEADERS, END | END_HEADERS, 2 * n + 1, get("/big"))).await;
        }
        site.becomes_busy_with(PLACES).await;
        assert_eq!(desk.get("/").await.status, 503, "no place is left");
        others_are_served_again(&desk, &site).await;
        for _ in 0..PLACES {
            conn.next_of(RST_STREAM).await.expect("a reset");
        }
        desk.metric_reaches("frontdesk_rejections_total{reason=\"slow_reader\"}", PLACES as f64).await;
        has_line(&desk, "slow_reader", 200).await;
    }
}

/// The rule is about a client that does not take what is there for it, and not about a site that says nothing.
#[tokio::test]
async fn slow_clients_are_not_those_that_wait_for_events() {
    let origin = Origin::start(|_: &Request| {
        let silence = Duration::from_secs(11);
        let reply = Reply::new(200).header("Content-Type", "text/event-stream").body("data: 0\n\n").pause(silence);
        reply.then("data: 1\n\n").chunked()
    })
    .await;
    let setup = Setup::before(&origin).reading("concierge = false\nllms_txt = \"off\"");
    let limits = "idle_timeout = \"1s\"\ntransfer_timeout = \"1s\"\nmin_rate = \"100KB\"";
    let desk = setup.set("protection", limits).set("listen", "h2c = true").start().await;
    // The last one goes the fast path: it does not say that it waits for events.
    let asks = [
        (Via::H1, Ask::get("/events").accept("text/event-stream")),
        (Via::H2c, Ask::get("/events").accept("text/event-stream")),
        (Via::H1, Ask::get("/events")),
        (Via::H2c, Ask::get("/events")),
    ];
    for response in futures_util::future::join_all(asks.map(|(via, ask)| desk.ask(via, ask))).await {
        assert_eq!((response.text().as_str(), response.complete), ("data: 0\n\ndata: 1\n\n", true));
    }
}

/// The place is free as soon as the site has done with it, though its client has read nothing. The proxy library does not
/// read ahead: its answers have to come in one piece.
#[tokio::test]
async fn slow_clients_of_a_short_answer_hold_no_place() {
    for (fast_path, target, length) in [(true, "/big", 200_000), (false, "/", 2)] {
        let site = BusySite::start(200_000).await;
        let setup = before(&site, "idle_timeout = \"60s\"");
        let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).start().await;
        let closed = frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
        let mut conn = FramesH2::connect(desk.ports.http).await;
        conn.send([PREFACE, &closed].concat()).await;
        for n in 0..60 {
            conn.send(frame(HEADERS, END | END_HEADERS, 2 * n + 1, get(target))).await;
            conn.next_of(HEADERS).await.expect("an answer's head");
        }
        assert_eq!(desk.get("/").await.status, 200, "fast_path = {fast_path}");
        site.becomes_busy_with(0).await;
        // It gets all of it once it takes it.
        let more = [(0, 60 * 200_000u32), (119, 200_000)];
        for (stream, bytes) in more {
            conn.send(frame(WINDOW_UPDATE, 0, stream, bytes.to_be_bytes())).await;
        }
        let mut got = 0;
        loop {
            let data = conn.next_of(DATA).await.expect("the body");
            assert_eq!(data.stream, 119);
            got += data.payload.len();
            if data.flags & END > 0 {
                break;
            }
        }
        assert_eq!(got, length);
    }
}
