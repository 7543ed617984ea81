//! The background job that stores signed records, in order and in batches, outside of requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::{chain::Chains, state::NotKept};
use tokio::{sync::watch, time::sleep};

use crate::{jobs::Job, live::Live, metrics::Metrics, running::Running};

/// How often the job looks for expired records, and how soon it retries after the store took nothing. A store that is
/// away fails at once, and its own breaker finds out when it is back.
const LOOK: Duration = Duration::from_secs(1);
/// How long the first record waits for others to join its batch.
const GATHER: Duration = Duration::from_millis(3);
/// The most commits of one run.
const COMMITS: usize = 32;
/// One run takes at most this part (1/4) of the store's room, and at most so many bytes.
const MOST_SHARE: usize = 4;
const MOST: usize = 64 * 1024 * 1024;

/// Stores waiting records as soon as there are some.
pub(super) fn store(live: &Arc<Live>, metrics: &Arc<Metrics>, chains: &Arc<Chains>) -> Job {
    let (waits, wake) = watch::channel(());
    chains.on_append(move || waits.send_replace(()));
    let failed = Arc::new(AtomicBool::new(false));
    let every = (chains.clone(), failed.clone());
    let (live, metrics, chains) = (live.clone(), metrics.clone(), chains.clone());
    Job {
        name: "chains",
        to_the_end: true,
        wake: Some(wake),
        // If one run could not store everything, the next run follows at once.
        interval: Box::new(move || match every.0.waiting() > 0 && !every.1.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => LOOK,
        }),
        bound: Duration::from_secs(30),
        run: Box::new(move || {
            let (running, metrics) = (live.current(), metrics.clone());
            let (chains, failed) = (chains.clone(), failed.clone());
            Box::pin(async move {
                if chains.waiting() > 0 {
                    sleep(GATHER).await;
                }
                let stored = run(&running, &chains).await;
                metrics.chain_waiting.set(i64::try_from(chains.waiting()).unwrap_or(i64::MAX));
                let before = failed.swap(stored.is_err(), Ordering::Relaxed);
                let waiting = chains.waiting();
                match stored {
                    Ok(()) if before => tracing::info!("signed records can be stored again"),
                    Ok(()) => {}
                    Err(why) if !before && waiting > 0 => {
                        tracing::error!(
                            waiting,
                            why,
                            "signed records cannot be stored; what needs one will be refused"
                        );
                    }
                    Err(_) => {}
                }
                stored.map_err(str::to_owned)
            })
        }),
    }
}

async fn run(running: &Running, chains: &Chains) -> Result<(), &'static str> {
    for _ in 0..COMMITS {
        match commit(running, chains).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(NotKept::Away | NotKept::Unsure(_)) => return Err("the store is away"),
            Err(NotKept::Full) => return Err("the store is full"),
        }
    }
    Ok(())
}

async fn commit(running: &Running, chains: &Chains) -> Result<usize, NotKept> {
    let most = MOST.min(running.store.settings().max_records / MOST_SHARE);
    chains.store(running.store.records.as_ref(), most).await
}

/// Stores the remaining records at exit, when no new ones can come.
pub(in crate::boot) async fn flush(live: &Live, chains: &Chains) {
    let running = live.current();
    while chains.waiting() > 0 {
        if !matches!(commit(&running, chains).await, Ok(1..)) {
            // The job is storing them, or the store is away.
            sleep(Duration::from_millis(20)).await;
        }
    }
}
