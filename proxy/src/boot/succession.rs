//! One process after another on the same listeners: what the new one waits for, and what the old one sees to first.

use std::{path::PathBuf, sync::Arc};

use frontdesk_filters::chain::Chains;

use super::{
    NotStarted,
    ending::LAST_RECORDS,
    handover::{self, Inherited, Place},
    jobs,
    listeners::Open,
    signals::Signals,
};
use crate::{
    accept::{Gate, Paused},
    front::{behind::Errands, entry::Entry},
    live::Live,
};

/// Said to whoever wants to hand over, or to take over, without a place for it.
pub(super) const NO_PLACE: &str =
    "listen.upgrade_socket is not set: it says where a new binary takes the listeners over";

/// The sockets that are bound already: by a service manager, or by the process before this one, which is waited for.
/// `None`: told to end in the meantime.
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
    tracing::info!("waiting at {shown} for the listeners; send SIGQUIT to the process that has them");
    tokio::select! {
        given = tokio::task::spawn_blocking(waiting) => match given {
            Ok(Ok(given)) => Ok(Some(given)),
            Ok(Err(e)) => Err(failed(&e)),
            Err(e) => Err(failed(&e)),
        },
        _ = signals.end(live) => Ok(None),
    }
}

/// Gives the listeners to a successor that waits for them. The error says what is in the way.
///
/// With a store of this process alone nobody is accepted here from the moment the calls are done: what is returned keeps
/// it so, until this process begins to end.
pub(super) async fn hand_over(
    live: &Arc<Live>,
    open: &Open,
    (gate, entry, errands, chains): (&Arc<Gate>, &Entry, &Errands, &Chains),
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
        // Else some would be told to come back by the one, while the other serves already.
        paused = Some(gate.pause().await);
    }
    let _ = tokio::time::timeout(LAST_RECORDS, jobs::flush(live, chains)).await;
    let sockets = open.copies().map_err(|e| e.to_string())?;
    let given = tokio::task::spawn_blocking(move || handover::give(&place, &sockets)).await;
    given.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    tracing::info!("a successor serves on our listeners");
    Ok(paused)
}
