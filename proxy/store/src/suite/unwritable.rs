//! Tests of a file store that cannot be written: requests wait only briefly, and the store recovers by itself.

use std::time::{Duration, Instant};

use frontdesk_config::{OnError, StoreHome};
use frontdesk_state::{Amount, Away, NotKept};
use rusqlite::Connection;

use super::{Directory, amount, fixed, record, settings, settle, take, tends_well, used};
use crate::Store;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_written_is_away_and_comes_back() {
    let directory = Directory::new();
    let mut settings = settings(StoreHome::File(directory.path().into()));
    settings.on_error = OnError::Local;
    let store = Store::open(&settings).unwrap();
    let limit = fixed("locked", 5, 600_000);
    let before = take(&store, &[limit], amount(4, 4)).await;

    let locked = ["counters.db", "records.db"].map(|name| Connection::open(directory.path().join(name)).unwrap());
    locked.iter().for_each(|file| file.execute_batch("BEGIN IMMEDIATE").unwrap());
    let began = Instant::now();
    assert_eq!(take(&store, &[limit], amount(5, 5)).await.granted, Some(5), "counted by the process for itself");
    assert_eq!(store.records.commit(&record("a")).await, Err(NotKept::Away));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!store.status().reachable);
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(take(&store, &[limit], Amount::ONE).await.granted, None);
        assert_eq!(store.records.get("a").await, Err(NotKept::Away));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    settle(&store, limit, &before, -3).await;
    assert!(store.tend().await.unwrap_err().contains("counters.db is away"));
    assert!(store.status().without > 200);

    locked.iter().for_each(|file| file.execute_batch("COMMIT").unwrap());
    tends_well(&store).await;
    assert!(store.status().reachable);
    assert_eq!(used(&store, limit).await, 1, "what was settled meanwhile is not lost");
    assert_eq!(store.records.get("a").await, Ok(None));

    // Refused, if the operator wants that.
    settings.on_error = OnError::Deny;
    let store = Store::open(&settings).unwrap();
    locked[0].execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.counters.take(&[limit], Amount::ONE).await, Err(Away));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_settled_once_while_records_are_away() {
    let directory = Directory::new();
    let mut settings = settings(StoreHome::File(directory.path().into()));
    settings.on_error = OnError::Local;
    let store = Store::open(&settings).unwrap();
    let limit = fixed("settled", 100, 600_000);
    let taken = take(&store, &[limit], amount(50, 50)).await;
    let locked = Connection::open(directory.path().join("records.db")).unwrap();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.records.commit(&record("a")).await, Err(NotKept::Away));
    assert!(!store.status().reachable);
    settle(&store, limit, &taken, -5).await;
    assert_eq!(used(&store, limit).await, 45);
    assert!(store.tend().await.is_err());
    assert_eq!(used(&store, limit).await, 45);
    locked.execute_batch("COMMIT").unwrap();
    tends_well(&store).await;
    assert_eq!(used(&store, limit).await, 45);
}
