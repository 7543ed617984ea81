//! Background tasks: calls that outlive the request that brought them.

use super::{Ask, Authority, Carried, Desk, ESCALATED, Outcome, Talk, ticket::Wish};
use async_trait::async_trait;
use frontdesk_ask::Turn;
use frontdesk_caller::Caller;
use serde_json::{Map, Value};

/// A call that outlives the request that brought it.
#[derive(Debug, Clone)]
pub struct Errand {
    /// Its index in the declaration.
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
    /// How the caller wants the answer delivered.
    pub wish: Wish,
}

impl Errand {
    /// The call. `begun` runs once every check has passed and only the site is left to ask.
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

/// Stores the outcome of a background task, for which no client waits.
#[async_trait]
pub trait Finish: Send {
    /// Stores the outcome, on the desk that ran the task.
    async fn finish(self: Box<Self>, desk: &Desk<'_>, carried: Carried);

    /// A person had to approve the call and did. The outcome is stored under the ticket of that approval.
    fn is_permitted(&mut self, ticket: String);
}

/// The limit of concurrent background tasks is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Runs background tasks.
#[async_trait]
pub trait Background: Send + Sync {
    /// Runs a task. Returns its outcome where that is known before the site is called, and `None` once the call to the
    /// site has begun: `finish` gets the outcome then.
    async fn run(&self, errand: Errand, finish: Box<dyn Finish>) -> Result<Option<Carried>, Busy>;
}

/// The ticket of the approval that the call waits for, where it waits for one.
pub fn permission_of(carried: &Carried) -> Option<&str> {
    let Outcome::Fault(refusal) = &carried.outcome else { return None };
    let details = refusal.details.as_ref().filter(|_| refusal.reason == ESCALATED)?;
    details["ticket"].as_str()
}
