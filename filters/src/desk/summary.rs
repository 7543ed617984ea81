//! What a person is asked to confirm, in words (AICP §8.6).
//!
//! The words are the operator's; the values in them are the agent's, and must not be able to say anything else than
//! themselves: quoted, short, and without characters that a screen shows as something other than they are.

mod quoted;
#[cfg(test)]
mod tests;

use std::{fmt::Write, sync::LazyLock};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, context, value::Serde};
use serde_json::{Map, Value};

pub(super) use quoted::{from_step, unmarked};

use crate::site::{Capability, Settings};
use quoted::{plain, quoted, quoted_within};

/// Characters of the whole.
const LONGEST: usize = 2000;
/// Characters of one step of several, besides what is said of personal data.
const LONGEST_STEP: usize = 600;
/// Digits of a number that stands as it is.
const LONGEST_NUMBER: usize = 24;
/// Characters of a name.
const LONGEST_NAME: usize = 40;
/// Members of an input that are listed where the operator wrote no summary.
const MOST_LISTED: usize = 12;
/// Steps of one rendering.
const FUEL: u64 = 20_000;

/// Templates without files, without includes, and with a bound on what they do.
static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_fuel(Some(FUEL));
    templates.set_recursion_limit(20);
    templates.set_formatter(|out, _, value| {
        let text = match value.as_str() {
            Some(text) => quoted(text),
            None => match value.to_string() {
                number if value.is_number() && number.len() <= LONGEST_NUMBER => number,
                other => quoted(&other),
            },
        };
        out.write_str(&text).map_err(minijinja::Error::from)
    });
    templates
});

/// A summary of calls of one capability.
#[derive(Debug, Clone)]
pub struct Summary {
    template: Option<String>,
    /// The inputs that the template names.
    named: Vec<String>,
    /// The inputs that the schema knows.
    known: Vec<String>,
    /// Says what is done, where there is no template.
    description: String,
    /// What is used for what, and who gets it (AICP §9.4).
    consent: String,
}

impl Summary {
    /// Whether a template can be used.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn compile(template: &str) -> Result<(), String> {
        TEMPLATES.template_from_named_str("summary", template).map(drop).map_err(|e| e.to_string())
    }

    pub(super) fn of(capability: &Capability, settings: &Settings) -> Self {
        let description = capability.description.clone().unwrap_or_else(|| capability.id.clone());
        let template = capability.confirmation.summary.clone();
        let compiled = template.as_deref().and_then(|t| TEMPLATES.template_from_named_str("summary", t).ok());
        let named = compiled.map(|template| template.undeclared_variables(true)).unwrap_or_default();
        let member =
            |name: String| name.strip_prefix("input.").map(|rest| rest.split('.').next().unwrap_or(rest).into());
        let schema = capability.input_schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        Self {
            template,
            named: named.into_iter().filter_map(member).collect(),
            known: schema.map(|members| members.keys().cloned().collect()).unwrap_or_default(),
            description: description.trim_end_matches('.').to_owned(),
            consent: consent(capability, settings),
        }
    }

    /// The summary of one call. A template that does not get along with this input is not worth a refusal, and half a
    /// sentence not worth a confirmation: the whole input is listed instead. What the operator did not foresee in an
    /// input is always listed, so that nothing is confirmed unseen.
    pub(super) fn say(&self, input: &Value) -> String {
        self.said(&unmarked(input), LONGEST)
    }

    /// The summary of one step of several; its input may have marks in it where nothing is known yet.
    pub(super) fn briefly(&self, input: &Value) -> String {
        self.said(input, LONGEST_STEP + self.consent.chars().count())
    }

    /// The same, where others say what is used for what.
    pub(super) fn without_consent(self) -> Self {
        Self { consent: String::new(), ..self }
    }

    fn said(&self, input: &Value, longest: usize) -> String {
        let rendered = self.template.as_deref().and_then(|template| {
            let template = TEMPLATES.template_from_named_str("summary", template).ok()?;
            template.render(context! { input => Serde(input) }).ok()
        });
        let foreseen = |name: &String| self.named.contains(name) || self.known.contains(name);
        let mut summary = match rendered {
            Some(rendered) => {
                let others = self.listed(input.as_object(), |name| !foreseen(name));
                if others.is_empty() { rendered } else { format!("{rendered} Also sent: {others}.") }
            }
            None => match self.listed(input.as_object(), |_| true) {
                listed if listed.is_empty() => format!("{}.", self.description),
                listed => format!("{}; {listed}.", self.description),
            },
        };
        // The operator's own words about what is used for what are never what is cut.
        let room = longest.saturating_sub(self.consent.chars().count());
        if let Some((end, _)) = summary.char_indices().nth(room) {
            summary.truncate(end);
        }
        summary.push_str(&self.consent);
        plain(&summary).take(longest).collect()
    }

    /// Members of an input, those that the schema knows first.
    fn listed(&self, input: Option<&Map<String, Value>>, wanted: impl Fn(&String) -> bool) -> String {
        let all: Vec<_> = input.into_iter().flatten().filter(|(name, _)| wanted(name)).collect();
        let (known, unknown): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| self.known.contains(name));
        let (mut list, count) = (String::new(), known.len() + unknown.len());
        for (at, (name, value)) in known.into_iter().chain(unknown).take(MOST_LISTED).enumerate() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(list, "{comma}{}: {}", quoted_within(name, LONGEST_NAME), quoted(&text));
        }
        if count > MOST_LISTED {
            let _ = write!(list, " and {} more that are not shown", count - MOST_LISTED);
        }
        list
    }
}

/// What the declaration says of personal data, as a sentence each.
fn consent(capability: &Capability, settings: &Settings) -> String {
    let privacy = &capability.privacy;
    let recipients = if privacy.recipients.is_empty() { &settings.third_parties } else { &privacy.recipients };
    if !privacy.explicit_consent {
        return String::new();
    }
    let list = |items: &[String], none: &str| if items.is_empty() { none.to_owned() } else { items.join(", ") };
    format!(
        " Purpose: {}. Personal data used: {}. Shared with: {}.",
        privacy.purpose.as_deref().unwrap_or("not declared"),
        list(&privacy.personal_data, "not declared"),
        list(recipients, "nobody else, as far as declared"),
    )
}

/// What a call of this kind may lead to, where the operator did not say.
pub(super) fn usual_consequence(capability: &Capability) -> &'static str {
    use crate::site::CapabilityKind::{CommitAction, DestructiveAction, PrepareAction};
    match capability.kind {
        DestructiveAction => "Something is removed or cancelled. It may be impossible to undo.",
        CommitAction => "It is carried out for good, and may cost money or bind whoever asks for it.",
        PrepareAction => "Something is prepared or reserved. Nothing is committed yet.",
        _ => "The data described above is used or disclosed.",
    }
}
