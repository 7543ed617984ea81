//! One test suite for all backends: the promises of the traits hold for each, with real time and real concurrency.

mod absent;
mod adopted;
mod chains;
mod counters;
mod encrypted;
mod file;
mod lost;
mod processes;
mod records;
mod redis;
mod replicas;
mod roles;
mod server;
mod speed;
mod unwritable;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use frontdesk_config::{self as site, OnError, StoreHome};
use frontdesk_state::{Amount, Change, Class, Expect, Key, Limit, Put, Settlement, Subject, Taken, Window};

use self::server::Server;
use super::Store;

/// How long a request waits for Redis, unless a test changes it.
const PATIENCE: Duration = Duration::from_millis(250);
/// The bytes of records that fit into the stores of the suite.
const ROOM: usize = 400_000;

/// Makes a test of each promise for each backend. A promise is a function of a [`Place`].
macro_rules! in_every_home {
    ($($promise:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(&super::super::Place::memory()).await;
            })*
        }

        mod file {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(&super::super::Place::file()).await;
            })*
        }

        mod redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(&super::super::Place::redis().await).await;
            })*
        }
    };
}
use in_every_home;

/// A store, and what has to live as long as it.
struct Place {
    store: Arc<Store>,
    _directory: Option<Directory>,
    _server: Option<Server>,
}

impl Place {
    fn memory() -> Self {
        Self { store: Store::open(&settings(StoreHome::Memory)).unwrap(), _directory: None, _server: None }
    }

    fn file() -> Self {
        let directory = Directory::new();
        let store = Store::open(&settings(StoreHome::File(directory.path.clone()))).unwrap();
        Self { store, _directory: Some(directory), _server: None }
    }

    /// With memory for about as many records as the other stores.
    async fn redis() -> Self {
        let server = Server::start(&["--maxmemory-policy", "noeviction"]);
        let base = server.number("used_memory");
        server.ask(&["CONFIG", "SET", "maxmemory", &(base + 8 * ROOM as u64).to_string()]);
        let store = connected(&settings(StoreHome::Redis(server.url("")))).await;
        Self { store, _directory: None, _server: Some(server) }
    }
}

/// A connected Redis store. Its patience is long, because the machine may be busy.
async fn connected(settings: &site::Store) -> Arc<Store> {
    let settings = site::Store { patience: Duration::from_secs(10), ..settings.clone() };
    let store = Store::open(&settings).unwrap();
    assert!(!store.status().reachable);
    store.tend().await.unwrap();
    assert!(store.status().reachable);
    store
}

#[test]
fn a_store_opens_without_a_runtime() {
    let directory = Directory::new();
    for home in [
        StoreHome::Memory,
        StoreHome::File(directory.path().into()),
        StoreHome::Redis("redis://:secret@127.0.0.1:1/0".into()),
    ] {
        let settings = settings(home);
        let store = Store::open(&settings).unwrap();
        assert_eq!(*store.settings(), settings);
        assert_eq!(store.status().reachable, !matches!(settings.home, StoreHome::Redis(_)));
    }
}

impl std::ops::Deref for Place {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

fn settings(home: StoreHome) -> site::Store {
    site::Store {
        home,
        tls: site::StoreTls::default(),
        on_error: OnError::Deny,
        patience: PATIENCE,
        wait_replicas: None,
        prefix: "suite".into(),
        max_keys: 10_000,
        max_records: ROOM,
    }
}

/// A temporary directory of the test.
struct Directory {
    path: PathBuf,
}

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("frontdesk-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { path: std::env::temp_dir().join(name) }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn key(name: &str) -> Key {
    Key::new(Class::Actions, Subject::named(&[name.as_bytes()]))
}

fn fixed(name: &str, most: u64, millis: u64) -> Limit {
    Limit { key: key(name), most, window: Window::Fixed(Duration::from_millis(millis)) }
}

fn idle(name: &str, most: u64, millis: u64) -> Limit {
    Limit { key: key(name), most, window: Window::Idle(Duration::from_millis(millis)) }
}

fn amount(wanted: u64, least: u64) -> Amount {
    Amount { wanted, least }
}

async fn take(store: &Store, limits: &[Limit], amount: Amount) -> Taken {
    store.counters.take(limits, amount).await.unwrap()
}

/// The used amount of one limit.
async fn used(store: &Store, limit: Limit) -> u64 {
    take(store, &[limit], Amount::NOTHING).await.levels[0].used
}

async fn settle(store: &Store, limit: Limit, taken: &Taken, by: i64) {
    let settlement = Settlement { key: limit.key, window: limit.window, period: taken.levels[0].period, by };
    store.counters.settle(&[settlement]).await.unwrap();
}

/// A change that creates a record.
fn record(key: &str) -> [Change; 1] {
    let put = Put::Value(Bytes::from_static(b"value"), Duration::from_secs(600));
    [Change { key: key.into(), expect: Expect::Absent, put }]
}

/// Tends the store until that succeeds.
async fn tends_well(store: &Store) {
    let patience = Instant::now() + Duration::from_secs(30);
    while let Err(why) = store.tend().await {
        assert!(Instant::now() < patience, "{why}");
        pause(50).await;
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        pause(10).await;
    }
}

async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
