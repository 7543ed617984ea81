//! Promise: a slow or idle client is cut off at the configured time, from accept on and again after each request, and
//! blocks no other client.

use crate::support::page::PAGE;
use crate::support::{Ask, Conn, Desk, H2Conn, Origin, Reply, Request, SOON, Setup, SlowReaders, Tls, Via, eventually};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(1);

async fn strict() -> (Origin, Setup) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).set("protection", "header_timeout = \"1s\"\nidle_timeout = \"2s\"");
    (origin, setup)
}

/// Closed by the other side, not at once and not much later than `limit`.
async fn cut_off(conn: &mut Conn, limit: Duration, what: &str) {
    let (_, after) = conn.until_closed(SOON).await;
    assert!(after >= limit / 2, "{what}: cut after {after:?} already");
    assert!(after < limit + Duration::from_secs(5), "{what}: cut only after {after:?}");
}

#[tokio::test]
async fn way_in_half_a_head_is_cut_at_header_timeout() {
    let (_origin, setup) = strict().await;
    let desk = setup.start().await;
    let mut conn = desk.conn().await;
    conn.send("GET / HTTP/1.1\r\nHost: s\r\n").await;
    cut_off(&mut conn, LIMIT, "half a head").await;
    let told = || desk.access_log().into_iter().find(|line| line["error.type"] == "header_timeout");
    eventually("a line in the access log", SOON, async || told().is_some()).await;
    let line = told().expect("the line");
    assert_eq!(line["http.response.status_code"], 0, "nothing was answered: {line}");
    assert!(line["duration_ms"].as_f64().is_some_and(|ms| ms > 500.0), "{line}");
}

#[tokio::test]
async fn way_in_dripping_a_head_does_not_stretch_the_deadline() {
    let (_origin, setup) = strict().await;
    let desk = setup.start().await;
    let mut conn = desk.conn().await;
    conn.send("GET / HTTP/1.1\r\n").await;
    let begun = Instant::now();
    // A header line every 200 ms: each read is quick, the head never ends.
    while conn.stays_open(Duration::from_millis(200)).await {
        assert!(begun.elapsed() < SOON, "still listening to the drip");
        conn.send("X-Drip: 1\r\n").await;
    }
}

#[tokio::test]
async fn way_in_the_second_head_has_the_same_deadline() {
    let (_origin, setup) = strict().await;
    let tls = Tls::new();
    let desk = setup.tls(&tls).start().await;
    for secure in [false, true] {
        let mut conn = if secure { Conn::open_tls(desk.ports.https, &tls).await } else { desk.conn().await };
        for _ in 0..2 {
            assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
        }
        conn.send("GET / HTTP/1.1\r\nHo").await;
        cut_off(&mut conn, LIMIT, "half a third head").await;
    }
}

#[tokio::test]
async fn way_in_silence_after_accept_is_cut() {
    let (_origin, setup) = strict().await;
    let desk = setup.start().await;
    let (_, after) = desk.conn().await.until_closed(SOON).await;
    assert!(after < Duration::from_secs(8), "{after:?}");
}

#[tokio::test]
async fn way_in_a_tls_client_that_never_shakes_hands_is_cut() {
    let (_origin, setup) = strict().await;
    let tls = Tls::new();
    let desk = setup.tls(&tls).start().await;
    for first in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"] {
        let mut conn = Conn::open(desk.ports.https).await;
        conn.send(first).await;
        let (_, after) = conn.until_closed(SOON).await;
        assert!(after < Duration::from_secs(8), "after {} bytes: {after:?}", first.len());
    }
}

#[tokio::test]
async fn way_in_an_idle_connection_is_closed_at_idle_timeout() {
    let (_origin, setup) = strict().await;
    let tls = Tls::new();
    let desk = setup.tls(&tls).start().await;
    for (secure, limit, what) in [(false, Duration::from_secs(2), "cleartext"), (true, Duration::from_secs(2), "TLS")] {
        let mut conn = if secure { Conn::open_tls(desk.ports.https, &tls).await } else { desk.conn().await };
        assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert_eq!(conn.ask(&Ask::get("/")).await.status, 200, "an idle second does no harm");
        cut_off(&mut conn, limit, what).await;
    }
}

#[tokio::test]
async fn way_in_an_answer_under_way_is_not_idle() {
    let origin =
        Origin::start(|_: &Request| Reply::html("<p>a").pause(Duration::from_secs(3)).then("</p>").chunked()).await;
    let desk = Setup::before(&origin).set("protection", "header_timeout = \"1s\"\nidle_timeout = \"1s\"").start().await;
    let response = desk.get("/").await;
    assert!(response.complete);
    assert_eq!(response.text(), "<p>a</p>");
}

/// What has been written to its end has not been read to its end.
#[tokio::test]
async fn way_in_who_reads_slowly_over_http2_keeps_what_is_owed_when_others_need_room() {
    let (origin, tls) = (SlowReaders::origin(96 * 1024).await, Tls::new());
    let limits = "max_connections = 2\nclient_share = 100\nidle_timeout = \"30s\"";
    let desk = Setup::before(&origin).set("protection", limits).tls(&tls).start().await;
    let readers = SlowReaders::begin(desk.ports.https, &tls, 96 * 1024, Duration::from_millis(250)).await;
    let mut second = desk.conn().await;
    assert_eq!(second.ask(&Ask::get("/")).await.status, 200);
    let third = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_served_in_time(&desk, "a third beside one that idles and one that is read slowly").await;
    };
    tokio::join!(readers.read_all(), third);
    drop(second);
}

fn allow_many_files() {
    let files = Resource::RLIMIT_NOFILE;
    let (_, most) = getrlimit(files).expect("the limit");
    setrlimit(files, most.min(65_536), most).expect("more files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn way_in_a_thousand_slow_clients_do_not_stop_another() {
    use tokio::io::AsyncWriteExt;
    allow_many_files();
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("protection", "header_timeout = \"60s\"").start().await;
    let mut slow = Vec::new();
    for _ in 0..1000 {
        let mut socket = TcpStream::connect(desk.ports.http).await.expect("a connection");
        socket.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.expect("writing");
        slow.push(socket);
    }
    for _ in 0..20 {
        let begun = Instant::now();
        assert_eq!(desk.get("/").await.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    assert_eq!(desk.admin_get("/livez").await.status, 200);
    drop(slow);
}

#[tokio::test]
async fn way_in_max_connections_is_kept() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("protection", "max_connections = 5\nclient_share = 100").start().await;
    let mut held = Vec::new();
    for _ in 0..5 {
        // Half a head: a connection that only idles would make room for a newcomer.
        let mut conn = desk.conn().await;
        conn.send("GET / HTTP/1.1\r\nHost: s\r\n").await;
        held.push(conn);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut sixth = desk.conn().await;
    sixth.send(Ask::get("/").bytes()).await;
    let answer = sixth.try_response("GET", Duration::from_secs(1)).await;
    assert!(!answer.is_ok_and(|r| r.status == 200), "a sixth was served");
    assert_eq!(desk.admin_get("/livez").await.status, 200, "the admin address is not counted");
    drop(held);
    drop(sixth);
    eventually("room again", SOON, async || {
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/").bytes()).await;
        conn.try_response("GET", Duration::from_secs(2)).await.is_ok_and(|r| r.status == 200)
    })
    .await;
}

#[tokio::test]
async fn way_in_takes_no_more_connections_than_there_are_files_for() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    // 256 are for everything else, and a connection takes two.
    let desk = Setup::before(&origin).set("protection", "client_share = 100").open_files(276).start().await;
    desk.says("10 connections are taken at a time").await;
    let mut held = Vec::new();
    for _ in 0..10 {
        let mut conn = desk.conn().await;
        conn.send("GET / HTTP/1.1\r\nHost: s\r\n").await;
        held.push(conn);
    }
    let mut waiting = desk.conn().await;
    waiting.send(Ask::get("/").bytes()).await;
    assert!(waiting.try_response("GET", Duration::from_secs(1)).await.is_err(), "one more was taken");
    for mut conn in held {
        conn.send("\r\n").await;
        assert_eq!(conn.response("GET").await.status, 200);
    }
    assert_eq!(waiting.response("GET").await.status, 200, "it has only waited");
}

async fn idle_cost(tls: Option<&Tls>, bound_kb: f64) {
    allow_many_files();
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let setup = Setup::before(&origin);
    let desk = if let Some(tls) = tls { setup.tls(tls) } else { setup }.start().await;
    let open = async |count: usize| {
        let mut all = Vec::new();
        for _ in 0..count {
            let mut conn = match tls {
                Some(tls) => Conn::open_tls(desk.ports.https, tls).await,
                None => desk.conn().await,
            };
            assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
            all.push(conn);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        all
    };
    let warm = open(50).await;
    let before = desk.rss_kb();
    let idle = open(500).await;
    let each = desk.rss_kb().saturating_sub(before) as f64 / 500.0;
    assert!(each < bound_kb, "{each:.1} KB for an idle connection");
    drop((warm, idle));
}

#[tokio::test]
async fn way_in_an_idle_connection_costs_under_20_kb() {
    idle_cost(None, 20.0).await;
}

#[tokio::test]
async fn way_in_an_idle_tls_connection_costs_under_40_kb() {
    idle_cost(Some(&Tls::new()), 40.0).await;
}

#[tokio::test]
async fn way_in_certificates_are_swapped_from_disk() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let (old, new) = (Tls::new(), Tls::new());
    let desk = Setup::before(&origin).tls(&old).start().await;
    assert_eq!(desk.ask(Via::H1Tls, Ask::get("/")).await.status, 200);
    assert!(new.connect(desk.ports.https, &[]).await.is_err(), "not yet");
    new.write(&desk.dir);
    eventually("the new certificate", Duration::from_secs(10), async || {
        new.connect(desk.ports.https, &[]).await.is_ok()
    })
    .await;
    desk.dir.write("tls.crt", "not a certificate");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(new.connect(desk.ports.https, &[]).await.is_ok(), "a bad file keeps the running one");
}

#[tokio::test]
async fn way_in_an_idle_connection_makes_room_for_a_newcomer() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("protection", "max_connections = 3").start().await;
    let mut idle = Vec::new();
    for _ in 0..12 {
        let mut conn = desk.conn().await;
        assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
        idle.push(conn);
    }
}

/// An origin that takes a while for `/slow`, and a desk with room for two.
async fn room_for_two() -> (Origin, Setup, Tls) {
    let origin = Origin::start(|r: &Request| {
        let reply = Reply::html(PAGE);
        if r.target == "/slow" { Reply::html("").pause(Duration::from_millis(1500)).then(PAGE) } else { reply }
    })
    .await;
    let tls = Tls::new();
    let setup = Setup::before(&origin)
        .set("protection", "max_connections = 2\nclient_share = 100\nidle_timeout = \"30s\"")
        .tls(&tls);
    (origin, setup, tls)
}

/// Served long before idle_timeout would have made room.
async fn is_served_in_time(desk: &Desk, what: &str) {
    let mut third = desk.conn().await;
    third.send(Ask::get("/").bytes()).await;
    let answer = third.try_response("GET", Duration::from_secs(10)).await;
    assert_eq!(answer.map(|r| r.status), Ok(200), "{what}");
}

#[tokio::test]
async fn way_in_a_busy_connection_makes_room_as_soon_as_it_idles() {
    let (_origin, setup, _tls) = room_for_two().await;
    let desk = setup.start().await;
    let (mut first, mut second) = (desk.conn().await, desk.conn().await);
    let busy = async |conn: &mut Conn| assert_eq!(conn.ask(&Ask::get("/slow")).await.status, 200);
    let third = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_served_in_time(&desk, "a third while two idle").await;
    };
    tokio::join!(busy(&mut first), busy(&mut second), third);
    // They are kept open by their clients all the while.
    drop((first, second));
}

#[tokio::test]
async fn way_in_an_idle_http2_connection_makes_room_for_a_newcomer() {
    let (_origin, setup, _tls) = room_for_two().await;
    let desk = setup.start().await;
    let (mut first, mut second) = (desk.h2(Via::H2Tls).await, desk.h2(Via::H2Tls).await);
    for conn in [&mut first, &mut second] {
        assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    is_served_in_time(&desk, "a third while two idle").await;
    drop((first, second));
}

#[tokio::test]
async fn way_in_a_busy_http2_connection_makes_room_as_soon_as_it_idles() {
    let (_origin, setup, _tls) = room_for_two().await;
    let desk = setup.start().await;
    let (mut first, mut second) = (desk.h2(Via::H2Tls).await, desk.h2(Via::H2Tls).await);
    let busy = async |conn: &mut H2Conn| assert_eq!(conn.ask(&Ask::get("/slow")).await.status, 200);
    let third = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_served_in_time(&desk, "a third that came while two were busy").await;
    };
    tokio::join!(busy(&mut first), busy(&mut second), third);
    drop((first, second));
}

#[tokio::test]
async fn way_in_who_fits_is_not_sent_away() {
    let (_origin, setup, tls) = room_for_two().await;
    let desk = setup.start().await;
    let mut h1 = Conn::open_tls(desk.ports.https, &tls).await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for _ in 0..3 {
        // Over HTTP/2 a connection that was closed meanwhile would fail.
        assert_eq!(h1.ask(&Ask::get("/slow")).await.status, 200);
        assert_eq!(h2.ask(&Ask::get("/slow")).await.status, 200);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(h1.stays_open(Duration::from_secs(1)).await, "two of two stay");
    let refused = desk.metric("frontdesk_rejections_total{reason=\"max_connections\"}").await;
    assert_eq!(refused.unwrap_or(0.0), 0.0, "nobody was refused");
}

#[tokio::test]
async fn way_in_the_first_heads_deadline_counts_from_accept() {
    const HEAD: Duration = Duration::from_secs(3);
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).set("protection", "header_timeout = \"3s\"").tls(&tls).start().await;
    let late_drip = async |secure: bool| {
        let begun = Instant::now();
        let mut conn = if secure { Conn::open_tls(desk.ports.https, &tls).await } else { desk.conn().await };
        assert!(conn.stays_open(HEAD.mul_f64(0.7)).await, "TLS {secure}: cut after {:?} already", begun.elapsed());
        conn.send("GET / HTTP/1.1\r\n").await;
        while conn.stays_open(Duration::from_millis(200)).await {
            assert!(begun.elapsed() < SOON, "TLS {secure}: still listening to the drip");
            conn.send("X-Drip: 1\r\n").await;
        }
        let after = begun.elapsed();
        assert!(after < HEAD.mul_f64(1.5), "TLS {secure}: cut only after {after:?}");
    };
    tokio::join!(late_drip(false), late_drip(true));
}
