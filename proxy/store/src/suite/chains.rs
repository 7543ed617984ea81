//! Tests of record chains in every backend: in order, complete, bounded, and continued by the next process.

use std::{sync::Arc, time::Duration};

use frontdesk_state::chain::{Appended, Chains};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

use super::{Place, in_every_home, pause};
use crate::Store;

in_every_home!(
    what_many_add_at_once_is_stored_as_one_chain,
    the_oldest_go_and_a_restart_goes_on,
    a_full_store_loses_nothing
);

/// The bytes of the store that chains may use.
const MOST: usize = 100_000;
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

async fn add(chains: &Chains, store: &Store, what: usize) -> Appended {
    let room = chains.room(store.records.as_ref(), "agent").await.unwrap();
    room.append(|before| format!("{before} {what} {}", "x".repeat(700)))
}

/// Runs until nothing waits to be stored or checked.
async fn settle(chains: &Chains, store: &Store, most: usize) {
    let mut idle = 0;
    while idle < 20 {
        let stored = chains.store(store.records.as_ref(), most).await.unwrap();
        idle = if stored == 0 { idle + 1 } else { 0 };
    }
    assert_eq!(chains.waiting(), 0);
}

/// The ids that can be read, from the head on.
async fn walk(chains: &Chains, store: &Store) -> Vec<String> {
    let mut ids = Vec::new();
    let mut next = chains.head(store.records.as_ref(), "agent").await.unwrap();
    while let Some(id) = next.take().filter(|id| id != NONE) {
        let Some(record) = chains.find(store.records.as_ref(), &id).await.unwrap() else { break };
        next = record.split(' ').next().map(str::to_owned);
        ids.push(id);
    }
    ids
}

async fn what_many_add_at_once_is_stored_as_one_chain(place: &Place) {
    let chains = Arc::<Chains>::default();
    let adding: Vec<_> = (0..50)
        .map(|n| {
            let (chains, store) = (chains.clone(), place.store.clone());
            tokio::spawn(async move {
                for k in 0..4 {
                    add(&chains, &store, n * 4 + k).await;
                    chains.store(store.records.as_ref(), usize::MAX).await.unwrap();
                }
            })
        })
        .collect();
    for one in adding {
        one.await.unwrap();
    }
    settle(&chains, place, usize::MAX).await;
    assert_eq!(walk(&chains, place).await.len(), 200);
}

async fn the_oldest_go_and_a_restart_goes_on(place: &Place) {
    let mut last: Option<Appended> = None;
    for process in 0..3 {
        let chains = Chains::default();
        for n in 0..150 {
            let added = add(&chains, place, process * 1_000 + n).await;
            let before = last.map_or(NONE.to_owned(), |last| last.id);
            assert!(added.record.starts_with(before.as_bytes()), "{n} of {process}");
            last = Some(added);
        }
        settle(&chains, place, MOST).await;
        let kept = walk(&chains, place).await.len();
        assert!((50..=100).contains(&kept), "{kept} of {process}");
    }
}

async fn a_full_store_loses_nothing(place: &Place) {
    let chains = Chains::default();
    add(&chains, place, 0).await;
    let fill = |n: usize| {
        let put = Put::Value(vec![b'x'; 20_000].into(), Duration::from_secs(600));
        [Change { key: format!("fill {n}"), expect: Expect::Anything, put }]
    };
    let mut filled = 0;
    while place.records.commit(&fill(filled)).await.is_ok() {
        filled += 1;
    }
    for n in 1..30 {
        add(&chains, place, n).await;
    }
    assert_eq!(chains.store(place.records.as_ref(), MOST).await, Err(NotKept::Full));
    assert_eq!(chains.waiting(), 30);
    for n in 0..filled {
        let gone = Change { key: format!("fill {n}"), expect: Expect::Anything, put: Put::Nothing };
        assert!(matches!(place.records.commit(&[gone]).await, Ok(Committed::Done(_))));
    }
    // A server frees memory in its own time.
    for _ in 0..100 {
        match chains.store(place.records.as_ref(), MOST).await {
            Ok(_) => break,
            Err(why) => assert_eq!(why, NotKept::Full),
        }
        pause(100).await;
    }
    settle(&chains, place, MOST).await;
    assert_eq!(walk(&chains, place).await.len(), 30);
}
