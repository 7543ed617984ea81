//! Promise: replicas share exact counts through Redis, whichever replica gets a call and whichever one dies.

use crate::support::rates::{
    LET_THROUGH, api_key, assert_limited, at_once, capability, converse, is_let_through, rate,
};
use crate::support::redis::{Redis, connected, setup, site, two_desks};
use crate::support::signer::Bot;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Via, eventually};

const KEY: &str = "hush-hush";
const OTHER: &str = "hush-hush-too";

#[tokio::test]
async fn shared_store_is_one_count_for_two_desks() {
    let (origin, redis) = (site().await, Redis::start().await);
    let (a, b) = two_desks(&setup(&origin, &redis.url(), "6/minute")).await;
    let mut resets = Vec::new();
    for (used, desk) in (1..).zip([&a, &b, &b, &a, &b, &a]) {
        let response = desk.ask(Via::H1, converse()).await;
        assert_eq!(response.status, LET_THROUGH);
        let rate = rate(&response, "shared");
        assert_eq!((rate.limit, rate.remaining), (6, 6 - used));
        resets.push(rate.reset);
    }
    for desk in [&a, &b] {
        let refused = desk.ask(Via::H1, converse()).await;
        assert_limited(&refused, "ip", "beyond the shared limit");
        resets.push(rate(&refused, "refused").reset);
    }
    let (first, last) = (resets.iter().min().expect("some"), resets.iter().max().expect("some"));
    assert!(last - first <= 1, "one window for both: {resets:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_store_holds_for_64_callers_of_two_desks_at_once() {
    let (origin, redis) = (site().await, Redis::start().await);
    // Redis may be late on a busy machine; then a call is denied rather than decided without it.
    let setup = setup(&origin, &redis.url(), "20/minute")
        .set("store", "on_error = \"deny\"")
        .limits(&[("anonymous", "20/minute"), ("authenticated", "33/minute"), ("actions", "7/minute")])
        .tail(&(api_key("partner-a", KEY, "") + &api_key("partner-b", OTHER, "")))
        .tail(&capability("bookings.hold", "prepare_action", "/agent/hold"));
    let (a, b) = two_desks(&setup).await;
    let action = Ask::post("/agent/hold", "{}").bearer(KEY);
    for (what, ask, limit) in
        [("anonymous", converse(), 20), ("an action", action, 7), ("with a key", converse().bearer(OTHER), 33)]
    {
        let responses = at_once(&[&a, &b], vec![ask; 64]).await;
        let with = |status: u16| responses.iter().filter(|r| r.status == status).count();
        let through = responses.iter().filter(|r| is_let_through(r.status)).count();
        let denied = with(503);
        assert_eq!(through + with(429) + denied, 64, "{what}");
        assert!(through <= limit && through + denied >= limit, "{what}: {through} of {limit}, {denied} denied");
    }
}

#[tokio::test]
async fn shared_store_keeps_the_count_of_a_desk_that_died() {
    let (origin, redis) = (site().await, Redis::start().await);
    let setup = setup(&origin, &redis.url(), "5/hour");
    let mut desk = connected(&setup).await;
    assert_eq!(desk.let_through(3, &converse()).await, 3);
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let next = connected(&setup).await;
    assert_eq!(next.let_through(4, &converse()).await, 2);
}

#[tokio::test]
async fn shared_store_writes_keys_that_go_away_and_stay_together() {
    let (origin, redis) = (site().await, Redis::start().await);
    let desk = connected(&setup(&origin, &redis.url(), "5/minute").tail(&api_key("partner-a", KEY, ""))).await;
    for ask in [converse(), converse().bearer(KEY), converse().header("AICP-Agent", "Claim"), Ask::get("/openapi.json")]
    {
        desk.ask(Via::H1, ask).await;
    }
    desk.get("/.well-known/agent.json").await;
    let keys = redis.keys().await;
    assert!(keys.len() >= 3, "counters for the address, the key and the content: {keys:?}");
    for key in &keys {
        let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
        assert!(tag.is_some_and(|t| !t.is_empty()), "no hash tag: {key}");
        let ttl: i64 = redis.command(&["PTTL", key]).await[0].parse().expect("a number");
        if key.ends_with(":k:store") {
            // That the store has been used is kept for good.
            continue;
        }
        // The longest is a day's token budget.
        assert!((1..=86_400_000).contains(&ttl), "{key} stays for {ttl} ms");
        assert!(!key.contains(KEY), "{key} holds a credential");
    }
}

#[tokio::test]
async fn shared_store_remembers_a_nonce_for_all_desks() {
    let (origin, redis) = (site().await, Redis::start().await);
    let bot = Bot::new("https://bot.example");
    let (a, b) = two_desks(&setup(&origin, &redis.url(), "9/minute").tail(&bot.known())).await;
    let signed = bot.signing().nonce("bm9uY2U").apply(converse());
    assert_eq!(a.ask(Via::H1, signed.clone()).await.status, LET_THROUGH);
    assert_eq!(b.ask(Via::H1, signed.clone()).await.status, 401, "at the other");
    assert_eq!(a.ask(Via::H1, signed).await.status, 401, "and at the first");
}

#[tokio::test]
async fn shared_store_is_reached_before_the_desk_says_that_it_is_ready() {
    let (origin, redis) = (site().await, Redis::start().await);
    let setup = setup(&origin, &redis.url(), "3/hour").set("store", "on_error = \"deny\"");
    for expected in [LET_THROUGH, LET_THROUGH, LET_THROUGH, 429] {
        let desk = setup.clone().start().await;
        assert_eq!(desk.ask(Via::H1, converse()).await.status, expected, "the first call of a new process");
    }
}

/// How often the origin was asked by desks for themselves: all they do here is to look whether it has something of its own
/// where theirs would be.
fn looks(origin: &Origin) -> usize {
    origin.requests().len() - origin.asked().len()
}

#[tokio::test]
async fn shared_store_has_one_desk_look_for_what_the_site_has_itself() {
    let own = |request: &Request| match request.target.as_str() {
        "/.well-known/agent.json" => Reply::json("{\"own\": 1}"),
        _ => Reply::new(404).header("Content-Type", "text/plain").body("nothing"),
    };
    let moved = async |desk: &Desk| desk.get("/.well-known/ahp.json").await.status == 200;
    // One alone, to know what is asked.
    let alone = Origin::start(own).await.owns_well_known();
    let desk = setup(&alone, "memory:", "1000/hour").start().await;
    eventually("it has looked", SOON, async || moved(&desk).await).await;
    let once = looks(&alone);
    assert!(once > 5, "{once}");

    let (origin, redis) = (Origin::start(own).await.owns_well_known(), Redis::start().await);
    let setup = setup(&origin, &redis.url(), "1000/hour");
    let mut desks = Vec::new();
    for _ in 0..4 {
        desks.push(connected(&setup).await);
    }
    for desk in &desks {
        eventually("it knows, by itself or from another", SOON, async || moved(desk).await).await;
    }
    assert_eq!(looks(&origin), once);

    // Without the store each looks for itself.
    drop(redis);
    let late = setup.start().await;
    eventually("it looks", SOON, async || moved(&late).await).await;
    assert_eq!(looks(&origin), 2 * once);
}
