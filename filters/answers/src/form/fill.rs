//! What a filled form sends: names and values in the order of the page, as a browser's entry list.

use std::collections::BTreeSet;

use frontdesk_base::fault::Refusal;
use serde_json::Value;

use super::{
    Input, Inputs, Upload,
    control::{Control, Kind},
    direction,
    find::FoundForm,
    value, wrong,
};
use crate::extract::changed;

/// How many options are named in a message.
const MOST_NAMED: usize = 20;

/// A name with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: Sent,
    /// An input was put in.
    pub(super) is_input: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    Text(String),
    File(Upload),
}

/// The entry list of a form with these inputs.
///
/// # Errors
///
/// An input does not fit the form, or the form is not as declared.
pub(super) fn entries(
    form: &FoundForm<'_>,
    submitter: Option<&Control<'_>>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Entry>, Refusal> {
    let mut entries = Vec::new();
    let mut used = BTreeSet::new();
    for control in &form.controls {
        let chosen = submitter.is_some_and(|button| button.element.id == control.element.id);
        if control.is_button() {
            if chosen && !control.is_disabled {
                push_button(control, &mut entries);
            }
            continue;
        }
        if control.name.is_empty() {
            continue;
        }
        let given = inputs
            .given
            .get_key_value(&control.name)
            .or_else(|| control.name.strip_suffix("[]").and_then(|name| inputs.given.get_key_value(name)));
        let Some((name, input)) = given else {
            if !control.is_disabled {
                keep(control, form, &mut entries)?;
            }
            continue;
        };
        used.insert(name.clone());
        if control.kind == Kind::Hidden && !(inputs.declared)(name) {
            return Err(wrong(inputs, name, "There is no such input; the site uses this name for something else."));
        }
        if control.is_disabled {
            return Err(changed("A field of the site's form that this fills in cannot be filled in any more."));
        }
        put(control, form, (name.as_str(), input), inputs, &mut entries)?;
    }
    for name in inputs.given.keys().filter(|name| !used.contains(*name)) {
        if is_nothing(&inputs.given[name]) {
            continue;
        }
        return Err(if (inputs.declared)(name) {
            changed("A field of the site's form that this fills in is gone.")
        } else {
            wrong(inputs, name, "There is no such input.")
        });
    }
    chosen_where_needed(form, &entries, inputs)?;
    Ok(entries)
}

fn is_nothing(input: &Input) -> bool {
    matches!(input, Input::Value(Value::Null))
}

/// A name with what the page has for it.
fn kept(control: &Control<'_>, value: String) -> Entry {
    Entry { name: control.name.clone(), value: Sent::Text(value), is_input: false }
}

/// The direction of a control's text, where the form asks for it.
fn directed(control: &Control<'_>, text: &str) -> Option<Entry> {
    let (name, direction) = direction::of(control, text)?;
    Some(Entry { name, value: Sent::Text(direction.to_owned()), is_input: false })
}

fn push_button(control: &Control<'_>, entries: &mut Vec<Entry>) {
    if control.kind == Kind::Image {
        let prefix = if control.name.is_empty() { String::new() } else { format!("{}.", control.name) };
        for axis in ["x", "y"] {
            let value = Sent::Text("0".to_owned());
            entries.push(Entry { name: format!("{prefix}{axis}"), value, is_input: false });
        }
    } else if !control.name.is_empty() {
        entries.push(kept(control, control.value()));
    }
}

/// What a control sends that no input is for.
fn keep(control: &Control<'_>, form: &FoundForm<'_>, entries: &mut Vec<Entry>) -> Result<(), Refusal> {
    match control.kind {
        Kind::Checkbox | Kind::Radio if !control.is_checked => {}
        Kind::Select { .. } => {
            let chosen = control.choices().into_iter().filter(|choice| choice.is_chosen && !choice.is_disabled);
            entries.extend(chosen.map(|choice| kept(control, choice.value)));
        }
        Kind::File { .. } => {
            let nothing = Upload {
                name: String::new(),
                media_type: "application/octet-stream".to_owned(),
                body: Default::default(),
            };
            entries.push(Entry { name: control.name.clone(), value: Sent::File(nothing), is_input: false });
        }
        Kind::Hidden if control.name.eq_ignore_ascii_case("_charset_") => {
            entries.push(kept(control, form.encoding.name().to_owned()));
        }
        _ => {
            let text = control.value();
            let direction = directed(control, &text);
            entries.push(kept(control, text));
            entries.extend(direction);
        }
    }
    Ok(())
}

/// Puts an input into a control.
fn put(
    control: &Control<'_>,
    form: &FoundForm<'_>,
    (name, input): (&str, &Input),
    inputs: &Inputs<'_>,
    entries: &mut Vec<Entry>,
) -> Result<(), Refusal> {
    let mut push = |value: Sent| entries.push(Entry { name: control.name.clone(), value, is_input: true });
    let value = match input {
        Input::File(file) => {
            if !matches!(control.kind, Kind::File { .. }) {
                return Err(wrong(inputs, name, "The site takes no file here."));
            }
            push(Sent::File(file.clone()));
            return Ok(());
        }
        Input::Value(value) => value,
    };
    let root = form.element;
    match control.kind {
        Kind::File { .. } if value.is_null() => return keep(control, form, entries),
        Kind::File { .. } => return Err(wrong(inputs, name, "The site takes a file here.")),
        Kind::Checkbox => {
            let own = control.value();
            let is_wanted = match value {
                Value::Bool(wanted) => *wanted,
                Value::Null => control.is_checked,
                other => texts(other).iter().any(|text| *text == own || same(text, &control.label(&root))),
            };
            check_known(control, form, (name, value), inputs)?;
            if is_wanted {
                push(Sent::Text(own));
            }
        }
        Kind::Radio => {
            check_known(control, form, (name, value), inputs)?;
            let wanted = texts(value);
            let own = control.value();
            let is_wanted = match value {
                Value::Null => control.is_checked,
                _ => wanted.contains(&own) || wanted.iter().any(|text| same(text, &control.label(&root))),
            };
            if is_wanted {
                push(Sent::Text(own));
            }
        }
        Kind::Select { several } => {
            let choices = control.choices();
            if value.is_null() {
                return keep(control, form, entries);
            }
            let wanted = texts(value);
            if wanted.len() > 1 && !several {
                return Err(wrong(inputs, name, "The site takes one of these, not several."));
            }
            for text in &wanted {
                let by_value = choices.iter().find(|choice| choice.value == *text && !choice.is_disabled);
                let chosen = by_value.or_else(|| choices.iter().find(|c| same(text, &c.label) && !c.is_disabled));
                let Some(chosen) = chosen else {
                    let known: Vec<&str> =
                        choices.iter().filter(|c| !c.is_disabled).map(|c| c.label.as_str()).collect();
                    return Err(wrong(inputs, name, &none_of(&known)));
                };
                push(Sent::Text(chosen.value.clone()));
            }
        }
        Kind::Hidden | Kind::Text | Kind::TextArea => {
            let is_list = control.name.ends_with("[]") || value.is_array();
            let wanted = texts(value);
            if value.is_null() {
                return keep(control, form, entries);
            }
            if wanted.len() > 1 && !is_list {
                return Err(wrong(inputs, name, "The site takes one value here."));
            }
            let wanted = share(control, form, wanted);
            for text in wanted {
                let text = if control.kind == Kind::Text { value::typed(&control.input_type(), &text) } else { text };
                check_text(control, (name, &text), inputs)?;
                let direction = directed(control, &text);
                entries.push(Entry { name: control.name.clone(), value: Sent::Text(text), is_input: true });
                entries.extend(direction);
            }
        }
        Kind::Submit | Kind::Image | Kind::Button => {}
    }
    Ok(())
}

/// The values for one of several text controls with the same name: one each, and the rest for the last.
fn share(control: &Control<'_>, form: &FoundForm<'_>, wanted: Vec<String>) -> Vec<String> {
    let same: Vec<&Control<'_>> =
        form.controls.iter().filter(|other| other.name == control.name && other.kind == control.kind).collect();
    let Some(at) = same.iter().position(|other| other.element.id == control.element.id) else { return wanted };
    if at + 1 == same.len() {
        wanted.into_iter().skip(at).collect()
    } else {
        wanted.into_iter().skip(at).take(1).collect()
    }
}

/// What browsers check before they send a text.
fn check_text(control: &Control<'_>, (name, text): (&str, &str), inputs: &Inputs<'_>) -> Result<(), Refusal> {
    let attribute = |name: &str| control.element.attr(name).map(|value| value.trim().to_owned());
    let number = |name: &str| attribute(name).and_then(|text| text.parse::<f64>().ok());
    let length = text.encode_utf16().count();
    if let Some(most) = attribute("maxlength").and_then(|most| most.parse::<usize>().ok()).filter(|most| length > *most)
    {
        return Err(wrong(inputs, name, &format!("The site takes at most {most} characters here.")));
    }
    let least = attribute("minlength").and_then(|least| least.parse::<usize>().ok());
    if let Some(least) = least.filter(|least| length < *least && length > 0) {
        return Err(wrong(inputs, name, &format!("The site takes at least {least} characters here.")));
    }
    let kind = control.input_type();
    if let Some(example) = value::wanted_moment(&kind, text) {
        return Err(wrong(inputs, name, &format!("The site takes this in the form {example} here.")));
    }
    if matches!(kind.as_str(), "number" | "range") && !text.is_empty() {
        let Ok(given) = text.parse::<f64>() else { return Err(wrong(inputs, name, "The site takes a number here.")) };
        if number("min").is_some_and(|least| given < least) || number("max").is_some_and(|most| given > most) {
            let bounds = format!(
                "The site takes a number from {} to {} here.",
                attribute("min").unwrap_or_else(|| "any".into()),
                attribute("max").unwrap_or_else(|| "any".into())
            );
            return Err(wrong(inputs, name, &bounds));
        }
    }
    Ok(())
}

/// Checks that a choice is one of the form's.
fn check_known(
    control: &Control<'_>,
    form: &FoundForm<'_>,
    (name, value): (&str, &Value),
    inputs: &Inputs<'_>,
) -> Result<(), Refusal> {
    if value.is_null() || value.is_boolean() {
        return Ok(());
    }
    let group: Vec<&Control<'_>> =
        form.controls.iter().filter(|other| other.kind == control.kind && other.name == control.name).collect();
    let root = form.element;
    let labels: Vec<String> = group.iter().map(|one| one.label(&root)).collect();
    let known =
        |text: &String| group.iter().any(|one| one.value() == *text) || labels.iter().any(|label| same(text, label));
    if texts(value).iter().all(known) {
        return Ok(());
    }
    let labels: Vec<String> =
        group.iter().zip(labels).map(|(one, label)| if label.is_empty() { one.value() } else { label }).collect();
    Err(wrong(inputs, name, &none_of(&labels.iter().map(String::as_str).collect::<Vec<_>>())))
}

fn none_of(known: &[&str]) -> String {
    let known: Vec<&str> = known.iter().copied().filter(|label| !label.is_empty()).take(MOST_NAMED).collect();
    format!("The site takes one of these here: {}.", known.join("; "))
}

/// Refuses where the form needs something that is not there: a browser would not send it.
fn chosen_where_needed(form: &FoundForm<'_>, entries: &[Entry], inputs: &Inputs<'_>) -> Result<(), Refusal> {
    for control in form.controls.iter().filter(|c| c.is_required() && !c.is_disabled && !c.name.is_empty()) {
        let is_filled = entries.iter().any(|entry| {
            entry.name == control.name
                && match &entry.value {
                    Sent::Text(text) => !text.is_empty(),
                    Sent::File(file) => !file.name.is_empty(),
                }
        });
        if is_filled || control.kind == Kind::Hidden {
            continue;
        }
        let plain = control.name.strip_suffix("[]").unwrap_or(&control.name);
        let name = [control.name.as_str(), plain].into_iter().find(|name| (inputs.declared)(name));
        return Err(match name {
            Some(name) => wrong(inputs, name, "The site needs this."),
            None => changed("The site's form now needs a field that this does not fill in."),
        });
    }
    Ok(())
}

/// The texts of a value: of a list each, of anything else one.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

fn same(text: &str, label: &str) -> bool {
    !label.is_empty() && text.trim().to_lowercase() == label.trim().to_lowercase()
}
