//! Tests of a configuration change in how Redis is reached: the store stays the same one.

use std::time::Duration;

use frontdesk_config::{self as site, OnError, StoreHome};
use frontdesk_state::{Amount, Away};

use super::{
    Server, amount, connected, fixed, redis::everything_works, settings, settle, take, tends_well, until, used,
};

fn user(server: &Server, password: &str) {
    let password = format!(">{password}");
    server.ask(&["ACL", "SETUSER", "frontdesk", "on", "~*", "+@all", "resetpass", &password]);
}

fn as_user(server: &Server, password: &str) -> site::Store {
    let mut settings = settings(StoreHome::Redis(server.url(&format!("frontdesk:{password}@"))));
    settings.patience = Duration::from_secs(10);
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_is_used_from_the_next_connection_on_and_nothing_is_forgotten() {
    let server = Server::start(&[]);
    user(&server, "one");
    let store = connected(&as_user(&server, "one")).await;
    let (limit, next) = (fixed("kept", 10, 600_000), as_user(&server, "two"));
    let taken = take(&store, &[limit], amount(4, 4)).await;

    // The configuration changes first, so the old connection stays in use.
    assert!(store.fits(&next) && store.check(&next).is_ok());
    store.adopt(&next);
    store.tend().await.unwrap();
    assert!(store.status().reachable && store.unready().is_none());
    everything_works(&store, "one").await;
    assert_eq!(*store.settings(), next);

    // Then the server changes, and the next connection needs the new password.
    user(&server, "two");
    server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert_eq!(used(&store, limit).await, 4);
    settle(&store, limit, &taken, -1).await;
    assert_eq!(used(&store, limit).await, 3);
    everything_works(&store, "two").await;
    assert_eq!(store.status().without, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_taken_into_use_at_once() {
    let server = Server::start(&[]);
    let store = connected(&settings(StoreHome::Redis(server.url("")))).await;
    user(&server, "two");
    store.adopt(&as_user(&server, "two"));
    store.tend().await.unwrap();
    let clients = || redis::from_redis_value::<String>(server.ask(&["CLIENT", "LIST"])).unwrap();
    // The server notices a closed connection a while later. The test itself has one more connection.
    until("only the new user's connection is left", || {
        let clients = clients();
        (clients.matches("user=frontdesk").count(), clients.matches("user=default").count()) == (1, 1)
    })
    .await;
    everything_works(&store, "another user").await;
    // The new connection is renewed after a loss, too.
    server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert!(store.records.get("another user").await.unwrap().is_some());
    everything_works(&store, "cut").await;
    assert_eq!(store.status().without, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_counts_without_it_can_be_changed_too() {
    let mut server = Server::start(&[]);
    let mut settings = settings(StoreHome::Redis(server.url("")));
    let store = connected(&settings).await;
    settings.on_error = OnError::Local;
    settings.patience = Duration::from_secs(3);
    assert!(store.fits(&settings));
    server.kill();
    assert_eq!(store.counters.take(&[fixed("local", 5, 60_000)], Amount::ONE).await, Err(Away));
    store.adopt(&settings);
    assert_eq!(take(&store, &[fixed("local", 5, 60_000)], Amount::ONE).await.granted, Some(1));
    server.restart();
    tends_well(&store).await;

    // A different place would be a different store.
    let other = |url: String| site::Store { home: StoreHome::Redis(url), ..settings.clone() };
    assert!(!store.fits(&other(format!("{}/1", server.url("")))));
    assert!(!store.fits(&site::Store { prefix: "other".into(), ..settings.clone() }));
    assert!(store.check(&other("redis://host/x".into())).is_err());
}
