//! Several capabilities that are called as one, prepared: a recipe, with everything its steps need.
//!
//! What is prepared here stands by itself. It may be a capability of the declaration or one that was put together while
//! we run, and it goes on as it is when another declaration takes this one's place.

use std::{fmt::Write, time::Duration};

use serde_json::Value;

use super::{
    pattern::{Pattern, Reference},
    plan::{Plan, Way},
    summary::{Summary, from_step, marks_escaped},
};
use frontdesk_config::{Capability, Recipe, Settings};

/// What a step takes besides the site's own time: looking up and keeping what was promised of it.
const BESIDE: Duration = Duration::from_secs(5);

/// A capability, and how it is carried out.
#[derive(Debug)]
pub struct Prepared {
    pub(super) capability: Capability,
    pub(super) plan: Plan,
}

impl Prepared {
    /// A capability of no declaration, carried out by a recipe: it is as strict as the strictest of the steps, whatever
    /// it says of itself. Its id is the name of what is promised and kept of its calls, so it must be like no other.
    ///
    /// # Errors
    ///
    /// Why the recipe cannot be carried out, a sentence each.
    pub fn composed(mut own: Capability, recipe: &Recipe, settings: &Settings) -> Result<Self, Vec<String>> {
        let steps = frontdesk_config::steps(recipe, settings)?;
        frontdesk_config::raise(&mut own, &steps, settings);
        let plan = Plan::composed(&own, recipe, settings);
        Ok(Self { capability: own, plan })
    }

    /// What can be called, with everything that the steps make stricter.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }
}

/// What is called.
#[derive(Debug, Clone, Copy)]
pub enum Called<'a> {
    /// A capability of the declaration, by its place there.
    Declared(usize),
    /// Whatever was put together while we run.
    Composed(&'a Prepared),
}

impl From<usize> for Called<'_> {
    fn from(index: usize) -> Self {
        Self::Declared(index)
    }
}

/// Steps, one after the other.
#[derive(Debug)]
pub(super) struct Composition {
    /// Of the recipe.
    pub(super) name: String,
    pub(super) version: String,
    pub(super) parts: Vec<Part>,
    /// Our names for what the last one says, and the way to each.
    pub(super) output: Vec<(String, Vec<String>)>,
    /// For all of them.
    pub(super) limit: Duration,
}

/// One of the steps.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) called: Prepared,
    pub(super) input: Pattern,
    /// A later step is told something of what this one says.
    pub(super) is_needed: bool,
}

impl Composition {
    /// `None` where it would lead round and round, or a step is not there: no such declaration is accepted.
    pub(super) fn new(capability: &Capability, recipe: &Recipe, settings: &Settings, deep: usize) -> Option<Self> {
        let deep = deep.checked_add(1).filter(|deep| *deep <= frontdesk_config::DEEPEST)?;
        let part = |step: &frontdesk_config::RecipeStep| {
            let called = settings.capabilities.iter().find(|capability| capability.id == step.capability)?.clone();
            let plan = Plan::within(&called, settings, deep);
            Some(Part {
                called: Prepared { capability: called, plan },
                input: Pattern::compile(&step.input),
                is_needed: false,
            })
        };
        let mut parts = recipe.steps.iter().map(part).collect::<Option<Vec<Part>>>()?;
        let needed: Vec<usize> = parts.iter().flat_map(|part| part.input.references()).filter_map(step_of).collect();
        needed.into_iter().for_each(|at| parts.get_mut(at).into_iter().for_each(|part| part.is_needed = true));
        let output = capability.upstream.as_ref().map(|call| call.rename_output.as_slice()).unwrap_or_default();
        Some(Self {
            name: recipe.name.clone(),
            version: recipe.version.clone(),
            limit: parts
                .iter()
                .map(|part| part.called.plan.limit())
                .fold(Duration::ZERO, |sum, limit| sum.saturating_add(limit).saturating_add(BESIDE)),
            parts,
            output: output.iter().map(|(ours, theirs)| (ours.clone(), way(theirs))).collect(),
        })
    }

    /// What a person is asked: what it does as a whole, then each step that acts, as far as that is known before the
    /// first is carried out.
    pub(super) fn say(&self, whole: &Summary, input: &Value) -> String {
        let mut said = whole.say(input);
        self.list(&marks_escaped(input), "", &mut said);
        said
    }

    /// `within` is what the numbers of steps begin with, in a recipe that is a step itself.
    fn list(&self, input: &Value, within: &str, said: &mut String) {
        for (at, part) in self.parts.iter().enumerate() {
            let capability = &part.called.capability;
            if !capability.kind.is_action() && !capability.is_confirmed() {
                continue;
            }
            let told = part.input.fill(&|reference| match step_of(reference) {
                Some(step) => Some(from_step(&format!("{within}{step}")).into()),
                None => reference.find(&[("input", input)]).cloned(),
            });
            let told = told.unwrap_or_default();
            let Prepared { plan, .. } = &part.called;
            end_sentence(said);
            let _ = write!(said, " Step {within}{at}: {}", plan.summary.briefly(&told));
            end_sentence(said);
            let _ = write!(said, " {}", plan.consequence);
            if let Way::Composition(inner) = &plan.way {
                inner.list(&told, &format!("{within}{at}."), said);
            }
        }
    }
}

/// The step that a reference is to.
fn step_of(reference: &Reference) -> Option<usize> {
    let step = reference.way().first().filter(|_| reference.root() == "steps")?;
    step.parse().ok()
}

/// The members that a name with dots goes by.
pub(super) fn way(theirs: &str) -> Vec<String> {
    theirs.split('.').map(str::to_owned).collect()
}

fn end_sentence(said: &mut String) {
    if !said.ends_with(['.', '!', '?']) {
        said.push('.');
    }
}
