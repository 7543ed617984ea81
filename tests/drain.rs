//! Promise: after SIGTERM requests in flight finish; the exit takes no longer than needed, and never longer than
//! shutdown_timeout.

use crate::support::page::{PAGE, assert_rewritten};
use crate::support::{Ask, Conn, Desk, Gate, Origin, Reply, Request, SOON, Setup, SlowReaders, Tls, Via, eventually};
use std::time::Duration;

const PROMPT: Duration = Duration::from_secs(4);

fn waiting(gate: &Gate) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let gate = gate.clone();
    move |r| {
        let (top, rest) = PAGE.split_once("<p>").expect("a paragraph");
        if r.target == "/slow" {
            Reply::html(top).wait(&gate).then("<p>").then(rest).chunked()
        } else {
            Reply::html(PAGE)
        }
    }
}

#[tokio::test]
async fn drain_ends_promptly_when_nothing_runs() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let tls = Tls::new();
    let mut desk = Setup::before(&origin).tls(&tls).start().await;
    // Idle connections of every kind do not hold it up.
    let mut kept = desk.conn().await;
    kept.ask(&Ask::get("/")).await;
    let _fresh = desk.conn().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    h2.ask(&Ask::get("/")).await;
    desk.signal(libc::SIGTERM);
    let (status, took) = desk.wait_exit(SOON).await;
    assert_eq!(status.code(), Some(0));
    assert!(took < PROMPT, "{took:?} with nothing to do");
    kept.until_closed(SOON).await;
}

#[tokio::test]
async fn drain_lets_answers_under_way_finish() {
    let (tls, gate) = (Tls::new(), Gate::closed());
    let origin = Origin::start(waiting(&gate)).await;
    let mut desk = Setup::before(&origin).tls(&tls).start().await;
    let mut h1 = desk.conn().await;
    h1.send(Ask::get("/slow").bytes()).await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    let incoming = h2.begin(&Ask::get("/slow")).await;
    eventually("both are under way", SOON, async || origin.asked().len() == 2).await;
    desk.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(desk.is_running(), "it waits for them");
    gate.open();
    let response = h1.response("GET").await;
    assert!(response.complete);
    assert_rewritten(PAGE, &response.page(), "HTTP/1.1, finished while draining");
    let response = incoming.finish().await;
    assert!(response.complete);
    assert_rewritten(PAGE, &response.page(), "HTTP/2, finished while draining");
    let (status, took) = desk.wait_exit(SOON).await;
    assert_eq!(status.code(), Some(0));
    assert!(took < PROMPT, "and ends as soon as they are done: {took:?}");
}

/// Answers that were handed over to be written are no answers that were read.
#[tokio::test]
async fn drain_waits_for_who_reads_slowly_over_http2() {
    const LENGTH: usize = 96 * 1024;
    let origin = SlowReaders::origin(LENGTH).await;
    let tls = Tls::new();
    let mut desk = Setup::before(&origin).tls(&tls).start().await;
    let readers = SlowReaders::begin(desk.ports.https, &tls, LENGTH, Duration::from_millis(250)).await;
    desk.signal(libc::SIGTERM);
    readers.read_all().await;
    assert_eq!(desk.wait_exit(SOON).await.0.code(), Some(0));
}

#[tokio::test]
async fn drain_takes_no_new_connections() {
    let gate = Gate::closed();
    let origin = Origin::start(waiting(&gate)).await;
    let mut desk = Setup::before(&origin).start().await;
    let mut slow = desk.conn().await;
    slow.send(Ask::get("/slow").bytes()).await;
    eventually("it is under way", SOON, async || origin.asked().len() == 1).await;
    desk.signal(libc::SIGTERM);
    let ports = desk.ports;
    eventually("the port is closed", SOON, async || tokio::net::TcpStream::connect(ports.http).await.is_err()).await;
    gate.open();
    assert!(slow.response("GET").await.complete);
    assert_eq!(desk.wait_exit(SOON).await.0.code(), Some(0));
}

#[tokio::test]
async fn drain_ends_at_shutdown_timeout_whatever_runs() {
    let gate = Gate::closed();
    let origin = Origin::start(waiting(&gate)).await;
    let mut desk = Setup::before(&origin).set("protection", "shutdown_timeout = \"2s\"").start().await;
    let mut slow = desk.conn().await;
    slow.send(Ask::get("/slow").bytes()).await;
    eventually("it is under way", SOON, async || origin.asked().len() == 1).await;
    desk.signal(libc::SIGTERM);
    let (_, took) = desk.wait_exit(SOON).await;
    assert!(took > Duration::from_millis(1500), "it waited: {took:?}");
    assert!(took < Duration::from_secs(7), "but not for ever: {took:?}");
}

#[tokio::test]
async fn drain_with_a_delay_is_unready_and_alive_and_still_serves() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let mut desk = Setup::before(&origin).set("protection", "shutdown_delay = \"3s\"").start().await;
    desk.signal(libc::SIGTERM);
    eventually("unready", Duration::from_secs(2), async || desk.admin_get("/readyz").await.status == 503).await;
    assert_eq!(desk.admin_get("/livez").await.status, 200, "draining is not dead");
    assert_eq!(desk.get("/").await.status, 200, "who has not noticed yet is served");
    let (status, _) = desk.wait_exit(SOON).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn drain_with_a_delay_says_that_kept_connections_end() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let mut desk = Setup::before(&origin).set("protection", "shutdown_delay = \"3s\"").start().await;
    let mut kept = desk.conn().await;
    let response = kept.ask(&Ask::get("/")).await;
    assert_ne!(response.header("connection"), Some("close"), "kept as long as it goes on");
    desk.signal(libc::SIGTERM);
    eventually("unready", SOON, async || desk.admin_get("/readyz").await.status == 503).await;
    for path in ["/", "/.well-known/agent.json"] {
        // Who is told beforehand sends no request into a connection that is being closed.
        let response = kept.ask(&Ask::get(path)).await;
        assert_eq!((response.status, response.header("connection")), (200, Some("close")), "{path}");
        kept = desk.conn().await;
    }
    drop(kept);
    assert_eq!(desk.wait_exit(SOON).await.0.code(), Some(0));
}

#[tokio::test]
async fn drain_ends_a_websocket_at_the_latest_at_shutdown_timeout() {
    let origin = Origin::start(|_: &Request| vec![crate::support::Step::WebSocketEcho]).await;
    let mut desk = Setup::before(&origin).set("protection", "shutdown_timeout = \"1s\"").start().await;
    let io = desk.conn().await.into_io();
    let socket = tokio_tungstenite::client_async("ws://site.test/", io).await;
    assert!(socket.is_ok());
    desk.signal(libc::SIGTERM);
    let (_, took) = desk.wait_exit(SOON).await;
    assert!(took < Duration::from_secs(6), "{took:?}");
    drop(socket);
}

/// A desk that would wait half a minute for the request that is under way.
async fn busy(origin: &Origin, delay: &str, setup: Setup) -> (Desk, Conn) {
    let protection = format!("shutdown_timeout = \"30s\"\nshutdown_delay = \"{delay}\"");
    let desk = setup.set("protection", &protection).start().await;
    let mut slow = desk.conn().await;
    slow.send(Ask::get("/slow").bytes()).await;
    eventually("it is under way", SOON, async || origin.asked().len() == 1).await;
    (desk, slow)
}

#[tokio::test]
async fn drain_is_cut_short_by_a_second_signal() {
    for delay in ["0s", "20s"] {
        let gate = Gate::closed();
        let origin = Origin::start(waiting(&gate)).await;
        let (mut desk, _slow) = busy(&origin, delay, Setup::before(&origin)).await;
        desk.signal(libc::SIGTERM);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(desk.is_running(), "it waits");
        desk.signal(libc::SIGINT);
        let (_, took) = desk.wait_exit(SOON).await;
        assert!(took < PROMPT, "SIGINT: exiting at once, after a delay of {delay}: {took:?}");
    }
}

#[tokio::test]
async fn drain_that_was_asked_for_by_http_is_not_cut_by_the_first_sigterm() {
    let gate = Gate::closed();
    let origin = Origin::start(waiting(&gate)).await;
    let token = crate::support::verbs::sha256("a token");
    let setup = Setup::before(&origin).set("admin", &format!("token_sha256 = \"{token}\""));
    let (mut desk, _slow) = busy(&origin, "0s", setup).await;
    assert_eq!(desk.admin(Ask::post("/shutdown", "").bearer("a token")).await.status, 202);
    desk.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(desk.is_running(), "the end of a pod is no impatience");
    desk.signal(libc::SIGTERM);
    let (_, took) = desk.wait_exit(SOON).await;
    assert!(took < PROMPT, "a second one is: {took:?}");
}
