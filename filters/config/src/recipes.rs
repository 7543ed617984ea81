//! Checks declared recipes, and applies the restrictions of their steps to the capabilities that use them.

use super::{
    Capability, CapabilityKind, Node, Recipe, Settings,
    merge_policy::{self, Raised, acting, raise},
    mistake::Findings,
    raw::Item,
    recipe_steps::{DEEPEST, Endless, Sizes, capability, carried_out_by, misspelt, too_many, wrong},
};

/// What steps made stricter, by the capability's index.
pub(super) type AllRaised = Vec<(usize, Vec<Raised>)>;

/// Checks every recipe, and makes the capabilities with recipes as strict as their steps.
pub(super) fn rules(root: &Item, settings: &mut Settings, found: &mut Findings) -> AllRaised {
    let fatal = judge(root, settings, found);
    if fatal {
        return Vec::new();
    }
    let mut all = settings.capabilities.to_vec();
    let mut raised = Raising { settings, done: vec![false; all.len()], raised: Vec::new() };
    for at in 0..all.len() {
        raised.raise(&mut all, at);
    }
    let raised = raised.raised;
    for (at, raised) in &raised {
        remark(root, settings, &all[*at], raised, found);
    }
    settings.capabilities = all.into();
    raised
}

/// Adds the raised values to the published contract.
pub(super) fn publish(contract: &mut Node, settings: &Settings, all: &AllRaised) {
    for (at, raised) in all {
        if let Some(capability) = settings.capabilities.get(*at) {
            merge_policy::publish(contract, capability, raised);
        }
    }
}

/// Reports the mistakes in recipes; returns whether there are any.
fn judge(root: &Item, settings: &Settings, found: &mut Findings) -> bool {
    let written = root.at(&["agtp", "recipes"]).map(Item::items).unwrap_or_default();
    let mut fatal = false;
    let mut sizes = Sizes::new(settings);
    for recipe in &settings.agtp.recipes {
        let named = |item: &Item| item.get("name").and_then(Item::str) == Some(&recipe.name);
        let Some((index, item)) = written.iter().enumerate().find(|(_, item)| named(item)) else { continue };
        let steps = item.get("steps").unwrap_or(item);
        let place = |at: usize, key: &str| {
            let step = steps.items().get(at).unwrap_or(steps);
            (step.get(key).unwrap_or(step).line, format!("agtp.recipes[{index}].steps[{at}].{key}"))
        };
        let whole = || (steps.line.max(item.line), format!("agtp.recipes[{index}].steps"));
        for wrong in wrong(recipe, settings) {
            fatal = true;
            let (line, key) = wrong.step.map_or_else(whole, |at| place(at, wrong.key));
            found.mistake(line, key, wrong.what).hint(wrong.hint);
        }
        for (at, step) in recipe.steps.iter().enumerate() {
            for text in misspelt(&step.input) {
                let (line, key) = place(at, "input");
                let what = format!("\"{}\" is told as it is written", text.escape_debug());
                found.warning(line, key, what).hint("references begin with input or steps");
            }
        }
        // The steps behind a missing one are unknown. The missing one was reported.
        if recipe.steps.iter().any(|step| capability(&step.capability, settings).is_none()) {
            fatal = true;
            continue;
        }
        let (line, key) = whole();
        match sizes.of(recipe) {
            Ok(size) => {
                let Some(what) = too_many(size, settings) else { continue };
                found.mistake(line, key, what).hint("write a higher one (at most 100), or fewer steps");
            }
            Err(Endless::Round(at)) => {
                let (line, key) = place(at, "capability");
                let id = recipe.steps[at].capability.escape_debug();
                let what = format!("\"{id}\" is carried out by a recipe that leads back to itself");
                found.mistake(line, key, what).hint("no recipe can be a step of its own steps");
            }
            Err(Endless::Deep) => {
                let what = format!("has more than {DEEPEST} recipes within each other");
                found.mistake(line, key, what).hint("let one of them name the steps of another itself");
            }
        }
        fatal = true;
    }
    fatal | unraisable(root, settings, found)
}

/// Reports capabilities that cannot become actions, because they are read by address or are no calls.
fn unraisable(root: &Item, settings: &Settings, found: &mut Findings) -> bool {
    use CapabilityKind::{Event, Monitor, Policy, Resource};
    let mut any = false;
    for own in settings.capabilities.iter().filter(|c| matches!(c.kind, Event | Monitor | Policy | Resource)) {
        let Some(recipe) = carried_out_by(own, settings) else { continue };
        let Some(step) = most_acting(recipe, settings) else { continue };
        any = true;
        let (index, line) = match written(root, &own.id) {
            Some((index, item)) => (index, item.get("type").unwrap_or(item).line),
            None => (0, 0),
        };
        let (kind, needed) = (merge_policy::word(own.kind), merge_policy::word(step.kind));
        let what = format!("\"{kind}\" does nothing, and its recipe carries out {}", step.id.escape_debug());
        found.mistake(line, format_args!("capabilities[{index}].type"), what).hint(format!("write \"{needed}\""));
    }
    any
}

/// The step with the strongest effect, at any depth; `None`: no step has effects.
fn most_acting<'s>(recipe: &'s Recipe, settings: &'s Settings) -> Option<&'s Capability> {
    let (mut pending, mut seen, mut most) = (vec![recipe], Vec::new(), None);
    while let Some(recipe) = pending.pop() {
        if seen.contains(&recipe.name.as_str()) {
            continue;
        }
        seen.push(&recipe.name);
        for step in recipe.steps.iter().filter_map(|step| capability(&step.capability, settings)) {
            pending.extend(carried_out_by(step, settings));
            if acting(step.kind) > most.map_or(0, |most: &Capability| acting(most.kind)) {
                most = Some(step);
            }
        }
    }
    most
}

/// A capability as it was written.
fn written<'r>(root: &'r Item, id: &str) -> Option<(usize, &'r Item<'r>)> {
    let all = root.get("capabilities").map(Item::items).unwrap_or_default();
    all.iter().enumerate().find(|(_, item)| item.get("id").and_then(Item::str) == Some(id))
}

/// Makes capabilities stricter, steps first.
struct Raising<'s> {
    settings: &'s Settings,
    done: Vec<bool>,
    raised: AllRaised,
}

impl Raising<'_> {
    fn raise(&mut self, all: &mut [Capability], at: usize) {
        if std::mem::replace(&mut self.done[at], true) {
            return;
        }
        let settings = self.settings;
        let Some(recipe) = carried_out_by(&all[at], settings) else { return };
        let place = |id: &str| settings.capabilities.iter().position(|capability| capability.id == id);
        let places: Vec<usize> = recipe.steps.iter().filter_map(|step| place(&step.capability)).collect();
        for step in &places {
            self.raise(all, *step);
        }
        let mut own = all[at].clone();
        let steps: Vec<&Capability> = places.iter().map(|step| &all[*step]).collect();
        let raised = raise(&mut own, &steps, settings);
        all[at] = own;
        if !raised.is_empty() {
            self.raised.push((at, raised));
        }
    }
}

/// Reports a declared value that is weaker than a step requires.
fn remark(root: &Item, settings: &Settings, capability: &Capability, all: &[Raised], found: &mut Findings) {
    let Some((index, item)) = written(root, &capability.id) else { return };
    let Some(recipe) = carried_out_by(capability, settings) else { return };
    for Raised { key, step } in all {
        let path: Vec<&str> = key.split('.').collect();
        let Some(item) = item.at(&path) else { continue };
        let id = recipe.steps.get(*step).map_or("", |step| step.capability.as_str()).escape_debug();
        let what = format!("{} is less than step {step} of its recipe ({id}) needs", item.shown());
        let holds = merge_policy::node(capability, key).map_or("nothing".to_owned(), |node| node.to_json().to_string());
        found
            .warning(item.line, format_args!("capabilities[{index}].{key}"), what)
            .hint(format!("{holds} holds, and is published"));
    }
}
