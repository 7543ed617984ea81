//! Promise: a rate window begins with its first call, ends when its headers say, and survives a new configuration.

use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, act, api_key, assert_limited, capability, converse, rate};
use crate::support::redis::{Redis, connected};
use crate::support::{Ask, Desk, Origin, Ports, Reply, Request, SOON, Setup, Via, eventually};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const KEY: &str = "hush-hush";

async fn setup(rates: &[(&str, &str)]) -> (Origin, Setup) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).limits(rates);
    (origin, setup)
}

#[tokio::test]
async fn windows_are_of_all_lengths() {
    for (unit, seconds) in [("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400)] {
        let (_origin, setup) = setup(&[("anonymous", &format!("7/{unit}"))]).await;
        let rate = rate(&setup.start().await.ask(Via::H1, converse()).await, unit);
        assert_eq!((rate.limit, rate.remaining, rate.window), (7, 6, seconds), "{unit}");
    }
}

#[tokio::test]
async fn windows_are_the_documented_ones_by_default() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let text = |ports: &Ports| {
        let (http, admin) = (ports.http, ports.admin);
        let upstream = format!("[upstream]\nurl = \"{}\"\n[content]\nconcierge = false\n", origin.url());
        let endpoint = capability("a.hold", "prepare_action", "/agent/hold");
        format!("[listen]\nhttp = \"{http}\"\nadmin = \"{admin}\"\n{upstream}{}{endpoint}", api_key("a", KEY, ""))
    };
    let desk = Desk::with_config(text).await;
    let keyed = |ask: Ask| ask.header("X-AHP-Key", KEY);
    for (ask, limit) in [
        (converse(), 30),
        (Ask::get("/.well-known/agent.json"), 120),
        (keyed(converse()), 120),
        (keyed(act("/agent/hold")), 30),
    ] {
        let what = format!("{} {}", ask.target, ask.has("x-ahp-key"));
        let rate = rate(&desk.ask(Via::H1, ask).await, &what);
        assert_eq!((rate.limit, rate.window), (limit, 60), "{what}");
    }
}

#[tokio::test]
async fn windows_end_when_they_said() {
    let (_origin, setup) = setup(&[("anonymous", "3/second")]).await;
    let desk = setup.start().await;
    let mut conn = desk.conn().await;
    for round in 0..3 {
        let begun = Instant::now();
        let refused = loop {
            let response = conn.ask(&converse()).await;
            if response.status == 429 {
                break response;
            }
            assert!(begun.elapsed() < SOON, "never refused");
        };
        assert_limited(&refused, "ip", "beyond the limit");
        let wait = refused.header("retry-after").and_then(|w| w.parse().ok()).expect("seconds");
        tokio::time::sleep(Duration::from_secs(wait) + Duration::from_millis(50)).await;
        let next = conn.ask(&converse()).await;
        assert_eq!(next.status, LET_THROUGH, "round {round}: after Retry-After there is room");
        assert_eq!(rate(&next, "a new window").remaining, 2, "round {round}");
    }
}

/// Calls both desks without a pause for a while; no reset may have let more than `limit` through.
async fn assert_not_doubled(desks: [&Desk; 2], limit: usize, what: &str) {
    let mut conns = [desks[0].conn().await, desks[1].conn().await];
    let (begun, mut through) = (Instant::now(), HashMap::<u64, usize>::new());
    while begun.elapsed() < Duration::from_secs(4) {
        let mut refused = 0;
        for conn in &mut conns {
            let response = conn.ask(&converse()).await;
            if response.status == LET_THROUGH {
                *through.entry(rate(&response, what).reset).or_default() += 1;
            } else {
                assert_limited(&response, "ip", what);
                refused += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(refused * 2)).await;
    }
    assert!(through.len() >= 3, "{what}: a window ends: {through:?}");
    assert!(through.values().all(|n| *n <= limit), "{what}: more than {limit} until one reset: {through:?}");
}

#[tokio::test]
async fn windows_do_not_double_a_limit_where_they_meet() {
    let (_origin, setup) = setup(&[("anonymous", "20/second")]).await;
    let desk = setup.clone().start().await;
    assert_not_doubled([&desk, &desk], 20, "in memory").await;
    let redis = Redis::start().await;
    let setup = setup.set("store", &format!("url = \"{}\"", redis.url()));
    let (a, b) = (connected(&setup).await, connected(&setup).await);
    assert_not_doubled([&a, &b], 20, "in Redis").await;
}

#[tokio::test]
async fn windows_keep_their_count_over_a_swap() {
    let (_origin, setup) = setup(&[]).await;
    let with = |rate: &str| setup.clone().limits(&[("anonymous", rate)]);
    let desk = with("5/minute").start().await;
    assert_eq!(desk.let_through(3, &converse()).await, 3);
    desk.swap(&with("5/minute").set("site", "name = \"Other\"")).await;
    assert_eq!(rate(&desk.ask(Via::H1, converse()).await, "after a swap").remaining, 1);
    assert_eq!(desk.let_through(3, &converse()).await, 1);
    desk.swap(&with("9/minute")).await;
    let raised = desk.ask(Via::H1, converse()).await;
    let now = rate(&raised, "raised");
    assert_eq!((raised.status, now.limit, now.remaining), (LET_THROUGH, 9, 3), "at once, and what was used stays used");
    desk.swap(&with("4/minute")).await;
    let lowered = desk.ask(Via::H1, converse()).await;
    assert_limited(&lowered, "ip", "lowered");
    assert_eq!(rate(&lowered, "lowered").limit, 4);
}

#[tokio::test]
async fn windows_keep_their_count_over_sighup() {
    let (_origin, setup) = setup(&[("anonymous", "3/minute")]).await;
    let desk = setup.clone().start().await;
    assert_eq!(desk.let_through(4, &converse()).await, 3);
    desk.replace_config(&setup.set("site", "name = \"After\"").text(&desk.ports));
    desk.signal(libc::SIGHUP);
    eventually("the swap", SOON, async || desk.get("/.well-known/agent.json").await.json()["name"] == "After").await;
    assert_limited(&desk.ask(Via::H1, converse()).await, "ip", "after SIGHUP");
}
