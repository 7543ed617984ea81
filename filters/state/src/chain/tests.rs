//! The guarantees of chains: no record is missing between two others, no head is announced before it is stored, and
//! nothing grows without bound.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use super::*;
use crate::{
    Change, Committed, Record,
    testing::{Shelf, Shelving, run},
};

const PLENTY: usize = 64 * 1024 * 1024;
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Adds a record that contains its predecessor's id.
fn add(chains: &Chains, shelf: &Shelf, name: &str, what: usize) -> Appended {
    run(chains.room(shelf, name)).unwrap().append(|before| format!("{before} {what}"))
}

fn store(chains: &Chains, shelf: &Shelf) -> Result<usize, NotKept> {
    run(chains.store(shelf, PLENTY))
}

/// Until the queue is empty and nothing is left to trace.
fn settle(chains: &Chains, shelf: &Shelf, most: usize) {
    for _ in 0..1_000 {
        run(chains.store(shelf, most)).unwrap();
    }
    assert_eq!(chains.waiting(), 0);
}

/// The ids from the announced head back to the beginning, or to the oldest stored record; newest first.
fn walk(chains: &Chains, shelf: &Shelf, name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut next = run(chains.head(shelf, name)).unwrap();
    while let Some(id) = next.take().filter(|id| id != NONE) {
        let Some(record) = run(chains.find(shelf, &id)).unwrap() else { break };
        assert_eq!(Id::of(record.as_bytes()).to_string(), id, "an id is the hash of its record");
        next = record.split(' ').next().map(str::to_owned);
        ids.push(id);
    }
    ids
}

fn records(shelf: &Shelf) -> usize {
    shelf.kept.lock().keys().filter(|key| !key.starts_with("j:head:")).count()
}

#[test]
fn what_fifty_add_at_once_is_one_chain() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    let added: Vec<Appended> = thread::scope(|scope| {
        let adding: Vec<_> = (0..50)
            .map(|n| {
                let (chains, shelf) = (&chains, &shelf);
                scope.spawn(move || {
                    (0..20)
                        .map(|k| {
                            let added = add(chains, shelf, "agent", n * 20 + k);
                            if k % 5 == 0 {
                                // One task stores while others add.
                                let _ = store(chains, shelf);
                            }
                            added
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        adding.into_iter().flat_map(|adding| adding.join().unwrap()).collect()
    });
    settle(&chains, &shelf, PLENTY);
    let ids = walk(&chains, &shelf, "agent");
    assert_eq!(ids.len(), 1_000, "every record is on the way from the head to the beginning");
    assert!(added.iter().all(|added| ids.contains(&added.id)));
    assert_eq!(chains.taken.load(Ordering::Relaxed), 0);
}

#[test]
fn a_head_is_announced_once_it_is_stored() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    assert_eq!(run(chains.head(&shelf, "agent")), Ok(None));
    let first = add(&chains, &shelf, "agent", 1);
    assert_eq!(run(chains.head(&shelf, "agent")), Ok(None));
    let found = run(chains.find(&shelf, &first.id)).unwrap();
    assert_eq!(found.as_deref().map(str::as_bytes), Some(&first.record[..]), "a holder of its id may see it at once");
    assert_eq!(store(&chains, &shelf), Ok(1));
    assert_eq!(run(chains.head(&shelf, "agent")), Ok(Some(first.id.clone())));
    let second = add(&chains, &shelf, "agent", 2);
    assert!(second.record.starts_with(first.id.as_bytes()));
    assert_eq!(run(chains.head(&shelf, "agent")), Ok(Some(first.id)));
    assert_eq!(run(chains.find(&shelf, "no id")), Ok(None));
    assert_eq!(run(chains.find(&shelf, &second.id.to_uppercase())), Ok(None));
    assert_eq!(run(chains.find(&shelf, NONE)), Ok(None));
}

#[test]
fn a_process_goes_on_from_what_was_stored_last() {
    let shelf = Shelf::default();
    let before = Chains::default();
    let stored = add(&before, &shelf, "agent", 1);
    store(&before, &shelf).unwrap();
    let lost = add(&before, &shelf, "agent", 2);
    // The process ends here, and its queue is lost.
    let after = Chains::default();
    assert_eq!(run(after.head(&shelf, "agent")), Ok(Some(stored.id.clone())));
    let next = add(&after, &shelf, "agent", 3);
    assert!(next.record.starts_with(stored.id.as_bytes()), "{next:?}");
    settle(&after, &shelf, PLENTY);
    assert_eq!(walk(&after, &shelf, "agent"), [next.id, stored.id]);
    assert_eq!(run(after.find(&shelf, &lost.id)), Ok(None));
    let other = add(&after, &shelf, "other", 1);
    assert!(other.record.starts_with(NONE.as_bytes()), "every name has a chain of its own");
}

#[test]
fn nothing_is_begun_that_cannot_be_recorded() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    *shelf.state.lock() = Shelving::Away;
    assert_eq!(run(chains.room(&shelf, "agent")).unwrap_err(), NotKept::Away, "the end of the chain is unknown");
    *shelf.state.lock() = Shelving::Well;
    let mut rooms = vec![run(chains.room(&shelf, "agent")).unwrap()];
    for state in [Shelving::Away, Shelving::Full] {
        *shelf.state.lock() = state;
        while rooms.len() < MOST_WAITING {
            rooms.push(run(chains.room(&shelf, "agent")).unwrap());
        }
        assert_eq!(run(chains.room(&shelf, "agent")).unwrap_err(), NotKept::Full);
        drop(rooms.pop());
        rooms.push(run(chains.room(&shelf, "agent")).unwrap());
        for (n, room) in rooms.drain(..).enumerate() {
            // With room it cannot fail.
            room.append(|before| format!("{before} {n}"));
        }
        assert_eq!((chains.waiting(), run(chains.room(&shelf, "agent")).is_err()), (MOST_WAITING, true));
        assert!(store(&chains, &shelf).is_err());
        assert_eq!(chains.waiting(), MOST_WAITING, "nothing of it is lost");
        *shelf.state.lock() = Shelving::Well;
        settle(&chains, &shelf, PLENTY);
        assert!(run(chains.room(&shelf, "agent")).is_ok());
    }
    assert_eq!(walk(&chains, &shelf, "agent").len(), 2 * MOST_WAITING);
}

#[test]
fn an_answer_that_was_lost_does_no_harm() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    add(&chains, &shelf, "agent", 1);
    *shelf.state.lock() = Shelving::Mute;
    assert!(matches!(store(&chains, &shelf), Err(NotKept::Unsure(_))), "it may have been kept");
    *shelf.state.lock() = Shelving::Well;
    assert_eq!(store(&chains, &shelf), Ok(1));
    assert_eq!((walk(&chains, &shelf, "agent").len(), records(&shelf)), (1, 1));
}

#[test]
fn a_record_that_fails_to_be_made_leaves_the_chain_as_it_was() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    let first = add(&chains, &shelf, "agent", 1);
    let room = run(chains.room(&shelf, "agent")).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| room.append(|_| panic!("no record")))).is_err());
    assert_eq!(chains.taken.load(Ordering::Relaxed), 1, "its place is free again");
    assert!(add(&chains, &shelf, "agent", 2).record.starts_with(first.id.as_bytes()));
}

#[test]
fn only_so_many_are_kept_and_only_so_many_bytes() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    for n in 0..10_500 {
        add(&chains, &shelf, "agent", n);
        if n % 1_000 == 0 {
            settle(&chains, &shelf, PLENTY);
        }
    }
    settle(&chains, &shelf, PLENTY);
    assert_eq!(records(&shelf), 10_000);
    assert_eq!(walk(&chains, &shelf, "agent").len(), 10_000, "the oldest went");
    // The maximum is lowered from now on.
    let most = 400_000;
    settle(&chains, &shelf, most);
    let bytes = |shelf: &Shelf| {
        shelf.kept.lock().iter().map(|(key, record)| key.len() + record.value.len() + 200).sum::<usize>()
    };
    assert!((300_000..=most).contains(&bytes(&shelf)), "{}", bytes(&shelf));
    assert_eq!(walk(&chains, &shelf, "agent").len(), records(&shelf));
}

#[test]
fn what_was_stored_by_those_before_is_looked_after_too() {
    let shelf = Shelf::default();
    for process in 0..6 {
        let chains = Chains::default();
        for n in 0..3_000 {
            add(&chains, &shelf, "agent", process * 10_000 + n);
        }
        settle(&chains, &shelf, PLENTY);
        assert!(records(&shelf) <= 10_000, "{} after {process}", records(&shelf));
    }
    let chains = Chains::default();
    settle(&chains, &shelf, PLENTY);
    assert_eq!(walk(&chains, &shelf, "agent").len(), 10_000);
}

#[test]
fn the_storing_task_wakes_when_there_is_something_to_store() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    chains.on_append(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    add(&chains, &shelf, "agent", 1);
    add(&chains, &shelf, "agent", 2);
    assert_eq!(told.load(Ordering::Relaxed), 1, "once is enough");
    store(&chains, &shelf).unwrap();
    add(&chains, &shelf, "agent", 3);
    assert_eq!(told.load(Ordering::Relaxed), 2);
}

#[test]
fn many_go_into_one_commit_and_chains_do_not_mix() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    for n in 0..100 {
        add(&chains, &shelf, if n % 3 == 0 { "one" } else { "other" }, n);
    }
    let before = shelf.commits.load(Ordering::Relaxed);
    assert_eq!(store(&chains, &shelf), Ok(100));
    assert_eq!(shelf.commits.load(Ordering::Relaxed), before + 1);
    assert_eq!((walk(&chains, &shelf, "one").len(), walk(&chains, &shelf, "other").len()), (34, 66));
}

/// A store that never answers.
struct Silent;

#[async_trait::async_trait]
impl Records for Silent {
    async fn get(&self, _: &str) -> Result<Option<Record>, NotKept> {
        std::future::pending().await
    }

    async fn commit(&self, _: &[Change]) -> Result<Committed, NotKept> {
        std::future::pending().await
    }
}

#[test]
fn a_turn_of_storing_that_is_given_up_is_no_ones_end() {
    let (chains, shelf) = (Chains::default(), Shelf::default());
    add(&chains, &shelf, "agent", 1);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut stuck = Box::pin(chains.store(&Silent, PLENTY));
    assert!(stuck.as_mut().poll(&mut context).is_pending());
    assert_eq!(store(&chains, &shelf), Ok(0), "one at a time");
    drop(stuck);
    assert_eq!(store(&chains, &shelf), Ok(1));
    assert_eq!(walk(&chains, &shelf, "agent").len(), 1);
}
