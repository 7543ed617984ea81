//! What a person is asked to confirm, in words (AICP §8.6).
//!
//! The words are the operator's; the values in them are the agent's, and must not be able to say anything else than
//! themselves: quoted, short, and with an escape for each character that a screen shows as something other than it is.

mod quoted;
mod shown;
#[cfg(test)]
mod tests;
mod unforeseen;

use std::{fmt::Write, sync::LazyLock};

use minijinja::{
    Environment, context,
    value::{Serde, ValueKind},
};
use serde_json::Value;

pub(super) use quoted::{from_step, marks_escaped};

use frontdesk_base::templates;
use frontdesk_config::{Capability, Settings};
use quoted::{plain, quoted, quoted_json, quoted_within};
use shown::Marked;
use unforeseen::{Known, Sent, members, unforeseen};

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

/// They show values as [`formatted`] has them.
static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = templates::environment(FUEL);
    templates.set_formatter(|out, _, value| out.write_str(&formatted(value)).map_err(minijinja::Error::from));
    templates
});

/// What a template shows for a value.
fn formatted(value: &minijinja::Value) -> String {
    if let Some(text) = value.as_str() {
        return quoted(text);
    }
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Map)
        && let Ok(json) = serde_json::to_string(value)
    {
        return quoted_json(&json);
    }
    match value.to_string() {
        number if value.is_number() && number.len() <= LONGEST_NUMBER => number,
        other => quoted(&other),
    }
}

/// A summary of calls of one capability.
#[derive(Debug, Clone)]
pub struct Summary {
    template: Option<Marked>,
    /// The inputs that the schema names.
    known: Known,
    /// Says what is done, where there is no template.
    description: String,
    /// What is used for what, and who gets it (AICP §9.4).
    consent: String,
}

impl Summary {
    pub(super) fn of(capability: &Capability, settings: &Settings) -> Self {
        let description = capability.description.clone().unwrap_or_else(|| capability.id.clone());
        Self {
            template: capability.confirmation.summary.as_deref().map(Marked::new),
            known: capability.input_schema.as_ref().map(Known::by).unwrap_or_default(),
            description: description.trim_end_matches('.').to_owned(),
            consent: consent(capability, settings),
        }
    }

    /// The summary of one call. A template that does not get along with this input is not worth a refusal, and half a
    /// sentence not worth a confirmation: the whole input is listed instead. What the operator did not foresee in an
    /// input is always listed, so that nothing is confirmed unseen.
    pub(super) fn say(&self, input: &Value) -> String {
        self.said(&marks_escaped(input), LONGEST)
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
        let rendered = self.template.as_ref().and_then(|marked| {
            let template = TEMPLATES.template_from_named_str("summary", &marked.template).ok()?;
            Some((marked, template.render(context! { input => Serde(input) }).ok()?))
        });
        let mut summary = match rendered {
            Some((marked, mut rendered)) => {
                let shown = marked.shown(&mut rendered);
                let others = self.listed(unforeseen(input, &self.known, &shown));
                if others.is_empty() { rendered } else { format!("{rendered} Also sent: {others}.") }
            }
            None => match self.listed(members(input).map(|(name, value)| (vec![name.into()], value)).collect()) {
                listed if listed.is_empty() => format!("{}.", self.description),
                listed => format!("{}; {listed}.", self.description),
            },
        };
        // The operator's own words about what is used for what are never what is cut.
        let room = longest.saturating_sub(self.consent.chars().count());
        if summary.chars().nth(room).is_some() {
            let end = summary.char_indices().nth(room.saturating_sub(1)).map_or(0, |(end, _)| end);
            summary.truncate(end);
            summary.push('…');
        }
        summary.push_str(&self.consent);
        plain(&summary).take(longest).collect()
    }

    /// Inputs, those that the schema knows first.
    fn listed(&self, all: Vec<Sent<'_>>) -> String {
        let (known, unknown): (Vec<_>, Vec<_>) = all.into_iter().partition(|(way, _)| self.known.begins(way));
        let (mut list, count) = (String::new(), known.len() + unknown.len());
        for (at, (way, value)) in known.into_iter().chain(unknown).take(MOST_LISTED).enumerate() {
            let name = way.join(".");
            let text = value.as_str().map_or_else(|| quoted_json(&value.to_string()), quoted);
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(list, "{comma}{}: {text}", quoted_within(&name, LONGEST_NAME));
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
    // No list of names is no promise.
    let nobody = match privacy.shares || settings.shares {
        true => "others, who are not named",
        false => "nobody else, as far as declared",
    };
    let list = |items: &[String], none: &str| if items.is_empty() { none.to_owned() } else { items.join(", ") };
    format!(
        " Purpose: {}. Personal data used: {}. Shared with: {}.",
        privacy.purpose.as_deref().unwrap_or("not declared"),
        list(&privacy.personal_data, "not declared"),
        list(recipients, nobody),
    )
}

/// What a call of this kind may lead to, where the operator did not say.
pub(super) fn usual_consequence(capability: &Capability) -> &'static str {
    use frontdesk_config::CapabilityKind::{CommitAction, DestructiveAction, PrepareAction};
    match capability.kind {
        DestructiveAction => "Something is removed or cancelled. It may be impossible to undo.",
        CommitAction => "It is carried out for good, and may cost money or bind whoever asks for it.",
        PrepareAction => "Something is prepared or reserved. Nothing is committed yet.",
        _ => "The data described above is used or disclosed.",
    }
}
