//! The jobs that keep whoever is asked before something risky happens within reach, and tell them what has happened.
//!
//! Nobody who calls waits for either: what nobody can decide on is closed meanwhile.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::harness::Harness;
use parking_lot::Mutex;

use crate::{admin::metrics::Metrics, jobs::Job, live::Live};

/// How often it is looked whether somebody is away, and how soon again.
const LOOK: Duration = Duration::from_secs(1);
/// How often they hear that we are still here.
const BEAT: Duration = Duration::from_secs(30);

/// What was known the last time.
#[derive(Default)]
struct Known {
    away: Vec<String>,
    /// The configuration, and the one that they were told of.
    hash: String,
    told: String,
    beat: Option<Instant>,
}

/// Greets those who are away.
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
                    // Those of another configuration are nobody's any more.
                    metrics.harness_up.reset();
                }
                let away = harness.greet(beats).await.err().unwrap_or_default();
                show(harness, &metrics, &known, &away);
                let mut known = known.lock();
                if away.is_empty() && known.told != running.snapshot.hash {
                    known.told.clone_from(&running.snapshot.hash);
                    harness.checked(&running.snapshot.hash, &running.warnings());
                }
                if beats {
                    known.beat = Some(Instant::now());
                    harness.beat();
                }
                if away.is_empty() { Ok(()) } else { Err(away.join("; ")) }
            })
        }),
    }
}

/// Says once who went and who came back.
fn show(harness: &Harness, metrics: &Metrics, known: &Mutex<Known>, away: &[String]) {
    for link in &harness.links {
        let up = link.greeted().is_some();
        metrics.harness_up.with_label_values(&[&link.name]).set(up.into());
    }
    metrics.harness_dropped.inc_by(harness.telemetry.dropped());
    for ((event, decision), count) in harness.passed.take() {
        metrics.harness_passed.with_label_values(&[event, &decision]).inc_by(count);
    }
    let mut known = known.lock();
    for why in away.iter().filter(|why| !known.away.contains(why)) {
        tracing::error!(why, "a harness cannot be asked; what it has to decide on is closed");
    }
    if away.is_empty() && !known.away.is_empty() {
        tracing::info!("every harness can be asked again");
    }
    known.away = away.to_vec();
}

/// Tells what there is to tell, as soon as there is something.
pub(super) fn tell(live: &Arc<Live>) -> Job {
    let live = live.clone();
    Job {
        name: "harness-events",
        to_the_end: true,
        wake: Some(live.notes()),
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let harness = live.current().harness.clone();
            Box::pin(async move {
                if let Some(harness) = harness {
                    harness.send().await;
                }
                Ok(())
            })
        }),
    }
}
