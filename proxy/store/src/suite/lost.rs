//! Tests of a lost connection or a late answer of a healthy Redis: requests notice almost nothing.

use std::time::Duration;

use frontdesk_config::StoreHome;
use frontdesk_state::{Amount, Away, Committed, wall_seconds};

use super::{Server, fixed, pause, record, settings, take, tends_well, until};
use crate::Store;

async fn store(server: &Server, patience: Duration) -> std::sync::Arc<Store> {
    let mut settings = settings(StoreHome::Redis(server.url("")));
    settings.patience = patience;
    let store = Store::open(&settings).unwrap();
    tends_well(&store).await;
    store
}

/// The number of connections that the server has accepted.
fn accepted(server: &Server) -> u64 {
    let info: String = redis::from_redis_value(server.ask(&["INFO", "stats"])).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    line.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_cut_is_made_anew_before_anybody_needs_it() {
    let server = Server::start(&[]);
    let store = store(&server, Duration::from_secs(5)).await;
    for n in 0..4 {
        server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
        // At once and a moment later, without the background job, and without a refusal.
        for when in ["at once", "later"] {
            take(&store, &[fixed("cut", 100, 600_000)], Amount::ONE).await;
            let done = store.records.commit(&record(&format!("cut {n} {when}"))).await;
            assert!(matches!(done, Ok(Committed::Done(_))), "{n}, {when}: {done:?}");
            assert!(store.records.get(&format!("cut {n} {when}")).await.unwrap().is_some());
            pause(50).await;
        }
        assert!(store.status().reachable);
    }
    assert_eq!(store.status().without, 0);
    assert_eq!(take(&store, &[fixed("cut", 100, 600_000)], Amount::NOTHING).await.levels[0].used, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_cut_unused_is_made_anew_unasked() {
    let server = Server::start(&[]);
    let _store = store(&server, Duration::from_secs(5)).await;
    let before = accepted(&server);
    server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    // Each question is a connection too: the next one, the killing one, and one for each look.
    let mut looks = 0;
    until("it is connected again", || {
        looks += 1;
        accepted(&server) > before + 1 + looks
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_connections_are_cut_again_and_again_is_left_alone() {
    let server = Server::start(&[]);
    let store = store(&server, Duration::from_secs(5)).await;
    let before = accepted(&server);
    let mut kills = 0;
    until("it is believed to be away", || {
        kills += 1;
        server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
        !store.status().reachable
    })
    .await;
    let made = accepted(&server) - before - kills - 1;
    assert!((4..=10).contains(&made), "{made} connections");
    tends_well(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_late_answer_is_no_absence() {
    let server = Server::start(&[]);
    let store = store(&server, Duration::from_millis(700)).await;
    let before = accepted(&server);
    server.ask(&["CLIENT", "PAUSE", "1000", "ALL"]);
    assert_eq!(store.counters.take(&[fixed("late", 5, 600_000)], Amount::ONE).await, Err(Away));
    for n in 0..5 {
        assert_eq!(take(&store, &[fixed("next", 5, 600_000)], Amount::ONE).await.granted, Some(1), "{n}");
    }
    assert!(store.status().reachable && store.status().without == 1, "{:?}", store.status());
    assert_eq!(accepted(&server) - before, 2, "the connection is still the first one");
    // The server did not execute what the caller had given up.
    assert_eq!(take(&store, &[fixed("late", 5, 600_000)], Amount::NOTHING).await.levels[0].used, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_for_longer_is_away_and_found_again() {
    let server = Server::start(&[]);
    let store = store(&server, Duration::from_millis(200)).await;
    server.ask(&["CLIENT", "PAUSE", "1500", "ALL"]);
    assert_eq!(store.counters.take(&[fixed("late", 5, 600_000)], Amount::ONE).await, Err(Away));
    until("it is found away", || !store.status().reachable).await;
    // Without the background job: the dial that had begun brings it back.
    until("it is back", || store.status().reachable).await;
    assert_eq!(take(&store, &[fixed("late", 5, 600_000)], Amount::ONE).await.granted, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_a_server_goes_on_while_its_connection_is_gone() {
    let mut server = Server::start_ahead(300);
    let store = store(&server, Duration::from_millis(500)).await;
    let ahead = || store.records.now().abs_diff(wall_seconds());
    assert!((299..=301).contains(&ahead()), "{}", ahead());
    server.kill();
    until("it is away", || !store.status().reachable).await;
    assert!((299..=301).contains(&ahead()), "others go by its clock, and we have known it: {}", ahead());
}
