//! Promise: Redis works in every common setup: with users, over TLS; lost data is reported; the password appears
//! nowhere.

use crate::support::desk::run_to_end;
use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, converse, rate};
use crate::support::redis::{Redis, connected};
use crate::support::{Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};

/// Between tries of a Redis that was away.
const RECOVERY: std::time::Duration = std::time::Duration::from_secs(40);

async fn site() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

fn setup(origin: &Origin, url: &str) -> Setup {
    Setup::before(origin).limits(&[("anonymous", "4/hour")]).set("store", &format!("url = \"{url}\""))
}

/// Two desks share a count through it.
async fn assert_shared(setup: &Setup, what: &str) -> Desk {
    let (a, b) = (connected(setup).await, connected(setup).await);
    assert_eq!((a.let_through(3, &converse()).await, b.let_through(3, &converse()).await), (3, 1), "{what}");
    a
}

#[tokio::test]
async fn redis_ways_a_user_of_its_own() {
    let origin = site().await;
    let users = "user default on >of-the-default ~* &* +@all\nuser frontdesk on >s3cret-4711 ~* &* +@all";
    let redis = Redis::with_config(users).await.password("of-the-default");
    let desk =
        assert_shared(&setup(&origin, &format!("redis://frontdesk:s3cret-4711@{}/0", redis.addr)), "a user").await;
    assert!(!redis.keys().await.is_empty());
    let said = desk.stdout() + &desk.stderr() + &desk.admin_get("/config").await.text();
    let said = said + &desk.admin_get("/metrics").await.text() + &desk.admin_get("/readyz?verbose").await.text();
    assert!(!said.contains("s3cret-4711"), "the password was written down");
}

#[tokio::test]
async fn redis_ways_a_password_alone_and_another_database() {
    let origin = site().await;
    let redis = Redis::with_config("requirepass s3cret-4711").await.password("s3cret-4711");
    assert_shared(&setup(&origin, &format!("redis://:s3cret-4711@{}/3", redis.addr)), "a password").await;
    assert!(redis.keys().await.is_empty(), "database 0 is somebody else's");
    assert!(redis.command(&["INFO", "keyspace"]).await.join("").contains("db3:"), "in database 3");
}

#[tokio::test]
async fn redis_ways_a_password_that_is_wrong_from_the_start_is_not_ready() {
    let origin = site().await;
    let redis = Redis::with_config("requirepass s3cret-4711").await.password("s3cret-4711");
    let url = format!("redis://:wr0ng-4711@{}/0", redis.addr);
    let setup = setup(&origin, &url).set("store", "on_error = \"deny\"");
    let desk = setup.clone().unready().start().await;
    assert_eq!(desk.get("/").await.status, 200);
    eventually("calls are denied", SOON, async || desk.ask(Via::H1, converse()).await.status == 503).await;
    let said = desk.admin_get("/readyz?verbose").await;
    assert_eq!(said.status, 503, "a rolling update has to stop here");
    let why = "it rejects the user or the password in store.url";
    assert!(said.text().contains(why), "{}", said.text());
    assert_eq!(desk.admin_get("/livez").await.status, 200);
    assert!(!(desk.stderr() + &said.text()).contains("wr0ng-4711"), "{}", desk.stderr());

    // Before it is run, `check` says so too.
    let checked = run_to_end(&["check", "--connect", "frontdesk.toml"], desk.dir.path());
    assert!(checked.0 == 1 && checked.2.contains(why) && !checked.2.contains("wr0ng-4711"), "{checked:?}");
    assert_eq!(run_to_end(&["check", "frontdesk.toml"], desk.dir.path()).0, 0, "nobody is asked without it");

    // Mended at the server, it is ready by itself.
    redis.command(&["CONFIG", "SET", "requirepass", "wr0ng-4711"]).await;
    eventually("it is ready", SOON, async || desk.admin_get("/readyz").await.status == 200).await;
    let checked = run_to_end(&["check", "--connect", "frontdesk.toml"], desk.dir.path());
    assert!(checked.0 == 0 && checked.1.contains("store: it is reachable"), "{checked:?}");
}

#[tokio::test]
async fn redis_ways_one_that_was_well_and_refuses_later_is_away_and_no_more() {
    let origin = site().await;
    let mut redis = Redis::start().await;
    let desk = connected(&setup(&origin, &redis.url())).await;
    redis.command(&["CONFIG", "SET", "requirepass", "s3cret-4711"]).await;
    redis.kill();
    eventually("it is away", SOON, async || desk.metric("frontdesk_store_up").await == Some(0.0)).await;
    assert_eq!(desk.admin_get("/readyz").await.status, 200);
    let said = desk.admin_get("/readyz?verbose").await.text();
    assert!(said.contains("is away"), "{said}");
    // A process without a store at the start is as ready as this one: pages need none.
    let other = setup(&origin, &redis.url()).start().await;
    assert_eq!(other.admin_get("/readyz").await.status, 200);
    // Taken into use by one that is ready, another store that refuses leaves it ready: all are given it at once.
    let refusing = Redis::with_config("requirepass s3cret-4711").await;
    desk.swap(&setup(&origin, &refusing.url())).await;
    eventually("it is refused", SOON, async || {
        desk.admin_get("/readyz?verbose").await.text().contains("it requires a password")
    })
    .await;
    assert_eq!(desk.admin_get("/readyz").await.status, 200);
}

#[tokio::test]
async fn redis_ways_a_password_that_is_changed_makes_no_other_store() {
    let origin = site().await;
    let redis = Redis::with_config("user frontdesk on >first-4711 ~* &* +@all").await;
    let with = |password: &str| setup(&origin, &format!("redis://frontdesk:{password}@{}/0", redis.addr));
    let desk = connected(&with("first-4711")).await;
    assert_eq!(desk.let_through(3, &converse()).await, 3);
    redis.command(&["ACL", "SETUSER", "frontdesk", "resetpass", ">second-4711"]).await;
    desk.swap(&with("second-4711")).await;
    desk.says("is connected to as [store] says now").await;
    assert_eq!(desk.let_through(3, &converse()).await, 1, "it has been counted on");
    assert!(!desk.stderr().contains("names another store"), "{}", desk.stderr());
    // A wrong one is reported, and the present connection stays in use.
    desk.swap(&with("wrong-4711")).await;
    desk.says("cannot be used as [store] says now").await;
    assert_eq!(desk.metric("frontdesk_store_up").await, Some(1.0));
    assert_eq!(desk.admin_get("/readyz").await.status, 200);
    assert!(!desk.stderr().contains("-4711"), "{}", desk.stderr());
    // Another prefix is another store.
    desk.swap(&with("second-4711").set("store", "prefix = \"another\"")).await;
    desk.says("names another store").await;
}

#[tokio::test]
async fn redis_ways_over_tls() {
    let (origin, tls) = (site().await, Tls::new());
    let keys = crate::support::Dir::new();
    let (cert, key) = tls.write(&keys);
    let port = crate::support::setup::dead_address().port();
    let redis = Redis::with_config(&format!(
        "tls-port {port}\ntls-cert-file {}\ntls-key-file {}\ntls-auth-clients no",
        cert.display(),
        key.display()
    ))
    .await;
    let setup = setup(&origin, &format!("rediss://127.0.0.1:{port}/0")).file("ca.pem", &tls.cert_pem);
    assert_shared(&setup.clone().env("SSL_CERT_FILE", "ca.pem"), "over TLS").await;
    assert_shared(&setup.clone().set("store", "ca = \"ca.pem\"\nprefix = \"named\""), "by a CA that is named").await;
    assert!(!redis.keys().await.is_empty());
    let stranger = setup.set("store", "on_error = \"deny\"").unready().start().await;
    eventually("one we cannot trust is not used", SOON, async || stranger.ask(Via::H1, converse()).await.status == 503)
        .await;
    let said = stranger.admin_get("/readyz?verbose").await.text();
    assert!(said.contains("no trusted authority has signed its certificate"), "{said}");
}

#[tokio::test]
async fn redis_ways_one_that_forgets_is_warned_about() {
    let origin = site().await;
    for (policy, warned) in [("allkeys-lru", true), ("volatile-ttl", true), ("noeviction", false)] {
        let redis = Redis::with_config(&format!("maxmemory-policy {policy}")).await;
        let desk = connected(&setup(&origin, &redis.url())).await;
        assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH, "it is used all the same");
        let said = || desk.stderr().contains("maxmemory-policy") || desk.stdout().contains("maxmemory-policy");
        if warned {
            eventually(policy, SOON, async || said()).await;
        } else {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            assert!(!said(), "{policy}: {}", desk.stderr());
        }
    }
}

#[tokio::test]
async fn redis_ways_one_that_is_full_is_one_that_is_away() {
    let (origin, redis) = (site().await, Redis::start().await);
    let desk = connected(&setup(&origin, &redis.url()).set("store", "on_error = \"deny\"")).await;
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    for _ in 0..5 {
        assert_eq!(desk.ask(Via::H1, converse()).await.status, 503);
        assert_eq!(desk.get("/").await.status, 200);
        assert_eq!(desk.get("/.well-known/agent.json").await.status, 200);
    }
    // It is up, and full: two things, each with its own words.
    desk.metric_reaches("frontdesk_store_full", 1.0).await;
    assert_eq!(desk.metric("frontdesk_store_up").await, Some(1.0));
    let said = desk.admin_get("/readyz?verbose").await.text();
    assert!(said.contains("store is full") && said.contains("raise its maxmemory"), "{said}");
    redis.command(&["CONFIG", "SET", "maxmemory", "64mb"]).await;
    eventually("it has room again", RECOVERY, async || desk.ask(Via::H1, converse()).await.status == LET_THROUGH).await;
    eventually("and that is said", SOON, async || desk.metric("frontdesk_store_full").await == Some(0.0)).await;
    assert!(!desk.admin_get("/readyz?verbose").await.text().contains("full"));
}

#[tokio::test]
async fn redis_ways_one_that_lost_its_scripts_is_taught_again() {
    let (origin, redis) = (site().await, Redis::start().await);
    let desk = connected(&setup(&origin, &redis.url()).set("store", "on_error = \"deny\"")).await;
    for left in [3, 2, 1, 0] {
        redis.command(&["SCRIPT", "FLUSH", "SYNC"]).await;
        let response = desk.ask(Via::H1, converse()).await;
        assert_eq!(response.status, LET_THROUGH, "{}", response.text());
        assert_eq!(rate(&response, "taught").remaining, left);
    }
}
