//! What a process is told from outside: to end, to read its configuration anew, to hand over.

use std::sync::Arc;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::Notify,
};

use super::NotStarted;
use crate::live::{Live, apart};

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// SIGTERM, or `POST /shutdown`: end; what runs may finish.
    End,
    /// SIGINT: end at once.
    EndAtOnce,
    /// SIGQUIT: give the listeners to a successor.
    HandOver,
}

/// The signals that mean something here.
pub(super) struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
    quit: Signal,
    /// The operator's word at the admin address.
    pub(super) stop: Arc<Notify>,
    /// SIGTERM came before.
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

    /// The next one that is not SIGHUP, which reloads.
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
                    drop(apart(move || live.reload()));
                }
            }
        }
    }

    /// The next one that ends the process, if it does something already that SIGQUIT asks for.
    pub(super) async fn end(&mut self, live: &Arc<Live>) -> Told {
        loop {
            match self.next(live).await {
                Told::HandOver => {}
                told => return told,
            }
        }
    }

    /// Returns when somebody who was told to wait for what runs does not want to wait any longer.
    ///
    /// Whoever asked for the end by `POST /shutdown` said nothing by a signal yet: the one that comes with the end of a pod
    /// is the first.
    pub(super) async fn impatience(&mut self) {
        loop {
            tokio::select! {
                _ = self.int.recv() => return tracing::warn!("told to end at once"),
                _ = self.term.recv() => {}
            }
            if std::mem::replace(&mut self.was_termed, true) {
                return tracing::warn!("told to end a second time by SIGTERM: at once");
            }
        }
    }
}
