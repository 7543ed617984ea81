//! One ticket: its subject, its state, and a person's answer.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{Told, approval::REJECTED, promised::told_again, rfc3339, trouble::not_kept};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_state::NotKept;

/// How a caller wants an answer that comes later.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The ticket's id: 128 random bits, in hex.
    pub id: String,
    /// The caller's question, for a person to read.
    pub query: String,
    /// The purpose that the caller gives.
    pub intent: Option<String>,
    /// What the dialect needs to word the answer.
    pub manner: Value,
    /// The URL to which the answer is delivered, besides being stored.
    pub callback: Option<String>,
}

/// What a ticket is about.
pub struct About<'a> {
    /// A capability's id, or what else is wanted.
    pub what: &'a str,
    pub dialect: &'static str,
    pub input: &'a Value,
}

/// The state of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// For a person.
    Waiting,
    /// Running in the background.
    Running,
    Ended,
    /// No person answered in time.
    Expired,
    /// The process that ran the call died, or stored no outcome in time.
    Lost,
}

impl State {
    /// The state's name, as it is stored and shown to the operator.
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

/// A ticket, as it was read.
#[derive(Debug, Clone)]
pub struct Ticket {
    pub id: String,
    pub state: State,
    /// The id of the capability.
    pub capability: String,
    pub dialect: String,
    pub wish: Wish,
    pub(super) value: Value,
    pub(super) version: u64,
    /// See [`Ticket::is_being_carried_out`].
    pub(super) is_carried: bool,
}

impl Ticket {
    /// The outcome, once there is one.
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

    /// The person's reason for a rejection.
    pub fn rejected(&self) -> Option<&str> {
        self.value["rejected"].as_str()
    }

    /// Whether a person rejected it.
    pub fn is_rejected(&self) -> bool {
        self.rejected().is_some()
    }

    /// Whether the ticket asks for an approval of a call, and not for an answer.
    pub fn is_permission(&self) -> bool {
        self.wish.manner["escalated"] == true
    }

    /// When the question was asked, in seconds since 1970.
    pub fn asked_at(&self) -> u64 {
        self.value["asked_at"].as_u64().unwrap_or(0)
    }

    /// When it was answered, in seconds since 1970; `None`: it was not yet.
    pub fn decided_at(&self) -> Option<u64> {
        self.value["decided_at"].as_u64()
    }

    /// Whether a person approved without any words.
    pub fn is_approved(&self) -> bool {
        self.value["told"]["ok"]["data"]["decision"] == "approved"
    }

    /// Whether its call was lost on the way: the site was not reached, or what became of it is not known.
    pub fn is_broken(&self) -> bool {
        const BROKEN: [Fault; 6] = [
            Fault::Unreachable,
            Fault::BadGateway,
            Fault::GatewayTimeout,
            Fault::Unavailable,
            Fault::OutcomeUnknown,
            Fault::Internal,
        ];
        let told = self.value["carried"].get("told").or_else(|| self.value.get("told"));
        told.is_some_and(|told| BROKEN.iter().any(|fault| told["fault"] == fault.reason()))
    }

    /// The input of the question.
    pub fn input(&self) -> &Value {
        &self.value["input"]
    }

    /// The ticket as the operator sees it.
    pub fn shown(&self) -> Value {
        let at = UNIX_EPOCH + Duration::from_secs(self.asked_at());
        json!({
            "id": self.id, "capability": self.capability, "query": self.wish.query,
            "intent": self.wish.intent, "input": self.value["input"],
            "caller": self.value["caller"], "asked_at": rfc3339(at), "status": self.state.word(),
        })
    }
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Answer {
        answer: String,
        data: Value,
    },
    /// Yes, with these words if there are any.
    Approve(Option<String>),
    Reject {
        reason: String,
    },
}

/// Why no ticket was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The dialect has no way to come back for an answer.
    NoWish,
    NotKept(NotKept),
    /// Too many tickets are waiting.
    TooMany,
    /// Every attempt lost against concurrent changes.
    Contended,
    /// The question is longer than a person is asked to read.
    TooLong,
}

impl NotOpened {
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::NoWish => Refusal::from(Fault::NotImplemented)
                .saying("A person answers this later. Call it through a protocol that can fetch an answer later."),
            Self::NotKept(why) => not_kept(why),
            Self::TooLong => {
                Refusal::from(Fault::TooLarge).saying("A person answers this, so the input may have at most 8 KB.")
            }
            Self::TooMany => Refusal { reason: "desk_full", retry_after: Some(60), ..Fault::Unavailable.into() }
                .saying("Too many questions wait for a person at the moment. Try again later."),
            Self::Contended => Refusal { reason: "store_busy", retry_after: Some(1), ..Fault::Unavailable.into() }
                .saying("Too many ask at this moment. Nothing was done; try again."),
        }
    }
}

/// Why a person's decision was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    Unknown,
    /// The ticket is decided or expired.
    Already(State),
    /// The firewall withholds the answer.
    Blocked,
    /// The ticket asks for an approval, and an answer neither approves nor rejects.
    NoAnswer,
    NotKept(NotKept),
}

impl From<NotKept> for Undecided {
    fn from(why: NotKept) -> Self {
        Self::NotKept(why)
    }
}
