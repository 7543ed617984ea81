//! Promise: a call's result is stored even if the store was away when the call ended, and a call refused because the
//! store's answer was lost leaves no trace.

use crate::support::redis::{Redis, connected};
use crate::support::shop::{ADA, assert_fault, carried_out, desk_before, holding, is_replay, item, open, order, token};
use crate::support::store_proxy::StoreProxy;
use crate::support::{Ask, Desk, Gate, Origin, SOON, Setup, Via, eventually};
use std::time::Duration;

fn with_store(origin: &Origin, url: &str) -> Setup {
    desk_before(origin).set("store", &format!("url = \"{url}\""))
}

fn pay() -> Ask {
    item("pay", "book").key("k-1").bearer(ADA)
}

async fn settled(desk: &Desk) {
    eventually("nothing waits for the store", SOON, async || {
        desk.metric("frontdesk_store_up").await == Some(1.0)
            && desk.metric("frontdesk_store_waiting").await == Some(0.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_at_the_end_of_a_call_hears_of_it_when_it_is_back() {
    let gate = Gate::closed();
    let (origin, redis) = (holding(&gate).await, Redis::start().await);
    let setup = with_store(&origin, &redis.url());
    let (desk, other) = (connected(&setup).await, connected(&setup).await);
    let paying = {
        let (addr, ask) = (desk.ports.http, pay());
        tokio::spawn(async move { crate::support::Conn::open(addr).await.ask(&ask).await })
    };
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    redis.freeze();
    gate.open();
    let first = paying.await.expect("an answer");
    order(&first, "waiting callers are told");
    desk.metric_reaches("frontdesk_store_waiting", 1.0).await;
    redis.thaw();
    settled(&desk).await;
    settled(&other).await;
    for (what, desk) in [("where it was carried out", &desk), ("at the other", &other)] {
        let again = desk.ask(Via::H1, pay()).await;
        assert!(is_replay(&again), "{what}: {} {}", again.status, again.text());
        assert_eq!(again.text(), first.text(), "{what}");
    }
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_where_a_call_begins_leaves_its_key_and_its_confirmation_as_they_were() {
    let (origin, redis) = (open().await, Redis::start().await);
    let way = StoreProxy::before(redis.addr).await;
    let desk = connected(&with_store(&origin, &way.url())).await;
    let buy = || item("buy", "book").key("k-1").bearer(ADA);
    let confirmed = buy().confirmed(&token(&desk.ask(Via::H1, buy()).await));
    way.lose_the_answer_to("\"begun\"");
    let refused = desk.ask(Via::H1, confirmed.clone()).await;
    assert!(way.has_lost());
    assert_fault(&refused, 503, "unavailable", "the answer was lost");
    assert_eq!(refused.json()["error"]["reason"], "store_away", "{}", refused.text());
    assert!(carried_out(&origin).is_empty());
    // Until the store is reached again, and what it may have done was taken back.
    let mut bought = refused;
    eventually("it is neither away nor under way", SOON, async || {
        bought = desk.ask(Via::H1, confirmed.clone()).await;
        bought.status != 503 && !bought.text().contains("idempotency_in_flight")
    })
    .await;
    assert_eq!(bought.status, 201, "{}", bought.text());
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_where_a_beginning_arrives_after_it_was_taken_back_leaves_no_trace_either() {
    let (origin, redis) = (open().await, Redis::start().await);
    let way = StoreProxy::before(redis.addr).await;
    let desk = connected(&with_store(&origin, &way.url())).await;
    let buy = || item("buy", "book").key("k-1").bearer(ADA);
    let confirmed = buy().confirmed(&token(&desk.ask(Via::H1, buy()).await));
    // The connection is cut, and what was sent on it is delivered while the next connection is in use already; soon enough
    // for the store to do it.
    way.deliver_late("\"begun\"", Duration::from_millis(120));
    let refused = desk.ask(Via::H1, confirmed.clone()).await;
    assert!(way.has_lost());
    assert_fault(&refused, 503, "unavailable", "the connection was cut");
    assert!(carried_out(&origin).is_empty());
    eventually("the store has it", SOON, async || way.has_delivered()).await;
    settled(&desk).await;
    let bought = desk.ask(Via::H1, confirmed).await;
    assert_eq!(bought.status, 201, "{}", bought.text());
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_with_all_it_held_is_told_to_everybody() {
    let gate = Gate::closed();
    let (origin, redis) = (holding(&gate).await, Redis::start().await);
    let setup = with_store(&origin, &redis.url());
    let (desk, other) = (connected(&setup).await, connected(&setup).await);
    let asked = other.ask(Via::H1, item("buy", "lamp").key("k-2").bearer(ADA)).await;
    let consequence = |asked: &crate::support::Response| asked.json()["confirmation"]["consequence"].to_string();
    assert_eq!(consequence(&asked), "\"Your card is charged.\"");
    let paying = {
        let (addr, ask) = (desk.ports.http, pay());
        tokio::spawn(async move { crate::support::Conn::open(addr).await.ask(&ask).await })
    };
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    redis.command(&["FLUSHALL"]).await;
    for desk in [&desk, &other] {
        desk.metric_reaches("frontdesk_store_losses_total", 1.0).await;
        desk.says("the store has lost its data").await;
        let asked = desk.ask(Via::H1, item("buy", "lamp").key("k-2").bearer(ADA)).await;
        assert!(consequence(&asked).contains("Warning: this desk lost its records"), "{}", asked.text());
    }
    // The store has forgotten that this was begun, and hears how it ended.
    gate.open();
    order(&paying.await.expect("an answer"), "waiting callers are told");
    let again = other.ask(Via::H1, pay()).await;
    assert!(is_replay(&again), "{} {}", again.status, again.text());
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_time_of_a_confirmed_purchase_is_that_of_four_questions() {
    const MANY: usize = 25;
    let (origin, redis) = (open().await, Redis::start().await);
    let way = StoreProxy::before(redis.addr).await;
    let desk = connected(&with_store(&origin, &way.url())).await;
    let buy = |n: usize| item("buy", "book").key(&format!("k-{n}")).bearer(ADA);
    let mut confirmed = Vec::new();
    for n in 0..MANY {
        confirmed.push(buy(n).confirmed(&token(&desk.ask(Via::H1, buy(n)).await)));
    }
    let (before, begun) = (way.asked(), std::time::Instant::now());
    for ask in confirmed {
        order(&desk.ask(Via::H1, ask).await, "bought");
    }
    // What is asked beside it, once a second.
    let beside = 8 * (2 + begun.elapsed().as_secs() as usize);
    let asked = way.asked() - before;
    assert!(asked <= 4 * MANY + beside, "{asked} for {MANY} purchases, {beside} beside");
    assert_eq!(carried_out(&origin).len(), MANY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_lost_with_all_it_held_makes_no_confirmation_good_again() {
    let (origin, redis) = (open().await, Redis::start().await);
    let desk = connected(&with_store(&origin, &redis.url())).await;
    let buy = |key: &str| item("buy", "book").key(key).bearer(ADA);
    let confirmed = token(&desk.ask(Via::H1, buy("k-1")).await);
    order(&desk.ask(Via::H1, buy("k-1").confirmed(&confirmed)).await, "confirmed");
    redis.command(&["FLUSHALL"]).await;
    desk.metric_reaches("frontdesk_store_losses_total", 1.0).await;
    let again = desk.ask(Via::H1, buy("k-2").confirmed(&confirmed)).await;
    assert_fault(&again, 428, "confirmation_invalid", "used before all was lost");
    assert_eq!(carried_out(&origin).len(), 1);
}
