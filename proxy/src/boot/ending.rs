//! Ends the process in order: stops accepting, waits for requests in flight, and writes the last records.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::chain::Chains;
use sd_notify::NotifyState;
use tokio::sync::watch;

use super::{
    jobs,
    listeners::Open,
    signals::{Signals, Told},
    succession,
};
use crate::{
    accept::{Gate, Paused},
    access::AccessLog,
    front::{background::BackgroundTasks, inflight::InflightLimit},
    live::Live,
    traces::Traces,
};

/// The time limit for sending the last spans.
const LAST_SPANS: Duration = Duration::from_secs(3);
/// The time limit for writing the last access lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The time limit for the last answers at the admin address.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The parts that have to end in order.
pub(super) struct Ending {
    pub(super) live: Arc<Live>,
    pub(super) gate: Arc<Gate>,
    /// The same for the admin address.
    pub(super) admin_gate: Arc<Gate>,
    pub(super) entry: Arc<InflightLimit>,
    pub(super) errands: BackgroundTasks,
    pub(super) chains: Arc<Chains>,
    pub(super) draining: Arc<AtomicBool>,
    /// Tells connections that no new ones are accepted.
    pub(super) drain: watch::Sender<bool>,
    /// The same for the admin address.
    pub(super) admin_drain: watch::Sender<bool>,
    pub(super) traces: Option<Arc<Traces>>,
    pub(super) access: Arc<AccessLog>,
}

impl Ending {
    /// Waits for the request to end, and ends everything but the runtime.
    pub(super) async fn come(self, signals: &mut Signals, open: &Open) {
        let (told, paused) = self.told(signals, open).await;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        if told != Told::EndAtOnce {
            self.draining.store(true, Ordering::Relaxed);
            tokio::select! {
                () = self.finish(&told, paused) => {}
                () = signals.impatience() => {}
            }
        }
        self.close().await;
    }

    /// Waits for a signal, or for a hand-over to succeed. A failed hand-over changes nothing.
    async fn told(&self, signals: &mut Signals, open: &Open) -> (Told, Option<Paused>) {
        let Self { live, gate, entry, errands, chains, .. } = self;
        loop {
            match signals.next(live).await {
                Told::HandOver => {
                    let handed = tokio::select! {
                        handed = succession::hand_over(live, open, (gate, entry, errands, chains)) => handed,
                        // A signal to end wins over waiting for a successor.
                        told = signals.end(live) => {
                            entry.open();
                            return (told, None);
                        }
                    };
                    match handed {
                        Ok(paused) => return (Told::HandOver, paused),
                        Err(why) => {
                            entry.open();
                            tracing::error!("SIGQUIT: {why}; no hand-over took place, this process keeps serving");
                        }
                    }
                }
                told => return (told, None),
            }
        }
    }

    /// Waits for requests in flight, within the configured limit.
    async fn finish(&self, told: &Told, paused: Option<Paused>) {
        let protection = self.live.current().snapshot.settings.protection.clone();
        let delay = if *told == Told::HandOver { Duration::ZERO } else { protection.shutdown_delay };
        let limit = protection.shutdown_timeout;
        tracing::info!(?delay, ?limit, "shutting down: draining requests in flight");
        tokio::time::sleep(delay).await;
        if *told == Told::HandOver {
            // The successor listens on the admin address too.
            let _ = self.admin_drain.send(true);
        }
        let _ = self.drain.send(true);
        drop(paused);
        let finished = async {
            self.gate.emptied().await;
            // All permits are free, so no background task runs any more.
            self.errands.emptied().await;
        };
        if tokio::time::timeout(limit, finished).await.is_err() {
            tracing::warn!("shutdown_timeout is over: cutting off the requests still in flight");
        }
    }

    /// Writes everything that waits to be written.
    async fn close(self) {
        let _ = self.admin_drain.send(true);
        if tokio::time::timeout(jobs::LAST_RECORDS, jobs::flush(&self.live, &self.chains)).await.is_err() {
            tracing::error!(lost = self.chains.waiting(), "could not store signed records before exit");
        }
        if tokio::time::timeout(jobs::LAST_RECORDS, jobs::flush_ends(&self.live)).await.is_err() {
            let lost = self.live.current().store.status().waiting;
            tracing::error!(lost, "could not store the results of calls before exit: the store is away");
        }
        if let Some(traces) = self.traces {
            traces.end(LAST_SPANS).await;
        }
        self.access.flush(LAST_LINES);
        if let Some(audit) = self.live.current().audit.clone() {
            let _ = tokio::task::spawn_blocking(move || audit.close()).await;
        }
        // The client of `POST /shutdown` still gets its answer.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.admin_gate.emptied()).await;
        tracing::info!("ended");
    }
}
