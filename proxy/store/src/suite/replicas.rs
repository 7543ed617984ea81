//! Tests of Redis with replicas: a record that must survive a failover is confirmed only once they have it.

use std::time::Duration;

use frontdesk_config::{self as site, StoreHome};
use frontdesk_state::{Committed, Expect, NotKept, Put};
use nix::sys::signal::Signal;

use super::{Server, connected, record, settings, until};
use crate::Store;

fn replica_of(primary: &Server) -> Server {
    let replica = Server::start(&["--replicaof", "127.0.0.1", &primary.port.to_string()]);
    let info = || redis::from_redis_value::<String>(replica.ask(&["INFO", "replication"])).unwrap();
    while !info().contains("master_link_status:up") {
        std::thread::sleep(Duration::from_millis(20));
    }
    replica
}

fn waiting_for(primary: &Server, wait_replicas: Option<usize>) -> site::Store {
    site::Store { patience: Duration::from_secs(5), wait_replicas, ..settings(StoreHome::Redis(primary.url(""))) }
}

async fn promised(store: &Store, name: &str) -> Result<Committed, NotKept> {
    store.records.commit_safely(&record(name)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_is_on_a_replica_before_it_counts() {
    let primary = Server::start(&[]);
    let store = connected(&waiting_for(&primary, None)).await;
    assert!(matches!(promised(&store, "alone").await, Ok(Committed::Done(_))), "there is nobody to wait for");
    let mut replica = replica_of(&primary);
    let role =
        || matches!(primary.ask(&["ROLE"]), redis::Value::Array(parts) if format!("{parts:?}").contains("127.0.0.1"));
    until("the primary knows its replica", role).await;
    store.tend().await.unwrap();

    assert!(matches!(promised(&store, "heard").await, Ok(Committed::Done(_))));
    let there: Vec<String> = redis::from_redis_value(replica.ask(&["KEYS", "*heard"])).unwrap();
    assert_eq!(there, ["{suite}:r:heard"]);
    assert!(matches!(promised(&store, "heard").await, Ok(Committed::Conflict(0, Some(_)))));

    replica.signal(Signal::SIGSTOP);
    let Err(NotKept::Unsure(version)) = promised(&store, "unheard").await else { panic!("nobody has it") };
    assert_eq!(store.records.get("unheard").await.unwrap().unwrap().version, version, "so that it can be taken back");
    assert!(matches!(store.records.commit(&record("end")).await, Ok(Committed::Done(_))), "other records do not wait");
    assert!(store.status().reachable);
    replica.signal(Signal::SIGCONT);
    assert!(matches!(promised(&store, "heard again").await, Ok(Committed::Done(_))));

    // A missing replica is waited for all the same: this server may be the one that was cut off.
    replica.kill();
    let gone = || format!("{:?}", primary.ask(&["ROLE"])).matches("127.0.0.1").count() == 0;
    until("the primary has lost its replica", gone).await;
    store.tend().await.unwrap();
    assert!(matches!(promised(&store, "gone").await, Err(NotKept::Unsure(_))));
    store.adopt(&waiting_for(&primary, Some(0)));
    assert!(matches!(promised(&store, "none").await, Ok(Committed::Done(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_replicas_have_a_promise_as_is_declared() {
    let primary = Server::start(&[]);
    let one = replica_of(&primary);
    let both = connected(&waiting_for(&primary, Some(2))).await;
    assert!(matches!(promised(&both, "one").await, Err(NotKept::Unsure(_))));
    let other = replica_of(&primary);
    // The machine may be busy: wait until both replicas follow closely enough.
    let mut tries = 0;
    while !matches!(promised(&both, &format!("both {tries}")).await, Ok(Committed::Done(_))) {
        tries += 1;
        assert!(tries < 30, "both follow");
    }
    // Many at once, each on a connection of its own: both replicas have every confirmed record.
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let store = both.clone();
            tokio::spawn(async move { (n, promised(&store, &format!("at once {n}")).await) })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        let (n, promised) = task.await.unwrap();
        if matches!(promised, Ok(Committed::Done(_))) {
            done += 1;
            for replica in [&one, &other] {
                let there: Vec<String> =
                    redis::from_redis_value(replica.ask(&["KEYS", &format!("*at once {n}")])).unwrap();
                assert_eq!(there.len(), 1, "{n}");
            }
        }
    }
    assert!(done > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_has_decided_that_was_cut_off_is_not_the_last_word() {
    let mut primary = Server::start(&[]);
    let replica = replica_of(&primary);
    let store = connected(&waiting_for(&primary, Some(1))).await;
    let Ok(Committed::Done(version)) = promised(&store, "key").await else { panic!("a replica has it") };

    // The replica takes over while this process still reaches the old primary. Another client takes the key there.
    replica.ask(&["REPLICAOF", "NO", "ONE"]);
    let [mut change] = record("key");
    change.expect = Expect::Version(version);
    assert!(matches!(store.records.commit(&[change.clone()]).await, Ok(Committed::Done(_))));
    change.put = Put::Nothing;
    store.records.finish(vec![vec![change]]).await.unwrap();
    store.tend().await.unwrap();
    assert_eq!(store.status().waiting, 1, "nobody has answered for it");

    // The address now leads to a server that has the new primary's records.
    primary.kill();
    primary.restart_with(&["--replicaof", "127.0.0.1", &replica.port.to_string()]);
    let follows = |server: &Server| {
        let info: String = redis::from_redis_value(server.ask(&["INFO", "replication"])).unwrap();
        info.contains("master_link_status:up")
    };
    until("it has all of it", || follows(&primary)).await;
    primary.ask(&["REPLICAOF", "NO", "ONE"]);
    replica.ask(&["REPLICAOF", "127.0.0.1", &primary.port.to_string()]);
    until("it has a replica", || follows(&replica)).await;
    for _ in 0..200 {
        let _ = store.tend().await;
        if store.status().reachable && store.status().waiting == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(store.records.get("key").await.unwrap().is_none(), "it was taken back");
}
