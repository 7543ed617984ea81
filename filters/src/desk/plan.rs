//! A capability, prepared: everything that a call of it would otherwise work out again.

use std::time::Duration;

use serde_json::{Value, json};

use super::{call::CallPlan, input::Forbidden, summary, summary::Summary};
use crate::site::{BuiltIn, Capability, CapabilityKind, Settings};

/// How a capability is carried out.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) way: Way,
    pub(super) forbidden: Forbidden,
    pub(super) summary: Summary,
    pub(super) consequence: String,
    /// For how long an answer is kept; zero: it is not.
    pub(super) ttl: Duration,
}

/// Who answers.
#[derive(Debug)]
pub(super) enum Way {
    /// The site, or another service.
    Call(Box<CallPlan>),
    /// The contract itself (`policy`).
    Contract(Value),
    /// The site's own pages.
    Pages(BuiltIn),
    /// A person, in their own time.
    Person,
    /// Nobody yet: a recipe, or nothing that was declared.
    Nothing,
}

impl Plan {
    pub(crate) fn new(capability: &Capability, settings: &Settings) -> Self {
        let consequence = capability.confirmation.consequence.clone();
        Self {
            way: way(capability, settings),
            forbidden: Forbidden::new(&capability.privacy.forbidden_fields),
            summary: Summary::of(capability, settings),
            consequence: consequence.unwrap_or_else(|| summary::usual_consequence(capability).into()),
            ttl: Self::ttl(capability, settings),
        }
    }

    /// What was declared, within what the policies allow. What is about somebody is kept only where the declaration says
    /// what for and for how long (AICP §12.7).
    pub(crate) fn ttl(capability: &Capability, settings: &Settings) -> Duration {
        let privacy = &capability.privacy;
        if !capability.kind.is_read()
            || capability.is_sensitive() && (privacy.purpose.is_none() || privacy.retention.is_none())
        {
            return Duration::ZERO;
        }
        capability.cache_ttl.min(settings.policies.max_ttl.unwrap_or(Duration::MAX))
    }
}

fn way(capability: &Capability, settings: &Settings) -> Way {
    if let Some(built_in) = capability.built_in {
        return Way::Pages(built_in);
    }
    match &capability.upstream {
        Some(call) if call.desk => return Way::Person,
        Some(call) if call.recipe.is_some() => return Way::Nothing,
        _ => {}
    }
    if capability.kind == CapabilityKind::Policy && capability.upstream.is_none() {
        let declared = settings.policies.declared.clone();
        return Way::Contract(
            json!({ "policies": declared.unwrap_or_else(|| json!({})), "license": settings.license }),
        );
    }
    CallPlan::new(capability, settings).map_or(Way::Nothing, |plan| Way::Call(Box::new(plan)))
}
