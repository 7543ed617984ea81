//! One ticket: what it is about, how far it has come, and what a person said to it.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{Told, escalated::REJECTED, promised::told_again, rfc3339, trouble::not_kept};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::NotKept;

/// How somebody wants an answer that comes later.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// What it is asked for by: 128 bits that nobody can guess, in hex.
    pub id: String,
    /// What they said, for a person to read.
    pub query: String,
    /// What they say it is for.
    pub intent: Option<String>,
    /// Whatever the dialect needs to put the answer into words.
    pub manner: Value,
    /// Where the answer is delivered, besides being kept.
    pub callback: Option<String>,
}

/// What a ticket is about.
pub struct About<'a> {
    /// A capability's id, or what else is wanted.
    pub what: &'a str,
    pub dialect: &'static str,
    pub input: &'a Value,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// For a person.
    Waiting,
    /// In the background.
    Running,
    Ended,
    /// Nobody answered in time, or whoever carried it out is gone.
    Expired,
    Lost,
}

impl State {
    /// As it is written down, and shown to the operator.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Ended => "answered",
            Self::Expired => "expired",
            Self::Lost => "lost",
        }
    }
}

/// A ticket, as it was found.
#[derive(Debug, Clone)]
pub struct Ticket {
    pub id: String,
    pub state: State,
    /// Of the capability.
    pub capability: String,
    pub dialect: String,
    pub wish: Wish,
    pub(super) value: Value,
    pub(super) version: u64,
    /// See [`Ticket::is_being_carried_out`].
    pub(super) is_carried: bool,
}

impl Ticket {
    /// What became of it, once it has ended.
    pub fn told(&self) -> Option<Result<Told, Refusal>> {
        if let Some(reason) = self.rejected() {
            let refusal = Refusal::from(Fault::Forbidden).saying(reason.to_owned());
            let word = if self.is_permission() { REJECTED } else { refusal.reason };
            return Some(Err(Refusal { reason: word, ..refusal }));
        }
        told_again(&mut self.value.get("told")?.clone())
    }

    /// A person's answer.
    pub fn answer(&self) -> Option<&str> {
        self.value["answer"].as_str()
    }

    /// Why a person did not want it.
    pub fn rejected(&self) -> Option<&str> {
        self.value["rejected"].as_str()
    }

    /// A person did not want it.
    pub fn is_rejected(&self) -> bool {
        self.rejected().is_some()
    }

    /// A call waits to be allowed; nobody waits for an answer.
    pub fn is_permission(&self) -> bool {
        self.wish.manner["escalated"] == true
    }

    /// When it was asked, in seconds since 1970.
    pub fn asked_at(&self) -> u64 {
        self.value["asked_at"].as_u64().unwrap_or(0)
    }

    /// A person said yes, and no more than that.
    pub fn is_approved(&self) -> bool {
        self.value["told"]["ok"]["data"]["decision"] == "approved"
    }

    /// What it was asked with.
    pub fn input(&self) -> &Value {
        &self.value["input"]
    }

    /// As the operator sees it.
    pub fn shown(&self) -> Value {
        let at = UNIX_EPOCH + Duration::from_secs(self.asked_at());
        json!({
            "id": self.id, "capability": self.capability, "query": self.wish.query,
            "intent": self.wish.intent, "input": self.value["input"],
            "caller": self.value["caller"], "asked_at": rfc3339(at), "status": self.state.word(),
        })
    }
}

/// What a person says.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Answer {
        answer: String,
        data: Value,
    },
    /// In these words, where there are some.
    Approve(Option<String>),
    Reject {
        reason: String,
    },
}

/// Why nothing was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The dialect has no way to come back for an answer.
    NoWish,
    NotKept(NotKept),
    /// Too much waits already.
    TooMany,
    /// Others were always faster.
    Contended,
    /// More than a person is asked to read.
    TooLong,
}

impl NotOpened {
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::NoWish => Refusal::from(Fault::NotImplemented)
                .saying("A person answers this, which takes time. Ask where an answer can be come back for."),
            Self::NotKept(why) => not_kept(why),
            Self::TooLong => {
                Refusal::from(Fault::TooLarge).saying("A person answers this: the input may have at most 8 KB.")
            }
            Self::TooMany => Refusal { reason: "desk_full", retry_after: Some(60), ..Fault::Unavailable.into() }
                .saying("Too many questions wait for a person at the moment. Try again later."),
            Self::Contended => Refusal { reason: "store_busy", retry_after: Some(1), ..Fault::Unavailable.into() }
                .saying("Too many ask at this moment. Nothing was done; try again."),
        }
    }
}

/// Why a person's word was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    Unknown,
    /// It was answered, or its time is over.
    Already(State),
    /// It says what must not leave.
    Blocked,
    /// A call waits to be allowed, and an answer neither allows nor rejects it.
    NoAnswer,
    NotKept(NotKept),
}

impl From<NotKept> for Undecided {
    fn from(why: NotKept) -> Self {
        Self::NotKept(why)
    }
}
