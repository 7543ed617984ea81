//! Tests that a large answer in the firewall delays no other client.

use std::time::{Duration, Instant};

use super::*;

/// 3.5 MB of names of secrets, as one string.
fn names() -> String {
    format!("{{\"a\":\"{}\"}}", "token=".repeat(3_500_000 / 6))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn firewall_reads_large_answers_apart_from_everybody_else() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/names" => Reply::json(names()),
        _ => Reply::new(200).header("Content-Type", "text/plain").body("quick"),
    })
    .await;
    let read = query("names.read", "\nupstream = { method = \"GET\", path = \"/api/names\" }");
    let desk = site(&origin, &read).set("runtime", "threads = 1").set("firewall", "secrets = \"redact\"").start().await;
    let desk = std::sync::Arc::new(desk);
    desk.get("/warm").await;
    let large: Vec<_> = (0..4)
        .map(|_| {
            let desk = desk.clone();
            tokio::spawn(async move { desk.call(call("/agent/names/read", &json!({}))).await })
        })
        .collect();
    let (mut slowest, mut asked) = (Duration::ZERO, 0);
    while !large.iter().all(tokio::task::JoinHandle::is_finished) {
        let began = Instant::now();
        assert_eq!(desk.get("/quick").await.status, 200);
        slowest = slowest.max(began.elapsed());
        asked += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut took = Vec::new();
    for answer in large {
        let answer = answer.await.expect("a client");
        took.push(answer.status);
        if answer.status == 200 {
            assert!(answer.text().contains("[redacted:unread]"), "the rest is not told");
            assert!(answer.body.len() < 2_000_000, "{}", answer.body.len());
            assert!(answer.header(FLAGS).is_some_and(|flags| flags.contains("unread")), "{:?}", answer.headers);
        } else {
            assert_fault(&answer, 503, "unavailable", "without room");
        }
    }
    assert!(took.contains(&200), "{took:?}");
    println!("{asked} requests meanwhile, the slowest took {slowest:?}; the large ones {took:?}");
    assert!(asked > 20, "only {asked} others were served meanwhile; the slowest took {slowest:?}");
}
