//! Promise: a thousand configuration swaps under load fail no request, mix no answers and leak nothing.

use crate::support::page::PAGE;
use crate::support::{Ask, Conn, H2Conn, Origin, Reply, Request, Response, Setup, Tls};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::task::JoinSet;

const SWAPS: usize = 1000;

fn capability(id: &str) -> String {
    format!(
        "[[capabilities]]\nid = \"{id}\"\ntype = \"query\"\ndescription = \"One of two.\"\nmethod = \"POST\"\n\
         endpoint = \"/agent/{}\"\nrisk_level = \"low\"\nauth = \"none\"\n",
        id.replace('.', "/")
    )
}

/// One: with a notice, the legacy relation, room for long heads and `only.one`. Two: the opposite.
fn two_setups(origin: &Origin, tls: &Tls) -> (Setup, Setup) {
    let base = Setup::before(origin).tls(tls);
    let one = base
        .clone()
        .set("discovery", "notice = true\nlegacy_link_rel = true")
        .set("protection", "max_header = \"32KB\"\nidle_timeout = \"60s\"")
        .tail(&capability("only.one"));
    let two = base
        .set("discovery", "notice = false\nlegacy_link_rel = false")
        .set("protection", "max_header = \"4KB\"\nidle_timeout = \"50s\"")
        .tail(&capability("only.two"));
    (one, two)
}

/// Which configuration the head is of; the rest of the answer must agree.
fn is_one(response: &Response) -> bool {
    response.headers.joined("link").contains("agent-manifest")
}

fn whole_page(response: &Response) {
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(response.complete, "cut short");
    let page = response.page();
    assert_eq!(is_one(response), page.contains("ahp-notice"), "the head of one, the page of another: {page}");
    assert_eq!(is_one(response), page.contains("rel=\"ahp-manifest\""), "half a notice: {page}");
}

fn whole_contract(response: &Response) {
    assert_eq!(response.status, 200, "{}", response.text());
    let text = response.text();
    let (one, two) = (text.contains("only.one"), text.contains("only.two"));
    assert!(one != two, "a contract of both or neither: {text}");
    assert_eq!(is_one(response), one, "the head of one, the contract of another");
}

fn whole_limit(response: &Response) {
    match response.status {
        200 => whole_page(response),
        431 => assert!(!is_one(response), "the limit of two, the head of one"),
        other => panic!("{other}: {}", response.text()),
    }
    assert!(response.status == 431 || is_one(response), "the limit of one, the head of two");
}

async fn load_h1(addr: SocketAddr, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut conn = Conn::open(addr).await;
    let long = Ask::get("/").header("X-Long", &"x".repeat(8_000));
    while !stop.load(Ordering::Relaxed) {
        whole_page(&conn.ask(&Ask::get("/")).await);
        whole_contract(&conn.ask(&Ask::get("/.well-known/agent-interface.toml")).await);
        whole_limit(&Conn::open(addr).await.ask(&long).await);
        done.fetch_add(3, Ordering::Relaxed);
    }
}

async fn load_h2(addr: SocketAddr, tls: Tls, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut conn = H2Conn::open_tls(addr, &tls).await;
    while !stop.load(Ordering::Relaxed) {
        whole_page(&conn.ask(&Ask::get("/")).await);
        whole_contract(&conn.ask(&Ask::get("/.well-known/agent-interface.toml")).await);
        done.fetch_add(2, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swap_a_thousand_times_under_load() {
    let tls = Tls::new();
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let (one, two) = two_setups(&origin, &tls);
    let desk = one.clone().start().await;
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut load = JoinSet::new();
    for _ in 0..3 {
        load.spawn(load_h1(desk.ports.http, stop.clone(), done.clone()));
    }
    load.spawn(load_h2(desk.ports.https, tls.clone(), stop.clone(), done.clone()));
    let mut settled = 0;
    for n in 0..SWAPS {
        desk.swap(if n % 2 == 0 { &two } else { &one }).await;
        if n == SWAPS / 5 {
            settled = desk.rss_kb();
        }
        if let Some(ended) = load.try_join_next() {
            ended.expect("a client met a bad answer");
            panic!("a client gave up after {n} swaps");
        }
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = load.join_next().await {
        ended.expect("a client met a bad answer");
    }
    let grown = desk.rss_kb().saturating_sub(settled);
    assert!(grown < 30_000, "{grown} KB more after {SWAPS} swaps");
    assert!(done.load(Ordering::Relaxed) > 200, "there was a load: {done:?}");
    desk.metric_reaches("frontdesk_config_reloads_total{result=\"success\"}", SWAPS as f64).await;
}

#[tokio::test]
async fn swap_leaves_an_answer_under_way_as_it_began() {
    use crate::support::Gate;
    let gate = Gate::closed();
    let shut = gate.clone();
    let origin = Origin::start(move |r: &Request| {
        let (top, rest) = PAGE.split_once("<meta").expect("a head");
        let reply = Reply::html(top);
        let reply = if r.target == "/slow" { reply.wait(&shut) } else { reply };
        reply.then("<meta").then(rest).chunked()
    })
    .await;
    let with = Setup::before(&origin);
    let desk = with.clone().start().await;
    let mut conn = desk.conn().await;
    conn.send(Ask::get("/slow").bytes()).await;
    conn.until("<html lang=\"en\">").await;
    desk.swap(&with.clone().set("discovery", "notice = false")).await;
    assert!(!desk.get("/").await.page().contains("ahp-notice"), "new requests are of the new one");
    gate.open();
    let rest = conn.until("</html>").await;
    assert!(String::from_utf8_lossy(&rest).contains("ahp-notice"), "the old request stays of the old one");
}

#[tokio::test]
async fn swap_in_a_burst_of_half_written_files_never_stops_the_service() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    let text = setup.text(&desk.ports);
    for cut in (0..text.len()).step_by(7) {
        std::fs::write(&desk.config, &text[..cut]).expect("writing");
        assert_eq!(desk.get("/").await.status, 200, "cut at {cut}");
    }
    std::fs::write(&desk.config, b"\xff\xfe\x00garbage").expect("writing");
    assert_eq!(desk.reload().await.status, 422);
    assert_eq!(desk.get("/").await.status, 200);
    std::fs::remove_file(&desk.config).expect("removing");
    assert_eq!(desk.reload().await.status, 422, "a file that is gone");
    assert_eq!(desk.get("/").await.status, 200);
    desk.swap(&setup).await;
}
