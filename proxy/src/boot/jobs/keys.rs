//! The background job that fetches public keys of token issuers and of agents that sign requests, outside of requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use frontdesk_filters::{
    caller::{check_key_set, is_at_home, keys_url, metadata_urls},
    desk::Outside,
    site::without_password,
};
use tokio::{task::JoinSet, time::timeout};

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
                let settings = &running.snapshot.settings;
                let issuers: Vec<&str> = settings.issuers().into_iter().map(|issuer| issuer.url).collect();
                for url in settings.key_urls() {
                    let is_issuer = issuers.contains(&url);
                    fetches.spawn(fetch(live.clone(), outbound.clone(), url.to_owned(), is_issuer));
                }
                let missing: Vec<String> = fetches.join_all().await.into_iter().flatten().collect();
                complete.store(missing.is_empty(), Ordering::Relaxed);
                if missing.is_empty() { Ok(()) } else { Err(missing.join(", ")) }
            })
        }),
    }
}

/// Fetches one key set, of an issuer by its metadata. Returns its URL on failure.
async fn fetch(live: Arc<Live>, outbound: Arc<Outbound>, url: String, is_issuer: bool) -> Option<String> {
    let fetched = match is_issuer {
        // Its metadata and its keys have one limit, so that an issuer that is slow keeps no others' new keys waiting.
        true => match timeout(PATIENCE * 2, keys_of_issuer(&outbound, &url)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(format!("no keys within {:?}", PATIENCE * 2)),
        },
        false => outbound.document(&url, KEYS_BOUND, PATIENCE).await,
    };
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

/// The keys of an issuer, where its metadata says: at its own server, or at a public address.
async fn keys_of_issuer(outbound: &Outbound, issuer: &str) -> Result<Bytes, String> {
    let mut why = "it is no address".to_owned();
    for url in metadata_urls(issuer) {
        match outbound.document(&url, KEYS_BOUND, PATIENCE).await.and_then(|said| keys_url(issuer, &said)) {
            Ok(keys) if is_at_home(issuer, &keys) => return outbound.document(&keys, KEYS_BOUND, PATIENCE).await,
            // The operator did not declare this server.
            Ok(keys) => return Outside::document(outbound, &keys, KEYS_BOUND).await,
            Err(other) => why = format!("{url}: {other}"),
        }
    }
    Err(why)
}
