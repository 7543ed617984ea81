//! Tests of the records in every backend.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record};

use super::{Place, in_every_home, pause};
use crate::Store;

in_every_home!(
    of_many_who_create_one_wins,
    nobody_writes_over_what_they_have_not_seen,
    all_changes_are_made_or_none,
    sums_over_two_records_hold,
    a_conflict_shows_what_is_there,
    records_expire,
    what_is_kept_is_bounded,
    what_has_expired_makes_room,
    a_version_never_comes_back,
    any_value_is_kept_as_it_is,
    several_are_read_as_each_of_them_is,
);

const LONG: Duration = Duration::from_secs(600);

fn change(key: &str, expect: Expect, value: &[u8]) -> Change {
    Change { key: key.into(), expect, put: Put::Value(Bytes::copy_from_slice(value), LONG) }
}

fn deletion(key: &str, expect: Expect) -> Change {
    Change { key: key.into(), expect, put: Put::Nothing }
}

async fn get(store: &Store, key: &str) -> Option<Record> {
    store.records.get(key).await.unwrap()
}

async fn number(store: &Store, key: &str) -> (i64, u64) {
    let record = get(store, key).await.unwrap();
    (std::str::from_utf8(&record.value).unwrap().parse().unwrap(), record.version)
}

async fn done(store: &Store, changes: &[Change]) -> u64 {
    match store.records.commit(changes).await.unwrap() {
        Committed::Done(version) => version,
        conflict => panic!("{conflict:?}"),
    }
}

async fn of_many_who_create_one_wins(place: &Place) {
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let store = place.store.clone();
            tokio::spawn(async move {
                let change = change("race", Expect::Absent, n.to_string().as_bytes());
                (n, store.records.commit(&[change]).await.unwrap())
            })
        })
        .collect();
    let (mut winners, mut seen) = (Vec::new(), Vec::new());
    for task in tasks {
        match task.await.unwrap() {
            (n, Committed::Done(version)) => winners.push((n, version)),
            (_, Committed::Conflict(index, found)) => seen.push((index, found.unwrap())),
        }
    }
    let [(winner, version)] = winners[..] else { panic!("{winners:?}") };
    let record = Record { value: winner.to_string().into(), version };
    assert_eq!(seen.len(), 63);
    assert!(seen.iter().all(|other| *other == (0, record.clone())));
    assert_eq!(get(place, "race").await, Some(record));
}

async fn nobody_writes_over_what_they_have_not_seen(place: &Place) {
    done(place, &[change("number", Expect::Absent, b"0")]).await;
    let add = |store: Arc<Store>| async move {
        for _ in 0..5 {
            loop {
                let (old, version) = number(&store, "number").await;
                let change = change("number", Expect::Version(version), (old + 1).to_string().as_bytes());
                if let Committed::Done(_) = store.records.commit(&[change]).await.unwrap() {
                    break;
                }
            }
        }
    };
    let tasks: Vec<_> = (0..16).map(|_| tokio::spawn(add(place.store.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(number(place, "number").await.0, 80);
}

async fn all_changes_are_made_or_none(place: &Place) {
    let version = done(place, &[change("a", Expect::Absent, b"1"), change("b", Expect::Absent, b"2")]).await;
    assert_eq!(get(place, "b").await, Some(Record { value: "2".into(), version }));
    let changes = [
        change("c", Expect::Absent, b"new"),
        deletion("a", Expect::Version(version)),
        change("b", Expect::Version(version ^ 1), b"changed"),
    ];
    let conflict = place.records.commit(&changes).await.unwrap();
    assert_eq!(conflict, Committed::Conflict(2, Some(Record { value: "2".into(), version })));
    assert_eq!(get(place, "c").await, None);
    assert_eq!(get(place, "a").await.unwrap().value, "1");
    let changes = [deletion("a", Expect::Version(version)), change("b", Expect::Anything, b"changed")];
    let next = done(place, &changes).await;
    assert_ne!(next, version);
    assert_eq!(get(place, "a").await, None);
    assert_eq!(get(place, "b").await, Some(Record { value: "changed".into(), version: next }));
}

async fn sums_over_two_records_hold(place: &Place) {
    done(place, &[change("left", Expect::Absent, b"100"), change("right", Expect::Absent, b"0")]).await;
    let tasks: Vec<_> = (1..=12)
        .map(|by: i64| {
            let store = place.store.clone();
            tokio::spawn(async move {
                loop {
                    let (left, right) = (number(&store, "left").await, number(&store, "right").await);
                    let changes = [
                        change("left", Expect::Version(left.1), (left.0 - by).to_string().as_bytes()),
                        change("right", Expect::Version(right.1), (right.0 + by).to_string().as_bytes()),
                    ];
                    if let Committed::Done(_) = store.records.commit(&changes).await.unwrap() {
                        break;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((number(place, "left").await.0, number(place, "right").await.0), (22, 78));
}

async fn a_conflict_shows_what_is_there(place: &Place) {
    let conflict = place.records.commit(&[change("nothing", Expect::Version(7), b"x")]).await.unwrap();
    assert_eq!(conflict, Committed::Conflict(0, None));
    let version = done(place, &[change("something", Expect::Anything, b"here")]).await;
    let changes = [change("other", Expect::Absent, b"x"), deletion("something", Expect::Absent)];
    let conflict = place.records.commit(&changes).await.unwrap();
    assert_eq!(conflict, Committed::Conflict(1, Some(Record { value: "here".into(), version })));
}

async fn records_expire(place: &Place) {
    let short = |value: &'static str, expect| Change {
        key: "short".into(),
        expect,
        put: Put::Value(value.into(), Duration::from_millis(700)),
    };
    let version = done(place, &[short("one", Expect::Absent)]).await;
    assert_eq!(get(place, "short").await.unwrap().value, "one");
    pause(750).await;
    assert_eq!(get(place, "short").await, None);
    let stale = place.records.commit(&[short("two", Expect::Version(version))]).await.unwrap();
    assert_eq!(stale, Committed::Conflict(0, None));
    done(place, &[short("two", Expect::Absent)]).await;
    // A commit restarts the record's lifetime.
    done(place, &[change("short", Expect::Anything, b"three")]).await;
    pause(750).await;
    assert_eq!(get(place, "short").await.unwrap().value, "three");
    place.tend().await.unwrap();
    assert_eq!(get(place, "short").await.unwrap().value, "three");
}

async fn what_is_kept_is_bounded(place: &Place) {
    let value = vec![b'x'; 20_000];
    let mut kept = 0;
    let refused = loop {
        let change = change(&format!("big {kept}"), Expect::Absent, &value);
        match place.records.commit(&[change]).await {
            Ok(_) => kept += 1,
            Err(refused) => break refused,
        }
        assert!(kept < 1000);
    };
    assert_eq!(refused, NotKept::Full);
    assert!(place.status().full && place.status().reachable && place.full().is_some());
    assert!(kept > 2);
    for n in 0..kept {
        assert_eq!(get(place, &format!("big {n}")).await.unwrap().value, value, "{n} of {kept}");
    }
    // A commit without enough room changes nothing at all.
    let changes = [change("big 0", Expect::Anything, b"less"), change("more", Expect::Absent, &value.repeat(20))];
    assert_eq!(place.records.commit(&changes).await, Err(NotKept::Full));
    assert_eq!(get(place, "big 0").await.unwrap().value, value);
    // Deletions make room.
    let gone: Vec<_> = (0..kept.min(4)).map(|n| deletion(&format!("big {n}"), Expect::Anything)).collect();
    done(place, &gone).await;
    finds_room(place, &[change("more", Expect::Absent, &value)]).await;
    for _ in 0..500 {
        place.tend().await.unwrap();
        if !place.status().full {
            return;
        }
        pause(10).await;
    }
    panic!("it is still said to be full");
}

async fn what_has_expired_makes_room(place: &Place) {
    let brief = |key: String| {
        let put = Put::Value(vec![b'x'; 20_000].into(), Duration::from_secs(1));
        [Change { key, expect: Expect::Anything, put }]
    };
    done(place, &[change("long", Expect::Absent, b"kept")]).await;
    let mut kept = 0;
    while let Ok(committed) = place.records.commit(&brief(format!("brief {kept}"))).await {
        assert!(matches!(committed, Committed::Done(_)));
        kept += 1;
    }
    pause(1050).await;
    for n in 0..kept {
        finds_room(place, &brief(format!("next {n}"))).await;
    }
    assert_eq!(get(place, "long").await.unwrap().value, "kept");
}

/// Retries, because a server frees memory in its own time; the other backends do so at once.
async fn finds_room(place: &Place, changes: &[Change]) {
    for _ in 0..100 {
        match place.records.commit(changes).await {
            Ok(committed) => return assert!(matches!(committed, Committed::Done(_))),
            Err(refused) => assert_eq!(refused, NotKept::Full),
        }
        pause(100).await;
    }
    panic!("there is no room");
}

async fn a_version_never_comes_back(place: &Place) {
    let mut versions = Vec::new();
    for _ in 0..5 {
        versions.push(done(place, &[change("again", Expect::Absent, b"same")]).await);
        done(place, &[deletion("again", Expect::Anything)]).await;
    }
    let now = done(place, &[change("again", Expect::Absent, b"same")]).await;
    for version in versions {
        let stale = place.records.commit(&[change("again", Expect::Version(version), b"stale")]).await.unwrap();
        assert_eq!(stale, Committed::Conflict(0, Some(Record { value: "same".into(), version: now })));
    }
    let next = done(place, &[change("again", Expect::Version(now), b"same")]).await;
    assert_ne!(next, now);
}

async fn any_value_is_kept_as_it_is(place: &Place) {
    let every: Vec<u8> = (0..=255).collect();
    let long = format!("{:~<200}", "key {with} \"all\" 'sorts' of * ? [chars] \\ ");
    for value in [&every[..], b"", b"0", b"\0"] {
        done(place, &[change(&long, Expect::Anything, value)]).await;
        assert_eq!(get(place, &long).await.unwrap().value, value);
    }
    done(place, &[deletion("never there", Expect::Anything), deletion(&long, Expect::Anything)]).await;
    assert_eq!(get(place, &long).await, None);
}

async fn several_are_read_as_each_of_them_is(place: &Place) {
    let records = &place.records;
    done(place, &[change("left", Expect::Absent, b"l"), change("right", Expect::Absent, b"r")]).await;
    assert!(records.get_all(&[]).await.unwrap().is_empty());
    let several: [&[&str]; 5] =
        [&["left", "right"], &["right", "none", "left"], &["none", "left"], &["none", "no other"], &["left"]];
    for keys in several {
        let mut each = Vec::new();
        for key in keys {
            each.push(records.get(key).await.unwrap());
        }
        assert_eq!(records.get_all(keys).await.unwrap(), each, "{keys:?}");
        assert_eq!(records.get_lasting(keys[0]).await.unwrap(), each[0]);
    }
}
