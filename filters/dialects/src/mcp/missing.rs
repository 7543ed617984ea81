//! Inputs that a call lacks, asked of the person with a form: the model that calls did not know them, and need not guess.
//!
//! A form is flat, so it asks for texts, numbers, choices and yes or no alone. It must not ask for a password or the number
//! of a card: the model is told that these are missing, as it is told every other mistake.

use frontdesk_base::fault::Fault;
use frontdesk_config::Capability;
use serde_json::{Map, Value, json};

use super::{
    super::ahp::{Question, Turn},
    message::action,
};

/// Maximum inputs in one form.
const MOST: usize = 16;
/// Maximum bytes, as JSON, of what a person filled in for one call. It has to fit into a `requestState`.
const LONGEST: usize = 3072;
/// Formats that a form knows.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
/// Inputs with one of these names are not asked for with a form.
const SECRET_NAMES: [&str; 4] = ["pin", "tan", "otp", "iban"];
/// The same for inputs whose name contains one of these.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwort",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "cardnumber",
    "creditcard",
    "cvv",
    "cvc",
];

/// What a call lacks.
#[derive(Debug, PartialEq)]
pub(super) struct Missing {
    /// The schemas of the inputs, as a form may have them.
    fields: Map<String, Value>,
    message: String,
}

impl Missing {
    /// What a refused call lacks; `None`: nothing, or something else is wrong too, or a form cannot ask for it.
    /// `choices`: the client's forms have choices with titles, and several at a time.
    pub(super) fn of(turn: &Turn, question: &Question, capability: &Capability, choices: bool) -> Option<Self> {
        let Turn::Failed(failure) = turn else { return None };
        let refusal = &failure.refusal;
        if refusal.fault != Fault::InvalidInput || refusal.violations.iter().any(|one| !one.pointer.is_empty()) {
            return None;
        }
        let (schema, input) = (capability.input_schema.as_ref()?, question.input.as_ref()?);
        let required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
        let names: Vec<&str> = required.filter(|name| !input.contains_key(*name)).collect();
        if names.is_empty() || names.len() > MOST || names.len() != refusal.violations.len() {
            return None;
        }
        let field = |name: &&str| Some(((*name).to_owned(), field(name, schema["properties"].get(*name)?, choices)?));
        let fields: Map<String, Value> = names.iter().map(field).collect::<Option<_>>()?;
        let described = capability.description.as_deref().unwrap_or(&capability.id);
        let message = format!("{described} Still needed: {}.", names.join(", "));
        Some(Self { fields, message })
    }

    /// The parameters of the request that asks the person.
    pub(super) fn params(&self) -> Value {
        let required: Vec<&String> = self.fields.keys().collect();
        json!({
            "mode": "form", "message": self.message,
            "requestedSchema": { "type": "object", "properties": self.fields, "required": required },
        })
    }
}

/// What a person filled in, at most what was asked for; `None`: they did not want to.
pub(super) fn filled(answer: &Map<String, Value>) -> Option<Map<String, Value>> {
    let content = answer.get("content").and_then(Value::as_object).filter(|_| action(answer) == Some("accept"))?;
    (Value::Object(content.clone()).to_string().len() <= LONGEST).then(|| content.clone())
}

/// Adds what a person filled in to the inputs, where the call itself says nothing.
pub(super) fn merge(question: &mut Question, schema: Option<&Value>, filled: &Map<String, Value>) {
    let Some(required) = schema.and_then(|schema| schema["required"].as_array()).filter(|_| !filled.is_empty()) else {
        return;
    };
    let input = question.input.get_or_insert_default();
    for (name, value) in filled.iter().filter(|(name, value)| !value.is_null() && required.contains(&json!(name))) {
        input.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// Whether an input is something that only the site's own page may ask for.
fn is_secret(name: &str, schema: &Value) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    schema["format"] == "password"
        || schema["writeOnly"] == true
        || SECRET_NAMES.contains(&name.as_str())
        || SECRET_WORDS.iter().any(|secret| name.contains(secret))
}

/// The schema of one input, as a form may have it; `None`: no form asks for it.
fn field(name: &str, schema: &Value, choices: bool) -> Option<Value> {
    if is_secret(name, schema) {
        return None;
    }
    let mut field = Map::new();
    let keep = |field: &mut Map<String, Value>, keys: &[&str]| {
        for key in keys {
            field.extend(schema.get(*key).map(|value| ((*key).to_owned(), value.clone())));
        }
    };
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    };
    keep(&mut field, &["title", "description", "default"]);
    match kind {
        Some("boolean") => {}
        Some("integer" | "number") if schema.get("enum").is_none() => keep(&mut field, &["minimum", "maximum"]),
        Some("string") => choose(schema, &mut field, choices)?,
        Some("array") if choices => {
            keep(&mut field, &["minItems", "maxItems"]);
            let items = &schema["items"];
            let each = match (titled(&items["anyOf"]).or_else(|| titled(&items["oneOf"])), texts(&items["enum"])) {
                (Some(all), _) => json!({ "anyOf": all }),
                (None, Some(all)) => json!({ "type": "string", "enum": all }),
                (None, None) => return None,
            };
            field.insert("items".into(), each);
        }
        _ => return None,
    }
    field.insert("type".into(), kind.into());
    Some(Value::Object(field))
}

/// A text: free, or one of several.
fn choose(schema: &Value, field: &mut Map<String, Value>, choices: bool) -> Option<()> {
    if let Some(all) = titled(&schema["oneOf"]).or_else(|| titled(&schema["anyOf"])) {
        if choices {
            field.insert("oneOf".into(), all.into());
            return Some(());
        }
        // The form of 2025-06-18.
        let each = |key: &str| all.iter().map(|one| one[key].clone()).collect::<Value>();
        field.insert("enum".into(), each("const"));
        field.insert("enumNames".into(), each("title"));
        return Some(());
    }
    if ["oneOf", "anyOf"].into_iter().any(|key| schema.get(key).is_some()) {
        return None;
    }
    if let Some(all) = schema.get("enum") {
        let all = texts(all)?;
        if let Some(names) = texts(&schema["enumNames"]).filter(|names| names.len() == all.len()) {
            field.insert("enumNames".into(), names.into());
        }
        field.insert("enum".into(), all.into());
        return Some(());
    }
    for key in ["minLength", "maxLength"] {
        field.extend(schema.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let format = schema["format"].as_str().filter(|format| FORMATS.contains(format));
    field.extend(format.map(|format| ("format".to_owned(), format.into())));
    Some(())
}

/// Choices with titles: each has a text and what it is called.
fn titled(choices: &Value) -> Option<Vec<Value>> {
    let choices = choices.as_array().filter(|choices| !choices.is_empty())?;
    let one = |choice: &Value| Some(json!({ "const": choice["const"].as_str()?, "title": choice["title"].as_str()? }));
    choices.iter().map(one).collect()
}

fn texts(choices: &Value) -> Option<Vec<Value>> {
    let choices = choices.as_array().filter(|choices| !choices.is_empty())?;
    choices.iter().map(|choice| choice.is_string().then(|| choice.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_what_a_form_knows() {
        let same = |schema: Value| assert_eq!(field("x", &schema, true), Some(schema));
        same(json!({ "type": "string", "title": "T", "minLength": 2, "maxLength": 3, "default": "abc" }));
        same(json!({ "type": "string", "format": "date" }));
        same(json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": 3 }));
        same(json!({ "type": "boolean", "default": true }));
        same(json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }));
        same(json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }] }));
        same(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] }, "minItems": 1 }));
        same(json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } }));
        let text = json!({ "type": ["null", "string"], "pattern": "^a", "format": "ipv4", "x-mcp-header": "A" });
        assert_eq!(field("x", &text, true), Some(json!({ "type": "string" })));
        let names = json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A"] });
        assert_eq!(field("x", &names, true), Some(json!({ "type": "string", "enum": ["a", "b"] })));
    }

    #[test]
    fn an_older_form_has_no_choices_with_titles() {
        let titled = json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }] });
        assert_eq!(field("x", &titled, false), Some(json!({ "type": "string", "enum": ["a"], "enumNames": ["A"] })));
        let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } });
        assert_eq!(field("x", &several, false), None);
    }

    #[test]
    fn what_a_form_cannot_or_must_not_ask_for_is_not_asked() {
        let text = json!({ "type": "string" });
        for name in ["password", "new_Password", "api-key", "PIN", "cardNumber", "card_cvc", "access_token"] {
            assert_eq!(field(name, &text, true), None, "{name}");
        }
        for name in ["pinboard", "city", "tangent"] {
            assert_eq!(field(name, &text, true), Some(text.clone()), "{name}");
        }
        for schema in [
            json!({ "type": "string", "format": "password" }),
            json!({ "type": "string", "writeOnly": true }),
            json!({ "type": "object" }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "string", "enum": ["a", 1] }),
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "string", "oneOf": [{ "const": "a" }] }),
            json!({ "type": "null" }),
            json!({}),
            json!(true),
        ] {
            assert_eq!(field("x", &schema, true), None, "{schema}");
        }
    }

    #[test]
    fn what_was_filled_in_stands_beside_what_the_call_says() {
        let answer = |value: Value| value.as_object().cloned().unwrap();
        let accepted = answer(json!({ "action": "accept", "content": { "a": 1, "b": 2, "c": 3, "d": null } }));
        let filled = filled(&accepted).unwrap();
        let schema = json!({ "required": ["a", "b", "d"] });
        let mut question = Question { input: Some(answer(json!({ "b": 7 }))), ..Question::default() };
        merge(&mut question, Some(&schema), &filled);
        assert_eq!(question.input, Some(answer(json!({ "a": 1, "b": 7 }))));
        for none in [
            json!({ "action": "decline", "content": { "a": 1 } }),
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": { "a": "x".repeat(LONGEST) } }),
        ] {
            assert_eq!(super::filled(&answer(none)), None);
        }
    }
}
