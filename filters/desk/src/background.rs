//! Work that goes on when its caller has been told to come back for it.

use super::{Ask, Authority, Carried, Desk, ESCALATED, Outcome, Talk, ticket::Wish};
use async_trait::async_trait;
use frontdesk_ask::Turn;
use frontdesk_caller::Caller;
use serde_json::{Map, Value};

/// A call that outlives the request that brought it.
#[derive(Debug, Clone)]
pub struct Errand {
    /// Its place in the declaration.
    pub capability: usize,
    pub input: Value,
    pub beside: Map<String, Value>,
    pub caller: Caller,
    pub demands_credential: bool,
    pub confirmation: Option<String>,
    pub idempotency_key: Option<String>,
    pub request_id: String,
    pub dialect: &'static str,
    pub host: String,
    /// How its answer is wanted.
    pub wish: Wish,
}

impl Errand {
    /// The call. `begun` is told when there is nothing left that could stand in its way but the site.
    pub fn ask(&self, begun: Box<dyn FnOnce() + Send + Sync>) -> Ask<'_> {
        const NOTHING: &[Turn] = &[];
        let authority = Authority { demands_credential: self.demands_credential, ..Authority::of(&self.caller) };
        Ask {
            capability: self.capability.into(),
            input: self.input.clone(),
            caller: &self.caller,
            authority,
            confirmation: self.confirmation.as_deref(),
            idempotency_key: self.idempotency_key.as_deref(),
            request_id: &self.request_id,
            dialect: self.dialect,
            host: &self.host,
            talk: Talk { before: NOTHING, ..Talk::default() },
            beside: self.beside.clone(),
            wish: Some(&self.wish),
            begun: Some(begun),
            unnamed: false,
        }
    }
}

/// What is done with an outcome that came when nobody was waiting for it any more.
#[async_trait]
pub trait Finish: Send {
    /// Does it, on the desk where the errand was carried out.
    async fn finish(self: Box<Self>, desk: &Desk<'_>, carried: Carried);

    /// A person had to allow it first, and has: what becomes of it is kept under the ticket that they were asked by.
    fn is_permitted(&mut self, ticket: String);
}

/// More is under way than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Who carries out what goes on in the background.
#[async_trait]
pub trait Background: Send + Sync {
    /// Carries out an errand. What became of it, where that is known before the site is asked; `None` once the site is
    /// being asked: `finish` hears of the rest.
    async fn run(&self, errand: Errand, finish: Box<dyn Finish>) -> Result<Option<Carried>, Busy>;
}

/// The ticket under which a person was asked to allow a call, where that is what became of it.
pub fn permission_of(carried: &Carried) -> Option<&str> {
    let Outcome::Fault(refusal) = &carried.outcome else { return None };
    let details = refusal.details.as_ref().filter(|_| refusal.reason == ESCALATED)?;
    details["ticket"].as_str()
}
