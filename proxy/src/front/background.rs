//! What goes on when the request that brought it is over: so many at a time, on the configuration that began it.

mod permitted;

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use frontdesk_filters::{
    desk::{Background, Busy, Carried, Desk, Errand, Finish, permission_of, ticket::Tickets},
    state::Subject,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use self::permitted::Waiting;
use super::Front;
use crate::{
    outbound::{Carrier, Told, UpstreamTimings},
    running::Running,
    traces::{Place, Span},
};

/// Calls that go on in the background at a time.
const MOST: usize = 256;
/// Those of one caller: the rest of the places are others'.
const OF_ONE: usize = 32;

/// Places for what goes on in the background, a share of them for each caller.
#[derive(Debug, Clone)]
pub struct BackgroundTasks {
    places: Arc<Semaphore>,
    /// How many are taken by whom; nobody stands here with none.
    taken: Arc<Mutex<HashMap<Subject, usize>>>,
}

/// A place that is taken until this is dropped.
pub(super) struct Taken {
    of: BackgroundTasks,
    holder: Subject,
    _permit: OwnedSemaphorePermit,
}

impl BackgroundTasks {
    /// All of them free.
    pub fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MOST)), taken: Arc::default() }
    }

    /// Waits until nothing goes on any more. Nothing can begin from then on.
    pub async fn emptied(&self) {
        if let Ok(all) = self.places.acquire_many(u32::try_from(MOST).unwrap_or(u32::MAX)).await {
            all.forget();
        }
    }

    /// Waits until nothing goes on for a moment.
    pub async fn idle(&self) {
        let _ = self.places.acquire_many(u32::try_from(MOST).unwrap_or(u32::MAX)).await;
    }

    pub(super) fn take(&self, holder: Subject) -> Option<Taken> {
        let mut taken = self.taken.lock();
        let own = taken.get(&holder).copied().unwrap_or(0);
        if own >= OF_ONE {
            return None;
        }
        let permit = self.places.clone().try_acquire_owned().ok()?;
        taken.insert(holder, own + 1);
        Some(Taken { of: self.clone(), holder, _permit: permit })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        let left = taken.get(&self.holder).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            taken.remove(&self.holder);
        } else {
            taken.insert(self.holder, left);
        }
    }
}

/// Where the calls of one request go on.
pub(super) struct TaskContext<'a> {
    pub(super) front: &'a Front,
    pub(super) running: &'a Arc<Running>,
    /// The forwarding headers of the request.
    pub(super) told: &'a (dyn Fn() -> pingora::Result<Told> + Send + Sync),
    /// What they are made for, while traces are made.
    pub(super) trace: Option<&'a Place>,
}

/// Nothing goes on behind what goes on in the background.
pub(super) struct Nothing;

#[async_trait]
impl Background for Nothing {
    async fn run(&self, _: Errand, _: Box<dyn Finish>) -> Result<Option<Carried>, Busy> {
        Err(Busy)
    }
}

#[async_trait]
impl Background for TaskContext<'_> {
    async fn run(&self, errand: Errand, finish: Box<dyn Finish>) -> Result<Option<Carried>, Busy> {
        let place = self.front.errands.take(errand.caller.holder()).ok_or(Busy)?;
        let (said, heard) = oneshot::channel();
        let told = (self.told)().map_err(|_| Busy)?;
        let (front, running) = (self.front.clone(), self.running.clone());
        let span = self.trace.map(Place::desk);
        tokio::spawn(carry_out(front, running, (told, span), errand, finish, said, place));
        // It only ends unheard if it panicked: its outcome is unknown, and the ticket says so in time.
        Ok(heard.await.unwrap_or(None))
    }
}

async fn carry_out(
    front: Front,
    running: Arc<Running>,
    (told, span): (Told, Option<Span>),
    errand: Errand,
    finish: Box<dyn Finish>,
    said: oneshot::Sender<Option<Carried>>,
    _place: Taken,
) {
    let where_from = told.clone();
    let told = || Ok(told.clone());
    let place = span.as_ref().map(|span| span.place().clone());
    // The request that brought it may be over: its access line says nothing of them.
    let (outbound, trace, visits) = (&*front.outbound, place.as_ref(), &UpstreamTimings::default());
    let carrier =
        Carrier { outbound, running: &running, told: &told, client: Some(errand.caller.address), trace, visits };
    let library = front.live.library();
    let desk = front.desk(&running, &carrier, &library, &Nothing);
    // Told once: that the site is being asked, or what became of it before.
    let said = Arc::new(Mutex::new(Some(said)));
    let tickets = Tickets::of(&desk);
    let begun = {
        let said = said.clone();
        Box::new(move || {
            if let Some(said) = said.lock().take() {
                let _ = said.send(None);
            }
        })
    };
    let dialect = errand.dialect;
    let carried = desk.carry_out(errand.ask(begun)).await;
    if let Some(span) = span {
        span.told(Some(&carried.account), Some(dialect));
    }
    let permission = permission_of(&carried).map(str::to_owned);
    if let Some(ticket) = &permission {
        let _ = tickets.wait_for_permission(ticket).await;
    }
    let waiting = said.lock().take();
    let alone = match waiting {
        // The waiting client has left, so the task ends like any other.
        Some(said) => said.send(Some(carried)).err().flatten(),
        None => Some(carried),
    };
    match (alone, permission) {
        (Some(carried), _) => {
            front.count(&carried.account);
            finish.finish(&desk, carried).await;
        }
        (None, Some(ticket)) => {
            let waiting = Waiting { front: front.clone(), running: running.clone(), told: where_from, ticket };
            tokio::spawn(waiting.until_permitted(errand, finish));
        }
        (None, None) => {}
    }
}

impl Front {
    /// The desk, as one call sees it.
    pub(super) fn desk<'a>(
        &'a self,
        running: &'a Running,
        carrier: &'a Carrier<'a>,
        library: &'a frontdesk_filters::concierge::Library,
        background: &'a dyn Background,
    ) -> Desk<'a> {
        Desk {
            compiled: &running.snapshot,
            records: running.store.records.as_ref(),
            holders: self.processes.as_ref(),
            upstream: carrier,
            audit: running.audit.as_deref().map(|log| log as _),
            kept: &self.kept,
            chains: &self.chains,
            counters: running.store.counters.as_ref(),
            under_way: &running.store.under_way,
            library,
            models: self.outbound.as_ref(),
            background,
            outside: self.outbound.as_ref(),
            apart: self,
            token_server: self.outbound.as_ref(),
            harness: running.harness.as_deref(),
            handoff: running.notes.as_ref().map(|notes| notes as _),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_every_place() {
        let errands = BackgroundTasks::new();
        let who = |n: u8| Subject::address([192, 0, 2, n].into());
        let mut places: Vec<Taken> = (0..OF_ONE).filter_map(|_| errands.take(who(1))).collect();
        assert_eq!(places.len(), OF_ONE);
        assert!(errands.take(who(1)).is_none(), "a share is all there is for one");
        assert!(errands.take(who(2)).is_some());
        places.pop();
        assert!(errands.take(who(1)).is_some(), "what is given back can be had again");
        places.extend((2..200).flat_map(|n| std::iter::repeat_n(n, OF_ONE)).filter_map(|n| errands.take(who(n))));
        assert_eq!(places.len(), MOST, "all of them, and no more");
        places.clear();
        assert!(errands.taken.lock().is_empty(), "nobody is remembered for nothing");
    }
}
