//! Promise: a file store outlives its process, however that ended, and two processes may share it.

use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, assert_limited, at_once, converse, count, rate};
use crate::support::{Conn, Desk, Dir, Origin, Reply, Request, SOON, Setup, Via};
use std::time::Duration;

/// A crash may cost the counts of a second; this is more than one.
const MORE_THAN_A_SECOND: Duration = Duration::from_millis(2500);

async fn stage(anonymous: &str) -> (Origin, Dir, Setup) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let dir = Dir::new();
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let setup = Setup::before(&origin).limits(&[("anonymous", anonymous)]).set("store", &store);
    std::fs::create_dir(dir.join("store")).expect("the store's directory");
    (origin, dir, setup)
}

async fn killed(mut desk: Desk) {
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
}

#[tokio::test]
async fn file_store_survives_a_kill() {
    let (_origin, _dir, setup) = stage("9/hour").await;
    let desk = setup.clone().start().await;
    assert_eq!(desk.let_through(3, &converse()).await, 3);
    let before = rate(&desk.ask(Via::H1, converse()).await, "before");
    tokio::time::sleep(MORE_THAN_A_SECOND).await;
    killed(desk).await;
    let desk = setup.clone().start().await;
    let after = rate(&desk.ask(Via::H1, converse()).await, "after");
    assert_eq!((before.remaining, after.remaining), (5, 4), "the count goes on");
    assert!(after.reset.abs_diff(before.reset) <= 1, "in the same window: {before:?}, {after:?}");
    assert_eq!(desk.let_through(6, &converse()).await, 4);
    tokio::time::sleep(MORE_THAN_A_SECOND).await;
    killed(desk).await;
    assert_limited(&setup.start().await.ask(Via::H1, converse()).await, "ip", "still");
}

#[tokio::test]
async fn file_store_survives_an_orderly_end_to_the_last_call() {
    let (_origin, _dir, setup) = stage("5/hour").await;
    let mut desk = setup.clone().start().await;
    assert_eq!(desk.let_through(3, &converse()).await, 3);
    desk.signal(libc::SIGTERM);
    desk.wait_exit(Duration::from_secs(30)).await;
    assert_eq!(setup.start().await.let_through(4, &converse()).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_store_survives_kills_under_load() {
    let (_origin, _dir, setup) = stage("1000000/hour").await;
    let mut counted = 0;
    for round in 0..4 {
        let desk = setup.clone().start().await;
        let first = rate(&desk.ask(Via::H1, converse()).await, "first");
        let used = first.limit - first.remaining;
        assert!(used > counted, "round {round}: {used} used, {counted} before the last second of the one killed");
        let addr = desk.ports.http;
        let load: Vec<_> = (0..4)
            .map(|_| {
                tokio::spawn(async move {
                    let mut conn = Conn::open(addr).await;
                    loop {
                        conn.send(converse().bytes()).await;
                        if conn.try_response("POST", SOON).await.is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let seen = rate(&desk.ask(Via::H1, converse()).await, "under load");
        counted = seen.limit - seen.remaining;
        tokio::time::sleep(MORE_THAN_A_SECOND).await;
        killed(desk).await;
        for task in load {
            task.await.expect("a client");
        }
    }
}

#[tokio::test]
async fn file_store_is_shared_by_two_desks() {
    let (_origin, _dir, setup) = stage("10/hour").await;
    let (a, b) = (setup.clone().start().await, setup.clone().start().await);
    assert_eq!(a.let_through(6, &converse()).await, 6);
    tokio::time::sleep(MORE_THAN_A_SECOND).await;
    let response = b.ask(Via::H1, converse()).await;
    assert_eq!((response.status, rate(&response, "the other").remaining), (LET_THROUGH, 3));
    assert_eq!(b.let_through(5, &converse()).await, 3);
    tokio::time::sleep(MORE_THAN_A_SECOND).await;
    for desk in [&a, &b] {
        assert_limited(&desk.ask(Via::H1, converse()).await, "ip", "used up by both");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_store_holds_for_64_callers_at_once() {
    let (_origin, _dir, setup) = stage("20/minute").await;
    let desk = setup.start().await;
    let responses = at_once(&[&desk], vec![converse(); 64]).await;
    assert_eq!(count(&responses.iter().map(|r| r.status).collect::<Vec<_>>()), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_store_holds_for_64_callers_of_two_desks_at_once() {
    let (_origin, _dir, setup) = stage("20/hour").await;
    let (a, b) = (setup.clone().start().await, setup.clone().start().await);
    let responses = at_once(&[&a, &b], vec![converse(); 64]).await;
    assert_eq!(count(&responses.iter().map(|r| r.status).collect::<Vec<_>>()), 20);
}

#[tokio::test]
async fn file_store_stays_with_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let (_origin, dir, setup) = stage("20/hour").await;
    let desk = setup.start().await;
    desk.ask(Via::H1, converse()).await;
    tokio::time::sleep(MORE_THAN_A_SECOND).await;
    let files: Vec<_> = std::fs::read_dir(dir.join("store")).expect("the store").map(|e| e.expect("a file")).collect();
    assert!(!files.is_empty(), "something is in the file");
    for file in files {
        let mode = file.metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o007, 0, "{} is open to others: {mode:o}", file.path().display());
    }
}
