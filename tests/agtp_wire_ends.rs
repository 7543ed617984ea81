//! Promise: a connection on the AGTP socket ends in time and in order: slow, idle, half-closed, one too many, or shut
//! down.

use crate::agtp_wire::{asking, assert_answers, calls, lamps, site};
use crate::support::{Ask, Conn, Gate, Origin, Reply, Request, SOON, Setup, Tls, eventually};
use std::time::{Duration, Instant};

async fn strict() -> (Origin, Setup) {
    let (origin, setup) = site().await;
    (origin, setup.set("protection", "header_timeout = \"1s\"\nidle_timeout = \"2s\""))
}

/// Closed by the other side without a word, not at once and not much later than `limit`.
async fn cut_off(conn: &mut Conn, limit: Duration, what: &str) {
    let (said, after) = conn.until_closed(SOON).await;
    assert!(said.is_empty(), "{what}: {}", String::from_utf8_lossy(&said));
    assert!(after >= limit / 2, "{what}: cut after {after:?} already");
    assert!(after < limit + Duration::from_secs(4), "{what}: cut only after {after:?}");
}

const HEAD: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn agtp_wire_ends_a_slow_head_is_cut_at_header_timeout() {
    let (_origin, setup) = strict().await;
    let tls = Tls::new();
    let (_origin_2, setup_2) = strict().await;
    for desk in [setup.start().await, setup_2.tls(&tls).start().await] {
        let mut conn = desk.agtp().await;
        conn.conn.send("AGTP/1.0 QUERY /lamps\r\nA: b").await;
        cut_off(&mut conn.conn, HEAD, "half a first head").await;

        let mut conn = desk.agtp().await;
        assert_answers(&mut conn, 1).await;
        conn.conn.send("AGTP/1.0 QUERY /la").await;
        cut_off(&mut conn.conn, HEAD, "half a second head").await;

        let mut conn = desk.agtp().await;
        conn.conn.send([&asking(1).frame()[..], b"AGTP/1.0 Q"].concat()).await;
        assert_eq!(conn.response().await.status, 200);
        cut_off(&mut conn.conn, HEAD, "half a head behind a request").await;

        let mut silent = desk.agtp().await;
        cut_off(&mut silent.conn, HEAD, "silence from the beginning").await;
        desk.metric_reaches("frontdesk_rejections_total{reason=\"header_timeout\"}", 4.0).await;
    }
}

#[tokio::test]
async fn agtp_wire_ends_dripping_a_head_does_not_stretch_the_deadline() {
    let (_origin, setup) = strict().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    conn.conn.send("AGTP/1.0 QUERY /lamps\r\n").await;
    let begun = Instant::now();
    while conn.conn.stays_open(Duration::from_millis(200)).await {
        assert!(begun.elapsed() < SOON, "still listening to the drip");
        conn.conn.send("X-Drip: 1\r\n").await;
    }
    assert!(begun.elapsed() < HEAD * 4, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn agtp_wire_ends_a_slow_body_is_cut_however_it_drips() {
    let (origin, setup) = site().await;
    let desk = setup.start().await;
    let head = "AGTP/1.0 QUERY /lamps\r\nContent-Length: 1000\r\n\r\n";
    let slow = async |drips: bool| {
        let mut conn = desk.agtp().await;
        conn.conn.send(head).await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(27) {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if drips {
                conn.conn.send(" ").await;
            }
        }
        let said = conn.response().await;
        assert_eq!((said.status, said.json()["error"]["code"].as_str()), (400, Some("request-timeout")));
        assert!(begun.elapsed() >= Duration::from_secs(29), "{:?}", begun.elapsed());
        conn.conn.until_closed(SOON).await;
    };
    tokio::join!(slow(false), slow(true));
    assert!(calls(&origin).is_empty());
    desk.metric_reaches("frontdesk_rejections_total{reason=\"request_timeout\"}", 2.0).await;
}

#[tokio::test]
async fn agtp_wire_ends_a_slow_body_is_not_a_slow_head() {
    let (_origin, setup) = strict().await;
    let desk = setup.start().await;
    let mut conn = desk.agtp().await;
    conn.conn.send("AGTP/1.0 QUERY /lamps\r\nContent-Length: 9\r\n\r\n").await;
    for piece in ["{", "\"n\"", ":", "\"1\"", "}"] {
        tokio::time::sleep(Duration::from_millis(600)).await;
        conn.conn.send(piece).await;
    }
    let said = conn.response().await;
    assert_eq!(said.status, 200, "{}", said.text());
}

#[tokio::test]
async fn agtp_wire_ends_an_idle_connection_is_closed_at_idle_timeout() {
    let (_origin, setup) = strict().await;
    let desk = setup.tls(&Tls::new()).start().await;
    let mut conn = desk.agtp().await;
    assert_answers(&mut conn, 1).await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_answers(&mut conn, 2).await;
    cut_off(&mut conn.conn, IDLE, "an idle connection").await;
}

#[tokio::test]
async fn agtp_wire_ends_a_half_close_after_what_was_whole_is_answered() {
    let (origin, setup) = site().await;
    let tls = Tls::new();
    let (_origin_2, setup_2) = site().await;
    for desk in [setup.start().await, setup_2.tls(&tls).start().await] {
        for rest in ["", "AGTP/1.0 QUERY /lamps?n=half\r\nA", "AGTP/1.0 QUERY /lamps\r\nContent-Length: 9\r\n\r\n{"] {
            let mut conn = desk.agtp().await;
            conn.conn.send([&asking(1).frame()[..], &asking(2).frame(), rest.as_bytes()].concat()).await;
            conn.conn.end_sending().await;
            for n in [1, 2] {
                assert_eq!(conn.response().await.json()["query"], format!("n={n}"), "before {rest:?}");
            }
            let (said, after) = conn.conn.until_closed(SOON).await;
            assert!(said.is_empty() && after < Duration::from_secs(2), "after {rest:?}: {said:?}, {after:?}");
        }
    }
    assert!(calls(&origin).iter().all(|r| !r.target.contains("half")));
}

/// A site whose answer waits for the gate.
async fn waiting(gate: &Gate) -> (Origin, Setup) {
    let gate = gate.clone();
    let origin = Origin::start(move |_: &Request| Reply::json("").wait(&gate).then("{\"query\":\"late\"}")).await;
    let setup = Setup::before(&origin).tail(&lamps()).agtp();
    (origin, setup)
}

#[tokio::test]
async fn agtp_wire_ends_a_request_under_way_is_answered_at_shutdown() {
    let gate = Gate::closed();
    let (origin, setup) = waiting(&gate).await;
    let mut desk = setup.start().await;
    let (mut idle, mut fresh, mut busy, mut begun) =
        (desk.agtp().await, desk.agtp().await, desk.agtp().await, desk.agtp().await);
    assert_eq!(idle.ask(&Ask::new("DISCOVER", "/methods")).await.reason, "OK");
    // One is answered, one waits behind it; another has only begun to ask.
    busy.conn.send([asking(1).frame(), asking(2).frame()].concat()).await;
    begun.conn.send(&asking(3).frame()[..20]).await;
    eventually("it is under way", SOON, async || calls(&origin).len() == 1).await;
    desk.signal(libc::SIGTERM);
    for conn in [&mut idle, &mut fresh] {
        let (_, after) = conn.conn.until_closed(SOON).await;
        assert!(after < Duration::from_secs(2), "what idles ends at once: {after:?}");
    }
    assert!(desk.is_running(), "it waits for the others");
    begun.conn.send(&asking(3).frame()[20..]).await;
    eventually("it is taken all the same", SOON, async || calls(&origin).len() == 2).await;
    gate.open();
    for conn in [&mut busy, &mut begun] {
        assert_eq!(conn.response().await.json()["query"], "late");
        assert!(conn.conn.until_closed(SOON).await.0.is_empty(), "and that was the last answer");
    }
    let (status, _) = desk.wait_exit(SOON).await;
    assert_eq!(status.code(), Some(0));
    assert_eq!(calls(&origin).len(), 2);
}

#[tokio::test]
async fn agtp_wire_ends_an_idle_connection_makes_room_for_a_newcomer() {
    let (_origin, setup) = site().await;
    let desk = setup.set("protection", "max_connections = 3").start().await;
    let mut kept = Vec::new();
    for n in 0..9 {
        let mut conn = desk.agtp().await;
        assert_answers(&mut conn, n).await;
        kept.push(conn);
    }
    // Over HTTP too: it is one bound for all.
    assert_eq!(desk.get("/").await.status, 200);
    let held_up = desk.metric("frontdesk_rejections_total{reason=\"max_connections\"}").await;
    assert!(held_up.is_none_or(|held_up| held_up == 0.0), "nobody had to wait: {held_up:?}");
}

#[tokio::test]
async fn agtp_wire_ends_max_connections_is_kept() {
    let (_origin, setup) = site().await;
    let desk = setup.set("protection", "max_connections = 2\nclient_share = 100").start().await;
    let (mut first, mut second) = (desk.agtp().await, desk.agtp().await);
    for conn in [&mut first, &mut second] {
        conn.conn.send("AGTP/1.0 QUERY /la").await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut third = desk.agtp().await;
    third.conn.send(asking(3).frame()).await;
    assert!(third.conn.stays_open(Duration::from_secs(1)).await, "no room for a third");
    desk.metric_reaches("frontdesk_rejections_total{reason=\"max_connections\"}", 1.0).await;
    drop(first);
    assert_eq!(third.response().await.json()["query"], "n=3");
}

#[tokio::test]
async fn agtp_wire_ends_the_proxy_protocol_names_the_client() {
    let (_origin, setup) = strict().await;
    let listen = "proxy_protocol = true\ntrusted_proxies = [\"127.0.0.1/32\"]";
    let desk = setup.set("listen", listen).start().await;
    let mut conn = desk.agtp().await;
    conn.conn.send("PROXY TCP4 203.0.113.7 192.0.2.1 1234 4480\r\n").await;
    assert_answers(&mut conn, 1).await;
    eventually("the line", SOON, async || desk.access_log().iter().any(|line| line["client.address"] == "203.0.113.7"))
        .await;
    let mut bare = desk.agtp().await;
    bare.conn.send(asking(1).frame()).await;
    assert!(bare.conn.until_closed(SOON).await.0.is_empty(), "without the header nothing is spoken");
}

#[tokio::test]
async fn agtp_wire_ends_an_idle_connection_costs_under_12_kb() {
    let (_origin, setup) = site().await;
    let desk = setup.start().await;
    let open = async |count: usize| {
        let mut all = Vec::new();
        for n in 0..count {
            let mut conn = desk.agtp().await;
            assert_answers(&mut conn, n).await;
            all.push(conn);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        all
    };
    let mut held = vec![open(50).await];
    let mut least = f64::INFINITY;
    // The process takes its memory in leaps, of which one may fall into either round, but not into both.
    for _ in 0..2 {
        let before = desk.rss_kb();
        held.push(open(400).await);
        least = least.min(desk.rss_kb().saturating_sub(before) as f64 / 400.0);
    }
    assert!(least < 12.0, "{least:.1} KB for an idle connection");
    drop(held);
}
