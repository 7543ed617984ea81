//! What kind of capability one is: its type, whether it needs a credential, and which ones are built in.

/// The built-in capabilities (AHP §4.1 has both names).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// What the site is, and who runs it.
    SiteInfo,
    /// What its pages say.
    ContentSearch,
}

/// `type` of a capability (AICP §5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityKind {
    Resource,
    Query,
    Compare,
    Monitor,
    PrepareAction,
    CommitAction,
    DestructiveAction,
    Event,
    Policy,
}

/// `auth` of a capability, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthNeed {
    None,
    Optional,
    Required,
}

impl AuthNeed {
    /// The word in a declaration.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// Every `type` and its kind.
pub(super) const KINDS: [(&str, CapabilityKind); 9] = [
    ("resource", CapabilityKind::Resource),
    ("query", CapabilityKind::Query),
    ("compare", CapabilityKind::Compare),
    ("monitor", CapabilityKind::Monitor),
    ("prepare_action", CapabilityKind::PrepareAction),
    ("commit_action", CapabilityKind::CommitAction),
    ("destructive_action", CapabilityKind::DestructiveAction),
    ("event", CapabilityKind::Event),
    ("policy", CapabilityKind::Policy),
];

impl CapabilityKind {
    /// Whether it changes something: prepare, commit and destructive actions.
    pub fn is_action(self) -> bool {
        matches!(self, Self::PrepareAction | Self::CommitAction | Self::DestructiveAction)
    }

    /// Whether it changes nothing; setting up a watch counts as a change.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Resource | Self::Query | Self::Compare | Self::Policy)
    }

    /// The word in a declaration.
    pub fn word(self) -> &'static str {
        let known = KINDS.iter().find(|(_, kind)| *kind == self);
        known.map_or("", |(word, _)| word)
    }

    /// The default HTTP method.
    pub fn usual_method(self) -> &'static str {
        match self {
            Self::Resource | Self::Policy => "GET",
            _ => "POST",
        }
    }
}
