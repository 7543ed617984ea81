//! A call in the background that a person has to allow: it waits here, and is carried out once when they have.
//!
//! It waits in memory. If this process ends first, or the configuration is another by then, the caller learns that it is allowed
//! and has to be asked for again.

use std::{sync::Arc, time::Duration};

use frontdesk_filters::desk::{
    Carried, Errand, Finish, Outcome,
    ticket::{Permission, Tickets},
};
use tokio::{sync::Semaphore, time::sleep};

use super::{Front, Nothing, Taken};
use crate::{
    outbound::{Carrier, Told, UpstreamTimings},
    running::Running,
};

/// Calls that wait at a time.
const MOST: usize = 256;
/// How often it is looked whether a person has decided.
const LOOK: Duration = Duration::from_secs(1);

static PLACES: Semaphore = Semaphore::const_new(MOST);

/// A call that waits.
pub(super) struct Waiting {
    pub(super) front: Front,
    pub(super) running: Arc<Running>,
    pub(super) told: Told,
    /// Under which a person was asked.
    pub(super) ticket: String,
}

impl Waiting {
    /// Carries the call out when it is allowed.
    pub(super) async fn until_permitted(self, errand: Errand, mut finish: Box<dyn Finish>) {
        let Ok(_room) = PLACES.try_acquire() else { return };
        let Some(place) = self.permitted(&errand).await else { return };
        let Self { front, running, told, ticket } = self;
        let told = || Ok(told.clone());
        let (outbound, visits) = (&*front.outbound, &UpstreamTimings::default());
        let client = Some(errand.caller.address);
        let carrier = Carrier { outbound, running: &running, told: &told, client, trace: None, visits };
        let library = front.live.library();
        let desk = front.desk(&running, &carrier, &library, &Nothing);
        let carried: Carried = desk.carry_out(errand.ask(Box::new(|| {}))).await;
        if let Outcome::Fault(refusal) = &carried.outcome {
            tracing::warn!(reason = refusal.reason, "a call that a person had allowed was not carried out");
        }
        front.count(&carried.account);
        finish.is_permitted(ticket);
        finish.finish(&desk, carried).await;
        drop(place);
    }

    /// Waits for a person's word, and then for a place among what goes on in the background. `None`: it is not to be
    /// carried out, or not from here.
    async fn permitted(&self, errand: &Errand) -> Option<Taken> {
        loop {
            sleep(LOOK).await;
            let Self { front, running, ticket, .. } = self;
            // The call is declared by its place in a configuration.
            if front.live.current().snapshot.hash != running.snapshot.hash {
                return None;
            }
            let tickets = Tickets {
                records: running.store.records.as_ref(),
                holders: front.processes.as_ref(),
                lasts: running.snapshot.settings.sessions.results,
                compiled: &running.snapshot,
                harness: running.harness.as_deref(),
            };
            match tickets.permission(ticket).await {
                Ok(Permission::Over) => return None,
                Ok(Permission::Given) => {}
                Ok(Permission::Waits) | Err(_) => continue,
            }
            let Some(place) = front.errands.take(errand.caller.holder()) else { continue };
            match tickets.claim(ticket).await {
                Ok(true) => return Some(place),
                Ok(false) => return None,
                Err(_) => {}
            }
        }
    }
}
