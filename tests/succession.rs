//! Promise: a new binary takes over the listeners without refusing or cutting off a client, and the log names what is
//! lost.

use crate::support::page::PAGE;
use crate::support::setup::dead_address;
use crate::support::shop::{ADA, answering, assert_fault, carried_out, desk_before, held, is_replay, item, open};
use crate::support::{Ask, Conn, Desk, Dir, Gate, Origin, Reply, Request, SOON, Setup, Via, eventually};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const PLACE: &str = "upgrade_socket = \"up.sock\"";

async fn site() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

#[derive(Default)]
struct Load {
    over: AtomicBool,
    answered: AtomicUsize,
    failed: std::sync::Mutex<Vec<String>>,
}

/// Asks on and on, over one connection for as long as it is kept, or over a new one each time.
async fn ask_on(load: Arc<Load>, addr: std::net::SocketAddr, kept: bool) {
    let mut open: Option<Conn> = None;
    while !load.over.load(Ordering::SeqCst) {
        let mut conn = match open.take() {
            Some(conn) => conn,
            None => Conn::open(addr).await,
        };
        let ask = Ask::get("/");
        conn.send(if kept { ask } else { ask.header("Connection", "close") }.bytes()).await;
        match conn.try_response("GET", SOON).await {
            Ok(response) if response.status == 200 && response.complete => {
                load.answered.fetch_add(1, Ordering::SeqCst);
                if kept && response.header("connection") != Some("close") {
                    open = Some(conn);
                }
            }
            Ok(response) => load.failed.lock().expect("a lock").push(format!("{}", response.status)),
            Err(e) => load.failed.lock().expect("a lock").push(e),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn succession_twenty_times_under_load_refuses_nobody() {
    let origin = site().await;
    let mut desk = Setup::before(&origin).set("listen", PLACE).start().await;
    let load = Arc::new(Load::default());
    let asking: Vec<_> = (0..6).map(|n| tokio::spawn(ask_on(load.clone(), desk.ports.http, n % 2 == 0))).collect();
    let mut before = Vec::new();
    for round in 0..20 {
        let next = desk.upgraded().await;
        let answered = load.answered.load(Ordering::SeqCst);
        eventually("it goes on", SOON, async || load.answered.load(Ordering::SeqCst) > answered + 3).await;
        before.push(std::mem::replace(&mut desk, next));
        assert!(desk.is_running(), "round {round}");
    }
    load.over.store(true, Ordering::SeqCst);
    for task in asking {
        task.await.expect("a client");
    }
    for old in &mut before {
        assert_eq!(old.wait_exit(SOON).await.0.code(), Some(0), "{}", old.stderr());
    }
    let failed = load.failed.lock().expect("a lock").clone();
    assert_eq!(failed, [""; 0], "of {} requests", load.answered.load(Ordering::SeqCst));
    assert!(load.answered.load(Ordering::SeqCst) > 200, "there was a load");
    assert_eq!(desk.admin_get("/readyz").await.status, 200, "the operator's address went over too");
}

#[tokio::test]
async fn succession_lets_what_is_under_way_finish() {
    let gate = Gate::closed();
    let origin = Origin::start({
        let gate = gate.clone();
        move |r: &Request| {
            let (top, rest) = PAGE.split_once("<p>").expect("a paragraph");
            match r.target.as_str() {
                "/slow" => Reply::html(top).wait(&gate).then("<p>").then(rest).chunked(),
                _ => Reply::html(PAGE),
            }
        }
    })
    .await;
    let mut old = Setup::before(&origin).set("listen", PLACE).start().await;
    let mut slow = old.conn().await;
    slow.send(Ask::get("/slow").bytes()).await;
    eventually("it is under way", SOON, async || origin.asked().len() == 1).await;
    let new = old.upgraded().await;
    assert_eq!(new.get("/").await.status, 200);
    assert!(old.is_running(), "it waits for what it began");
    gate.open();
    assert!(slow.response("GET").await.complete);
    assert_eq!(old.wait_exit(SOON).await.0.code(), Some(0));
}

#[tokio::test]
async fn succession_without_a_successor_is_refused_and_said() {
    let origin = site().await;
    let desk = Setup::before(&origin).set("listen", PLACE).start().await;
    desk.signal(libc::SIGQUIT);
    desk.says("no successor waits").await;
    desk.says("frontdesk run --upgrade").await;
    assert_eq!(desk.get("/").await.status, 200, "it goes on");

    let placeless = Setup::before(&origin).start().await;
    placeless.signal(libc::SIGQUIT);
    placeless.says("listen.upgrade_socket is not set").await;
    assert_eq!(placeless.get("/").await.status, 200, "it goes on");
}

#[tokio::test]
async fn succession_that_fails_leaves_everything_as_it_was() {
    let origin = site().await;
    let setup = Setup::before(&origin).set("listen", PLACE);
    let desk = setup.clone().start().await;
    // The successor listens where somebody else does already.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let text = setup.text(&desk.ports);
    let http = format!("\"{}\"", desk.ports.http);
    let both = format!("[{http}, \"{}\"]", taken.local_addr().expect("bound"));
    let broken = text.replacen(&http, &both, 1);
    assert_ne!(broken, text);
    desk.replace_config(&broken);
    let mut successor = desk.successor().await;
    desk.signal(libc::SIGQUIT);
    assert_ne!(successor.wait_exit(SOON).await.0.code(), Some(0));
    assert!(successor.stderr().contains("another process listens there"), "{}", successor.stderr());
    desk.says("ended before it served").await;
    assert_eq!(desk.get("/").await.status, 200, "it goes on");
    desk.replace_config(&text);
    let next = desk.upgraded().await;
    assert_eq!(next.get("/").await.status, 200, "and can be replaced later");
}

#[tokio::test]
async fn succession_ends_a_successor_that_is_told_to_end_while_it_waits() {
    let origin = site().await;
    let desk = Setup::before(&origin).set("listen", PLACE).start().await;
    let mut successor = desk.successor().await;
    successor.signal(libc::SIGTERM);
    assert_eq!(successor.wait_exit(SOON).await.0.code(), Some(0));
    // It leaves nothing behind; one that is killed does.
    desk.signal(libc::SIGQUIT);
    desk.says("no successor waits").await;
    let mut killed = desk.successor().await;
    killed.signal(libc::SIGKILL);
    killed.wait_exit(SOON).await;
    desk.signal(libc::SIGQUIT);
    eventually("it is said again", SOON, async || desk.stderr().matches("no successor waits").count() == 2).await;
    let next = desk.upgraded().await;
    assert_eq!(next.get("/").await.status, 200, "what it left behind is in nobody's way");
}

/// A call under way that the origin holds until the gate opens, in a process that is handing over to the next.
struct Held {
    gate: Gate,
    origin: Origin,
    old: Desk,
    conn: Conn,
    next: Desk,
}

async fn handing_over() -> Held {
    let gate = Gate::closed();
    let origin = answering({
        let gate = gate.clone();
        move |_, order| held(&gate, &order)
    })
    .await;
    let old = desk_before(&origin).set("listen", PLACE).start().await;
    let mut conn = old.conn().await;
    conn.send(item("book", "book").key("k-1").bearer(ADA).bytes()).await;
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    let next = old.successor().await;
    old.signal(libc::SIGQUIT);
    old.says("store.url is memory").await;
    Held { gate, origin, old, conn, next }
}

#[tokio::test]
async fn succession_with_memory_lets_calls_finish_first_and_says_what_is_lost() {
    let Held { gate, origin, mut old, mut conn, next } = handing_over().await;
    let meanwhile = old.ask(Via::H1, item("book", "other").key("k-2").bearer(ADA)).await;
    assert_eq!(meanwhile.status, 503, "{}", meanwhile.text());
    assert_eq!(meanwhile.header("retry-after"), Some("1"));
    assert_eq!(carried_out(&origin).len(), 1, "it was not begun");
    gate.open();
    let first = conn.response("POST").await;
    assert_eq!(first.status, 201, "{}", first.text());
    old.says("the new process now serves").await;
    let after = next.ask(Via::H1, item("book", "other").key("k-2").bearer(ADA)).await;
    assert_eq!(after.status, 201, "{}", after.text());
    assert_eq!(old.wait_exit(SOON).await.0.code(), Some(0));
}

#[tokio::test]
async fn succession_gives_way_to_an_end() {
    let Held { gate, origin: _origin, mut old, mut conn, next } = handing_over().await;
    old.signal(libc::SIGTERM);
    old.says("shutting down").await;
    gate.open();
    assert_eq!(conn.response("POST").await.status, 201, "what runs may finish");
    assert_eq!(old.wait_exit(SOON).await.0.code(), Some(0));
    assert!(!next.stderr().contains("http on"), "nothing was handed over: {}", next.stderr());
}

#[tokio::test]
async fn succession_with_a_file_keeps_every_promise() {
    let origin = open().await;
    let dir = Dir::new();
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    std::fs::create_dir(dir.join("store")).expect("the store's directory");
    let log = dir.join("audit.jsonl");
    let audit = format!("path = \"{}\"", log.display());
    let setup = desk_before(&origin).set("listen", PLACE).set("store", &store).set("audit", &audit);
    let old = setup.start().await;
    let ask = item("book", "book").key("k-1").bearer(ADA);
    assert_eq!(old.ask(Via::H1, ask.clone()).await.status, 201);
    let next = old.upgraded().await;
    let again = next.ask(Via::H1, ask).await;
    assert!(is_replay(&again), "{} {:?}", again.status, again.headers);
    assert_eq!(carried_out(&origin).len(), 1);
    let other = next.ask(Via::H1, item("book", "other").key("k-1").bearer(ADA)).await;
    assert_fault(&other, 422, "idempotency_key_reused", "the successor knows the key");
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    eventually("both wrote to one audit log", SOON, async || lines() >= 3).await;
}

#[tokio::test]
async fn succession_closes_what_the_new_configuration_does_not_listen_on() {
    let origin = site().await;
    let setup = Setup::before(&origin).set("listen", PLACE);
    let desk = setup.clone().start().await;
    let text = setup.text(&desk.ports);
    let elsewhere = dead_address();
    desk.replace_config(&text.replacen(&desk.ports.http.to_string(), &elsewhere.to_string(), 1));
    let next = desk.upgraded().await;
    next.says("closed an inherited socket").await;
    let mut conn = Conn::open(elsewhere).await;
    assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
    let closed = || async { tokio::net::TcpStream::connect(desk.ports.http).await.is_err() };
    eventually("the old one is closed", SOON, closed).await;
}

#[tokio::test]
async fn succession_by_the_operators_word_ends_the_process() {
    let origin = site().await;
    let tokenless = Setup::before(&origin).start().await;
    let answer = tokenless.admin(Ask::post("/shutdown", "")).await;
    assert_eq!(answer.status, 403, "on loopback too: {}", answer.text());

    let token = crate::support::verbs::sha256("a token");
    let mut desk = Setup::before(&origin).set("admin", &format!("token_sha256 = \"{token}\"")).start().await;
    assert_eq!(desk.admin(Ask::post("/shutdown", "")).await.status, 401);
    assert_eq!(desk.admin(Ask::post("/shutdown", "").bearer("another")).await.status, 401);
    assert_eq!(desk.admin(Ask::get("/shutdown").bearer("a token")).await.status, 405);
    assert!(desk.is_running());
    assert_eq!(desk.admin(Ask::post("/shutdown", "").bearer("a token")).await.status, 202);
    assert_eq!(desk.wait_exit(SOON).await.0.code(), Some(0));
}
