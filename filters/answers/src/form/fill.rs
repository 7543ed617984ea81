//! What a filled form sends: names and values in the order of the page, as a browser's entry list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use frontdesk_base::fault::Refusal;
use frontdesk_page::content::css;
use serde_json::Value;

use super::{
    Input, Inputs, Upload,
    checks::{check_text, chosen_where_needed},
    control::{Control, Kind},
    direction,
    entry::{Entry, Sent, Source},
    find::FoundForm,
    groups::{Groups, Values, folded, none_of},
    value, wrong,
};
use crate::extract::changed;

/// The most values of all inputs together.
const MOST_VALUES: usize = 2_000;

/// An input, and what it goes into.
struct Wanted<'i> {
    input: &'i Input,
    values: Values,
    /// A control that people see takes it, so a hidden one of the same name is the site's own.
    is_seen: bool,
    is_used: bool,
}

/// A form that is being filled in.
struct Filling<'f, 'i, 't> {
    form: &'f FoundForm<'t>,
    inputs: &'i Inputs<'i>,
    wanted: BTreeMap<&'i str, Wanted<'i>>,
    /// How many controls there are of a name and kind, and how many of them were filled in.
    places: HashMap<(&'f str, Kind), (usize, usize)>,
    /// Read when the first choice is made.
    groups: Option<Groups<'f>>,
    entries: Vec<Entry>,
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
    let mut filling = Filling::of(form, inputs)?;
    for (at, control) in form.controls.iter().enumerate() {
        form.clock.check()?;
        filling.take(at, control, submitter)?;
    }
    let unused = filling.wanted.iter().find(|(_, wanted)| !wanted.is_used && !is_nothing(wanted.input));
    if let Some((name, _)) = unused {
        return Err(if (inputs.declared)(name) {
            changed("A field of the site's form that this fills in is gone. Nothing was sent.")
        } else {
            wrong(inputs, name, "There is no such input.")
        });
    }
    chosen_where_needed(form, &filling.entries, inputs)?;
    Ok(filling.entries)
}

/// Whether people can fill a field in. Prices, roles and traps for robots are fields too.
fn is_for_people(control: &Control<'_>) -> bool {
    control.kind != Kind::Hidden && !control.element.has_attr("readonly") && css::is_shown(&control.element)
}

impl<'f, 'i, 't> Filling<'f, 'i, 't> {
    fn of(form: &'f FoundForm<'t>, inputs: &'i Inputs<'i>) -> Result<Self, Refusal> {
        let (mut wanted, mut count) = (BTreeMap::new(), 0);
        for (name, input) in &inputs.given {
            if !inputs.are_open && !(inputs.declared)(name) && !is_nothing(input) {
                return Err(wrong(inputs, name, "There is no such input."));
            }
            let texts = match input {
                Input::Value(value) => texts(value),
                Input::File(_) => Vec::new(),
            };
            count += texts.len();
            if count > MOST_VALUES {
                let most = format!("A form of this site is filled in with at most {MOST_VALUES} values.");
                return Err(wrong(inputs, name, &most));
            }
            let values = Values::of(texts);
            wanted.insert(name.as_str(), Wanted { input, values, is_seen: false, is_used: false });
        }
        let mut filling = Self { form, inputs, wanted, places: HashMap::new(), groups: None, entries: Vec::new() };
        for control in form.controls.iter().filter(|control| !control.is_button()) {
            filling.places.entry((control.name.as_str(), control.kind)).or_default().0 += 1;
            if control.kind != Kind::Hidden
                && let Some(name) = filling.input_of(control)
                && let Some(wanted) = filling.wanted.get_mut(name)
            {
                wanted.is_seen = true;
            }
        }
        Ok(filling)
    }

    /// The name of the input that goes into a control.
    fn input_of(&self, control: &Control<'_>) -> Option<&'i str> {
        let known = |name: &str| self.wanted.get_key_value(name).map(|(name, _)| *name);
        known(&control.name).or_else(|| control.name.strip_suffix("[]").and_then(known))
    }

    /// Adds what the control at this place of the form sends.
    fn take(&mut self, at: usize, control: &'f Control<'t>, submitter: Option<&Control<'_>>) -> Result<(), Refusal> {
        if control.is_button() {
            let is_chosen = submitter.is_some_and(|button| button.element.id == control.element.id);
            if is_chosen && !control.is_disabled {
                push_button(control, &mut self.entries);
            }
            return Ok(());
        }
        if control.name.is_empty() {
            return Ok(());
        }
        let name = self.input_of(control);
        let own = name.and_then(|name| self.wanted.get(name)).is_some_and(|wanted| wanted.is_seen);
        // Rails, Laravel and ASP.NET send a hidden field of the same name, which says "no".
        let Some(name) = name.filter(|_| control.kind != Kind::Hidden || !own) else {
            return if control.is_disabled { Ok(()) } else { keep(control, self.form, &mut self.entries) };
        };
        if !(self.inputs.declared)(name) && !is_for_people(control) {
            let message = "There is no such input; the site uses this name for something else.";
            return Err(wrong(self.inputs, name, message));
        }
        if control.is_disabled {
            return Err(changed(
                "A field of the site's form that this fills in cannot be filled in any more. Nothing was sent.",
            ));
        }
        let Some(mut wanted) = self.wanted.remove(name) else { return Ok(()) };
        wanted.is_used = true;
        let put = self.put((at, control), name, &wanted);
        self.wanted.insert(name, wanted);
        put
    }

    fn push(&mut self, control: &Control<'_>, value: Sent) {
        self.entries.push(Entry { name: control.name.clone(), value, source: Source::Input });
    }

    /// Puts an input into a control.
    fn put(&mut self, at: (usize, &'f Control<'t>), name: &str, wanted: &Wanted<'_>) -> Result<(), Refusal> {
        let (form, inputs, control) = (self.form, self.inputs, at.1);
        let place = self.places.entry((control.name.as_str(), control.kind)).or_default();
        let (of, before) = *place;
        place.1 += 1;
        let value = match wanted.input {
            Input::File(file) => {
                if !matches!(control.kind, Kind::File { .. }) {
                    return Err(wrong(inputs, name, "The site takes no file here."));
                }
                self.push(control, Sent::File(file.clone()));
                return Ok(());
            }
            Input::Value(value) => value,
        };
        let texts = &wanted.values.texts;
        match control.kind {
            Kind::Checkbox | Kind::Radio => return self.choose(at, (name, value), &wanted.values, before == 0),
            _ if value.is_null() => return keep(control, form, &mut self.entries),
            Kind::File { .. } => return Err(wrong(inputs, name, "The site takes a file here.")),
            Kind::Select { several } => {
                if texts.len() > 1 && !several {
                    return Err(wrong(inputs, name, "The site takes one of these, not several."));
                }
                for value in options(control, form, name, texts, inputs)? {
                    self.push(control, Sent::Text(value));
                }
            }
            Kind::Hidden | Kind::Text | Kind::TextArea => {
                let is_list = control.name.ends_with("[]") || value.is_array();
                if texts.len() > 1 && !is_list {
                    return Err(wrong(inputs, name, "The site takes one value here."));
                }
                // Of several fields with one name each gets one value, and the last one the rest.
                let most = if before + 1 == of { usize::MAX } else { 1 };
                for text in texts.iter().skip(before).take(most) {
                    let text = match control.kind {
                        Kind::Text => value::typed(&control.input_type(), text),
                        _ => text.clone(),
                    };
                    check_text(control, (name, &text), inputs)?;
                    let direction = directed(control, &text);
                    self.push(control, Sent::Text(text));
                    self.entries.extend(direction);
                }
            }
            Kind::Submit | Kind::Image | Kind::Button => {}
        }
        Ok(())
    }

    /// Checks a checkbox or radio button where the input wants it. `is_first`: of its group, whose choices are then
    /// compared with the input.
    fn choose(
        &mut self,
        (at, control): (usize, &'f Control<'t>),
        (name, value): (&str, &Value),
        values: &Values,
        is_first: bool,
    ) -> Result<(), Refusal> {
        let own = control.value();
        let is_wanted = match value {
            Value::Null => control.is_checked,
            Value::Bool(wanted) if control.kind == Kind::Checkbox => *wanted,
            _ => {
                let groups = match self.groups.take() {
                    Some(groups) => groups,
                    None => Groups::of(self.form)?,
                };
                let groups = self.groups.insert(groups);
                // `true` and `false` are no choices that a page could name.
                let unknown = || groups.unknown(control, values).filter(|_| is_first && !value.is_boolean());
                if let Some(message) = unknown() {
                    return Err(wrong(self.inputs, name, &message));
                }
                values.choose(&own, groups.label(at))
            }
        };
        if is_wanted {
            self.push(control, Sent::Text(own));
        }
        Ok(())
    }
}

/// The values of the options that are chosen, in the order of the page.
fn options(
    control: &Control<'_>,
    form: &FoundForm<'_>,
    name: &str,
    texts: &[String],
    inputs: &Inputs<'_>,
) -> Result<Vec<String>, Refusal> {
    let choices = control.choices(form.clock)?;
    let (mut by_value, mut by_label) = (HashMap::new(), HashMap::new());
    for (at, choice) in choices.iter().enumerate().filter(|(_, choice)| !choice.is_disabled) {
        by_value.entry(choice.value.as_str()).or_insert(at);
        if !choice.label.is_empty() {
            by_label.entry(folded(&choice.label)).or_insert(at);
        }
    }
    let mut chosen = BTreeSet::new();
    for text in texts {
        let Some(at) = by_value.get(text.as_str()).or_else(|| by_label.get(&folded(text))) else {
            let known = choices.iter().filter(|choice| !choice.is_disabled);
            return Err(wrong(inputs, name, &none_of(&mut known.map(|choice| choice.label.as_str()), 0)));
        };
        chosen.insert(*at);
    }
    Ok(chosen.into_iter().map(|at| choices[at].value.clone()).collect())
}

fn is_nothing(input: &Input) -> bool {
    matches!(input, Input::Value(Value::Null))
}

/// A name with what the page has for it.
fn kept(control: &Control<'_>, value: String) -> Entry {
    let source = if control.kind == Kind::Hidden { Source::Hidden } else { Source::Page };
    Entry { name: control.name.clone(), value: Sent::Text(value), source }
}

/// The direction of a control's text, where the form asks for it.
fn directed(control: &Control<'_>, text: &str) -> Option<Entry> {
    let (name, direction) = direction::of(control, text)?;
    Some(Entry { name, value: Sent::Text(direction.to_owned()), source: Source::Page })
}

fn push_button(control: &Control<'_>, entries: &mut Vec<Entry>) {
    if control.kind == Kind::Image {
        let prefix = if control.name.is_empty() { String::new() } else { format!("{}.", control.name) };
        for axis in ["x", "y"] {
            let value = Sent::Text("0".to_owned());
            entries.push(Entry { name: format!("{prefix}{axis}"), value, source: Source::Page });
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
            let chosen =
                control.choices(form.clock)?.into_iter().filter(|choice| choice.is_chosen && !choice.is_disabled);
            entries.extend(chosen.map(|choice| kept(control, choice.value)));
        }
        Kind::File { .. } => {
            let nothing = Upload {
                name: String::new(),
                media_type: "application/octet-stream".to_owned(),
                body: Default::default(),
            };
            entries.push(Entry { name: control.name.clone(), value: Sent::File(nothing), source: Source::Page });
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

/// The texts of a value: of a list each, of anything else one.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}
