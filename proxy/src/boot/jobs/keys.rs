//! The job that fetches the keys of those who issue tokens and of agents that sign: never within a request.

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
    live::{Live, apart},
    outbound::Outbound,
};

/// How often keys are fetched anew; sooner when somebody presents one that is not known.
const KEYS: Duration = Duration::from_secs(300);
/// How soon again when they could not be fetched.
const KEYS_AGAIN: Duration = Duration::from_secs(10);
/// The most bytes of one set of keys.
const KEYS_BOUND: usize = 64 * 1024;
/// How long fetching one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fetches the keys of those who issue tokens and sign requests, all at a time. What was fetched last stays until there
/// is better.
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

/// Fetches one set of keys; what comes back is the URL of one that could not be had.
async fn fetch(live: Arc<Live>, outbound: Arc<Outbound>, url: String) -> Option<String> {
    let fetched = outbound.document(&url, KEYS_BOUND, PATIENCE).await;
    let known = match fetched.and_then(|keys| check_key_set(&keys).map(|()| keys)) {
        Ok(keys) => {
            let url = url.clone();
            apart(move || live.know_keys(url, keys)).await
        }
        Err(why) => Err(why),
    };
    known.err().map(|why| {
        tracing::warn!(url = without_password(&url), why, "keys cannot be fetched; what is known of them stays");
        url
    })
}
