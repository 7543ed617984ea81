//! A recipe, prepared: several capabilities that are called as one, with everything that the steps need.
//!
//! A prepared composition is self-contained. It may belong to the declaration, or be put together at run time; then it
//! stays as it is when the configuration is reloaded.

use std::{fmt::Write, time::Duration};

use serde_json::Value;

use super::{Plan, Way};
use crate::{
    call::way,
    pattern::{Pattern, Reference},
    summary::{Summary, from_step, marks_escaped},
};
use frontdesk_config::{Capability, Recipe, Settings};

/// Time that a step needs besides the site's: reading and writing its idempotency record.
const BESIDE: Duration = Duration::from_secs(5);

/// A capability and its plan.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) capability: Capability,
    pub(crate) plan: Plan,
}

impl Prepared {
    /// A capability outside the declaration, carried out by a recipe. It is as strict as its strictest step, whatever
    /// it says of itself. Its id names its idempotency records and cached answers, so the id must be unique.
    ///
    /// # Errors
    ///
    /// The reasons why the recipe cannot be carried out, one sentence each.
    pub fn composed(mut own: Capability, recipe: &Recipe, settings: &Settings) -> Result<Self, Vec<String>> {
        let steps = frontdesk_config::steps(recipe, settings)?;
        frontdesk_config::raise(&mut own, &steps, settings);
        let plan = Plan::composed(&own, recipe, settings);
        Ok(Self { capability: own, plan })
    }

    /// The capability, with everything that the steps make stricter.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }
}

/// What a request calls.
#[derive(Debug, Clone, Copy)]
pub enum Called<'a> {
    /// A capability of the declaration, by its index.
    Declared(usize),
    /// A capability that was put together at run time.
    Composed(&'a Prepared),
}

impl From<usize> for Called<'_> {
    fn from(index: usize) -> Self {
        Self::Declared(index)
    }
}

/// Steps, one after the other.
#[derive(Debug)]
pub(crate) struct Composition {
    /// Name of the recipe.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parts: Vec<Part>,
    /// The declared output names, and the path to each in the last step's result.
    pub(crate) output: Vec<(String, Vec<String>)>,
    /// Time limit for all steps together.
    pub(crate) limit: Duration,
}

/// One of the steps.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) called: Prepared,
    pub(crate) input: Pattern,
    /// A later step uses this step's result.
    pub(crate) is_needed: bool,
}

impl Composition {
    /// Prepares a recipe. `None` for a recipe with a cycle or a missing step, which no accepted declaration has.
    pub(crate) fn new(capability: &Capability, recipe: &Recipe, settings: &Settings, deep: usize) -> Option<Self> {
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

    /// The summary for a confirmation: the whole, then each acting step as far as its input is known before the first
    /// step runs.
    pub(crate) fn say(&self, whole: &Summary, input: &Value) -> String {
        let mut said = whole.say(input);
        self.list(&marks_escaped(input), "", &mut said);
        said
    }

    /// Lists the steps. `within` is the prefix of the step numbers in a nested recipe.
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

/// The index of the step that a reference names.
fn step_of(reference: &Reference) -> Option<usize> {
    let step = reference.way().first().filter(|_| reference.root() == "steps")?;
    step.parse().ok()
}

fn end_sentence(said: &mut String) {
    if !said.ends_with(['.', '!', '?']) {
        said.push('.');
    }
}
