//! A field of a form as a JSON Schema of its input.

use frontdesk_base::schema::{Referred, Schema};
use frontdesk_page::content::css::{self, Element, all};
use serde_json::{Map, Value, json};

/// The most controls of a form that are looked at.
const MOST_CONTROLS: usize = 200;

/// A field that an agent fills in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// The site's name.
    pub(super) theirs: String,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

impl Field {
    /// The name for agents.
    pub(super) fn ours(&self) -> String {
        let name: String = self
            .theirs
            .trim_end_matches("[]")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
            .collect();
        let name = name.trim_matches('_').to_owned();
        if name.is_empty() { "value".to_owned() } else { name }
    }
}

/// Reads the controls of a form. `hidden` gets the fields with fixed values.
pub(super) fn fields(form: &Element<'_>, root: &Element<'_>, hidden: &mut Vec<(String, String)>) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let controls = all("input, select, textarea", form);
    for control in controls.into_iter().filter(|control| !control.has_attr("disabled")).take(MOST_CONTROLS) {
        let attribute = |name: &str| css::attribute(&control, name).filter(|value| !value.is_empty());
        let Some(name) = attribute("name") else { continue };
        let kind = attribute("type").unwrap_or_default().to_ascii_lowercase();
        let element = css::name(&control);
        if element == "input" && kind == "hidden" {
            hidden.push((name, attribute("value").unwrap_or_default()));
            continue;
        }
        if element == "input" && matches!(kind.as_str(), "submit" | "button" | "image" | "reset") {
            continue;
        }
        // A price, a total: people cannot change it. Without a value it is filled in by a script, as from a calendar.
        if control.has_attr("readonly") && attribute("value").is_some() {
            continue;
        }
        let is_required = control.has_attr("required") || attribute("aria-required").as_deref() == Some("true");
        let label = label(&control, root);
        if let Some(known) = fields.iter_mut().find(|field| field.theirs == name) {
            // Another button of a group.
            add_choice(known, &attribute("value").unwrap_or_default(), &label);
            known.is_required |= is_required;
            continue;
        }
        let mut schema = schema(&control, &element, &kind);
        let group = control.ancestors_it(None).find(|above| css::name(above) == "fieldset");
        let legend = group.and_then(|group| all("legend", &group).first().map(css::text));
        let title = if kind == "radio" { legend.unwrap_or_default() } else { label.clone() };
        if !title.is_empty() {
            schema.insert("title".into(), clipped(&title).into());
        }
        let help = attribute("aria-describedby").and_then(|ids| {
            let id = ids.split_whitespace().next()?.to_owned();
            all("[id]", root).into_iter().find(|element| css::attribute(element, "id").as_deref() == Some(id.as_str()))
        });
        let help =
            help.map(|help| css::text(&help)).filter(|text| !text.is_empty()).or_else(|| attribute("placeholder"));
        if let Some(help) = help {
            schema.insert("description".into(), clipped(&help).into());
        }
        if kind == "radio" {
            let choice = if label.is_empty() { attribute("value").unwrap_or_default() } else { label };
            schema.insert("enum".into(), json!([choice]));
        }
        fields.push(Field { theirs: name, schema: schema.into(), is_required });
    }
    fields
}

fn add_choice(field: &mut Field, value: &str, label: &str) {
    let choice: Value = if label.is_empty() { value } else { label }.into();
    if let Some(choices) = field.schema.get_mut("enum").and_then(Value::as_array_mut) {
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    } else if field.schema["type"] == "boolean" {
        // Several checkboxes with one name take a list.
        field.schema = json!({ "type": "array", "items": { "type": "string" } });
    }
}

fn schema(control: &Element<'_>, element: &str, kind: &str) -> Map<String, Value> {
    let attribute = |name: &str| css::attribute(control, name).filter(|value| !value.is_empty());
    let number = |name: &str| {
        attribute(name).and_then(|text| serde_json::from_str::<Value>(&text).ok()).filter(Value::is_number)
    };
    let mut schema = Map::new();
    if element == "select" {
        let options: Vec<Value> = all("option", control)
            .into_iter()
            .filter(|option| {
                !option.has_attr("disabled") && option.attr("value").is_none_or(|value| !value.trim().is_empty())
            })
            .map(|option| css::text(&option))
            .filter(|text| !text.is_empty())
            .take(100)
            .map(Value::from)
            .collect();
        let one =
            if options.is_empty() { json!({ "type": "string" }) } else { json!({ "type": "string", "enum": options }) };
        if control.has_attr("multiple") {
            schema.insert("type".into(), "array".into());
            schema.insert("items".into(), one);
        } else if let Value::Object(one) = one {
            schema.extend(one);
        }
        return schema;
    }
    let (type_, format) = match kind {
        "number" | "range" if takes_whole_numbers(&attribute) => ("integer", None),
        "number" | "range" => ("number", None),
        "checkbox" => ("boolean", None),
        "email" => ("string", Some("email")),
        "url" => ("string", Some("uri")),
        "date" => ("string", Some("date")),
        "file" => {
            schema.insert("description".into(), "A file: { data (base64), name, media_type }".into());
            return schema;
        }
        _ => ("string", None),
    };
    schema.insert("type".into(), type_.into());
    if let Some(format) = format {
        schema.insert("format".into(), format.into());
    }
    if matches!(type_, "number" | "integer") {
        for (ours, theirs) in [("minimum", "min"), ("maximum", "max")] {
            if let Some(bound) = number(theirs) {
                schema.insert(ours.into(), bound);
            }
        }
    }
    if type_ == "string" {
        for (ours, theirs) in [("minLength", "minlength"), ("maxLength", "maxlength")] {
            if let Some(bound) = attribute(theirs).and_then(|text| text.parse::<u32>().ok()) {
                schema.insert(ours.into(), bound.into());
            }
        }
        if let Some(pattern) = attribute("pattern").filter(|pattern| pattern.len() <= 200) {
            let pattern = json!({ "pattern": format!("^(?:{pattern})$") });
            // A browser's patterns may look around, or be broken: then the site checks alone.
            if Schema::compile(&pattern, &Referred::new(Map::new(), None)).is_ok() {
                schema.insert("pattern".into(), pattern["pattern"].clone());
            }
        }
    }
    schema
}

/// Whether a browser lets whole numbers through alone: steps are of 1 unless the page says otherwise, and are counted from
/// `min`, else from the value that the page has.
fn takes_whole_numbers(attribute: &impl Fn(&str) -> Option<String>) -> bool {
    let is_whole = |text: String| text.trim().parse::<i64>().is_ok();
    attribute("step").is_none_or(is_whole) && attribute("min").or_else(|| attribute("value")).is_none_or(is_whole)
}

/// What people read beside a control.
fn label(control: &Element<'_>, root: &Element<'_>) -> String {
    let around = control.ancestors_it(None).find(|above| css::name(above) == "label");
    let named = || {
        let id = css::attribute(control, "id").filter(|id| !id.is_empty())?;
        all("label[for]", root).into_iter().find(|label| css::attribute(label, "for").as_deref() == Some(id.as_str()))
    };
    // A label around a list of options or a text area has their words, too.
    let own = css::text(control);
    let without_own = |label: Element<'_>| match css::text(&label) {
        text if own.is_empty() => text,
        text => text.replacen(&own, "", 1).trim().to_owned(),
    };
    let text = around.or_else(named).map(without_own).filter(|text| !text.is_empty());
    let text = text.or_else(|| css::attribute(control, "aria-label")).unwrap_or_default();
    text.trim_end_matches(['*', ':', ' ']).to_owned()
}

pub(super) fn clipped(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(160).collect()
}
