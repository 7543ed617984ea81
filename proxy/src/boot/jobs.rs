//! The table of background jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::dialect::Occupied;
use http::{HeaderValue, StatusCode};
use tokio::sync::watch;

use crate::{
    admin::metrics::Metrics,
    jobs::{Job, supervise},
    live::{Live, Running},
    outbound::{Asked, Outbound},
    watch::Watch,
};

/// How often files are looked at; a change is acted on when it has been seen twice.
const LOOK: Duration = Duration::from_millis(500);
/// How often names are resolved anew.
const RESOLVE: Duration = Duration::from_secs(10);
/// How soon the site is asked again for documents of its own when it did not answer.
const PROBE_AGAIN: Duration = Duration::from_secs(5);
/// How long one question to the site may take.
const QUESTION: Duration = Duration::from_secs(3);

/// Starts them all.
pub(super) fn start(live: &Arc<Live>, metrics: &Arc<Metrics>, drain: &watch::Receiver<bool>) {
    let outbound = Outbound::new();
    let jobs = vec![look(live), resolve(live), health(live, &outbound), probe(live, &outbound)];
    supervise(jobs, metrics, drain);
}

fn look(live: &Arc<Live>) -> Job {
    let watch = Watch::new(live.clone());
    Job {
        name: "watch",
        wake: None,
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let watch = watch.clone();
            Box::pin(async move { tokio::task::spawn_blocking(move || watch.look()).await.map_err(|e| e.to_string()) })
        }),
    }
}

fn resolve(live: &Arc<Live>) -> Job {
    let live = live.clone();
    Job {
        name: "resolve",
        wake: Some(live.new_upstreams()),
        interval: Box::new(|| RESOLVE),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let pool = live.current().pool.clone();
            Box::pin(async move { if pool.resolve().await { Ok(()) } else { Err("a name cannot be resolved".into()) } })
        }),
    }
}

/// Active checks, where `upstream.health_path` asks for them.
fn health(live: &Arc<Live>, outbound: &Arc<Outbound>) -> Job {
    let (every, live, outbound) = (live.clone(), live.clone(), outbound.clone());
    Job {
        name: "health",
        wake: Some(live.new_upstreams()),
        interval: Box::new(move || every.current().snapshot.settings.upstream.health_interval),
        bound: Duration::from_secs(120),
        run: Box::new(move || {
            let (running, outbound) = (live.current(), outbound.clone());
            Box::pin(async move {
                let upstream = &running.snapshot.settings.upstream;
                let Some(path) = &upstream.health_path else { return Ok(()) };
                let mut sick = Vec::new();
                for (index, backend) in running.pool.backends().iter().enumerate() {
                    let asked = asked(&running, index);
                    let limit = upstream.connect_timeout + QUESTION;
                    let well = match backend.peer().await {
                        Some(peer) => outbound
                            .head_of(peer, &asked, path, limit)
                            .await
                            .is_ok_and(|head| head.status.is_success() || head.status.is_redirection()),
                        None => false,
                    };
                    running.pool.checked(index, well);
                    if !well {
                        sick.push(backend.label.clone());
                    }
                }
                if sick.is_empty() { Ok(()) } else { Err(sick.join(", ")) }
            })
        }),
    }
}

/// Whether the site has documents of its own where ours would be (decision 14).
fn probe(live: &Arc<Live>, outbound: &Arc<Outbound>) -> Job {
    let answered = Arc::new(AtomicBool::new(false));
    let (every, live, outbound) = ((live.clone(), answered.clone()), live.clone(), outbound.clone());
    Job {
        name: "probe",
        wake: Some(live.new_upstreams()),
        interval: Box::new(move || match every.1.load(Ordering::Relaxed) {
            true => every.0.current().snapshot.settings.content.refresh,
            false => PROBE_AGAIN,
        }),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let (live, outbound, answered) = (live.clone(), outbound.clone(), answered.clone());
            Box::pin(async move {
                answered.store(false, Ordering::Relaxed);
                let running = live.current();
                let mut occupied = Occupied::default();
                let nowhere = format!("/.well-known/{}", unguessable());
                let index = running.pool.choose(None);
                let peer = running.pool.backends()[index].peer().await.ok_or("its name cannot be resolved")?;
                let control = outbound.head_of(peer, &asked(&running, index), &nowhere, QUESTION).await?;
                if control.status.is_server_error() {
                    return Err(format!("the site answers {}", control.status));
                }
                for (path, is_document) in Occupied::probed() {
                    let index = running.pool.choose(None);
                    let peer = running.pool.backends()[index].peer().await.ok_or("its name cannot be resolved")?;
                    let head = outbound.head_of(peer, &asked(&running, index), path, QUESTION).await?;
                    if head.status.is_server_error() {
                        return Err(format!("{path}: the site answers {}", head.status));
                    }
                    // A site that answers whatever it is asked with the same has no document there.
                    let kind = head.kind();
                    let anything = control.status == StatusCode::OK && control.kind() == kind;
                    if head.status == StatusCode::OK && is_document(kind) && !anything {
                        occupied.insert(path);
                    }
                }
                answered.store(true, Ordering::Relaxed);
                tokio::task::spawn_blocking(move || live.occupy(occupied, &running.pool))
                    .await
                    .map_err(|e| e.to_string())
            })
        }),
    }
}

/// A name that no site has.
fn unguessable() -> String {
    let mut bytes = [0u8; 8];
    // Without randomness the name is only less unlikely.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// As whom and how a question of ours asks: the site's own name where its name is kept, else the upstream's.
fn asked(running: &Running, index: usize) -> Asked {
    let settings = &running.snapshot.settings;
    // Many sites redirect what did not come over TLS, as far as they are told.
    let origin_is_tls = settings.site.origin.as_deref().is_some_and(|origin| origin.starts_with("https://"));
    let tls = origin_is_tls || !settings.listen.https.is_empty();
    let own = settings.site.origin.as_deref().filter(|_| settings.upstream.preserve_host);
    let host = own
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, rest)| rest.split('/').next().unwrap_or(rest))
        .and_then(|authority| HeaderValue::from_str(authority).ok())
        .unwrap_or_else(|| running.pool.backends()[index].authority.clone());
    Asked { host, tls }
}
