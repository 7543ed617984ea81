//! What the harnesses say of an action, all of them together: the most restrictive holds.

use serde_json::Value;

/// What is written down of a plain yes.
pub const ALLOWED: &str = "allow";

/// What the harnesses say of an action, all of them together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decided {
    pub verdict: Verdict,
    /// What they made of the arguments, where that is something else.
    pub arguments: Option<Value>,
    /// Somebody should have been asked and gave no decision.
    pub unasked: bool,
}

impl Decided {
    /// Whether nobody else has to be asked: it does not go on, whatever they say.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.verdict, Verdict::Blocked | Verdict::Undecided)
    }

    /// As it is written down and counted.
    pub fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Go if self.unasked => "open_on_error",
            Verdict::Go if self.arguments.is_some() => "modify",
            Verdict::Go => ALLOWED,
            Verdict::Deferred(_) => "defer",
            Verdict::Escalated(_) => "escalate",
            Verdict::Undecided => "closed",
            Verdict::Blocked => "block",
        }
    }
}

/// Whether an action goes on, from the least strict to the strictest.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Verdict {
    #[default]
    Go,
    /// Seconds until it may be tried again.
    Deferred(u64),
    /// A person has to allow it; why, and who.
    Escalated(String),
    /// Nobody could be asked, or what came is no decision.
    Undecided,
    Blocked,
}

impl Verdict {
    fn rank(&self) -> u8 {
        match self {
            Self::Go => 0,
            Self::Deferred(_) => 1,
            Self::Escalated(_) => 2,
            Self::Undecided => 3,
            Self::Blocked => 4,
        }
    }

    /// The stricter of two; of two times the longer.
    pub(super) fn or_stricter(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deferred(one), Self::Deferred(another)) => Self::Deferred(*one.max(another)),
            _ if other.rank() > self.rank() => other,
            _ => self,
        }
    }
}
