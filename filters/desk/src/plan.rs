//! A plan: a capability, prepared at load so that no call has to compute it again.

mod composition;

use std::time::Duration;

use serde_json::{Value, json};

use super::{call::CallPlan, declared::Declared, input::Forbidden, summary, summary::Summary};
pub use composition::{Called, Prepared};
pub(super) use composition::{Composition, Part};
use frontdesk_config::{BuiltIn, Capability, CapabilityKind, Recipe, Settings};

/// How a capability is carried out.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) way: Way,
    pub(super) forbidden: Forbidden,
    /// The inputs that are not left out; `None`: all.
    pub(super) declared: Option<Declared>,
    pub(super) summary: Summary,
    pub(super) consequence: String,
    /// How long answers are cached; zero: not at all.
    pub(super) ttl: Duration,
    /// Another service answers in the operator's name, in words.
    pub(super) is_concierge: bool,
}

/// Who answers the call.
#[derive(Debug)]
pub(super) enum Way {
    /// The site, or another service.
    Call(Box<CallPlan>),
    /// The contract itself (`policy`).
    Contract(Value),
    /// The index of the site's own pages.
    Pages(BuiltIn),
    /// A person, later.
    Person,
    /// Other capabilities, one after the other (a recipe).
    Composition(Box<Composition>),
    /// No one: the declaration names no target.
    Nothing,
}

impl Plan {
    pub(super) fn new(capability: &Capability, settings: &Settings) -> Self {
        Self::within(capability, settings, 0)
    }

    /// The plan of a step, at this depth of nested recipes.
    pub(super) fn within(capability: &Capability, settings: &Settings, deep: usize) -> Self {
        Self::by(way(capability, settings, deep), capability, settings)
    }

    /// The plan of a capability whose recipe is not the declared one.
    pub(super) fn composed(capability: &Capability, recipe: &Recipe, settings: &Settings) -> Self {
        Self::by(composition(capability, recipe, settings, 0), capability, settings)
    }

    fn by(way: Way, capability: &Capability, settings: &Settings) -> Self {
        let consequence = capability.confirmation.consequence.clone();
        let mut summary = Summary::of(capability, settings);
        if let Way::Composition(all) = &way {
            // Each step states its own consent; the whole states only what was declared for it.
            let asks = |part: &Part| part.called.capability.privacy.explicit_consent;
            if capability.privacy.purpose.is_none() && all.parts.iter().any(asks) {
                summary = summary.without_consent();
            }
        }
        Self {
            way,
            forbidden: Forbidden::new(&capability.privacy.forbidden_fields),
            declared: Declared::of(capability),
            summary,
            consequence: consequence.unwrap_or_else(|| summary::usual_consequence(capability).into()),
            ttl: capability.kept_for(settings),
            is_concierge: capability.is_own_concierge(),
        }
    }

    /// The time limit of the target.
    pub(super) fn limit(&self) -> Duration {
        match &self.way {
            Way::Call(plan) => plan.limit(),
            Way::Composition(all) => all.limit,
            // These need no other service.
            _ => Duration::ZERO,
        }
    }

    /// Name and version of the recipe that carries it out.
    pub(super) fn recipe(&self) -> Option<(&str, &str)> {
        match &self.way {
            Way::Composition(all) => Some((&all.name, &all.version)),
            _ => None,
        }
    }

    /// The summary for a confirmation.
    pub(super) fn say(&self, input: &Value) -> String {
        match &self.way {
            Way::Composition(all) => all.say(&self.summary, input),
            _ => self.summary.say(input),
        }
    }
}

fn way(capability: &Capability, settings: &Settings, deep: usize) -> Way {
    if let Some(built_in) = capability.built_in {
        return Way::Pages(built_in);
    }
    match &capability.upstream {
        Some(call) if call.desk => return Way::Person,
        Some(call) => {
            if let Some(name) = &call.recipe {
                let recipe = settings.agtp.recipes.iter().find(|recipe| recipe.name == *name);
                return recipe.map_or(Way::Nothing, |recipe| composition(capability, recipe, settings, deep));
            }
        }
        None => {}
    }
    if capability.kind == CapabilityKind::Policy && capability.upstream.is_none() {
        let declared = settings.policies.declared.clone();
        return Way::Contract(
            json!({ "policies": declared.unwrap_or_else(|| json!({})), "license": settings.license }),
        );
    }
    CallPlan::new(capability, settings).map_or(Way::Nothing, |plan| Way::Call(Box::new(plan)))
}

fn composition(capability: &Capability, recipe: &Recipe, settings: &Settings, deep: usize) -> Way {
    let all = Composition::new(capability, recipe, settings, deep);
    all.map_or(Way::Nothing, |all| Way::Composition(Box::new(all)))
}
