//! Recent activity for the operator's page, besides the metrics, which count for the process's whole life.
//!
//! Traffic comes from the counters once a second, so nothing is counted twice. Only refusals and callers close to a
//! limit are recorded when they happen, in bounded memory.

mod calls;
mod near;
mod refused;
mod traffic;
mod unanswered;

pub use calls::{Calls, STEP, STEPS};
pub use near::Close;
pub use refused::{Refused, What};
pub use traffic::{Rates, SECONDS};
pub use unanswered::Unanswered;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use frontdesk_filters::{
    caller::{Caller, Proof},
    limits::Near,
};
use parking_lot::Mutex;

use super::Metrics;
use near::Table;
use refused::Ring;
use traffic::Traffic;
use unanswered::Questions;

/// The kind of client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A visitor of pages that does not claim to be anything else.
    Person,
    /// A client that claims to be an agent, or requests something for agents.
    Agent,
    /// An agent with a valid key, token or signature.
    Verified,
}

impl Who {
    /// All kinds, in the order of [`Metrics::visitors`].
    pub const ALL: [Self; 3] = [Self::Person, Self::Agent, Self::Verified];

    /// The kind of a caller, who may be unknown. `agents`: the request is for something that exists for agents.
    pub fn of(caller: Option<&Caller>, agents: bool) -> Self {
        match caller {
            // A token alone may come from a person's own browser, for the site.
            Some(caller) if caller.name.is_some() && (agents || caller.proof != Proof::Token) => Self::Verified,
            Some(caller) if agents || caller.agent.is_some() => Self::Agent,
            _ if agents => Self::Agent,
            _ => Self::Person,
        }
    }

    /// The label of `frontdesk_visits_total{who}`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Verified => "verified",
        }
    }
}

/// All recent activity.
#[derive(Default)]
pub struct Seen {
    traffic: Mutex<Traffic>,
    calls: Mutex<Calls>,
    refused: Mutex<Ring>,
    near: Mutex<Table>,
    unanswered: Mutex<Questions>,
}

impl Seen {
    /// Reads the counters; called about once a second.
    pub fn sample(&self, metrics: &Metrics) {
        let now = Instant::now();
        self.traffic.lock().sample(now, metrics.visits(), metrics.rejected_so_far());
        let due = self.calls.lock().is_due(now);
        if due {
            let totals = metrics.calls_so_far();
            self.calls.lock().sample(now, totals);
        }
    }

    /// Requests a second, oldest first, at most [`SECONDS`] of them.
    pub fn rates(&self) -> Vec<Rates> {
        self.traffic.lock().rates()
    }

    /// The recent calls of each capability.
    pub fn calls(&self) -> Calls {
        self.calls.lock().clone()
    }

    /// Records a refusal.
    pub fn refuse(&self, what: &What<'_>) {
        self.refused.lock().note(what, now());
    }

    /// The latest refusals, most recent first.
    pub fn refused(&self) -> Vec<Refused> {
        self.refused.lock().latest()
    }

    /// Records a question that the site's pages do not answer.
    pub fn note_unanswered(&self, question: &str) {
        self.unanswered.lock().note(question, now());
    }

    /// The latest of these questions, most recent first.
    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.unanswered.lock().latest()
    }

    /// Records that a caller is close to a limit.
    pub fn close(&self, near: &Near, caller: &Caller) {
        self.near.lock().note(near, caller, now());
    }

    /// Callers close to a limit whose window is not over, the closest first.
    pub fn near(&self) -> Vec<Close> {
        self.near.lock().now(now())
    }
}

/// The time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The beginning of a name, without characters that disturb the text around it.
fn short(name: &str) -> String {
    const LONGEST: usize = 80;
    let visible = name.chars().filter(|c| !c.is_control());
    let mut text: String = visible.clone().take(LONGEST).collect();
    if visible.count() > LONGEST {
        text.push('…');
    }
    text
}
