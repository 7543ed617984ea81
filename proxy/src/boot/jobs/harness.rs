//! Background jobs that keep the connections to supervising harnesses alive and send them events.
//!
//! No request waits for these jobs. While a harness is unreachable, `on_error` decides about its calls.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::harness::Harness;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{jobs::Job, live::Live, metrics::Metrics};

/// How often the job looks for unreachable harnesses, and how soon it retries.
const LOOK: Duration = Duration::from_secs(1);
/// The interval of heartbeats to a harness.
const BEAT: Duration = Duration::from_secs(30);

/// The state at the last run.
#[derive(Default)]
struct Known {
    away: Vec<String>,
    /// The hash of the configuration.
    hash: String,
    beat: Option<Instant>,
}

/// Sends a greeting to each unreachable harness.
pub(super) fn greet(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics, known) = (live.clone(), metrics.clone(), Arc::<Mutex<Known>>::default());
    Job {
        name: "harness",
        to_the_end: true,
        wake: Some(live.swaps()),
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let (running, metrics, known) = (live.current(), metrics.clone(), known.clone());
            Box::pin(async move {
                let Some(harness) = &running.harness else {
                    metrics.harness_up.reset();
                    return Ok(());
                };
                let beats = known.lock().beat.is_none_or(|last| last.elapsed() >= BEAT);
                let before = std::mem::replace(&mut known.lock().hash, running.snapshot.hash.clone());
                if before != running.snapshot.hash {
                    // Harnesses of the previous configuration have no gauge any more.
                    metrics.harness_up.reset();
                }
                let away = harness.greet(beats).await.err().unwrap_or_default();
                show(harness, &metrics, &known, &away);
                harness.checked(&running.snapshot.hash, || running.warnings());
                if beats {
                    known.lock().beat = Some(Instant::now());
                    harness.beat(running.snapshot.settings.sessions.idle);
                }
                if away.is_empty() { Ok(()) } else { Err(away.join("; ")) }
            })
        }),
    }
}

/// Logs each change between reachable and unreachable once.
fn show(harness: &Harness, metrics: &Metrics, known: &Mutex<Known>, away: &[String]) {
    for link in &harness.links {
        let up = link.greeted().is_some();
        metrics.harness_up.with_label_values(&[&link.name]).set(up.into());
    }
    let mut known = known.lock();
    for why in away.iter().filter(|why| !known.away.contains(why)) {
        match harness.declared().goes_on {
            true => tracing::error!(why, "a harness is unreachable; calls that need its decision go on unsupervised"),
            false => tracing::error!(why, "a harness is unreachable; calls that need its decision get 503"),
        }
    }
    if away.is_empty() && !known.away.is_empty() {
        tracing::info!("every harness is reachable again");
    }
    known.away = away.to_vec();
}

/// Sends waiting events at once and counts the outcomes, also for harnesses of an earlier configuration.
pub(super) fn tell(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics) = (live.clone(), metrics.clone());
    Job {
        name: "harness-events",
        to_the_end: true,
        wake: Some(live.notes()),
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let (harnesses, metrics) = (live.harnesses(), metrics.clone());
            Box::pin(async move {
                let links = harnesses.iter().flat_map(|harness| &harness.links).cloned();
                // In parallel, so that no harness waits for another.
                links.map(|link| async move { link.send().await }).collect::<JoinSet<()>>().join_all().await;
                harnesses.iter().for_each(|harness| count(harness, &metrics));
                Ok(())
            })
        }),
    }
}

fn count(harness: &Harness, metrics: &Metrics) {
    metrics.harness_dropped.inc_by(harness.dropped());
    for ((event, decision), count) in harness.passed.take() {
        metrics.harness_passed.with_label_values(&[event, &decision]).inc_by(count);
    }
}
