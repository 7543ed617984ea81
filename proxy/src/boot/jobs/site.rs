//! Background jobs that probe the site: its health, and the well-known paths that it serves itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::{
    dialect::{self, Occupied, Probe, Seen},
    text::hex,
};
use futures_util::future::join_all;
use http::{Method, StatusCode};
use parking_lot::Mutex;

use super::found::{Found, LOOKED, Turn};
use crate::{
    jobs::Job,
    live::{Live, on_config_thread},
    outbound::{Asked, Outbound},
    running::Running,
};

/// How soon the probe runs again after the site did not answer.
const PROBE_AGAIN: Duration = Duration::from_secs(1);
/// The time limit for one probe request.
const QUESTION: Duration = Duration::from_secs(3);

/// Runs active health checks if `upstream.health_path` is set.
pub(super) fn health(live: &Arc<Live>, outbound: &Arc<Outbound>) -> Job {
    let (every, live, outbound) = (live.clone(), live.clone(), outbound.clone());
    Job {
        name: "health",
        to_the_end: false,
        wake: Some(live.new_upstreams()),
        interval: Box::new(move || every.current().snapshot.settings.upstream.health_interval),
        bound: Duration::from_secs(120),
        run: Box::new(move || {
            let (running, outbound) = (live.current(), outbound.clone());
            Box::pin(async move {
                if running.snapshot.settings.upstream.health_path.is_none() {
                    return Ok(());
                }
                // In parallel, so that a silent upstream does not delay the others.
                let checks = (0..running.pool.backends().len()).map(|index| checked(&running, &outbound, index));
                let sick: Vec<String> = join_all(checks).await.into_iter().flatten().collect();
                if sick.is_empty() { Ok(()) } else { Err(sick.join(", ")) }
            })
        }),
    }
}

/// Checks one upstream and records the result. Returns its name if it is unhealthy.
async fn checked(running: &Running, outbound: &Outbound, index: usize) -> Option<String> {
    let upstream = &running.snapshot.settings.upstream;
    let backend = &running.pool.backends()[index];
    let limit = upstream.connect_timeout + QUESTION;
    let head = match backend.peer().await {
        Ok(peer) => {
            let path = upstream.health_path.as_deref()?;
            outbound.head_of(peer, &Asked::at(running, index), path, limit).await.ok()
        }
        Err(_) => None,
    };
    let well = head.is_some_and(|head| head.status.is_success() || head.status.is_redirection());
    running.pool.checked(index, well);
    (!well).then(|| backend.label.clone())
}

/// Finds out which paths of ours the site serves itself, so that ours make way for them (decision 0014).
pub(super) fn probe(live: &Arc<Live>, outbound: &Arc<Outbound>) -> Job {
    let answered = Arc::new(AtomicBool::new(false));
    // The lease of the last round, if that found nothing.
    let lease = Arc::new(Mutex::new(None));
    let (every, live, outbound) = ((live.clone(), answered.clone()), live.clone(), outbound.clone());
    Job {
        name: "probe",
        to_the_end: false,
        wake: Some(live.new_upstreams()),
        interval: Box::new(move || {
            let running = every.0.current();
            let refresh = running.snapshot.settings.content.refresh;
            match every.1.load(Ordering::Relaxed) {
                true if running.store.is_of_this_process() => refresh,
                true => refresh.min(LOOKED),
                false => PROBE_AGAIN,
            }
        }),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let (live, outbound, answered, lease) = (live.clone(), outbound.clone(), answered.clone(), lease.clone());
            Box::pin(async move {
                answered.store(false, Ordering::Relaxed);
                let running = live.current();
                let shared = Found::of(&running);
                let held = lease.lock().take();
                let turn = match &shared {
                    Some(shared) => shared.turn(held).await,
                    None => Turn::Alone,
                };
                let (occupied, failed) = match &turn {
                    Turn::Known(known) => (known.clone(), Vec::new()),
                    Turn::Anothers => return Ok(()),
                    Turn::Ours(_) | Turn::Alone => asked(&live, &running, &outbound).await,
                };
                if let (Some(shared), Turn::Ours(version)) = (&shared, &turn) {
                    if failed.is_empty() {
                        shared.tell(&occupied, *version, running.snapshot.settings.content.refresh).await;
                    } else {
                        *lease.lock() = Some(*version);
                    }
                }
                answered.store(failed.is_empty(), Ordering::Relaxed);
                on_config_thread(move || live.occupy(occupied, &running)).await?;
                if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
            })
        }),
    }
}

/// Requests every path of ours from the site. Returns the paths that it serves, and the reasons where that is unknown.
async fn asked(live: &Live, running: &Running, outbound: &Outbound) -> (Occupied, Vec<String>) {
    let (mut occupied, mut failed) = (Occupied::default(), Vec::new());
    let nowhere = unguessable();
    for probe in dialect::probes(&running.snapshot.settings) {
        match is_own(running, outbound, &probe, &nowhere).await {
            Ok(false) => {}
            Ok(true) => occupied.insert(probe.path),
            Err(why) => {
                // The last finding about this path stays.
                if live.occupied(&probe.path) {
                    occupied.insert(probe.path);
                }
                failed.push(why);
            }
        }
    }
    (occupied, failed)
}

/// Whether the site serves a path itself: it answers differently from a path beside it that cannot exist.
async fn is_own(running: &Running, outbound: &Outbound, probe: &Probe, nowhere: &str) -> Result<bool, String> {
    let methods: &[Method] = if probe.called { &[Method::GET, Method::OPTIONS] } else { &[Method::GET] };
    for method in methods {
        let there = see(running, outbound, method, &probe.path).await?;
        if there.status == StatusCode::NOT_FOUND {
            continue;
        }
        let nothing = see(running, outbound, method, &probe.beside(nowhere)).await?;
        if (probe.is_own)(&there, &nothing) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The site's answer at a path. A server error says nothing about what the site has.
async fn see(running: &Running, outbound: &Outbound, method: &Method, path: &str) -> Result<Seen, String> {
    let index = running.pool.choose(None);
    let peer = running.pool.backends()[index].peer().await.map_err(|_| "its name cannot be resolved")?;
    let seen = outbound.ask(peer, &Asked::at(running, index), method, path, QUESTION).await?;
    match seen.status.is_server_error() && seen.status != StatusCode::NOT_IMPLEMENTED {
        true => Err(format!("{path}: the site answers {}", seen.status)),
        false => Ok(seen),
    }
}

/// A random name that no site has.
fn unguessable() -> String {
    let mut bytes = [0u8; 8];
    // Without randomness the name is merely less unlikely.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    hex(&bytes)
}
