//! The table of background jobs, with their intervals.

mod audit;
mod chains;
mod found;
#[cfg(feature = "handoff")]
mod handoff;
mod harness;
mod keys;
mod read;
mod sample_counters;
mod site;
mod store;
mod vectors;

pub(super) use chains::flush;
pub(super) use store::flush_ends;

use std::{sync::Arc, time::Duration};

use frontdesk_filters::chain::Chains;
use tokio::sync::watch;

use crate::{
    jobs::{Job, supervise},
    live::{Live, on_config_thread},
    metrics::Metrics,
    outbound::Outbound,
    reader::Reader,
    watch::Watch,
};

/// The time limit for storing the last signed records.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(3);
/// How often the job looks at files. It acts on a change that it has seen twice.
const LOOK: Duration = Duration::from_millis(500);
/// How often the job resolves upstream names again.
const RESOLVE: Duration = Duration::from_secs(10);

/// How often the job looks for closed idle connections.
const SWEEP: Duration = Duration::from_secs(1);

/// Starts all jobs.
pub(super) fn start(
    live: &Arc<Live>,
    metrics: &Arc<Metrics>,
    outbound: &Arc<Outbound>,
    chains: &Arc<Chains>,
    drain: &watch::Receiver<bool>,
) {
    let reader = Reader::new(live, outbound, metrics, drain);
    let jobs = vec![
        look(live),
        resolve(live),
        sweep(live),
        site::health(live, outbound),
        site::probe(live, outbound),
        keys::keys(live, outbound),
        store::tend(live, metrics),
        audit::tell(live, metrics),
        chains::store(live, metrics, chains),
        harness::greet(live, metrics),
        harness::tell(live, metrics),
        sample_counters::sample(metrics),
        read::read(live, reader.clone()),
        vectors::make(reader),
    ];
    #[cfg(feature = "handoff")]
    let jobs = jobs.into_iter().chain([handoff::look(live)]).collect();
    supervise(jobs, metrics, drain);
}

fn look(live: &Arc<Live>) -> Job {
    let watch = Watch::new(live.clone());
    Job {
        name: "watch",
        to_the_end: false,
        wake: None,
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let watch = watch.clone();
            Box::pin(on_config_thread(move || watch.look()))
        }),
    }
}

fn resolve(live: &Arc<Live>) -> Job {
    let live = live.clone();
    Job {
        name: "resolve",
        to_the_end: false,
        wake: Some(live.new_upstreams()),
        interval: Box::new(|| RESOLVE),
        bound: Duration::from_secs(60),
        run: Box::new(move || {
            let pool = live.current().pool.clone();
            Box::pin(async move { if pool.resolve().await { Ok(()) } else { Err("a name cannot be resolved".into()) } })
        }),
    }
}

fn sweep(live: &Arc<Live>) -> Job {
    let live = live.clone();
    Job {
        name: "sweep",
        to_the_end: true,
        wake: None,
        interval: Box::new(|| SWEEP),
        bound: Duration::from_secs(1),
        run: Box::new(move || {
            live.current().pool.sweep();
            Box::pin(async { Ok(()) })
        }),
    }
}
