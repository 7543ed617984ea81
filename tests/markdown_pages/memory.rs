//! Tests that many concurrent requests for the largest pages use a bounded amount of memory.

use std::time::Duration;

use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, SOON, Setup, eventually};

/// What the pages of all clients may take, in MB: what is held, what is read, and what the allocator keeps of it.
const MOST_MB: u64 = 32 + 112 + 40;
/// Reading the largest page takes a debug build some seconds.
const PATIENT: Duration = Duration::from_secs(90);

/// 3.9 MB, nearly all of it links.
fn links() -> String {
    let mut page =
        String::from("<!doctype html><html lang=en><head><title>Links</title></head><body><main><h1>Links</h1><p>");
    for n in 0..88_000 {
        page.push_str(&format!("<a href=\"/page/{n:06}\">link {n:06}</a> "));
    }
    page + "</p></main></body></html>"
}

async fn desk() -> (Origin, Desk) {
    let page = links();
    assert!((3_400_000..4_190_000).contains(&page.len()), "{}", page.len());
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/links" => Reply::html(page.clone()),
        target if target.ends_with(".md") => Reply::new(404).body("none"),
        _ => Reply::html("<html><body><main><p>small</p></main></body></html>"),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    assert_eq!(desk.get("/small").await.status, 200);
    (origin, desk)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_of_large_pages_takes_a_bounded_amount_of_memory() {
    let (_origin, desk) = desk().await;
    let at_rest = desk.rss_kb() / 1024;
    let mut told = vec![format!("at rest {at_rest} MB")];
    for clients in [1, 10, 60] {
        let mut asked = Vec::new();
        for _ in 0..clients {
            let mut conn = desk.conn().await;
            asked.push(tokio::spawn(async move {
                let ask = Ask::get("/links").accept("text/markdown");
                conn.send(ask.bytes()).await;
                conn.try_response("GET", PATIENT).await
            }));
        }
        let (mut markdown, mut pages, mut refused) = (0, 0, 0);
        for answer in asked {
            let answer = answer.await.expect("a client").unwrap_or_else(|e| panic!("no answer: {e}"));
            match (answer.status, answer.media_type().as_str()) {
                (200, "text/markdown") => markdown += 1,
                (200, "text/html") => pages += 1,
                (503, _) => refused += 1,
                (status, kind) => panic!("{status} {kind}"),
            }
        }
        assert!(clients > 1 || markdown == 1, "one client gets its Markdown");
        let peak = desk.rss_peak_kb() / 1024;
        told.push(format!(
            "{clients} at once: {peak} MB ({markdown} as Markdown, {pages} as they are, {refused} refused)"
        ));
    }
    println!("{}", told.join("; "));
    let peak = desk.rss_peak_kb() / 1024;
    assert!(peak < at_rest + MOST_MB, "{}", told.join("; "));
    // Every reservation is released.
    let again = Ask::get("/small").accept("text/markdown");
    assert_eq!(desk.call(again).await.media_type(), "text/markdown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_that_nobody_fetches_takes_a_bounded_amount_of_memory() {
    let (_origin, desk) = desk().await;
    let at_rest = desk.rss_kb() / 1024;
    let mut open: Vec<Conn> = Vec::new();
    for _ in 0..40 {
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/links").accept("text/markdown").bytes()).await;
        open.push(conn);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eventually("all were looked at", PATIENT, async || {
        desk.metric("frontdesk_pages_made_total").await.is_some_and(|made| made >= 40.0)
    })
    .await;
    let peak = desk.rss_peak_kb() / 1024;
    println!("40 that read nothing: {peak} MB, at rest {at_rest} MB");
    assert!(peak < at_rest + MOST_MB, "{peak} MB, at rest {at_rest} MB");
    drop(open);
    let small = async || {
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/links").accept("text/markdown").bytes()).await;
        conn.try_response("GET", SOON * 4).await.is_ok_and(|answer| answer.media_type() == "text/markdown")
    };
    eventually("their room is given back", PATIENT, small).await;
}
