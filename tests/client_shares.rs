//! Promise: one client address cannot take all connections, nor all concurrent upstream requests.

use crate::support::calls::{self, call, query};
use crate::support::frames_h2::{
    END, END_HEADERS, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, get,
};
use crate::support::gate::Gate;
use crate::support::{Answer, Ask, Conn, Desk, Origin, Reply, Request, SOON, Setup, Step, Via, eventually};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

const REFUSED_STREAM: u8 = 7;

/// What a connection from 127.0.0.`host` is answered; 0: nothing.
async fn asks(desk: &Desk, host: u8, ask: &Ask) -> u16 {
    let mut conn = Conn::open_from(host, desk.ports.http).await;
    conn.send(ask.bytes()).await;
    conn.try_response(&ask.method, SOON).await.map_or(0, |answer| answer.status)
}

/// Answers at once, but `/first` and `/then` only once their gates open.
async fn site() -> (Origin, Gate, Gate) {
    let gates = (Gate::closed(), Gate::closed());
    let (first, then) = gates.clone();
    let held = |gate: &Gate| {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nheld".to_vec();
        Answer::from(vec![Step::Wait(gate.clone()), Step::Write(answer), Step::KeepAlive])
    };
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/first" => held(&first),
        "/then" => held(&then),
        _ => Reply::new(200).body("quick").into(),
    })
    .await;
    (origin, gates.0, gates.1)
}

fn under_way(origin: &Origin, target: &str) -> usize {
    origin.requests().iter().filter(|r| r.target == target).count()
}

/// Sends a request on so many connections, and reads no answer.
async fn begun(desk: &Desk, host: u8, count: usize, ask: &Ask) -> Vec<Conn> {
    let mut all = Vec::new();
    for _ in 0..count {
        let mut conn = Conn::open_from(host, desk.ports.http).await;
        conn.send(ask.bytes()).await;
        all.push(conn);
    }
    all
}

/// Half a request: a connection that only idles would make room for another one.
async fn half_begun(desk: &Desk, host: u8, count: usize) -> Vec<Conn> {
    half_begun_at(desk.ports.http, host, count).await
}

async fn half_begun_at(address: SocketAddr, host: u8, count: usize) -> Vec<Conn> {
    let mut all = Vec::new();
    for _ in 0..count {
        let mut conn = Conn::open_from(host, address).await;
        conn.send("GET /quick HTTP/1.1\r\nHost: s\r\n").await;
        all.push(conn);
    }
    all
}

#[tokio::test]
async fn client_shares_of_the_sites_places_leave_some_to_others() {
    let (origin, first, _) = site().await;
    let desk = Setup::before(&origin).set("upstream", "max_requests = 20").start().await;
    let _held = begun(&desk, 1, 25, &Ask::get("/first")).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"client_share\"}", 8.0).await;
    eventually("all but an eighth is taken", SOON, async || under_way(&origin, "/first") == 17).await;
    let beyond = desk.ask(Via::H1, Ask::get("/quick")).await;
    assert_eq!((beyond.status, beyond.header("retry-after")), (503, Some("1")), "{}", beyond.text());
    assert_eq!(beyond.json()["code"], "client_share", "{}", beyond.text());
    for _ in 0..20 {
        assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    }
    assert_eq!(desk.get("/.well-known/agent.json").await.status, 200, "the site is not asked for it");
    first.open();
    eventually("it may ask again", SOON, async || desk.get("/quick").await.status == 200).await;
    assert_eq!(desk.metric("frontdesk_rejections_total{reason=\"site_busy\"}").await.unwrap_or(0.0), 0.0);
}

#[tokio::test]
async fn client_shares_of_the_sites_places_bind_once_another_address_is_turned_away() {
    let (origin, first, then) = site().await;
    let desk = Setup::before(&origin).set("upstream", "max_requests = 20").start().await;
    let _one = begun(&desk, 1, 17, &Ask::get("/first")).await;
    eventually("all but an eighth is taken", SOON, async || under_way(&origin, "/first") == 17).await;
    let _other = begun(&desk, 2, 3, &Ask::get("/first")).await;
    eventually("the rest is taken", SOON, async || under_way(&origin, "/first") == 20).await;
    assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 503, "there is no place");
    first.open();
    eventually("all are free", SOON, async || asks(&desk, 2, &Ask::get("/quick")).await == 200).await;
    let _again = begun(&desk, 1, 20, &Ask::get("/then")).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"client_share\"}", 10.0).await;
    eventually("its share is taken", SOON, async || under_way(&origin, "/then") == 10).await;
    let others = begun(&desk, 2, 10, &Ask::get("/then")).await;
    eventually("others have the rest", SOON, async || under_way(&origin, "/then") == 20).await;
    then.open();
    for mut conn in others {
        assert_eq!(conn.response("GET").await.status, 200);
    }
}

/// Calls of agents count like pages, and are told so.
#[tokio::test]
async fn client_shares_hold_for_calls_too() {
    let gate = Gate::closed();
    let held = gate.clone();
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/api/shown" => {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".to_vec();
            Answer::from(vec![Step::Wait(held.clone()), Step::Write(answer), Step::KeepAlive])
        }
        _ => Reply::new(200).body("quick").into(),
    })
    .await;
    let declared = query("shown", "\nupstream = { method = \"GET\", path = \"/api/shown\" }");
    let desk = calls::site(&origin, &declared).set("upstream", "max_requests = 16").start().await;
    let ask = call("/agent/shown", &serde_json::json!({}));
    let _held = begun(&desk, 1, 14, &ask).await;
    eventually("all but an eighth is taken", SOON, async || under_way(&origin, "/api/shown") == 14).await;
    let beyond = desk.ask(Via::H1, ask).await;
    assert_eq!((beyond.status, beyond.header("retry-after")), (503, Some("1")), "{}", beyond.text());
    assert!(beyond.text().contains("Your address has"), "{}", beyond.text());
    desk.metric_reaches("frontdesk_rejections_total{reason=\"client_share\"}", 1.0).await;
    assert_eq!(desk.ask(Via::H1, Ask::get("/quick")).await.status, 503, "pages count with them");
    assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    gate.open();
}

/// Behind a trusted proxy it is each client that has a share.
#[tokio::test]
async fn client_shares_are_those_of_the_client_behind_a_proxy() {
    let (origin, first, _) = site().await;
    let setup = Setup::before(&origin).set("upstream", "max_requests = 20");
    let desk = setup.set("listen", "trusted_proxies = [\"127.0.0.1/32\"]").start().await;
    let from = |host: u8, path: &str| Ask::get(path).header("X-Forwarded-For", &format!("203.0.113.{host}"));
    let _held = begun(&desk, 1, 17, &from(1, "/first")).await;
    eventually("all but an eighth is taken", SOON, async || under_way(&origin, "/first") == 17).await;
    assert_eq!(desk.ask(Via::H1, from(1, "/quick")).await.status, 503);
    assert_eq!(desk.ask(Via::H1, from(2, "/quick")).await.status, 200);
    assert_eq!(desk.ask(Via::H1, Ask::get("/quick")).await.status, 200, "the proxy itself");
    first.open();
}

#[tokio::test]
async fn client_shares_of_connections_leave_some_to_others() {
    let (origin, ..) = site().await;
    let lines = "max_connections = 20\nclient_share = 60\nheader_timeout = \"60s\"";
    let desk = Setup::before(&origin).set("protection", lines).start().await;
    let mut one = half_begun(&desk, 1, 17).await;
    desk.metric_reaches("frontdesk_open_connections", 17.0).await;
    let (said, _) = desk.conn().await.until_closed(SOON).await;
    assert!(said.is_empty(), "an eighteenth is closed");
    desk.metric_reaches("frontdesk_rejections_total{reason=\"client_connections\"}", 1.0).await;
    assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    // Another address is turned away, or rather waits.
    let others = half_begun(&desk, 2, 4).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"max_connections\"}", 1.0).await;
    one.truncate(12);
    drop(others);
    eventually("there is room", SOON, async || asks(&desk, 2, &Ask::get("/quick")).await == 200).await;
    let (said, _) = desk.conn().await.until_closed(SOON).await;
    assert!(said.is_empty(), "it has its share, and others were turned away");
    one.truncate(6);
    eventually("it may come again", SOON, async || asks(&desk, 1, &Ask::get("/quick")).await == 200).await;
}

/// Probes of an orchestrator are answered whatever another address does.
#[tokio::test]
async fn client_shares_of_the_admin_address_leave_some_to_others() {
    let (origin, ..) = site().await;
    let desk = Setup::before(&origin).set("protection", "header_timeout = \"60s\"").start().await;
    // 256 are all that there are.
    let held = half_begun_at(desk.ports.admin, 2, 256).await;
    for _ in 0..5 {
        assert_eq!(desk.admin(Ask::get("/livez")).await.status, 200);
    }
    drop(held);
}

#[tokio::test]
async fn client_shares_leave_out_connections_that_idle() {
    let (origin, ..) = site().await;
    let desk = Setup::before(&origin).set("protection", "max_connections = 20").start().await;
    let mut kept = Vec::new();
    for _ in 0..30 {
        let mut conn = desk.conn().await;
        assert_eq!(conn.ask(&Ask::get("/quick")).await.status, 200, "an idle one made room");
        kept.push(conn);
    }
}

/// One address opens idle connections over HTTP/2 again and again: each takes the place of an earlier one at once, and
/// nobody else waits.
#[tokio::test]
async fn client_shares_of_idle_http2_connections_make_room_at_once() {
    let (origin, ..) = site().await;
    let setup = Setup::before(&origin).set("protection", "max_connections = 20").set("listen", "h2c = true");
    let desk = setup.start().await;
    let idle = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, b"")].concat();
    let served = [idle.clone(), frame(HEADERS, END | END_HEADERS, 1, get("/quick"))].concat();
    let several = [served.clone(), frame(HEADERS, END | END_HEADERS, 3, get("/quick"))].concat();
    for said in [&idle, &served, &several] {
        let mut held = Vec::new();
        for _ in 0..17 {
            let mut conn = desk.conn().await;
            conn.send(said).await;
            held.push(conn);
        }
        for _ in 0..4 {
            for _ in 0..10 {
                let mut conn = desk.conn().await;
                conn.send(said).await;
                held.push(conn);
            }
            let begun = std::time::Instant::now();
            assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
            assert!(begun.elapsed() < Duration::from_secs(1), "it waited for {:?}", begun.elapsed());
        }
        let opened = held.len();
        let mut closed = tokio::task::JoinSet::new();
        for mut conn in held {
            closed.spawn(async move { conn.until_closed(SOON).await.0 });
        }
        let mut displaced = 0;
        // At most `max_connections` are left.
        for _ in 0..opened - 20 {
            let said = closed.join_next().await.unwrap().unwrap();
            if said.is_empty() {
                // No connection was free and none idled, so this one was not accepted.
                continue;
            }
            // The displaced client learns which streams were read, and each of them was served or refused.
            let holds = |part: &[u8]| said.windows(part.len()).any(|here| here == part);
            let is_settled = |stream: u8| {
                let served = [HEADERS, END_HEADERS, 0, 0, 0, stream];
                holds(&served) || holds(&frame(RST_STREAM, 0, stream.into(), [0, 0, 0, REFUSED_STREAM]))
            };
            let last = [3, 1].into_iter().find(|stream| is_settled(*stream)).unwrap_or_default();
            assert!((1..last).step_by(2).all(is_settled), "{said:?}");
            assert!(holds(&frame(GOAWAY, 0, 0, [0, 0, 0, last, 0, 0, 0, 0])), "{said:?}");
            displaced += 1;
        }
        assert!(displaced > 0);
    }
}

/// What idles could become busy at any moment.
#[tokio::test]
async fn client_shares_hold_for_idle_connections_that_become_busy_together() {
    let (origin, ..) = site().await;
    let lines = "max_connections = 20\nheader_timeout = \"60s\"";
    let desk = Setup::before(&origin).set("protection", lines).start().await;
    let mut kept = Vec::new();
    for _ in 0..30 {
        let mut conn = desk.conn().await;
        assert_eq!(conn.ask(&Ask::get("/quick")).await.status, 200);
        kept.push(conn);
    }
    for conn in &mut kept {
        // Those that made room are closed.
        conn.send("GET /quick HTTP/1.1\r\nHost: s\r\n").await;
    }
    desk.metric_reaches("frontdesk_open_connections", 17.0).await;
    for _ in 0..5 {
        assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    }
    let others = half_begun(&desk, 2, 3).await;
    desk.metric_reaches("frontdesk_open_connections", 20.0).await;
    drop(others);
}

/// A connection that its client has ended counts for as long as answers are owed.
#[tokio::test]
async fn client_shares_hold_for_connections_that_are_over_and_still_read() {
    // More than the sockets take, and less than is kept for them to take.
    let big = vec![b'x'; 3_000_000];
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/big" => Reply::new(200).body(big.clone()),
        _ => Reply::new(200).body("quick"),
    })
    .await;
    let setup = Setup::before(&origin).set("protection", "max_connections = 20").set("listen", "h2c = true");
    let desk = setup.start().await;
    let most = i32::MAX.to_be_bytes();
    let said = [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, [&[0, 4], &most[..]].concat()),
        frame(WINDOW_UPDATE, 0, 0, (i32::MAX - 65_535).to_be_bytes()),
        frame(HEADERS, END | END_HEADERS, 1, get("/big")),
        frame(GOAWAY, 0, 0, [0; 8]),
    ]
    .concat();
    let mut held = Vec::new();
    for _ in 0..40 {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let mut stream = socket.connect(desk.ports.http).await.expect("a connection");
        // It may have been refused.
        let _ = stream.write_all(&said).await;
        held.push(stream);
        // Its answer is on its way when the next one comes.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    desk.metric_reaches("frontdesk_rejections_total{reason=\"client_connections\"}", 1.0).await;
    let mut other = Conn::open_from(2, desk.ports.http).await;
    other.send(Ask::get("/quick").bytes()).await;
    let answer = other.try_response("GET", Duration::from_secs(4)).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200), "another address");
}

#[tokio::test]
async fn client_shares_leave_one_to_others_however_few_there_are() {
    let (origin, first, _) = site().await;
    let setup = Setup::before(&origin).set("upstream", "max_requests = 2");
    let desk = setup.set("protection", "max_connections = 4\nheader_timeout = \"60s\"").start().await;
    let held = half_begun(&desk, 1, 3).await;
    desk.metric_reaches("frontdesk_open_connections", 3.0).await;
    assert!(desk.conn().await.until_closed(SOON).await.0.is_empty(), "the fourth is for others");
    assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    drop(held);
    eventually("they have gone", SOON, async || asks(&desk, 1, &Ask::get("/quick")).await == 200).await;
    let _held = begun(&desk, 1, 1, &Ask::get("/first")).await;
    eventually("it is under way", SOON, async || under_way(&origin, "/first") == 1).await;
    assert_eq!(desk.get("/quick").await.json()["code"], "client_share");
    assert_eq!(asks(&desk, 2, &Ask::get("/quick")).await, 200, "another address");
    first.open();
}

#[tokio::test]
async fn client_shares_do_not_bind_a_trusted_proxy_nor_where_they_are_switched_off() {
    let (origin, ..) = site().await;
    for (table, lines) in [("listen", "trusted_proxies = [\"127.0.0.1/32\"]"), ("protection", "client_share = 100")] {
        let setup = Setup::before(&origin).set("protection", "max_connections = 20\nheader_timeout = \"60s\"");
        let desk = setup.set(table, lines).start().await;
        for mut conn in half_begun(&desk, 1, 20).await {
            conn.send("\r\n").await;
            assert_eq!(conn.response("GET").await.status, 200, "{lines}");
        }
    }
}
