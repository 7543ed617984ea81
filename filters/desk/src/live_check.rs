//! Tries declared reads and forms against the running site (`frontdesk check --live`): what to ask, and what the answers
//! show. Only pages and reads by GET are asked; nothing is sent that acts.

use bytes::Bytes;
use frontdesk_answers::{Answered, Kind, Plan, form::Differences};
use http::StatusCode;
use serde_json::{Map, Value};
use url::Url;

use super::call::CallPlan;
use frontdesk_config::{Capability, ResponseKind, Settings};

/// The most fields that are named.
const MOST_UNFILLED: usize = 5;

/// A capability to try.
#[derive(Debug)]
pub struct Trial {
    pub capability: String,
    /// Path and query to ask for.
    pub target: String,
    plan: CallPlan,
    /// The site's names of the inputs, and the action, of a form.
    form: Option<(Vec<String>, String)>,
}

/// What a trial found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub fits: bool,
    pub what: String,
}

/// What can be tried, and what cannot, with the reason.
#[derive(Debug, Default)]
pub struct Trials {
    pub trials: Vec<Trial>,
    pub left_out: Vec<(String, String)>,
}

impl Trials {
    /// The trials of a declaration.
    pub fn of(settings: &Settings) -> Self {
        let mut all = Self::default();
        for capability in settings.capabilities.iter() {
            match trial(capability, settings) {
                Ok(Some(trial)) => all.trials.push(trial),
                Ok(None) => {}
                Err(why) => all.left_out.push((capability.id.clone(), why)),
            }
        }
        all
    }
}

fn trial(capability: &Capability, settings: &Settings) -> Result<Option<Trial>, String> {
    let calls_the_site = capability.upstream.as_ref().is_some_and(|call| call.path.is_some());
    if !calls_the_site {
        return Ok(None);
    }
    let Some(plan) = CallPlan::new(capability, settings) else { return Ok(None) };
    if plan.form.is_none() && (plan.acts() || !capability.kind.is_read()) {
        return Ok(None);
    }
    let input = example(capability);
    let call = plan.call(&input).map_err(|violation| {
        format!("needs the input {}: give it `examples` in input_schema", violation.pointer.trim_start_matches('/'))
    })?;
    let form = call.form.as_ref().map(|form| {
        let declared = plan.form.iter().flat_map(|form| form.declared.iter().cloned());
        let in_path: Vec<&str> = plan.placed_names().collect();
        let mut names: Vec<String> = declared.filter(|name| !in_path.contains(&name.as_str())).collect();
        names.sort_unstable();
        (form.page.clone(), names, call.target.clone())
    });
    let (target, form) = match form {
        Some((page, names, action)) => (page, Some((names, action))),
        None => (call.target.clone(), None),
    };
    Ok(Some(Trial { capability: capability.id.clone(), target, form, plan }))
}

/// An input out of the schema's own examples and defaults.
fn example(capability: &Capability) -> Value {
    let schema = capability.input_schema.as_ref();
    if let Some(example) = schema.and_then(|schema| schema["examples"].get(0)).filter(|example| example.is_object()) {
        return example.clone();
    }
    let members = schema.and_then(|schema| schema["properties"].as_object());
    let mut input = Map::new();
    for (name, member) in members.into_iter().flatten() {
        let value = member["examples"].get(0).or_else(|| member.get("example")).or_else(|| member.get("default"));
        if let Some(value) = value.or_else(|| member["enum"].get(0)) {
            input.insert(name.clone(), value.clone());
        }
    }
    input.into()
}

/// That a field is gone, and what to write if another one took its place.
fn no_field(name: &str, unfilled: &[String]) -> String {
    let mut said = format!("the form has no field \"{name}\"");
    if let Some(first) = unfilled.first() {
        let shown: Vec<String> = unfilled.iter().take(MOST_UNFILLED).map(|own| format!("{own:?}")).collect();
        let is_bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let name = if is_bare { name.to_owned() } else { format!("{name:?}") };
        said += &format!(
            "; nothing fills in {}: if that is the same field, write rename_input = {{ {name} = {first:?} }}",
            shown.join(", ")
        );
    }
    said
}

impl Trial {
    /// What an answer from this address shows.
    pub fn judge(&self, status: StatusCode, content_type: &str, body: &Bytes, at: &Url) -> Vec<Found> {
        let fits = |what: String| Found { fits: true, what };
        let fails = |what: String| Found { fits: false, what };
        if !status.is_success() {
            return vec![fails(format!("the site answers {status} to GET {}", self.target))];
        }
        let answered = Answered {
            content_type,
            disposition: None,
            body,
            at,
            is_named: false,
            own_hosts: &self.plan.own_hosts,
            tokens: u64::MAX,
        };
        if let (Some(form), Some((names, action))) = (&self.plan.form, &self.form) {
            return match form.form.differences(&answered, action, names) {
                Ok(Differences { missing, .. }) if missing.is_empty() => {
                    vec![fits(format!("the form is there, with a field for each of {} inputs", names.len()))]
                }
                Ok(Differences { missing, unfilled }) => {
                    missing.iter().map(|name| fails(no_field(name, &unfilled))).collect()
                }
                // Nothing is ever sent here, so there is no need to say so.
                Err(refusal) => vec![fails(refusal.detail.trim_end_matches(" Nothing was sent.").to_owned())],
            };
        }
        if let Plan::Extract(extract) = &self.plan.reader {
            let tried = match extract.tried(&answered) {
                Ok(tried) => tried,
                Err(refusal) => return vec![fails(refusal.detail.into_owned())],
            };
            let is_empty = tried.iter().any(|tried| tried.key == "each" && tried.found == 0);
            return tried
                .into_iter()
                .filter(|tried| !(is_empty && tried.key.starts_with("fields.")))
                .map(|tried| match (tried.found, tried.key.as_str()) {
                    (0, "each") => {
                        fits("extract.each matches nothing for this input, so no field was tried".to_owned())
                    }
                    (0, "next") => {
                        fits("extract.next matches nothing: this is the last page, or the selector is wrong".to_owned())
                    }
                    (0, key) if tried.is_needed => fails(format!("extract.{key} matches nothing")),
                    (0, key) => fits(format!("extract.{key} matches nothing here")),
                    (found, key) => fits(format!("extract.{key} matches {found}")),
                })
                .collect();
        }
        let found = Kind::of(content_type, body);
        let is_read = match self.plan.response {
            ResponseKind::Json => found == Kind::Json,
            ResponseKind::Page => found == Kind::Page,
            ResponseKind::Text => found != Kind::File,
            ResponseKind::Table => matches!(found, Kind::Table | Kind::Text),
            ResponseKind::Xml => matches!(found, Kind::Xml | Kind::Text),
            _ => true,
        };
        match is_read {
            true => vec![fits("the site answers as declared".to_owned())],
            false => vec![fails(format!(
                "the site answers with another kind of content; write response = \"{}\"",
                found.word()
            ))],
        }
    }
}
