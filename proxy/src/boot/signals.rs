//! The signals and commands that end the process, reload its configuration or start a hand-over.

use std::sync::Arc;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::Notify,
};

use super::NotStarted;
use crate::live::{Live, on_config_thread};

/// The requested action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// SIGTERM, or `POST /shutdown`: exit after the requests in flight.
    End,
    /// SIGINT: exit at once.
    EndAtOnce,
    /// SIGQUIT: hand the listeners to a successor.
    HandOver,
}

/// The handled signals.
pub(super) struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
    quit: Signal,
    /// Set by `POST /shutdown` at the admin address.
    pub(super) stop: Arc<Notify>,
    /// SIGTERM has come before.
    was_termed: bool,
}

impl Signals {
    pub(super) fn receive() -> Result<Self, NotStarted> {
        let on = |kind| signal(kind).map_err(|e| NotStarted(vec![format!("signals cannot be received: {e}")]));
        Ok(Self {
            term: on(SignalKind::terminate())?,
            int: on(SignalKind::interrupt())?,
            hup: on(SignalKind::hangup())?,
            quit: on(SignalKind::quit())?,
            stop: Arc::default(),
            was_termed: false,
        })
    }

    /// Waits for the next action. Handles SIGHUP, which reloads, itself.
    pub(super) async fn next(&mut self, live: &Arc<Live>) -> Told {
        loop {
            tokio::select! {
                _ = self.term.recv() => {
                    self.was_termed = true;
                    return Told::End;
                }
                () = self.stop.notified() => return Told::End,
                _ = self.int.recv() => return Told::EndAtOnce,
                _ = self.quit.recv() => return Told::HandOver,
                _ = self.hup.recv() => {
                    let live = live.clone();
                    drop(on_config_thread(move || live.reload()));
                }
            }
        }
    }

    /// Waits for the next action that ends the process while a hand-over is under way.
    pub(super) async fn end(&mut self, live: &Arc<Live>) -> Told {
        loop {
            match self.next(live).await {
                Told::HandOver => {}
                told => return told,
            }
        }
    }

    /// Returns when the operator does not want to wait for requests in flight any longer.
    ///
    /// After `POST /shutdown` the first signal does not count: a pod's end sends one SIGTERM in any case.
    pub(super) async fn impatience(&mut self) {
        loop {
            tokio::select! {
                _ = self.int.recv() => return tracing::warn!("SIGINT: exiting at once"),
                _ = self.term.recv() => {}
            }
            if std::mem::replace(&mut self.was_termed, true) {
                return tracing::warn!("second SIGTERM: exiting at once");
            }
        }
    }
}
