//! Tests of several Redis servers: only a primary is used, and of a cluster only the node that holds our keys.

use std::time::Duration;

use frontdesk_config::{self as site, StoreHome};
use frontdesk_state::NotKept;

use super::{Server, connected, record, redis::everything_works, server::free_port, settings, tends_well, until};
use crate::Store;

fn patient(server: &Server) -> site::Store {
    site::Store { patience: Duration::from_secs(10), ..settings(StoreHome::Redis(server.url(""))) }
}

fn says(server: &Server, section: &str, what: &str) -> bool {
    redis::from_redis_value::<String>(server.ask(&["INFO", section])).unwrap().contains(what)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_not_used_though_it_may_be_written_to() {
    let primary = Server::start(&[]);
    let port = primary.port.to_string();
    for writable in ["no", "yes"] {
        let read_only = if writable == "no" { "yes" } else { "no" };
        let replica = Server::start(&["--replicaof", "127.0.0.1", &port, "--replica-read-only", read_only]);
        until("it has caught up", || says(&replica, "replication", "master_link_status:up")).await;
        let store = Store::open(&patient(&replica)).unwrap();
        let why = store.tend().await.unwrap_err();
        assert!(why.contains(&format!("it is a replica of 127.0.0.1:{port}: store.url has to lead to")), "{why}");
        assert!(store.unready().is_some() && !store.status().reachable);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_becomes_a_replica_is_given_up_and_nothing_is_read_of_it() {
    let (primary, other) = (Server::start(&[]), Server::start(&[]));
    let store = connected(&patient(&primary)).await;
    everything_works(&store, "before").await;
    primary.ask(&["REPLICAOF", "127.0.0.1", &other.port.to_string()]);
    let mut why = String::new();
    for _ in 0..100 {
        why = store.tend().await.err().unwrap_or_default();
        if why.contains("it is a replica of") {
            break;
        }
        super::pause(20).await;
    }
    assert!(why.contains("it is a replica of"), "{why}");
    assert_eq!(store.records.get("before").await, Err(NotKept::Away), "it may know less by now");
    assert_eq!(store.records.commit(&record("after")).await, Err(NotKept::Away));
    assert_eq!(store.unready(), None, "it was well once");
    primary.ask(&["REPLICAOF", "NO", "ONE"]);
    tends_well(&store).await;
    everything_works(&store, "after").await;
}

/// A cluster node that knows no other yet.
fn node() -> Server {
    Server::start(&["--cluster-enabled", "yes", "--cluster-port", &free_port().to_string()])
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_of_a_cluster_leads_to_the_one_that_keeps_our_keys() {
    let (named, keeps) = (node(), node());
    let slot: u16 = redis::from_redis_value(named.ask(&["CLUSTER", "KEYSLOT", "{suite}:"])).unwrap();
    let range = |from: u16, to: u16| ["CLUSTER".into(), "ADDSLOTSRANGE".into(), from.to_string(), to.to_string()];
    let add = |server: &Server, words: [String; 4]| drop(server.ask(&words.each_ref().map(String::as_str)));
    add(&named, range(0, slot - 1));
    add(&named, range(slot + 1, 16_383));
    add(&keeps, range(slot, slot));
    let config: String = redis::from_redis_value(keeps.ask(&["CLUSTER", "NODES"])).unwrap();
    let bus = config.split('@').nth(1).unwrap().split([' ', ',']).next().unwrap().to_owned();
    named.ask(&["CLUSTER", "MEET", "127.0.0.1", &keeps.port.to_string(), &bus]);
    let is_up = |server: &Server| {
        let info: String = redis::from_redis_value(server.ask(&["CLUSTER", "INFO"])).unwrap();
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:2")
    };
    until("the cluster is up", || is_up(&named) && is_up(&keeps)).await;

    let store = connected(&patient(&named)).await;
    everything_works(&store, "moved").await;
    let keys = |server: &Server| redis::from_redis_value::<Vec<String>>(server.ask(&["KEYS", "*"])).unwrap();
    assert!(keys(&named).is_empty() && !keys(&keeps).is_empty(), "{:?}", keys(&named));
    // The store finds the node again after that connection is cut.
    keeps.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert!(store.records.get("moved").await.unwrap().is_some());
    everything_works(&store, "cut").await;
    assert_eq!(store.status().without, 0);

    // A cluster has only one database.
    let other = site::Store { home: StoreHome::Redis(format!("{}/1", named.url(""))), ..patient(&named) };
    let why = Store::open(&other).unwrap().tend().await.unwrap_err();
    assert!(why.contains("does not have the database that store.url names"), "{why}");
}
