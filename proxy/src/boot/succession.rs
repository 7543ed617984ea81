//! The upgrade from one process to the next: how the new one waits for the listeners and the old one prepares to give
//! them.

use std::{path::PathBuf, sync::Arc};

use frontdesk_filters::chain::Chains;

use super::{
    NotStarted,
    handover::{self, Inherited, Place},
    jobs,
    listeners::Open,
    signals::Signals,
};
use crate::{
    accept::{Gate, Paused},
    front::{background::BackgroundTasks, inflight::InflightLimit},
    live::Live,
};

/// The error for an upgrade without a configured socket.
pub(super) const NO_PLACE: &str =
    "listen.upgrade_socket is not set: it says where a new binary takes the listeners over";

/// The sockets that a service manager or the previous process has bound. Waits for the previous process. `None`: a
/// signal ended the wait.
pub(super) async fn inherited(
    live: &Arc<Live>,
    signals: &mut Signals,
    place: Option<PathBuf>,
) -> Result<Option<Inherited>, NotStarted> {
    let Some(place) = place else {
        let given = Inherited::from_manager().map_err(|e| NotStarted(vec![format!("LISTEN_FDS: {e}")]))?;
        return Ok(Some(given));
    };
    let shown = place.display();
    let failed = |e: &dyn std::fmt::Display| NotStarted(vec![format!("listen.upgrade_socket: {shown}: {e}")]);
    let kept = Place::at(&place).map_err(|e| failed(&e))?;
    let waiting = kept.waiting().map_err(|e| failed(&e))?;
    tracing::info!("upgrade: waiting at {shown} for the listeners; now send SIGQUIT to the running process");
    tokio::select! {
        given = tokio::task::spawn_blocking(waiting) => match given {
            Ok(Ok(given)) => Ok(Some(given)),
            Ok(Err(e)) => Err(failed(&e)),
            Err(e) => Err(failed(&e)),
        },
        _ = signals.end(live) => Ok(None),
    }
}

/// Hands the listeners to a waiting successor. The error says what prevents it.
///
/// With a store of this process alone, this process accepts nothing more once its calls are done. The returned value
/// keeps it so until the process ends.
pub(super) async fn hand_over(
    live: &Arc<Live>,
    open: &Open,
    (gate, entry, errands, chains): (&Arc<Gate>, &InflightLimit, &BackgroundTasks, &Chains),
) -> Result<Option<Paused>, String> {
    let place = live.bound().upgrade_socket.clone().ok_or(NO_PLACE)?;
    if !Place::is_taken(&place) {
        return Err(format!(
            "no successor waits at {}; start one first: frontdesk run --upgrade --config FILE",
            place.display()
        ));
    }
    let running = live.current();
    let mut paused = None;
    if running.store.is_of_this_process() {
        tracing::warn!(
            "store.url is memory: rates, budgets, sessions, idempotency keys, confirmations and answers that wait stay \
             behind and are lost; with a file or Redis the successor goes on with them"
        );
        let limit = running.snapshot.settings.protection.shutdown_timeout;
        let emptied = async {
            entry.close().await;
            errands.idle().await;
        };
        if tokio::time::timeout(limit, emptied).await.is_err() {
            return Err("calls are still under way after shutdown_timeout, and their promises would be lost".to_owned());
        }
        // Otherwise one process would tell clients to retry while the other already serves.
        paused = Some(gate.pause().await);
    }
    let _ = tokio::time::timeout(jobs::LAST_RECORDS, jobs::flush(live, chains)).await;
    let sockets = open.copies().map_err(|e| e.to_string())?;
    let given = tokio::task::spawn_blocking(move || handover::give(&place, &sockets)).await;
    given.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    tracing::info!("upgrade: the new process now serves on our listeners");
    Ok(paused)
}
