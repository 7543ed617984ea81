//! The end of a process: what it waits for, what may still finish, and what is written last.

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
    front::{behind::Errands, entry::Entry},
    live::Live,
    traces::Traces,
};

/// How long it may take to store the last signed records.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(3);
/// How long it may take to send the last spans.
const LAST_SPANS: Duration = Duration::from_secs(3);
/// How long the last access lines may take.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How long the operator's last answers may take.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What is brought to its end.
pub(super) struct Ending {
    pub(super) live: Arc<Live>,
    pub(super) gate: Arc<Gate>,
    /// The same for the operator's address.
    pub(super) admin_gate: Arc<Gate>,
    pub(super) entry: Arc<Entry>,
    pub(super) errands: Errands,
    pub(super) chains: Arc<Chains>,
    pub(super) draining: Arc<AtomicBool>,
    /// Says that nobody is accepted any more.
    pub(super) drain: watch::Sender<bool>,
    /// The same for the operator's address.
    pub(super) admin_drain: watch::Sender<bool>,
    pub(super) traces: Option<Arc<Traces>>,
    pub(super) access: Arc<AccessLog>,
}

impl Ending {
    /// Waits until the process is told to end, and ends it but for its runtime.
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

    /// How to end: a successor has the listeners, or somebody said so. A successor that does not come changes nothing.
    async fn told(&self, signals: &mut Signals, open: &Open) -> (Told, Option<Paused>) {
        let Self { live, gate, entry, errands, chains, .. } = self;
        loop {
            match signals.next(live).await {
                Told::HandOver => {
                    let handed = tokio::select! {
                        handed = succession::hand_over(live, open, (gate, entry, errands, chains)) => handed,
                        // Whoever wants an end does not wait for a successor.
                        told = signals.end(live) => {
                            entry.open();
                            return (told, None);
                        }
                    };
                    match handed {
                        Ok(paused) => return (Told::HandOver, paused),
                        Err(why) => {
                            entry.open();
                            tracing::error!("SIGQUIT: {why}; nothing has changed, this process goes on");
                        }
                    }
                }
                told => return (told, None),
            }
        }
    }

    /// What runs may finish, for as long as is configured.
    async fn finish(&self, told: &Told, paused: Option<Paused>) {
        let protection = self.live.current().snapshot.settings.protection.clone();
        let delay = if *told == Told::HandOver { Duration::ZERO } else { protection.shutdown_delay };
        let limit = protection.shutdown_timeout;
        tracing::info!(?delay, ?limit, "ending: what runs may finish");
        tokio::time::sleep(delay).await;
        if *told == Told::HandOver {
            // The operator's address is the successor's too.
            let _ = self.admin_drain.send(true);
        }
        let _ = self.drain.send(true);
        drop(paused);
        let finished = async {
            self.gate.emptied().await;
            // Every place is free: nothing goes on in the background any more.
            self.errands.emptied().await;
        };
        if tokio::time::timeout(limit, finished).await.is_err() {
            tracing::warn!("shutdown_timeout is over; what still runs is cut off");
        }
    }

    /// What has been noted and not yet written is.
    async fn close(self) {
        let _ = self.admin_drain.send(true);
        if tokio::time::timeout(LAST_RECORDS, jobs::flush(&self.live, &self.chains)).await.is_err() {
            tracing::error!(lost = self.chains.waiting(), "signed records could not be stored before the end");
        }
        if tokio::time::timeout(LAST_RECORDS, jobs::flush_ends(&self.live)).await.is_err() {
            let lost = self.live.current().store.status().waiting;
            tracing::error!(lost, "what became of calls could not be kept before the end: the store is away");
        }
        if let Some(traces) = self.traces {
            traces.end(LAST_SPANS).await;
        }
        self.access.flush(LAST_LINES);
        if let Some(audit) = self.live.current().audit.clone() {
            let _ = tokio::task::spawn_blocking(move || audit.close()).await;
        }
        // Whoever asked for the end by `POST /shutdown` is told that it comes.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.admin_gate.emptied()).await;
        tracing::info!("ended");
    }
}
