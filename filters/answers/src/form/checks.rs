//! What browsers check before they send a form.

use std::collections::BTreeSet;

use frontdesk_base::fault::Refusal;

use super::{
    Inputs,
    control::{Control, Kind},
    entry::{Entry, Sent, Source},
    find::FoundForm,
    value, wrong,
};
use crate::extract::changed;

/// What browsers check before they send a text.
pub(super) fn check_text(
    control: &Control<'_>,
    (name, text): (&str, &str),
    inputs: &Inputs<'_>,
) -> Result<(), Refusal> {
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

/// Refuses where the form needs something that is not there: a browser would not send it.
pub(super) fn chosen_where_needed(form: &FoundForm<'_>, entries: &[Entry], inputs: &Inputs<'_>) -> Result<(), Refusal> {
    // What a hidden field of the same name says is not the person's word.
    let is_something = |entry: &&Entry| match &entry.value {
        _ if entry.source == Source::Hidden => false,
        Sent::Text(text) => !text.is_empty(),
        Sent::File(file) => !file.name.is_empty(),
    };
    let filled: BTreeSet<&str> = entries.iter().filter(is_something).map(|entry| entry.name.as_str()).collect();
    for control in form.controls.iter().filter(|c| c.is_required() && !c.is_disabled && !c.name.is_empty()) {
        if filled.contains(control.name.as_str()) || control.kind == Kind::Hidden {
            continue;
        }
        let plain = control.name.strip_suffix("[]").unwrap_or(&control.name);
        let name = [control.name.as_str(), plain].into_iter().find(|name| (inputs.declared)(name));
        return Err(match name {
            Some(name) => wrong(inputs, name, "The site needs this."),
            None => changed("The site's form now needs a field that this does not fill in. Nothing was sent."),
        });
    }
    Ok(())
}
