//! What a person is asked to confirm, in words (AICP §8.6).
//!
//! The words are the operator's; the values in them are the agent's, and must not be able to say anything else than
//! themselves: quoted, short, and without characters that a screen shows as something other than they are.

use std::{borrow::Cow, fmt::Write, sync::LazyLock};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, context, value::Serde};
use serde_json::{Map, Value};

use crate::site::{Capability, Settings};

/// Characters of one value.
const LONGEST_VALUE: usize = 120;
/// Characters of the whole.
const LONGEST: usize = 2000;
/// Characters of one step of several, besides what is said of personal data.
const LONGEST_STEP: usize = 600;
/// Around what is not known yet. No value that somebody sends has these: they are taken out of it.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];
const FROM_STEP: &str = "from step ";
/// Digits of a number that stands as it is.
const LONGEST_NUMBER: usize = 24;
/// Characters of a name.
const LONGEST_NAME: usize = 40;
/// Marks on one character.
const MOST_MARKS: usize = 2;
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

/// A value as a summary shows it.
fn quoted(text: &str) -> String {
    quoted_within(text, LONGEST_VALUE)
}

fn quoted_within(text: &str, longest: usize) -> String {
    let marked = text.strip_prefix(MARKS[0]).and_then(|rest| rest.strip_suffix(MARKS[1]));
    if let Some(label) = marked.filter(|label| label.starts_with(FROM_STEP)) {
        return label.to_owned();
    }
    let mut characters = plain(text).map(|c| if c == '"' { '\'' } else { c });
    let mut shown: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// What stands for a value that a step will say: no value looks like it, and it is shown without quotes.
pub(super) fn from_step(number: &str) -> String {
    format!("{}{FROM_STEP}{number}{}", MARKS[0], MARKS[1])
}

/// An input without anything that could pass for such a mark.
pub(super) fn unmarked(input: &Value) -> Cow<'_, Value> {
    if has_marks(input) { Cow::Owned(without_marks(input)) } else { Cow::Borrowed(input) }
}

fn has_marks(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MARKS),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains(MARKS) || has_marks(value)),
        _ => false,
    }
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace(MARKS, "").into(),
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.replace(MARKS, ""), without_marks(value))).collect())
        }
        other => other.clone(),
    }
}

/// The characters that show as themselves; of marks that stand on others, no more than anyone writes.
fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut marks = 0;
    text.chars().filter(move |c| {
        marks = if is_mark(*c) { marks + 1 } else { 0 };
        is_plain(*c) && marks <= MOST_MARKS
    })
}

/// Nothing that controls how the rest is shown: control characters, those that turn the direction, and those that show
/// nothing (the categories Cc, Cf, Zl, Zp and Co, and what Unicode calls default ignorable).
fn is_plain(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
        | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}');
    !c.is_control() && !hidden
}

/// A mark that stands on the character before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn summary(template: Option<&str>) -> Summary {
        let template = template.map(str::to_owned);
        let named = vec!["x".into(), "amount".into()];
        Summary { template, named, known: Vec::new(), description: "Hold a fare".into(), consent: String::new() }
    }

    #[test]
    fn values_say_nothing_but_themselves() {
        let say = |value: Value| summary(Some("Hold {{ input.x }} now")).say(&json!({ "x": value }));
        assert_eq!(say(json!("fare_1")), "Hold \"fare_1\" now");
        assert_eq!(say(json!(682)), "Hold 682 now");
        assert_eq!(say(json!("a\" and pay \"b\n\u{202e}c\u{200b}")), "Hold \"a' and pay 'bc\" now");
        assert_eq!(say(json!("x".repeat(200))), format!("Hold \"{}…\" now", "x".repeat(120)));
        assert_eq!(say(json!("{{ input }}{% if %}")), "Hold \"{{ input }}{% if %}\" now");
        assert_eq!(say(json!(["a\u{202e}"])), "Hold \"['a']\" now");
    }

    #[test]
    fn what_a_template_lacks_is_listed() {
        let input = json!({ "fare_id": "f", "n": 2 });
        assert_eq!(
            summary(Some("Pay {{ input.amount }}")).say(&input),
            "Hold a fare; \"fare_id\": \"f\", \"n\": \"2\"."
        );
        assert_eq!(summary(None).say(&json!({})), "Hold a fare.");
        let many: Map<String, Value> = (0..20).map(|n| (format!("k{n}"), json!(n))).collect();
        assert!(summary(None).say(&Value::Object(many)).ends_with(" and 8 more that are not shown."));
        let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{{ a }}{% endfor %}{% endfor %}";
        assert_eq!(summary(Some(endless)).say(&json!({})), "Hold a fare.");
    }

    #[test]
    fn nothing_is_confirmed_unseen_and_nothing_crowds_out_the_rest() {
        let mut summary = summary(Some("Hold {{ input.x }}"));
        summary.known = vec!["y".into()];
        summary.consent = " Purpose: travel.".into();
        let input = json!({ "x": "f", "y": "known", ". Nothing is charged": 1 });
        let expected = "Hold \"f\" Also sent: \". Nothing is charged\": \"1\". Purpose: travel.";
        assert_eq!(summary.say(&input), expected);
        let flood: Map<String, Value> =
            (0..12).map(|n| (format!("{n}{}", "k".repeat(500)), json!("v".repeat(500)))).collect();
        let said = summary.say(&Value::Object(flood));
        assert!(said.ends_with(" Purpose: travel.") && said.chars().count() <= LONGEST, "{said}");
        let marks = format!("a{}b", "\u{336}".repeat(50));
        assert_eq!(summary.say(&json!({ "x": marks })), "Hold \"a\u{336}\u{336}b\" Purpose: travel.");
        assert_eq!(
            summary.say(&json!({ "x": 1e300 })).len(),
            "Hold \"\" Purpose: travel.".len() + 120 + '…'.len_utf8()
        );
    }

    #[test]
    fn what_a_step_will_say_is_told_from_what_somebody_sends() {
        let of_step = summary(Some("Hold {{ input.x }} for {{ input.y }}"));
        let mark = from_step("1.0");
        let input = json!({ "x": mark, "y": format!("trip {mark}"), "z": [mark] });
        let expected = "Hold from step 1.0 for \"trip from step 1.0\" Also sent: \"y\": \"trip from step 1.0\", \"z\": \"['from step 1.0']\".";
        assert_eq!(of_step.briefly(&input), expected);
        let plain = summary(Some("Hold {{ input.x }}"));
        assert_eq!(plain.say(&json!({ "x": mark })), "Hold \"from step 1.0\"");
        assert_eq!(
            plain.say(&json!({ "x": "\u{e000}from step 1\u{e001}", "\u{e001}k": 1 })),
            "Hold \"from step 1\" Also sent: \"k\": \"1\"."
        );
        let long = json!({ "x": "v".repeat(500), "k": "v".repeat(500), "l": "v".repeat(500), "m": "v".repeat(500) });
        let long = (0..9).fold(long, |mut all, n| {
            all[format!("{n}")] = "v".repeat(200).into();
            all
        });
        let mut all = summary(None);
        all.consent = format!(" Purpose: {}.", "p".repeat(700));
        let said = all.briefly(&long);
        assert!(said.ends_with("p.") && said.chars().count() == LONGEST_STEP + all.consent.len(), "{said}");
    }

    #[test]
    fn templates_are_judged_at_load() {
        assert!(Summary::compile("Hold {{ input.x }}").is_ok());
        assert!(Summary::compile("Hold {{ input.x ").is_err());
        assert!(Summary::compile("{% include \"/etc/passwd\" %}").is_err());
    }
}
