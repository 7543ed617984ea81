//! Promise: a call with an idempotency key runs once for its caller, capability and input, and a retry gets the first
//! answer.

use crate::support::rates::at_once;
use crate::support::setup::dead_address;
use crate::support::shop::{
    ADA, BOB, answering, assert_fault, carried_out, code, declared, desk_before, holding, is_replay, item, open, order,
    token, told,
};
use crate::support::{Answer, Desk, Gate, Origin, Reply, SOON, Setup, Step, Tls, Via, eventually, soon};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

async fn shop() -> (Origin, Desk) {
    let origin = open().await;
    let desk = desk_before(&origin).start().await;
    (origin, desk)
}

/// From nowhere to the origin, from now on.
async fn opened(at: SocketAddr, origin: &Origin) -> tokio::task::JoinHandle<()> {
    let (door, behind) = (tokio::net::TcpListener::bind(at).await.expect("the door"), origin.addr);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = door.accept().await {
            tokio::spawn(async move {
                let mut site = tokio::net::TcpStream::connect(behind).await.expect("the origin");
                let _ = tokio::io::copy_bidirectional(&mut client, &mut site).await;
            });
        }
    })
}

#[tokio::test]
async fn once_a_repeated_call_gets_the_first_answer() {
    let (origin, desk) = shop().await;
    let ask = item("pay", "book").key("k-1").bearer(ADA);
    let first = desk.ask(Via::H1, ask.clone()).await;
    assert_eq!((order(&first, "first").as_str(), first.status), ("o-1", 201));
    assert!(!first.headers.has("idempotency-replayed"), "{:?}", first.headers);
    for _ in 0..3 {
        let again = desk.ask(Via::H1, ask.clone()).await;
        assert!(is_replay(&again), "{:?}", again.headers);
        assert_eq!((again.status, again.text()), (first.status, first.text()));
        assert_eq!(again.header("content-type"), first.header("content-type"));
    }
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_a_repeated_call_gets_the_first_failure() {
    for (status, body) in [(404, "{}"), (500, "boom"), (409, "{\"sold\":true}"), (201, "<html>not json")] {
        let failing = move |_: &_, _| Reply::new(status).header("Content-Type", "application/json").body(body).into();
        let origin = answering(failing).await;
        let desk = desk_before(&origin).start().await;
        let ask = item("pay", "book").key("k-1").bearer(ADA);
        let first = desk.ask(Via::H1, ask.clone()).await;
        assert!(first.status >= 400 && !first.headers.has("idempotency-replayed"), "{status}: {}", first.status);
        let again = desk.ask(Via::H1, ask).await;
        assert!(is_replay(&again), "{status}: {} {:?}", again.status, again.headers);
        assert_eq!((again.status, again.text()), (first.status, first.text()), "{status}");
        assert_eq!(carried_out(&origin).len(), 1, "{status}");
    }
}

#[tokio::test]
async fn once_a_replay_comes_before_confirmation_is_looked_at() {
    let (origin, desk) = shop().await;
    let ask = item("buy", "book").key("k-1").bearer(ADA);
    let token = token(&desk.ask(Via::H1, ask.clone()).await);
    let first = desk.ask(Via::H1, ask.clone().confirmed(&token)).await;
    order(&first, "confirmed");
    for retry in [ask.clone(), ask.clone().confirmed(&token), ask.clone().confirmed("f".repeat(48).as_str())] {
        let again = desk.ask(Via::H1, retry).await;
        assert!(is_replay(&again), "{} {}", again.status, again.text());
        assert_eq!(again.text(), first.text());
    }
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_asking_for_confirmation_never_uses_up_a_key() {
    let (origin, desk) = shop().await;
    for thing in ["book", "other", "third"] {
        let asked = desk.ask(Via::H1, item("buy", thing).key("k-1").bearer(ADA)).await;
        assert_fault(&asked, 428, "confirmation_required", thing);
    }
    let ask = item("buy", "fourth").key("k-1").bearer(ADA);
    assert_fault(
        &desk.ask(Via::H1, ask.clone().confirmed("0123")).await,
        428,
        "confirmation_invalid",
        "a made-up token",
    );
    let token = token(&desk.ask(Via::H1, ask.clone()).await);
    order(&desk.ask(Via::H1, ask.confirmed(&token)).await, "the key was free");
    let reused = desk.ask(Via::H1, item("buy", "book").key("k-1").bearer(ADA)).await;
    assert_fault(&reused, 422, "idempotency_key_reused", "and is taken now");
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_a_call_under_way_is_in_flight_for_its_repetition() {
    let gate = Gate::closed();
    let origin = holding(&gate).await;
    let desk = desk_before(&origin).start().await;
    let ask = item("book", "book").key("k-1").bearer(ADA);
    let mut conn = desk.conn().await;
    conn.send(ask.bytes()).await;
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    let again = desk.ask(Via::H1, ask.clone()).await;
    assert_fault(&again, 409, "idempotency_in_flight", "while it runs");
    let other = desk.ask(Via::H1, item("book", "other").key("k-1").bearer(ADA)).await;
    assert_eq!(other.status, 422, "other input, still: {}", other.text());
    gate.open();
    let first = conn.response("POST").await;
    assert_eq!(order(&first, "the first"), "o-1");
    let again = desk.ask(Via::H1, ask).await;
    assert!(is_replay(&again) && again.text() == first.text(), "{}", again.text());
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_a_key_is_for_one_input() {
    let (origin, desk) = shop().await;
    let same = ["{\"item\":\"book\",\"n\":1}", "{ \"n\" : 1,\r\n \"item\" : \"\\u0062ook\" }"];
    let pay = |body: &str| item("pay", "x").body(body).key("k-1").bearer(ADA);
    order(&desk.ask(Via::H1, pay(same[0])).await, "first");
    assert!(is_replay(&desk.ask(Via::H1, pay(same[1])).await), "the same input, spelled otherwise");
    for other in ["{\"item\":\"book\",\"n\":2}", "{\"item\":\"book\"}", "{}", "{\"item\":\"book\",\"n\":\"1\"}"] {
        assert_fault(&desk.ask(Via::H1, pay(other)).await, 422, "idempotency_key_reused", other);
    }
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_a_key_that_is_needed_and_not_there_or_no_key_is_refused() {
    let tls = Tls::new();
    let origin = open().await;
    let desk = desk_before(&origin).tls(&tls).start().await;
    let ask = || item("pay", "book").bearer(ADA);
    for via in [Via::H1, Via::H2Tls] {
        assert_fault(&desk.ask(via, ask()).await, 400, "idempotency_key_required", "absent");
        for (what, bad) in [
            ("empty", ask().key("")),
            ("too long", ask().key(&"k".repeat(9000))),
            ("twice", ask().key("a").key("b")),
            ("twice the same", ask().key("a").key("a")),
        ] {
            let refused = desk.ask(via, bad).await;
            assert_eq!(refused.status, 400, "{what}, {via:?}: {}", refused.text());
        }
    }
    assert_eq!(carried_out(&origin).len(), 0);
    order(&desk.ask(Via::H2Tls, ask().key("a")).await, "one key");
    assert!(is_replay(&desk.ask(Via::H1, ask().key("a")).await), "over the other protocol");
}

#[tokio::test]
async fn once_a_key_is_its_callers_and_its_capabilitys() {
    let (origin, desk) = shop().await;
    let callers = [
        ("ada", item("pay", "x").bearer(ADA)),
        ("bob", item("pay", "x").bearer(BOB)),
        ("somebody", item("pay", "x").from("203.0.113.7")),
        ("somebody elsewhere", item("pay", "x").from("203.0.113.8")),
        ("ada, booking", item("book", "x").bearer(ADA)),
    ];
    let mut orders = HashSet::new();
    for (who, ask) in &callers {
        let first = desk.ask(Via::H1, ask.clone().key("k-1")).await;
        assert!(!is_replay(&first), "{who} gets somebody else's answer");
        assert!(orders.insert(order(&first, who)), "{who}");
    }
    for (who, ask) in &callers {
        let again = desk.ask(Via::H1, ask.clone().key("k-1")).await;
        assert!(is_replay(&again) && orders.contains(&order(&again, who)), "{who}: {}", again.text());
    }
    // A key of the credential's, wherever its caller is.
    assert!(is_replay(&desk.ask(Via::H1, item("pay", "x").bearer(ADA).from("203.0.113.9").key("k-1")).await));
    assert_eq!(carried_out(&origin).len(), callers.len());
}

#[tokio::test]
async fn once_a_call_that_was_never_sent_uses_up_neither_key_nor_confirmation() {
    let (origin, nowhere) = (open().await, dead_address());
    let desk = declared(Setup::before_urls(&[format!("http://{nowhere}")])).start().await;
    let buy = item("buy", "book").key("k-1").bearer(ADA);
    let buy = buy.clone().confirmed(&token(&desk.ask(Via::H1, buy).await));
    for _ in 0..2 {
        let failed = desk.ask(Via::H1, buy.clone()).await;
        assert_fault(&failed, 502, "upstream_connection_error", "nobody is there");
        assert!(!is_replay(&failed), "tried anew each time");
    }
    let door = opened(nowhere, &origin).await;
    let bought = desk.ask(Via::H1, buy).await;
    assert_eq!(order(&bought, "with the same key and token"), "o-1");
    assert!(!is_replay(&bought));
    assert_eq!(carried_out(&origin).len(), 1);
    door.abort();
}

#[tokio::test]
async fn once_a_call_that_timed_out_is_not_repeated_unless_the_site_takes_it_twice() {
    let late = AtomicBool::new(true);
    let origin = answering(move |request, order| match request.target.as_str() {
        "/api/book" if !late.swap(false, Ordering::Relaxed) => order.into(),
        _ => Answer::Script(vec![Step::Stall]),
    })
    .await;
    let desk = desk_before(&origin).start().await;
    let pay = item("pay", "book").key("k-1").bearer(ADA);
    let doubts = "frontdesk_outcomes_unknown_total{capability=\"shop.pay\"}";
    assert_eq!(desk.metric(doubts).await, Some(0.0), "from the start");
    assert_fault(&desk.ask(Via::H1, pay.clone()).await, 504, "upstream_timeout", "no answer in time");
    assert_eq!(desk.metric(doubts).await, Some(1.0), "at once, and not at the retry");
    for _ in 0..2 {
        assert_fault(&desk.ask(Via::H1, pay.clone()).await, 409, "outcome_unknown", "the retry");
    }
    assert_eq!(carried_out(&origin).len(), 1);
    let book = item("book", "book").key("k-1").bearer(ADA);
    assert_fault(&desk.ask(Via::H1, book.clone()).await, 504, "upstream_timeout", "no answer in time");
    order(&desk.ask(Via::H1, book).await, "carried out again");
    assert_eq!(carried_out(&origin).len(), 3);
}

#[tokio::test]
async fn once_a_site_that_hangs_up_is_asked_once_on_a_new_connection_and_on_a_kept_one() {
    for kept in [false, true] {
        let origin = answering(|request, order| match request.target.as_str() {
            "/api/pay" => Answer::Script(vec![Step::Close]),
            _ => order.into(),
        })
        .await;
        let desk = desk_before(&origin).start().await;
        if kept {
            order(&desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await, "a connection to keep");
        }
        let pay = item("pay", "book").key("k-1").bearer(ADA);
        let cut = desk.ask(Via::H1, pay.clone()).await;
        assert!((500..600).contains(&cut.status), "{}", cut.text());
        let again = desk.ask(Via::H1, pay).await;
        assert!(is_replay(&again) || code(&again) == "outcome_unknown", "{} {}", again.status, again.text());
        let paid = carried_out(&origin).iter().filter(|r| r.target == "/api/pay").count();
        assert_eq!(paid, 1, "kept: {kept}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_two_equal_calls_at_once_are_one() {
    let (origin, desk) = shop().await;
    for round in 0..50 {
        let ask = item("buy", "book").key(&format!("k-{round}")).bearer(ADA);
        let ask = ask.clone().confirmed(&token(&desk.ask(Via::H1, ask).await));
        let answers = at_once(&[&desk], vec![ask; 2]).await;
        let (done, rest): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.status == 201);
        for other in rest {
            assert_eq!(told(other), (409, "idempotency_in_flight".to_owned()), "round {round}");
        }
        assert_eq!(done.iter().filter(|a| !is_replay(a)).count(), 1, "round {round}: one is the first");
        assert!(done.iter().all(|a| a.text() == done[0].text()), "{round}");
        assert_eq!(carried_out(&origin).len(), round + 1, "{round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_twenty_keys_with_one_confirmation_are_one_call() {
    let (origin, desk) = shop().await;
    for round in 1..=5 {
        let confirmed = token(&desk.ask(Via::H1, item("buy", "book").key("first").bearer(ADA)).await);
        let ask = |n| item("buy", "book").key(&format!("k-{round}-{n}")).bearer(ADA).confirmed(&confirmed);
        let answers = at_once(&[&desk], (0..20).map(ask).collect()).await;
        let (done, rest): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.status == 201);
        assert_eq!((done.len(), carried_out(&origin).len()), (1, round), "{}", rest[0].text());
        for other in rest {
            assert_eq!(told(other), (428, "confirmation_invalid".to_owned()));
        }
    }
}

#[tokio::test]
async fn once_survives_a_reload() {
    let origin = open().await;
    let setup = desk_before(&origin);
    let desk = setup.clone().start().await;
    let pay = item("pay", "book").key("k-1").bearer(ADA);
    let first = desk.ask(Via::H1, pay.clone()).await;
    order(&first, "before");
    desk.swap(&setup.set("site", "name = \"Renamed\"")).await;
    let again = desk.ask(Via::H1, pay).await;
    assert!(is_replay(&again) && again.json()["data"] == first.json()["data"], "{}", again.text());
    let other = desk.ask(Via::H1, item("pay", "other").key("k-1").bearer(ADA)).await;
    assert_fault(&other, 422, "idempotency_key_reused", "after the reload");
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn once_a_client_that_hangs_up_has_bought_once() {
    let gate = Gate::closed();
    let origin = holding(&gate).await;
    let desk = desk_before(&origin).start().await;
    let buy = item("buy", "book").key("k-1").bearer(ADA);
    let buy = buy.clone().confirmed(&token(&desk.ask(Via::H1, buy).await));
    let mut conn = desk.conn().await;
    conn.send(buy.bytes()).await;
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    drop(conn);
    let settled = async || {
        let again = desk.ask(Via::H1, buy.clone()).await;
        let known = is_replay(&again) || (again.status == 409 && code(&again) == "outcome_unknown");
        assert!(known || code(&again) == "idempotency_in_flight", "{} {}", again.status, again.text());
        known
    };
    for _ in 0..5 {
        settled().await;
    }
    gate.open();
    eventually("the retry is told", Duration::from_secs(40), settled).await;
    soon("a normal call", desk.ask(Via::H1, item("drop", "x").bearer(ADA))).await;
    let bought = carried_out(&origin).iter().filter(|r| r.target == "/api/buy").count();
    assert_eq!(bought, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_a_desk_that_was_stopped_reads_what_came_meanwhile() {
    reads_what_came_while_it_was_stopped(Duration::from_secs(3), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_a_desk_that_was_stopped_hardly_longer_than_a_call_may_take_reads_what_came_meanwhile() {
    // Some of them see that time is up before they see what has come.
    for millis in [2080, 2120, 2160] {
        reads_what_came_while_it_was_stopped(Duration::from_millis(millis), 8).await;
    }
}

async fn reads_what_came_while_it_was_stopped(stopped: Duration, calls: usize) {
    let gate = Gate::closed();
    let origin = holding(&gate).await;
    let desk = desk_before(&origin).start().await;
    // It may take two seconds.
    let ask = |n: usize| item("pay", "book").key(&format!("k-{n}")).bearer(ADA);
    let mut conns = Vec::new();
    for n in 0..calls {
        let mut conn = desk.conn().await;
        conn.send(ask(n).bytes()).await;
        conns.push(conn);
    }
    eventually("the origin has them", SOON, async || carried_out(&origin).len() == calls).await;
    desk.signal(libc::SIGSTOP);
    gate.open();
    tokio::time::sleep(stopped).await;
    desk.signal(libc::SIGCONT);
    for (n, conn) in conns.iter_mut().enumerate() {
        let first = conn.response("POST").await;
        order(&first, "it was answered in time, and is read late");
        let again = desk.ask(Via::H1, ask(n)).await;
        assert!(is_replay(&again), "{} {}", again.status, again.text());
        assert_eq!(again.text(), first.text());
    }
}
