//! Tests of an outage of Redis: no request waits, `on_error` decides, and the store recovers by itself.

use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use frontdesk_config::{OnError, StoreHome};
use frontdesk_state::{Amount, Away, Level, NotKept, TOGETHER, Taken};
use nix::sys::signal::Signal;
use tokio::task::JoinHandle;

use super::{
    PATIENCE, Server, amount, connected, fixed, pause, record, settings, settle, take, tends_well, until, used,
};
use crate::Store;

/// Runs the background job's work at a shorter interval.
fn tended(store: &Arc<Store>) -> JoinHandle<()> {
    let store = store.clone();
    tokio::spawn(async move {
        loop {
            let _ = store.tend().await;
            pause(100).await;
        }
    })
}

/// The answers of a store whose server is away, and the median time of an answer.
async fn away(store: &Arc<Store>, takes: usize) -> (Vec<Result<Taken, Away>>, Duration) {
    let (mut answers, mut times) = (Vec::new(), Vec::new());
    for _ in 0..takes {
        let began = Instant::now();
        answers.push(store.counters.take(&[fixed("load", 5, 600_000)], Amount::ONE).await);
        assert_eq!(store.records.get("load").await, Err(NotKept::Away));
        assert_eq!(store.records.commit(&record("load")).await, Err(NotKept::Away));
        times.push(began.elapsed());
    }
    times.sort();
    (answers, times[times.len() / 2])
}

/// Under load, the server goes away (it hangs, or is killed) and comes back, for each value of `on_error`.
async fn goes_and_comes_back(go: impl Fn(&mut Server), come_back: impl Fn(&mut Server)) {
    for on_error in [OnError::Local, OnError::Allow, OnError::Deny] {
        let mut server = Server::start(&[]);
        let mut settings = settings(StoreHome::Redis(server.url("")));
        settings.on_error = on_error;
        let store = Store::open(&settings).unwrap();
        let tending = tended(&store);
        until("it is reached", || store.status().reachable).await;

        let load: Vec<_> = (0..16)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move {
                    loop {
                        let _ = store.counters.take(&[fixed("others", 1 << 40, 600_000)], Amount::ONE).await;
                        pause(1).await;
                    }
                })
            })
            .collect();
        pause(100).await;
        go(&mut server);
        until("it is found away", || !store.status().reachable).await;
        // No request waits, whatever the probes are doing.
        let (answers, usual) = away(&store, 200).await;
        assert!(usual < PATIENCE, "three of them together take {usual:?}");
        let granted = answers.iter().flatten().filter(|taken| taken.granted == Some(1)).count();
        match on_error {
            OnError::Local => assert_eq!((granted, answers.iter().flatten().count()), (5, 200)),
            OnError::Allow => {
                assert_eq!(answers, vec![Ok(Taken { granted: Some(1), levels: [Level::default(); TOGETHER] }); 200])
            }
            OnError::Deny => assert_eq!(answers, vec![Err(Away); 200]),
        }
        assert!(store.status().without >= 600);

        come_back(&mut server);
        until("it is back", || store.status().reachable).await;
        load.iter().for_each(JoinHandle::abort);
        // The server is asked again and knows nothing of those operations.
        let mut answer = Err(Away);
        for _ in 0..100 {
            answer = store.counters.take(&[fixed("load", 5, 600_000)], amount(5, 5)).await;
            if matches!(&answer, Ok(taken) if taken.levels[0].period & (1 << 63) == 0 && taken.levels[0].period != 0) {
                break;
            }
            pause(50).await;
        }
        assert_eq!(answer.unwrap().granted, Some(5));
        tending.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_answering_costs_nobody_its_time() {
    goes_and_comes_back(|server| server.signal(Signal::SIGSTOP), |server| server.signal(Signal::SIGCONT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_costs_nobody_its_time() {
    goes_and_comes_back(Server::kill, Server::restart).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_to_find_it_away_is_the_last_to_wait() {
    let server = Server::start(&[]);
    let patience = Duration::from_secs(1);
    let mut settings = settings(StoreHome::Redis(server.url("")));
    settings.patience = patience;
    let store = Store::open(&settings).unwrap();
    tends_well(&store).await;
    server.signal(Signal::SIGSTOP);
    let began = Instant::now();
    assert_eq!(store.counters.take(&[fixed("first", 5, 60_000)], Amount::ONE).await, Err(Away));
    assert!(began.elapsed() >= patience);
    // It was slow once: the check whether it answers at all takes as long again.
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(store.counters.take(&[fixed("next", 5, 60_000)], Amount::ONE).await, Err(Away));
    }
    assert!(began.elapsed() < patience * 2, "{:?}", began.elapsed());
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(store.counters.take(&[fixed("last", 5, 60_000)], Amount::ONE).await, Err(Away));
    }
    assert!(began.elapsed() < patience, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_does_not_happen_later() {
    let server = Server::start(&[]);
    let store = Store::open(&settings(StoreHome::Redis(server.url("")))).unwrap();
    let limit = fixed("late", 10, 600_000);
    store.tend().await.unwrap();
    server.signal(Signal::SIGSTOP);
    let (counters, records) = (store.counters.clone(), store.records.clone());
    let one = tokio::spawn(async move { counters.take(&[limit], Amount::ONE).await });
    let other = tokio::spawn(async move { records.commit(&record("late")).await });
    assert_eq!(one.await.unwrap(), Err(Away));
    // The commit was sent; whether it arrived in time is unknown.
    assert!(matches!(other.await.unwrap(), Err(NotKept::Unsure(_))));
    server.signal(Signal::SIGCONT);
    tends_well(&store).await;
    let patient = connected(&store.settings()).await;
    assert_eq!(used(&patient, limit).await, 0);
    assert_eq!(patient.records.get("late").await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_settlement_finds_the_count_it_belongs_to() {
    let server = Server::start(&[]);
    let mut settings = settings(StoreHome::Redis(server.url("")));
    settings.on_error = OnError::Local;
    settings.patience = Duration::from_secs(2);
    let store = Store::open(&settings).unwrap();
    let limit = fixed("settled", 10, 600_000);
    tends_well(&store).await;
    let shared = take(&store, &[limit], amount(8, 8)).await;
    server.signal(Signal::SIGSTOP);
    let own = take(&store, &[limit], amount(6, 6)).await;
    assert_eq!(own.granted, Some(6));
    until("it is found away", || !store.status().reachable).await;
    // A settlement of the server's count waits for the server. A local count never reaches it.
    settle(&store, limit, &shared, -5).await;
    settle(&store, limit, &own, -2).await;
    assert_eq!(used(&store, limit).await, 4);
    server.signal(Signal::SIGCONT);
    let tending = tended(&store);
    until("it is back", || store.status().reachable).await;
    let patient = connected(&settings).await;
    let patience = Instant::now() + Duration::from_secs(20);
    while used(&patient, limit).await != 3 {
        assert!(Instant::now() < patience);
        pause(20).await;
    }
    settle(&store, limit, &own, 4).await;
    assert_eq!(used(&patient, limit).await, 3);
    tending.abort();
}

#[tokio::test]
async fn the_operator_is_told_once_for_each_reason() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || written.clone()).with_ansi(false).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // Keep one subscriber alive; otherwise another test's thread that logs first could disable these log calls for
    // good.
    let _other = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish());
    let mut server = Server::start(&["--requirepass", "tell-nobody"]);
    let mut settings = settings(StoreHome::Redis(server.url(":tell-nobody@")));
    settings.patience = Duration::from_secs(5);
    let store = Store::open(&settings).unwrap();
    let said = |what: &str| log.text().matches(what).count();
    let at = format!("Redis at 127.0.0.1:{}/0", server.port);

    store.tend().await.unwrap();
    assert_eq!((said(&format!("{at} is reached")), said("maxmemory-policy")), (1, 0), "{}", log.text());
    server.kill();
    for n in 0..20 {
        assert_eq!(store.counters.take(&[fixed(&n.to_string(), 5, 60_000)], Amount::ONE).await, Err(Away));
        assert!(store.tend().await.is_err());
    }
    assert_eq!((said(&format!("{at} is away")), said("WARN")), (1, 1), "once for each reason: {}", log.text());
    server.restart_with(&["--requirepass", "tell-nobody", "--maxmemory-policy", "allkeys-lru"]);
    tends_well(&store).await;
    assert_eq!((said(&format!("{at} is back after")), said("maxmemory-policy allkeys-lru")), (1, 1), "{}", log.text());
    assert_eq!(said("tell-nobody"), 0);
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
