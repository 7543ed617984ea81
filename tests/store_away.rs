//! Promise: an outage of the store costs no page and delays no request; calls follow the operator's choice, and the
//! store is used again by itself.

use crate::support::jwks::text;
use crate::support::rates::{LET_THROUGH, api_key, assert_limited, converse, count};
use crate::support::redis::{Redis, connected, setup, site, two_desks};
use crate::support::signer::Bot;
use crate::support::{Ask, Conn, Desk, Origin, Via, eventually, rpc};
use std::time::{Duration, Instant};

const KEY: &str = "hush-hush";
/// Between tries of a connection that is broken.
const RECOVERY: Duration = Duration::from_secs(40);

/// What was asked, what came back, and how long that took.
type Seen = (&'static str, u16, Duration);

/// Calls of all kinds, again and again, and what came back.
struct Load {
    running: Vec<tokio::task::JoinHandle<Vec<Seen>>>,
    stop: tokio::sync::watch::Sender<bool>,
}

impl Load {
    fn start(desk: &Desk) -> Load {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let kinds = [
            ("page", Ask::get("/page")),
            ("manifest", Ask::get("/.well-known/agent.json")),
            ("contract", Ask::get("/.well-known/agent-interface.toml")),
            ("call", converse()),
        ];
        let one = |(kind, ask): (&'static str, Ask)| {
            let (addr, stopped) = (desk.ports.http, stopped.clone());
            tokio::spawn(async move {
                let (mut all, mut conn) = (Vec::new(), Conn::open(addr).await);
                while !*stopped.borrow() {
                    let begun = Instant::now();
                    let response = conn.ask(&ask).await;
                    all.push((kind, response.status, begun.elapsed()));
                    if response.headers.tokens("connection").contains(&"close".to_owned()) {
                        conn = Conn::open(addr).await;
                    }
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
                all
            })
        };
        Load { running: kinds.into_iter().cycle().take(8).map(one).collect(), stop }
    }

    async fn stop(self) -> Vec<Seen> {
        self.stop.send_replace(true);
        let mut all = Vec::new();
        for task in self.running {
            all.extend(task.await.expect("a client"));
        }
        all
    }
}

/// Redis dies under load and comes back. Calls get the configured answer; other requests notice nothing.
async fn statuses_over_a_death(on_error: &str, anonymous: &str) -> (Vec<u16>, Desk, Redis, Origin) {
    let (origin, mut redis) = (site().await, Redis::start().await);
    let rates = [("anonymous", anonymous), ("site", "1000000/minute")];
    let setup = setup(&origin, &redis.url(), "").limits(&rates).set("store", &format!("on_error = \"{on_error}\""));
    let desk = connected(&setup).await;
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
    let load = Load::start(&desk);
    tokio::time::sleep(Duration::from_millis(700)).await;
    redis.kill();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(desk.metric("frontdesk_store_up").await, Some(0.0), "and it is said");
    desk.metric_reaches("frontdesk_store_decided_without_total", 1.0).await;
    redis.again().await;
    eventually("it is up", RECOVERY, async || desk.metric("frontdesk_store_up").await == Some(1.0)).await;
    eventually("Redis is used again", RECOVERY, async || !redis.keys().await.is_empty()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let all = load.stop().await;
    for (kind, status, took) in &all {
        assert!(*kind == "call" || *status == 200, "{on_error}: {kind} got {status}");
        assert!(*took < Duration::from_secs(5), "{on_error}: {kind} took {took:?}");
    }
    (all.iter().filter(|(kind, ..)| *kind == "call").map(|(_, status, _)| *status).collect(), desk, redis, origin)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_away_and_back_with_a_local_count() {
    let (calls, desk, _redis, _origin) = statuses_over_a_death("local", "1000000/minute").await;
    assert_eq!(count(&calls), calls.len(), "every call was let through");
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_away_and_back_with_nobody_counted() {
    let (calls, desk, _redis, _origin) = statuses_over_a_death("allow", "1000000/minute").await;
    assert_eq!(count(&calls), calls.len(), "every call was let through");
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_away_and_back_with_calls_denied() {
    let (calls, desk, mut redis, _origin) = statuses_over_a_death("deny", "1000000/minute").await;
    assert!(calls.contains(&503), "denied while it was away");
    assert!(calls.iter().all(|s| [LET_THROUGH, 503].contains(s)), "{calls:?}");
    eventually("calls again", RECOVERY, async || desk.ask(Via::H1, converse()).await.status == LET_THROUGH).await;
    redis.kill();
    let message = |method: &str| rpc::post(rpc::message(method, serde_json::json!({})).to_string());
    for ask in [converse(), Ask::post("/capabilities/x", "{}"), message("tools/call")] {
        let denied = desk.ask(Via::H1, ask).await;
        assert_eq!(denied.status, 503, "{}", denied.text());
        let wait = denied.header("retry-after").and_then(|w| w.parse::<u64>().ok());
        assert!(wait.is_some_and(|w| w >= 1), "{:?}", denied.headers);
    }
    for method in ["initialize", "ping", "tools/list"] {
        assert_eq!(desk.ask(Via::H1, message(method)).await.status, 200, "{method} is published");
    }
}

#[tokio::test]
async fn store_away_leaves_what_is_read_to_everybody() {
    let (origin, mut redis) = (site().await, Redis::start().await);
    let bot = Bot::new("https://bot.example");
    let keys = api_key("partner-a", KEY, "") + &bot.known();
    let desk = connected(&setup(&origin, &redis.url(), "5/hour").set("store", "on_error = \"deny\"").tail(&keys)).await;
    redis.kill();
    for path in ["/", "/.well-known/agent.json", "/.well-known/agent-interface.toml"] {
        let nonce = text(path);
        for (how, ask) in [
            ("anonymous", Ask::get(path)),
            ("claiming", Ask::get(path).header("AICP-Agent", "Claim/1.0")),
            ("with a key", Ask::get(path).bearer(KEY)),
            ("signed", bot.sign(Ask::get(path))),
            ("signed with a nonce", bot.signing().nonce(&nonce).apply(Ask::get(path))),
        ] {
            assert_eq!(desk.ask(Via::H1, ask).await.status, 200, "{path}, {how}");
        }
    }
}

#[tokio::test]
async fn store_away_leaves_each_desk_its_own_limit() {
    let (origin, mut redis) = (site().await, Redis::start().await);
    let (a, b) = two_desks(&setup(&origin, &redis.url(), "5/hour")).await;
    for desk in [&a, &b] {
        assert_eq!(desk.let_through(1, &converse()).await, 1);
    }
    redis.kill();
    for desk in [&a, &b] {
        let through = desk.let_through(12, &converse()).await;
        assert!((3..=5).contains(&through), "{through} of 5 without Redis");
        assert_limited(&desk.ask(Via::H1, converse()).await, "ip", "without Redis");
    }
}

#[tokio::test]
async fn store_away_lets_everybody_through_if_told_to() {
    let (origin, mut redis) = (site().await, Redis::start().await);
    let desk = connected(&setup(&origin, &redis.url(), "5/hour").set("store", "on_error = \"allow\"")).await;
    assert_eq!(desk.let_through(7, &converse()).await, 5);
    redis.kill();
    assert_eq!(desk.let_through(12, &converse()).await, 12);
}

#[tokio::test]
async fn store_away_by_hanging_costs_no_request_its_time_out() {
    for on_error in ["local", "allow", "deny"] {
        let (origin, redis) = (site().await, Redis::start().await);
        let setup = setup(&origin, &redis.url(), "100000/hour").set("store", &format!("on_error = \"{on_error}\""));
        let desk = connected(&setup).await;
        assert_eq!(desk.let_through(3, &converse()).await, 3);
        redis.freeze();
        let begun = Instant::now();
        for n in 0..150 {
            let expected = if on_error == "deny" { 503 } else { LET_THROUGH };
            assert_eq!(desk.ask(Via::H1, converse()).await.status, expected, "{on_error}, call {n}");
            if n % 10 == 0 {
                assert_eq!(desk.get("/").await.status, 200);
                assert_eq!(desk.get("/.well-known/agent.json").await.status, 200);
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{on_error}: 150 calls in {:?}", begun.elapsed());
        redis.thaw();
        eventually("it is used again", RECOVERY, async || {
            let before = redis.command(&["INFO", "commandstats"]).await;
            desk.ask(Via::H1, converse()).await;
            before != redis.command(&["INFO", "commandstats"]).await && desk.let_through_now().await
        })
        .await;
    }
}

impl Desk {
    async fn let_through_now(&self) -> bool {
        self.ask(Via::H1, converse()).await.status == LET_THROUGH
    }
}

#[tokio::test]
async fn store_away_at_first_is_used_when_it_comes() {
    let (origin, mut redis) = (site().await, Redis::start().await);
    redis.kill();
    let desk = setup(&origin, &redis.url(), "100000/hour").start().await;
    assert_eq!(desk.get("/").await.status, 200);
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
    redis.again().await;
    eventually("it is used", RECOVERY, async || {
        desk.ask(Via::H1, converse()).await;
        !redis.keys().await.is_empty()
    })
    .await;
}
