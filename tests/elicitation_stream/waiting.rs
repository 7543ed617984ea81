//! Promise: while a call waits for its person, the answer may come at any replica; where the time, the token, the client,
//! the call or the process ends first, nothing is done, and nothing is done twice while the store fails.

use super::*;
use crate::support::calls::{believing, token};
use crate::support::eventually;
use crate::support::jwks::TokenKey;
use crate::support::redis::{Redis, connected};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[tokio::test]
async fn elicitation_stream_ends_with_the_confirmation() {
    let origin = shop().await;
    let desk = site(&origin, &buy("expires = \"1s\"")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (events, request) = client.asked(&desk).await;
    let done = result(events).await;
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("Nobody answered in time")), "{done}");
    confirms_nothing(&desk, &done).await;
    assert_eq!(client.answers(&desk, &request["id"], yes()).await.status, 400, "it comes too late");
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_ends_with_the_callers_token() {
    let (origin, key) = (shop().await, TokenKey::ed("ed"));
    let desk = believing(site(&origin, &buy("")), &key).start().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let brief = token(&key, "ada", "", json!({ "exp": now + 3 }));
    let client = Client { key: brief, ..Client::begin(&desk, "2025-06-18", json!({})).await };
    let (events, request) = client.asked(&desk).await;
    let done = result(events).await;
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("Nobody answered in time")), "{done}");
    assert_ne!(client.answers(&desk, &request["id"], yes()).await.status, 202);
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_of_a_client_that_left_does_nothing() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (events, request) = client.asked(&desk).await;
    drop(events);
    let late = async || client.answers(&desk, &request["id"], json!({ "action": "decline" })).await.status == 400;
    eventually("its question to be closed", Duration::from_secs(60), late).await;
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_of_a_canceled_call_does_nothing() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let other = Client::begin(&desk, "2025-06-18", json!({})).await;
    let cancel = |client: &Client, id: u64| {
        let params = json!({ "requestId": id, "reason": "took too long" });
        client.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
    };
    // Another session's call of that number, and another call of this one.
    for (canceling, id) in [(&other, 7), (&client, 8)] {
        let (events, request) = client.asked(&desk).await;
        assert_eq!(desk.ask(Via::H1, cancel(canceling, id)).await.status, 202);
        client.answers(&desk, &request["id"], yes()).await;
        assert!(result(events).await.to_string().contains("o-1"));
    }
    let (events, request) = client.asked(&desk).await;
    assert_eq!(desk.ask(Via::H1, cancel(&client, 7)).await.status, 202);
    client.answers(&desk, &request["id"], yes()).await;
    let done = result(events).await;
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("Nothing was done")), "{done}");
    assert_eq!(orders(&origin), 2);
}

#[tokio::test]
async fn elicitation_stream_hears_the_answer_at_another_replica() {
    let (origin, redis) = (shop().await, Redis::start().await);
    let setup = site(&origin, &buy("")).set("store", &format!("url = \"{}\"", redis.url()));
    let (a, b) = (connected(&setup).await, connected(&setup).await);
    let client = Client::begin(&a, "2025-06-18", json!({})).await;
    for (n, (asks, hears)) in [(&a, &b), (&b, &a)].into_iter().enumerate() {
        let (events, request) = client.asked(asks).await;
        assert_eq!(client.answers(hears, &request["id"], yes()).await.status, 202);
        let done = result(events).await;
        assert!(done.to_string().contains("o-1"), "{done}");
        assert_eq!(client.answers(asks, &request["id"], yes()).await.status, 400);
        assert_eq!(orders(&origin), n + 1);
    }
}

#[tokio::test]
async fn elicitation_stream_ends_before_the_process_does() {
    let origin = shop().await;
    let mut desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (events, _) = client.asked(&desk).await;
    desk.signal(libc::SIGTERM);
    let done = result(events).await;
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("call again")), "{done}");
    let (status, took) = desk.wait_exit(Duration::from_secs(20)).await;
    assert!(status.success() && took < Duration::from_secs(8), "{status} after {took:?}");
    assert_eq!(orders(&origin), 0);
}

/// FRONTDESK_TEST_CONFIRMATIONS says how many (24); a thousand take four minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elicitation_stream_acts_once_while_the_store_fails() {
    let many =
        std::env::var("FRONTDESK_TEST_CONFIRMATIONS").ok().and_then(|many| many.parse().ok()).unwrap_or(24_usize);
    let (origin, redis) = (shop().await, Arc::new(Redis::start().await));
    let setup = site(&origin, &buy("")).set("store", &format!("url = \"{}\"\non_error = \"deny\"", redis.url()));
    let desks = Arc::new([connected(&setup).await, connected(&setup).await]);
    let begun = Client::begin(&desks[0], "2025-06-18", json!({})).await;
    let failing = {
        let redis = redis.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(700)).await;
                redis.freeze();
                tokio::time::sleep(Duration::from_millis(150)).await;
                redis.thaw();
            }
        })
    };
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..many {
        let (desks, client) =
            (desks.clone(), Client { session: begun.session.clone(), key: begun.key.clone(), ..begun });
        calls.spawn(async move {
            // Eight wait at a time, so they come one after the other.
            tokio::time::sleep(Duration::from_millis(n as u64 * 250)).await;
            let [asks, hears] = [n % 2, 1 - n % 2].map(|at| &desks[at]);
            let mut conn = asks.conn().await;
            let call = client.post(&rpc::call("buy", json!({ "book": format!("Emma {n}") })));
            conn.send(call.bytes()).await;
            let said = String::from_utf8_lossy(&conn.until("\"jsonrpc\":\"2.0\"").await).into_owned();
            let said = said + &String::from_utf8_lossy(&conn.until("}").await);
            if !said.contains("elicitation/create") {
                // The store was away when it was asked.
                return 0;
            }
            let id = said.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
            let id = json!(id);
            // The client is not sure that its answer arrived, and sends it again, to both.
            for _ in 0..3 {
                let _ = tokio::join!(client.answers(hears, &id, yes()), client.answers(asks, &id, yes()));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let last = conn.until("0\r\n\r\n").await;
            usize::from(String::from_utf8_lossy(&last).contains("o-1"))
        });
    }
    let told: usize = calls.join_all().await.into_iter().sum();
    failing.abort();
    redis.thaw();
    let mut made: Vec<String> =
        upstream_calls(&origin).iter().map(|order| String::from_utf8_lossy(&order.body).into_owned()).collect();
    let all = made.len();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), all, "no book twice: {made:?}");
    println!("{many} asked at one replica and answered at the other: {all} made, {told} told, 0 twice");
    // Of an order whose answer was lost on the way nobody was told.
    assert!(told > 0 && told <= all, "{told} told, {all} made");
}
