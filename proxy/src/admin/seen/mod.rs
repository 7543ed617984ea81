//! What the operator's page remembers of the last minutes, beside what the metrics count for ever.
//!
//! Traffic is read off the counters once a second; nothing is counted twice. Only what is refused, or close to a limit, is
//! noted where it happens, in memory that does not grow.

mod calls;
mod near;
mod refused;
mod traffic;

pub use calls::{Calls, STEP, STEPS};
pub use near::Close;
pub use refused::{Refused, What};
pub use traffic::{Rates, SECONDS};

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use frontdesk_filters::{
    caller::{Caller, Proof},
    limits::Near,
};
use parking_lot::Mutex;

use super::metrics::Metrics;
use near::Table;
use refused::Ring;
use traffic::Traffic;

/// Who made a request, as far as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Whoever visits pages and does not say to be anything else.
    Person,
    /// Whoever says to be an agent, or asks for what is there for agents.
    Agent,
    /// The same with a key, a token or a signature that is valid.
    Verified,
}

impl Who {
    /// Every one, in the order of [`Metrics::visitors`].
    pub const ALL: [Self; 3] = [Self::Person, Self::Agent, Self::Verified];

    /// Of a caller, who may not have been looked at; `agents`: it asked for what is there for agents.
    pub fn of(caller: Option<&Caller>, agents: bool) -> Self {
        match caller {
            // A person's own browser may send the site a token.
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

/// All of it.
#[derive(Default)]
pub struct Seen {
    traffic: Mutex<Traffic>,
    calls: Mutex<Calls>,
    refused: Mutex<Ring>,
    near: Mutex<Table>,
}

impl Seen {
    /// Reads the counters; once a second or so.
    pub fn sample(&self, metrics: &Metrics) {
        let now = Instant::now();
        self.traffic.lock().sample(now, metrics.visits(), metrics.rejected_so_far());
        let due = self.calls.lock().is_due(now);
        if due {
            let totals = metrics.calls_so_far();
            self.calls.lock().sample(now, totals);
        }
    }

    /// Requests a second, the oldest first; at most [`SECONDS`] of them.
    pub fn rates(&self) -> Vec<Rates> {
        self.traffic.lock().rates()
    }

    /// How often each capability was called lately.
    pub fn calls(&self) -> Calls {
        self.calls.lock().clone()
    }

    /// Notes that something was refused.
    pub fn refuse(&self, what: &What<'_>) {
        self.refused.lock().note(what, now());
    }

    /// What was refused last, the latest first.
    pub fn refused(&self) -> Vec<Refused> {
        self.refused.lock().latest()
    }

    /// Notes that somebody has little left of a limit.
    pub fn close(&self, near: &Near, caller: &Caller) {
        self.near.lock().note(near, caller, now());
    }

    /// Who has little left of a limit whose window is not over, the one with the least left first.
    pub fn near(&self) -> Vec<Close> {
        self.near.lock().now(now())
    }
}

/// Since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What of a name is shown: its beginning, and nothing that moves the text around it.
fn short(name: &str) -> String {
    const LONGEST: usize = 80;
    let visible = name.chars().filter(|c| !c.is_control());
    let mut text: String = visible.clone().take(LONGEST).collect();
    if visible.count() > LONGEST {
        text.push('…');
    }
    text
}
