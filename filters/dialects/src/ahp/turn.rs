//! What becomes of one question: the types in which the conversation answers every dialect. Each dialect writes them in
//! its own form; AHP's own JSON is written in `json.rs`.

use serde_json::Value;

use super::question::Wrong;
use frontdesk_base::fault::Refusal;
use frontdesk_desk::{ConfirmationPage, GivenFile};

/// The outcome of a question.
#[derive(Debug, Clone)]
pub enum Turn {
    Answer(Box<Answered>),
    /// Something is missing, and the caller is asked for it (AHP §6.3).
    Clarify(Clarification),
    /// Nothing was done yet: a person has to confirm first (docs/decisions/0010-confirmations.md).
    Confirm(Confirmation),
    /// The answer comes later (AHP §6.4).
    Later(Accepted),
    /// A later answer that is not there yet (AHP §9.2).
    Pending(Pending),
    /// A later answer that will never come.
    Gone(Gone),
    Failed(Failure),
}

/// An answer (AHP §6.2).
#[derive(Debug, Clone)]
pub struct Answered {
    /// `None`: there is no session to continue.
    pub session: Option<String>,
    /// The answer in words.
    pub text: String,
    /// The response type, and the richer one that it stands for.
    pub content_type: String,
    pub fallback_from: Option<String>,
    /// The data, in the form of the response type.
    pub payload: Option<Value>,
    /// The file that the data is about, for protocols that send it along.
    pub file: Option<Box<GivenFile>>,
    /// The pages that it rests on: objects with a `url`.
    pub sources: Option<Vec<Value>>,
    /// What to ask next.
    pub follow_up: Option<Value>,
    pub tokens_used: u64,
    pub cached: bool,
    /// The caller declined a confirmation, so nothing was done.
    pub declined: bool,
    /// The firewall's findings in it.
    pub flags: Vec<String>,
    /// How much of the site it rests on, and how much it is to be trusted. Null where that is not known.
    pub coverage: Value,
    pub confidence: Value,
    /// The permitted uses (AHP §7).
    pub signals: Value,
    /// The capability's name and mode.
    pub capability: String,
    pub mode: super::listed::Mode,
}

/// A clarifying question.
#[derive(Debug, Clone)]
pub struct Clarification {
    pub session: Option<String>,
    pub question: String,
    /// `None`: no options are given.
    pub options: Option<Vec<String>>,
    /// Other answers than the options are accepted too.
    pub free_form: bool,
}

/// The request for a confirmation.
#[derive(Debug, Clone)]
pub struct Confirmation {
    pub session: Option<String>,
    pub summary: String,
    pub consequence: String,
    /// When the token expires, in seconds since 1970.
    pub expires: u64,
    /// What is sent back with the same call once a person has confirmed.
    pub token: String,
    /// Where a person confirms it; the token alone confirms nothing then.
    pub page: Option<ConfirmationPage>,
    /// Why it is asked for: the label of `frontdesk_rejections_total{reason}`.
    pub reason: &'static str,
}

impl Confirmation {
    /// The question to the person.
    pub fn question(&self) -> String {
        let says = self.says();
        match &self.page {
            None => format!("{says} Confirm?"),
            Some(ConfirmationPage::At(url)) => {
                format!("{says} A person has to confirm this at {url}; answer with the token once they have.")
            }
            Some(ConfirmationPage::Sent) => {
                format!("{says} The person was sent a link to confirm this; answer with the token once they have.")
            }
        }
    }

    /// What would be done, and what that means.
    pub fn says(&self) -> String {
        let stop = if self.summary.ends_with(['.', '!', '?']) { "" } else { "." };
        format!("{}{stop} {}", self.summary, self.consequence).trim_end().to_owned()
    }
}

/// A question that is answered later.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The id of the answer, which is also the session.
    pub id: String,
    /// The path where it is fetched.
    pub poll: String,
    /// Estimated seconds until the answer.
    pub eta: Option<u64>,
    /// The URL to which it is delivered.
    pub callback: Option<String>,
}

/// A later answer that is not there yet.
#[derive(Debug, Clone)]
pub struct Pending {
    pub id: String,
    pub progress: &'static str,
    pub eta: Option<u64>,
}

/// A later answer that will never come.
#[derive(Debug, Clone)]
pub struct Gone {
    pub id: String,
    /// It was not answered in time; else its outcome is unknown.
    pub is_expired: bool,
    pub message: &'static str,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub struct Failure {
    pub refusal: Box<Refusal>,
    /// What is wrong with the question, where AHP has a code of its own for it.
    pub wrong: Option<Wrong>,
    /// The id of the later answer that failed.
    pub id: Option<String>,
}

impl Turn {
    /// The session that the next question continues.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::Answer(answer) => answer.session.as_deref(),
            Self::Clarify(asked) => asked.session.as_deref(),
            Self::Confirm(asked) => asked.session.as_deref(),
            Self::Later(accepted) => Some(&accepted.id),
            Self::Pending(pending) => Some(&pending.id),
            Self::Gone(gone) => Some(&gone.id),
            Self::Failed(failure) => failure.id.as_deref(),
        }
    }

    /// Names no session, because it could not be stored. The id of a later answer stays.
    pub(super) fn without_session(&mut self) {
        match self {
            Self::Answer(answer) => answer.session = None,
            Self::Clarify(asked) => asked.session = None,
            Self::Confirm(asked) => asked.session = None,
            Self::Later(_) | Self::Pending(_) | Self::Gone(_) | Self::Failed(_) => {}
        }
    }

    /// Why it was refused: the label of `frontdesk_rejections_total{reason}`.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Failed(failure) if failure.id.is_none() => Some(failure.refusal.reason),
            Self::Confirm(asked) => Some(asked.reason),
            _ => None,
        }
    }

    /// Why it was refused, where it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Failed(failure) => Some(&failure.refusal),
            _ => None,
        }
    }

    /// The firewall's findings in the answer.
    pub fn flags(&self) -> &[String] {
        match self {
            Self::Answer(answer) => &answer.flags,
            _ => &[],
        }
    }
}
