//! The summary that a person is asked to confirm (AICP §8.6).
//!
//! The operator writes the words; the agent supplies the values in them. A value must not be able to pose as words: it
//! is quoted, shortened, and every character that a screen would show as something else is escaped.

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

/// Maximum characters of a summary.
const LONGEST: usize = 2000;
/// Maximum characters of one step's summary, consent aside.
const LONGEST_STEP: usize = 600;
/// Maximum digits of a number that is shown as it is.
const LONGEST_NUMBER: usize = 24;
/// Maximum characters of a name.
const LONGEST_NAME: usize = 40;
/// Maximum inputs that are listed where the operator wrote no summary.
const MOST_LISTED: usize = 12;
/// Maximum template instructions of one rendering.
const FUEL: u64 = 20_000;

/// The template environment; it shows values as [`formatted`] does.
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

/// Builds the summaries of one capability.
#[derive(Debug, Clone)]
pub struct Summary {
    template: Option<Marked>,
    /// The inputs that the schema names.
    known: Known,
    /// The description, used where there is no template.
    description: String,
    /// Purpose, data and recipients of personal data (AICP §9.4).
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

    /// The summary of one call. A template that fails on this input causes no refusal, and its partial output is not
    /// shown: the whole input is listed instead. Inputs that neither template nor schema names are always listed, so
    /// that a person confirms nothing unseen.
    pub(super) fn say(&self, input: &Value) -> String {
        self.said(&marks_escaped(input), LONGEST)
    }

    /// The summary of one step of a composition. Its input may contain marks for values that are not known yet.
    pub(super) fn briefly(&self, input: &Value) -> String {
        self.said(input, LONGEST_STEP + self.consent.chars().count())
    }

    /// The same summary without consent, for a composition whose steps state it.
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
        // Cutting never shortens the operator's consent text.
        let room = longest.saturating_sub(self.consent.chars().count());
        if summary.chars().nth(room).is_some() {
            let end = summary.char_indices().nth(room.saturating_sub(1)).map_or(0, |(end, _)| end);
            summary.truncate(end);
            summary.push('…');
        }
        summary.push_str(&self.consent);
        plain(&summary).take(longest).collect()
    }

    /// A list of inputs, those in the schema first.
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

/// The declared use of personal data, one sentence per item.
fn consent(capability: &Capability, settings: &Settings) -> String {
    let privacy = &capability.privacy;
    let recipients = if privacy.recipients.is_empty() { &settings.third_parties } else { &privacy.recipients };
    if !privacy.explicit_consent {
        return String::new();
    }
    // An absent list of recipients promises nothing.
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

/// The default description of consequences for a kind of call.
pub(super) fn usual_consequence(capability: &Capability) -> &'static str {
    use frontdesk_config::CapabilityKind::{CommitAction, DestructiveAction, PrepareAction};
    match capability.kind {
        DestructiveAction => "Something is removed or cancelled. It may be impossible to undo.",
        CommitAction => "It cannot be undone, and may cost money or be legally binding.",
        PrepareAction => "Something is prepared or reserved. Nothing is committed yet.",
        _ => "The data described above is used or disclosed.",
    }
}
