//! The kinds of events: the family of their decision, and which ones may stand in a batch (Agent Harness Protocol 2.4,
//! "Event Types").

/// The family of the answer to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// None: the event is a notification.
    Told,
    /// `allow`, `block`, `modify`, `defer`, `escalate`.
    Generic,
    Idle,
    IntentDetection,
    ContextPerception,
    MemoryRecall,
    Planning,
    Reasoning,
    RateLimit,
    Confirmation,
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    PreAction,
    PostAction,
    PrePrompt,
    PostResponse,
    SessionStart,
    SessionEnd,
    Error,
    Heartbeat,
    Success,
    Idle,
    IntentDetection,
    ContextPerception,
    MemoryRecall,
    Planning,
    Reasoning,
    RateLimit,
    Confirmation,
    RunLifecycle,
    TaskList,
    Verification,
}

/// Every kind, its name in messages and its family. `handshake` and `query` have methods of their own.
pub const KINDS: [(Kind, &str, Family); 20] = [
    (Kind::PreAction, "pre_action", Family::Generic),
    (Kind::PostAction, "post_action", Family::Told),
    (Kind::PrePrompt, "pre_prompt", Family::Generic),
    (Kind::PostResponse, "post_response", Family::Told),
    (Kind::SessionStart, "session_start", Family::Told),
    (Kind::SessionEnd, "session_end", Family::Told),
    (Kind::Error, "error", Family::Told),
    (Kind::Heartbeat, "heartbeat", Family::Told),
    (Kind::Success, "success", Family::Told),
    (Kind::Idle, "idle", Family::Idle),
    (Kind::IntentDetection, "intent_detection", Family::IntentDetection),
    (Kind::ContextPerception, "context_perception", Family::ContextPerception),
    (Kind::MemoryRecall, "memory_recall", Family::MemoryRecall),
    (Kind::Planning, "planning", Family::Planning),
    (Kind::Reasoning, "reasoning", Family::Reasoning),
    (Kind::RateLimit, "rate_limit", Family::RateLimit),
    (Kind::Confirmation, "confirmation", Family::Confirmation),
    (Kind::RunLifecycle, "run_lifecycle", Family::Told),
    (Kind::TaskList, "task_list", Family::Told),
    (Kind::Verification, "verification", Family::Told),
];

impl Kind {
    /// The kind with a name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }

    fn row(self) -> &'static (Kind, &'static str, Family) {
        // The table has every kind in the order of the enum; a test checks this.
        &KINDS[self as usize]
    }

    /// `event_type` in messages, and the capability that a harness lists for it.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    pub fn family(self) -> Family {
        self.row().2
    }

    /// Whether the event is a request that waits for a decision.
    pub fn is_blocking(self) -> bool {
        self.family() != Family::Told
    }

    /// Whether the event may stand in a batch, whose answers are generic decisions.
    pub fn is_batchable(self) -> bool {
        matches!(self.family(), Family::Told | Family::Generic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_stands_at_its_own_place() {
        for (kind, name, family) in KINDS {
            assert_eq!((kind.name(), kind.family(), Kind::named(name)), (name, family, Some(kind)));
        }
        assert_eq!(Kind::named("handshake"), None);
        assert_eq!(KINDS.iter().filter(|(kind, ..)| kind.is_blocking()).count(), 10);
        assert!(Kind::TaskList.is_batchable() && Kind::PreAction.is_batchable() && !Kind::Planning.is_batchable());
    }
}
