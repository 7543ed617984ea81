//! The background job that fetches public keys of token issuers and of agents that sign requests, outside of requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::{caller::check_key_set, site::without_password};
use tokio::task::JoinSet;

use crate::{
    jobs::Job,
    live::{Live, on_config_thread},
    outbound::Outbound,
};

/// How often the job fetches keys. A request with an unknown key makes it fetch sooner.
const KEYS: Duration = Duration::from_secs(300);
/// How soon the job retries after a failure.
const KEYS_AGAIN: Duration = Duration::from_secs(10);
/// The largest key set in bytes.
const KEYS_BOUND: usize = 64 * 1024;
/// The time limit for one fetch.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fetches all key sets in parallel: those of token issuers and those of agents that sign. A failed fetch keeps the
/// last keys.
pub(super) fn keys(live: &Arc<Live>, outbound: &Arc<Outbound>) -> Job {
    let complete = Arc::new(AtomicBool::new(false));
    let (every, live, outbound) = (complete.clone(), live.clone(), outbound.clone());
    Job {
        name: "keys",
        to_the_end: false,
        wake: Some(live.keys_wanted()),
        interval: Box::new(move || if every.load(Ordering::Relaxed) { KEYS } else { KEYS_AGAIN }),
        bound: PATIENCE * 3,
        run: Box::new(move || {
            let (live, outbound, complete) = (live.clone(), outbound.clone(), complete.clone());
            Box::pin(async move {
                let running = live.current();
                let mut fetches = JoinSet::new();
                for url in running.snapshot.settings.key_urls() {
                    fetches.spawn(fetch(live.clone(), outbound.clone(), url.to_owned()));
                }
                let missing: Vec<String> = fetches.join_all().await.into_iter().flatten().collect();
                complete.store(missing.is_empty(), Ordering::Relaxed);
                if missing.is_empty() { Ok(()) } else { Err(missing.join(", ")) }
            })
        }),
    }
}

/// Fetches one key set. Returns its URL on failure.
async fn fetch(live: Arc<Live>, outbound: Arc<Outbound>, url: String) -> Option<String> {
    let fetched = outbound.document(&url, KEYS_BOUND, PATIENCE).await;
    let known = match fetched.and_then(|keys| check_key_set(&keys).map(|()| keys)) {
        Ok(keys) => {
            let url = url.clone();
            on_config_thread(move || live.know_keys(url, keys)).await
        }
        Err(why) => Err(why),
    };
    known.err().map(|why| {
        tracing::warn!(url = without_password(&url), why, "keys cannot be fetched; the last keys stay in use");
        url
    })
}
