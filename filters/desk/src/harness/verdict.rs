//! The combined decision of all harnesses on an action: the most restrictive wins.

use serde_json::Value;

/// The audit log's word for a plain yes.
pub const ALLOWED: &str = "allow";

/// The combined decision of all harnesses on an action.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decided {
    pub verdict: Verdict,
    /// The changed arguments, if any.
    pub arguments: Option<Value>,
    /// A harness that had to be asked gave no decision.
    pub unasked: bool,
}

impl Decided {
    /// Whether the other harnesses need not be asked, because the action cannot go ahead.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.verdict, Verdict::Blocked | Verdict::Undecided)
    }

    /// The word for the audit log and the metrics.
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

/// Whether an action goes ahead, from the least strict to the strictest.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Verdict {
    #[default]
    Go,
    /// Seconds until a retry.
    Deferred(u64),
    /// A person has to approve it; the reason, and who.
    Escalated(String),
    /// No harness could be asked, or the answer was no valid decision.
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

    /// The stricter of two verdicts; of two deferrals the longer.
    pub(super) fn or_stricter(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deferred(one), Self::Deferred(another)) => Self::Deferred(*one.max(another)),
            _ if other.rank() > self.rank() => other,
            _ => self,
        }
    }
}
