//! A control of a form, as far as it matters for what is sent.

use std::collections::BTreeSet;

use frontdesk_base::fault::Refusal;
use frontdesk_page::content::css::{self, Element, all};

use super::{clock::Clock, value};

/// An input, a select, a text area or a button.
#[derive(Clone)]
pub(super) struct Control<'t> {
    pub(super) element: Element<'t>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_disabled: bool,
    pub(super) is_checked: bool,
}

/// What a control is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Text,
    Hidden,
    Checkbox,
    Radio,
    Select {
        several: bool,
    },
    TextArea,
    File {
        several: bool,
    },
    /// A button that sends the form.
    Submit,
    /// A picture that sends the form.
    Image,
    /// A button that does something else.
    Button,
}

/// An option of a select.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) is_chosen: bool,
    pub(super) is_disabled: bool,
}

/// The names of the fields that people fill in.
pub(super) fn names_of_fields(controls: &[Control<'_>]) -> BTreeSet<String> {
    let seen = controls.iter().filter(|control| !control.is_button() && control.kind != Kind::Hidden);
    seen.map(|control| control.name.clone()).filter(|name| !name.is_empty()).collect()
}

impl<'t> Control<'t> {
    pub(super) fn of(element: Element<'t>) -> Self {
        let attribute = |name: &str| css::attribute(&element, name);
        let kind =
            match (css::name(&element).as_str(), attribute("type").unwrap_or_default().to_ascii_lowercase().as_str()) {
                ("select", _) => Kind::Select { several: element.has_attr("multiple") },
                ("textarea", _) => Kind::TextArea,
                ("button", "reset" | "button") | ("input", "reset" | "button") => Kind::Button,
                ("button", _) | ("input", "submit") => Kind::Submit,
                ("input", "image") => Kind::Image,
                ("input", "hidden") => Kind::Hidden,
                ("input", "checkbox") => Kind::Checkbox,
                ("input", "radio") => Kind::Radio,
                ("input", "file") => Kind::File { several: element.has_attr("multiple") },
                _ => Kind::Text,
            };
        let is_disabled = element.has_attr("disabled") || is_in_disabled_fieldset(&element) || is_in_datalist(&element);
        let is_checked = element.has_attr("checked");
        Self { name: attribute("name").unwrap_or_default(), kind, is_disabled, is_checked, element }
    }

    pub(super) fn submits(&self) -> bool {
        matches!(self.kind, Kind::Submit | Kind::Image)
    }

    pub(super) fn is_button(&self) -> bool {
        self.submits() || self.kind == Kind::Button
    }

    pub(super) fn is_required(&self) -> bool {
        self.element.has_attr("required")
    }

    /// The `type` of an input, in small letters.
    pub(super) fn input_type(&self) -> String {
        css::attribute(&self.element, "type").unwrap_or_default().to_ascii_lowercase()
    }

    /// The value that it has on the page.
    pub(super) fn value(&self) -> String {
        // Not trimmed: white space is part of a value.
        let written = || self.element.attr("value").map(|value| value.to_string());
        match self.kind {
            // The parser leaves out the first line end, as browsers do.
            Kind::TextArea => self.element.text().to_string(),
            Kind::Checkbox | Kind::Radio => written().unwrap_or_else(|| "on".to_owned()),
            Kind::Text => value::sanitized(&self.input_type(), &written().unwrap_or_default(), &|name| {
                css::attribute(&self.element, name)
            }),
            // Browsers name the button in their person's language.
            Kind::Submit if css::name(&self.element) == "input" => written().unwrap_or_else(|| "Submit".to_owned()),
            _ => written().unwrap_or_default(),
        }
    }

    /// The options of a select.
    ///
    /// # Errors
    ///
    /// The time for the form is over.
    pub(super) fn choices(&self, clock: &Clock) -> Result<Vec<Choice>, Refusal> {
        let mut choices: Vec<Choice> = all("option", &self.element)
            .into_iter()
            .take_while(|_| clock.is_running())
            .map(|option| {
                let text = css::text(&option);
                let group = option.ancestors_it(Some(1)).find(|above| css::name(above) == "optgroup");
                Choice {
                    value: option.attr("value").map_or_else(|| text.clone(), |value| value.to_string()),
                    label: css::attribute(&option, "label").filter(|label| !label.is_empty()).unwrap_or(text),
                    is_chosen: option.has_attr("selected"),
                    is_disabled: option.has_attr("disabled") || group.is_some_and(|group| group.has_attr("disabled")),
                }
            })
            .collect();
        clock.check()?;
        if self.kind == (Kind::Select { several: false }) {
            // The last that is chosen counts; without one the first that can be.
            let chosen = choices.iter().rposition(|choice| choice.is_chosen);
            let size = css::attribute(&self.element, "size").and_then(|size| size.parse().ok()).unwrap_or(1u32);
            let shown = || choices.iter().position(|choice| !choice.is_disabled).filter(|_| size <= 1);
            let chosen = chosen.or_else(shown);
            choices.iter_mut().enumerate().for_each(|(at, choice)| choice.is_chosen = Some(at) == chosen);
        }
        Ok(choices)
    }
}

/// In a disabled group, but not in its first legend.
fn is_in_disabled_fieldset(element: &Element<'_>) -> bool {
    let mut below = *element;
    for above in element.ancestors_it(None) {
        if css::name(&above) == "fieldset" && above.has_attr("disabled") {
            let first = above.element_children().into_iter().find(|child| css::name(child) == "legend");
            let is_in_legend = css::name(&below) == "legend" && first.is_some_and(|first| first.id == below.id);
            if !is_in_legend {
                return true;
            }
        }
        below = above;
    }
    false
}

fn is_in_datalist(element: &Element<'_>) -> bool {
    element.ancestors_it(None).any(|above| css::name(&above) == "datalist")
}
