//! Tests of Redis alone: shared by replicas of Frontdesk, under each of the operator's setups.

use frontdesk_config::{OnError, StoreHome};
use frontdesk_state::{Amount, Committed, NotKept};

use super::{
    Directory, Server, amount, connected, fixed, idle, record, settings, settle, take, tends_well, until, used,
};
use crate::Store;

/// The user from docs/store.md, with another prefix and password.
const USER: &str = "on >p@ss/w:rd%# ~{suite}:* +evalsha +script|load +time +get +set +del +hset +hmget +pexpire +pttl";
/// Its password as in a URL.
const PASSWORD: &str = "p%40ss%2Fw%3Ard%25%23";

pub(super) async fn everything_works(store: &Store, name: &str) {
    let (limit, session) = (fixed(name, 10, 600_000), idle(&format!("{name} session"), 10, 600_000));
    let taken = take(store, &[limit, session], amount(4, 4)).await;
    assert_eq!(taken.granted, Some(4));
    settle(store, limit, &taken, -1).await;
    assert_eq!(used(store, limit).await, 3);
    assert!(matches!(store.records.commit(&record(name)).await, Ok(Committed::Done(_))));
    assert_eq!(store.records.get(name).await.unwrap().unwrap().value, "value");
    assert!(matches!(store.records.commit(&record(name)).await, Ok(Committed::Conflict(0, Some(_)))));
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_limits_and_records() {
    let server = Server::start(&[]);
    let settings = settings(StoreHome::Redis(server.url("")));
    let replicas = [connected(&settings).await, connected(&settings).await];
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let store = replicas[n % 2].clone();
            tokio::spawn(async move {
                let mut sum = (0, 0);
                for n in 0..20 {
                    sum.0 += take(&store, &[fixed("shared", 500, 600_000)], Amount::ONE).await.granted.unwrap_or(0);
                    let done = store.records.commit(&record(&format!("shared {n}"))).await.unwrap();
                    sum.1 += u64::from(matches!(done, Committed::Done(_)));
                }
                sum
            })
        })
        .collect();
    let mut sum = (0, 0);
    for task in tasks {
        let (granted, won) = task.await.unwrap();
        sum = (sum.0 + granted, sum.1 + won);
    }
    assert_eq!(sum, (500, 20));

    // Another site on the same server.
    let mut other = settings.clone();
    other.prefix = "suite2".into();
    let other = connected(&other).await;
    assert_eq!(used(&other, fixed("shared", 500, 600_000)).await, 0);
    assert_eq!(other.records.get("shared 0").await, Ok(None));
}

#[tokio::test]
async fn every_key_is_in_one_slot_and_expires() {
    let server = Server::start(&["--cluster-enabled", "yes"]);
    server.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let info = || redis::from_redis_value::<String>(server.ask(&["CLUSTER", "INFO"])).unwrap();
    until("the cluster is up", || info().contains("cluster_state:ok")).await;
    let store = connected(&settings(StoreHome::Redis(server.url("")))).await;
    everything_works(&store, "slots").await;
    let keys: Vec<String> = redis::from_redis_value(server.ask(&["KEYS", "*"])).unwrap();
    assert!(keys.len() >= 3, "{keys:?}");
    for key in keys {
        assert!(key.starts_with("{suite}:c:") || key.starts_with("{suite}:r:"), "{key}");
        let left: i64 = redis::from_redis_value(server.ask(&["PTTL", &key])).unwrap();
        // The marker stays for good.
        assert!(left != -1 && (left <= 600_000 || key == "{suite}:r:k:store"), "{key} is kept for {left}");
    }
}

#[tokio::test]
async fn forgotten_scripts_are_sent_again() {
    let server = Server::start(&[]);
    let store = connected(&settings(StoreHome::Redis(server.url("")))).await;
    everything_works(&store, "one").await;
    server.ask(&["SCRIPT", "FLUSH"]);
    everything_works(&store, "two").await;
    assert!(store.status().reachable);
}

#[tokio::test]
async fn a_user_needs_no_more_than_is_documented() {
    let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/store.md")).unwrap();
    let commands = &USER[USER.find("+evalsha").unwrap()..];
    assert!(documented.contains(&format!("~{{frontdesk}}:* {commands}")), "docs/store.md says {commands}");
    let server = Server::start(&[]);
    let user = |rules: &str| {
        let words: Vec<_> = ["ACL", "SETUSER", "frontdesk"].into_iter().chain(rules.split(' ')).collect();
        server.ask(&words);
    };
    let url = server.url(&format!("frontdesk:{PASSWORD}@"));
    user(USER);
    let store = connected(&settings(StoreHome::Redis(url.clone()))).await;
    everything_works(&store, "user").await;

    // The permissions for another database and for warnings.
    user("+select +info +role");
    server.ask(&["ACL", "LOG", "RESET"]);
    let store = connected(&settings(StoreHome::Redis(format!("{url}/3")))).await;
    everything_works(&store, "user").await;
    let info: String = redis::from_redis_value(server.ask(&["INFO", "keyspace"])).unwrap();
    assert!(info.contains("db3:"), "{info}");
    let denied: Vec<redis::Value> = redis::from_redis_value(server.ask(&["ACL", "LOG"])).unwrap();
    assert_eq!(denied, []);

    // The probe, not a request, finds a missing permission and names it. The connection is never used, not even for a
    // moment.
    let missing = USER.split(' ').filter_map(|word| word.strip_prefix('+')).chain(["select"]);
    for command in missing.chain(["records", "counts"]) {
        let (less, more) = match command {
            "records" => ("resetkeys ~{suite}:c:*".to_owned(), "~{suite}:*".to_owned()),
            "counts" => ("resetkeys ~{suite}:r:*".to_owned(), "~{suite}:*".to_owned()),
            command => (format!("-{command}"), format!("+{command}")),
        };
        user(&less);
        let store = Store::open(&settings(StoreHome::Redis(format!("{url}/3")))).unwrap();
        let why = store.tend().await.unwrap_err();
        assert!(why.contains("must allow ~{suite}:* +evalsha") && why.contains("+pttl +select"), "{less}: {why}");
        assert!(store.unready().is_some() && !store.status().reachable, "{less}");
        user(&more);
        tends_well(&store).await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_without_it_and_can_be_mended() {
    let server = Server::start(&[]);
    server.ask(&["ACL", "SETUSER", "frontdesk", "on", "~*", "+@all", ">another"]);
    let store = Store::open(&settings(StoreHome::Redis(server.url(&format!("frontdesk:{PASSWORD}@"))))).unwrap();
    let why = store.tend().await.unwrap_err();
    assert!(why.contains(&format!("Redis at 127.0.0.1:{}/0 is away", server.port)), "{why}");
    assert!(!why.contains("p@ss") && !why.contains(PASSWORD), "{why}");
    server.ask(&["ACL", "SETUSER", "frontdesk", ">p@ss/w:rd%#"]);
    tends_well(&store).await;

    for url in ["redis://:secret@host/x", "rediss://:secret@host/0#insecure", "redis://:secret@0.0.0.0", "redis://"] {
        let why = Store::open(&settings(StoreHome::Redis(url.into()))).err().unwrap();
        assert!(why.starts_with("store.url: ") && !why.contains("secret"), "{why}");
    }
}

#[tokio::test]
async fn a_server_is_reached_by_every_name_that_it_goes_by() {
    let files = Directory::new();
    std::fs::create_dir_all(files.path()).unwrap();
    let socket = files.path().join("r.sock").into_os_string().into_string().unwrap();
    let server = Server::start(&["--unixsocket", &socket]);
    server.ask(&["ACL", "SETUSER", "frontdesk", "on", "~*", "+@all", ">hush-4711"]);
    let (port, user) = (server.port, "user=frontdesk&pass=hush-4711");
    let urls = [
        format!("redis://frontdesk:hush-4711@127.0.0.1:{port}/2"),
        format!("valkey://frontdesk:hush-4711@localhost:{port}/2"),
        format!("unix:{socket}?db=2&{user}"),
        format!("unix://{socket}?db=2&{user}"),
        format!("redis+unix://{socket}?{user}&db=2"),
        format!("valkey+unix:{socket}?{user}&db=2"),
    ];
    for (n, url) in urls.into_iter().enumerate() {
        let store = connected(&settings(StoreHome::Redis(url.clone()))).await;
        everything_works(&store, &format!("name {n}")).await;
        assert!(store.records.get("name 0").await.unwrap().is_some(), "all of them are the same one: {url}");
    }
    let wrong = Store::open(&settings(StoreHome::Redis(format!("unix:{socket}?user=frontdesk&pass=wrong-4711"))));
    let why = wrong.unwrap().tend().await.unwrap_err();
    assert!(why.contains(&socket) && !why.contains("wrong-4711"), "{why}");
}

#[tokio::test]
async fn a_full_server_refuses_and_is_not_away() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let mut settings = settings(StoreHome::Redis(server.url("")));
    settings.on_error = OnError::Local;
    let store = connected(&settings).await;
    assert!(matches!(store.records.commit(&record("before")).await, Ok(Committed::Done(_))));
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(store.records.commit(&record("after")).await, Err(NotKept::Full));
    assert_eq!(take(&store, &[fixed("full", 5, 60_000)], amount(5, 5)).await.granted, Some(5));
    assert_eq!(take(&store, &[fixed("full", 5, 60_000)], Amount::ONE).await.granted, None);
    assert!(store.records.get("before").await.unwrap().is_some());
    assert!(store.status().reachable && store.status().full);
    assert!(store.full().unwrap().contains("has no memory left"));
    store.tend().await.unwrap();
    assert!(store.status().full);
    // Also a server that is full from the start.
    let found = connected(&settings).await;
    assert!(found.records.get("before").await.unwrap().is_some());
    assert!(found.status().full);
    // The store notices that there is room again before a request needs it.
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    for store in [store, found] {
        store.tend().await.unwrap();
        assert!(store.status().reachable && !store.status().full);
    }
}

#[tokio::test]
async fn a_record_that_lasts_is_read_once_for_each_connection() {
    let server = Server::start(&[]);
    let store = connected(&settings(StoreHome::Redis(server.url("")))).await;
    let reads = || {
        let info: String = redis::from_redis_value(server.ask(&["INFO", "commandstats"])).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_get:calls=")).unwrap();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(store.records.get_lasting("lasts").await, Ok(None));
    assert!(matches!(store.records.commit(&record("lasts")).await, Ok(Committed::Done(_))));
    let before = reads();
    for _ in 0..5 {
        assert_eq!(store.records.get_lasting("lasts").await.unwrap().unwrap().value, "value");
    }
    assert_eq!(reads() - before, 1, "one that was not there is looked for again, one that was is remembered");
    // Another connection may lead to another server.
    server.ask(&["FLUSHALL"]);
    server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    until("it is forgotten", || store.status().reachable).await;
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while store.records.get_lasting("lasts").await.unwrap().is_some() {
        assert!(std::time::Instant::now() < patience);
        super::pause(10).await;
    }
}
