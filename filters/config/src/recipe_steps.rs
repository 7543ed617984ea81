//! Decides which capabilities can be steps of a recipe, and how large a recipe is.
//!
//! A step is a capability that answers at once and in JSON. It may be carried out by a recipe itself, without cycles
//! and within a maximum depth. The same rules apply to recipes in the declaration and to those made at run time.

use std::collections::HashMap;

use serde_json::Value;

use super::{Capability, CapabilityKind, Recipe, ResponseKind, Settings};
use frontdesk_base::pattern::{Pattern, is_root};

/// Maximum depth of nested recipes; each is a call within a call.
pub const DEEPEST: usize = 16;

/// The capabilities of a recipe outside the declaration.
///
/// # Errors
///
/// Why it cannot be carried out.
pub fn steps<'s>(recipe: &Recipe, settings: &'s Settings) -> Result<Vec<&'s Capability>, Vec<String>> {
    let mut wrong: Vec<String> = wrong(recipe, settings).into_iter().map(|wrong| wrong.said()).collect();
    let mut steps = Vec::with_capacity(recipe.steps.len());
    for step in &recipe.steps {
        match capability(&step.capability, settings) {
            Some(capability) => steps.push(capability),
            None => wrong.push(format!("\"{}\" is not the id of a capability", step.capability.escape_debug())),
        }
    }
    if wrong.is_empty() {
        match Sizes::new(settings).sum(recipe, 0) {
            Ok(size) => wrong.extend(too_many(size, settings)),
            Err(_) => wrong.push("leads round and round, or too deep".to_owned()),
        }
    }
    if wrong.is_empty() { Ok(steps) } else { Err(wrong) }
}

/// A mistake in a recipe.
pub(super) struct Wrong {
    pub(super) step: Option<usize>,
    /// The key of the step.
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: &'static str,
}

impl Wrong {
    fn said(self) -> String {
        let step = self.step.map_or(String::new(), |step| format!("step {step}: "));
        format!("{step}{}; {}", self.what, self.hint)
    }
}

/// The mistakes in a recipe by itself. A missing step is reported elsewhere.
pub(super) fn wrong(recipe: &Recipe, settings: &Settings) -> Vec<Wrong> {
    let mut all = Vec::new();
    if recipe.steps.is_empty() {
        let (what, hint) = ("has no steps".to_owned(), "name at least one capability");
        all.push(Wrong { step: None, key: "steps", what, hint });
    }
    for (at, step) in recipe.steps.iter().enumerate() {
        if let Some((why, hint)) = capability(&step.capability, settings).and_then(unfit) {
            let what = format!("\"{}\" {why}", step.capability.escape_debug());
            all.push(Wrong { step: Some(at), key: "capability", what, hint });
        }
        for reference in Pattern::compile(&step.input).references() {
            let (what, hint) = match (reference.root(), reference.way()) {
                ("data", _) => (
                    "refers to {data.…}, which a recipe does not have".to_owned(),
                    "write {input.…}, or {steps.0.data.…} for what the first step says",
                ),
                ("steps", [step, data, ..]) if data == "data" && step.parse().is_ok_and(|step: usize| step < at) => {
                    continue;
                }
                ("steps", [step, data, ..]) if data == "data" => (
                    format!("refers to step {}, which is not before it", step.escape_debug()),
                    "steps are counted from 0, and each knows those before it",
                ),
                ("steps", _) => ("refers to {steps.…} without its data".to_owned(), "write {steps.0.data.…}"),
                _ => continue,
            };
            all.push(Wrong { step: Some(at), key: "input", what, hint });
        }
    }
    all
}

/// Why a capability cannot be a step, and what can.
fn unfit(capability: &Capability) -> Option<(&'static str, &'static str)> {
    let call = capability.upstream.as_ref();
    let is_called = call.is_some_and(|call| call.path.is_some() || call.url.is_some() || call.recipe.is_some());
    match capability.kind {
        CapabilityKind::Event | CapabilityKind::Policy | CapabilityKind::Monitor => {
            Some(("is of a type that is no step", "a step is a resource, a query, a comparison or an action"))
        }
        _ if call.is_some_and(|call| call.desk) => {
            Some(("is answered by a person, later", "a step has to answer at once"))
        }
        _ if call.is_some_and(|call| call.response == ResponseKind::Raw) => {
            Some(("tells its answer as it is, unread", "write response = \"json\" or \"wrap\" there"))
        }
        _ if !is_called && capability.endpoint.is_none() => {
            Some(("has no address", "write an endpoint there, or upstream.path"))
        }
        _ => None,
    }
}

/// The size of a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// The number of steps, nested ones counted individually.
    pub(super) steps: usize,
    /// The depth of nested recipes.
    deep: usize,
}

/// Why a recipe has no size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endless {
    /// This step leads to a cycle.
    Round(usize),
    Deep,
}

/// Computes sizes, of each recipe once.
pub(super) struct Sizes<'s> {
    settings: &'s Settings,
    /// `None`: being computed.
    known: HashMap<&'s str, Option<Size>>,
}

impl<'s> Sizes<'s> {
    pub(super) fn new(settings: &'s Settings) -> Self {
        Self { settings, known: HashMap::new() }
    }

    /// The size of a declared recipe.
    pub(super) fn of(&mut self, recipe: &'s Recipe) -> Result<Size, Endless> {
        let size = self.counted(recipe, 0);
        // A recipe in a cycle may have to be counted again from another start.
        self.known.retain(|_, size| size.is_some());
        size
    }

    fn counted(&mut self, recipe: &'s Recipe, deep: usize) -> Result<Size, Endless> {
        if let Some(Some(size)) = self.known.get(recipe.name.as_str()) {
            return Ok(*size);
        }
        self.known.insert(&recipe.name, None);
        let size = self.sum(recipe, deep)?;
        self.known.insert(&recipe.name, Some(size));
        Ok(size)
    }

    /// The size of a recipe at this depth.
    fn sum(&mut self, recipe: &Recipe, deep: usize) -> Result<Size, Endless> {
        let mut size = Size { steps: 0, deep: 1 };
        for (at, step) in recipe.steps.iter().enumerate() {
            let called = capability(&step.capability, self.settings);
            let Some(inner) = called.and_then(|called| carried_out_by(called, self.settings)) else {
                size.steps = size.steps.saturating_add(1);
                continue;
            };
            if self.known.get(inner.name.as_str()) == Some(&None) {
                return Err(Endless::Round(at));
            }
            if deep > DEEPEST {
                return Err(Endless::Deep);
            }
            let counted = self.counted(inner, deep + 1).map_err(|why| match why {
                Endless::Deep => Endless::Deep,
                Endless::Round(_) => Endless::Round(at),
            })?;
            size.steps = size.steps.saturating_add(counted.steps);
            size.deep = size.deep.max(counted.deep + 1);
        }
        if size.deep > DEEPEST { Err(Endless::Deep) } else { Ok(size) }
    }
}

/// A capability by its id.
pub(super) fn capability<'s>(id: &str, settings: &'s Settings) -> Option<&'s Capability> {
    settings.capabilities.iter().find(|capability| capability.id == id)
}

/// The recipe that carries out a capability.
pub(super) fn carried_out_by<'s>(capability: &Capability, settings: &'s Settings) -> Option<&'s Recipe> {
    let name = capability.upstream.as_ref()?.recipe.as_ref()?;
    settings.agtp.recipes.iter().find(|recipe| recipe.name == *name)
}

pub(super) fn too_many(Size { steps, .. }: Size, settings: &Settings) -> Option<String> {
    let most = settings.agtp.policies.max_synthesis_depth;
    let what = || format!("comes to {steps} steps in all, and agtp.policies.max_synthesis_depth is {most}");
    (steps > most).then(what)
}

/// Texts in braces that resemble references and are none.
pub(super) fn misspelt(input: &Value) -> Vec<String> {
    match input {
        Value::String(text) => {
            let inside = text.split('{').skip(1).filter_map(|after| after.split_once('}')).map(|(inside, _)| inside);
            let is_way = |inside: &&str| {
                let way = inside.trim();
                let letters = way.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
                way.contains('.') && letters && !is_root(way.split('.').next().unwrap_or_default())
            };
            inside.filter(is_way).map(|inside| format!("{{{inside}}}")).collect()
        }
        Value::Array(items) => items.iter().flat_map(misspelt).collect(),
        Value::Object(members) => members.values().flat_map(misspelt).collect(),
        _ => Vec::new(),
    }
}
