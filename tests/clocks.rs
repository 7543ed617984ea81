//! Promise: a one-time value is used once, however far the clocks of replicas and of their store differ.

use crate::support::clocks::{age, ahead};
use crate::support::rates::{LET_THROUGH, converse};
use crate::support::redis::{Redis, connected, setup, site};
use crate::support::shop::{ADA, assert_fault, carried_out, desk_before, holding, item, open, order, token};
use crate::support::signer::Bot;
use crate::support::{Conn, Gate, SOON, Setup, Via, eventually};

/// Seconds that pass between the first use and the second.
const LATER: i64 = 81;

fn with_store(setup: Setup, redis: &Redis) -> Setup {
    setup.set("store", &format!("url = \"{}\"\non_error = \"deny\"", redis.url()))
}

#[tokio::test]
async fn clocks_apart_do_not_make_a_confirmation_good_twice() {
    let (origin, redis) = (open().await, Redis::start().await);
    let setup = with_store(desk_before(&origin), &redis);
    let desk = connected(&setup).await;
    // One that is good for five minutes is used where it has twenty seconds left.
    let confirmed = token(&desk.ask(Via::H1, item("buy", "book").key("k-0").bearer(ADA)).await);
    let fast = connected(&ahead(&setup, 280)).await;
    let bought = fast.ask(Via::H1, item("buy", "book").key("k-1").bearer(ADA).confirmed(&confirmed)).await;
    order(&bought, "where the clock is ahead");
    // And once more where it has 219 left.
    age(&redis, LATER * 1000).await;
    let later = connected(&ahead(&setup, LATER)).await;
    let again = later.ask(Via::H1, item("buy", "book").key("k-2").bearer(ADA).confirmed(&confirmed)).await;
    assert_fault(&again, 428, "confirmation_invalid", "where the clock is right");
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn clocks_of_the_store_set_forward_do_not_make_a_confirmation_good_twice() {
    let (origin, redis) = (open().await, Redis::start().await);
    let desk = connected(&with_store(desk_before(&origin), &redis)).await;
    let confirmed = token(&desk.ask(Via::H1, item("buy", "book").key("k-0").bearer(ADA)).await);
    order(&desk.ask(Via::H1, item("buy", "book").key("k-1").bearer(ADA).confirmed(&confirmed)).await, "confirmed");
    age(&redis, 400_000).await;
    let again = desk.ask(Via::H1, item("buy", "book").key("k-2").bearer(ADA).confirmed(&confirmed)).await;
    assert_fault(&again, 428, "confirmation_invalid", "after 400 s of the store's clock");
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn clocks_apart_do_not_make_a_signature_good_twice() {
    let (origin, redis) = (site().await, Redis::start().await);
    let bot = Bot::new("https://bot.example");
    let setup = setup(&origin, &redis.url(), "9/minute").tail(&bot.known());
    let mut signing = bot.signing().nonce("bm9uY2U");
    signing.expires = signing.created.map(|created| created + 120);
    let signed = signing.apply(converse());
    let fast = connected(&ahead(&setup, 100)).await;
    assert_eq!(fast.ask(Via::H1, signed.clone()).await.status, LET_THROUGH, "where the clock is ahead");
    age(&redis, LATER * 1000).await;
    let later = connected(&ahead(&setup, LATER)).await;
    assert_eq!(later.ask(Via::H1, signed).await.status, 401, "where the clock is right");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_apart_do_not_hide_that_a_call_is_under_way() {
    let gate = Gate::closed();
    let (origin, redis) = (holding(&gate).await, Redis::start().await);
    let setup = with_store(desk_before(&origin), &redis);
    let (desk, fast) = (connected(&setup).await, connected(&ahead(&setup, 300)).await);
    let pay = || item("pay", "book").key("k-1").bearer(ADA);
    let paying = {
        let (addr, ask) = (desk.ports.http, pay());
        tokio::spawn(async move { Conn::open(addr).await.ask(&ask).await })
    };
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    assert_fault(&fast.ask(Via::H1, pay()).await, 409, "idempotency_in_flight", "where the clock is ahead");
    gate.open();
    order(&paying.await.expect("an answer"), "where it was begun");
    let differ = fast.metric("frontdesk_store_clock_ahead_seconds").await.expect("a number");
    assert!((-305.0..-295.0).contains(&differ), "{differ}");
    assert!(fast.stderr().contains("the clocks of the store and of this machine differ"), "{}", fast.stderr());
    assert!(!desk.stderr().contains("the clocks of the store"), "{}", desk.stderr());
}
