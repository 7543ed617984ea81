//! Parses a question (AHP §6.1) strictly: a field that is present must have the right type.

use serde_json::{Map, Value, json};

use frontdesk_desk::records;

// Bounds of the published schema, in characters or tokens.
const QUERY: usize = 4096;
const CLARIFICATION: usize = 1024;
const SESSION: usize = 128;
const AGENT: usize = 128;
const INTENT: usize = 256;
const URL: usize = 2048;
const LOCALE: usize = 64;
const KEY: usize = 255;
const TOKENS: u64 = 32_768;
/// Maximum accepted types.
const TYPES: usize = 64;

/// What is wrong with a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// A field has the wrong type or length; in words.
    Invalid(String),
    /// A required field is missing.
    Missing(&'static str),
    UnknownCapability {
        named: String,
        available: Vec<String>,
    },
    /// None of the accepted types is available (AHP §6.6).
    UnsupportedType {
        available: Vec<String>,
    },
}

impl Wrong {
    /// AHP's code (§10).
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid_request",
            Self::Missing(_) => "missing_field",
            Self::UnknownCapability { .. } => "unknown_capability",
            Self::UnsupportedType { .. } => "unsupported_type",
        }
    }

    /// One sentence about it.
    pub fn message(&self) -> String {
        match self {
            Self::Invalid(message) => message.clone(),
            Self::Missing(field) => format!("The field {field} is missing."),
            Self::UnknownCapability { named, .. } => format!("The capability '{named}' is not supported."),
            Self::UnsupportedType { .. } => "None of context.accept_types can be had here.".to_owned(),
        }
    }

    /// The member of AHP's error that says what there is, or what is missing.
    pub fn member(&self) -> Option<(&'static str, Value)> {
        match self {
            Self::Invalid(_) => None,
            Self::Missing(field) => Some(("field", (*field).into())),
            Self::UnknownCapability { available, .. } => Some(("available_capabilities", available.clone().into())),
            Self::UnsupportedType { available } => Some(("available_types", available.clone().into())),
        }
    }
}

fn invalid(message: &str) -> Wrong {
    Wrong::Invalid(message.to_owned())
}

/// The published schema of a question's member, as [`Question::read`] accepts it.
pub fn member(name: &str, description: &str) -> Value {
    let mut schema = match name {
        // A text of spaces only is empty.
        "query" => json!({ "type": "string", "minLength": 1, "maxLength": QUERY, "pattern": "\\S" }),
        "session_id" => json!({ "type": "string", "minLength": 1, "maxLength": SESSION }),
        "clarification" | "confirmation" => json!({ "type": "string", "maxLength": CLARIFICATION }),
        "idempotency_key" => json!({ "type": "string", "minLength": 1, "maxLength": KEY }),
        _ => json!({ "type": "string" }),
    };
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}

/// The published schema of `context`, as [`Context::read`] accepts it.
pub fn context() -> Value {
    json!({
        "type": "object",
        "properties": {
            "requesting_agent": { "type": "string", "maxLength": AGENT },
            "user_intent": { "type": "string", "maxLength": INTENT },
            "max_tokens": { "type": "integer", "minimum": 1, "maximum": TOKENS },
            "accept_types": { "type": "array", "maxItems": TYPES, "items": { "type": "string" } },
            "callback_url": { "type": "string", "format": "uri", "minLength": 1, "maxLength": URL },
            "locale": { "type": "string", "maxLength": LOCALE },
            "idempotency_key": member("idempotency_key", "Of your choice: a retry with it acts once."),
        },
    })
}

/// A question, from any dialect.
#[derive(Debug, Clone, Default)]
pub struct Question {
    pub capability: String,
    pub query: Option<String>,
    /// Structured, beside or instead of words.
    pub input: Option<Map<String, Value>>,
    pub session_id: Option<String>,
    /// What was chosen of what was asked back.
    pub clarification: Option<String>,
    /// The token of a confirmation.
    pub confirmation: Option<String>,
    pub context: Context,
}

/// What an agent says about itself and about the answers it can use.
#[derive(Debug, Clone, Default)]
pub struct Context {
    pub requesting_agent: Option<String>,
    pub user_intent: Option<String>,
    pub max_tokens: Option<u64>,
    pub accept_types: Option<Vec<String>>,
    pub callback_url: Option<String>,
    pub locale: Option<String>,
    pub idempotency_key: Option<String>,
}

impl Question {
    /// Parses a request. Where another part, such as the path, names the capability, the body need not.
    ///
    /// # Errors
    ///
    /// What is missing or wrong, in words.
    pub fn read(mut body: Map<String, Value>, capability: Option<&str>) -> Result<Self, Wrong> {
        if let Some(version) = text(&mut body, "ahp", 16)?
            && !is_version(&version)
        {
            // An unknown version is answered as the current one (§12); a text that is no version is an error.
            return Err(invalid("ahp has to be a version such as \"0.1\"."));
        }
        let named = text(&mut body, "capability", QUERY)?;
        let Some(capability) = capability.map(str::to_owned).or(named) else {
            return Err(Wrong::Missing("capability"));
        };
        let query = text(&mut body, "query", QUERY)?;
        let input = match body.remove("input") {
            None | Some(Value::Null) => None,
            Some(Value::Object(input)) => Some(input),
            Some(_) => return Err(invalid("input has to be an object.")),
        };
        match &query {
            None if input.is_none() => return Err(Wrong::Missing("query")),
            Some(query) if query.trim().is_empty() => return Err(invalid("query has to say something.")),
            _ => {}
        }
        Ok(Self {
            capability,
            query,
            input,
            session_id: text(&mut body, "session_id", SESSION)?,
            clarification: text(&mut body, "clarification", CLARIFICATION)?,
            confirmation: text(&mut body, "confirmation", CLARIFICATION)?,
            context: match body.remove("context") {
                None | Some(Value::Null) => Context::default(),
                Some(Value::Object(context)) => Context::read(context)?,
                Some(_) => return Err(invalid("context has to be an object.")),
            },
        })
    }

    /// The answer to a clarifying question, unless it confirms or declines.
    pub(super) fn clarified(&self) -> Option<&str> {
        let said = self.clarification.as_deref()?;
        (self.confirmed() != Some(said)).then_some(said)
    }

    /// The confirmation token, from its own member or as the chosen clarification.
    pub(super) fn confirmed(&self) -> Option<&str> {
        let chosen = || self.clarification.as_deref().filter(|said| records::looks_like_token(said));
        self.confirmation.as_deref().or_else(chosen)
    }
}

/// An integer. JSON Schema counts `100.0` as one.
fn whole(value: &Value) -> Option<u64> {
    let fraction = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e9).contains(number));
    value.as_u64().or_else(|| fraction().map(|number| number as u64))
}

impl Context {
    /// Parses the known members; unknown ones are ignored.
    pub fn read(mut members: Map<String, Value>) -> Result<Self, Wrong> {
        let max_tokens = match members.remove("max_tokens") {
            None | Some(Value::Null) => None,
            Some(value) => match whole(&value).filter(|tokens| (1..=TOKENS).contains(tokens)) {
                Some(tokens) => Some(tokens),
                None => {
                    return Err(Wrong::Invalid(format!("context.max_tokens has to be a number from 1 to {TOKENS}.")));
                }
            },
        };
        let accept_types = match members.remove("accept_types") {
            None | Some(Value::Null) => None,
            Some(Value::Array(types)) if types.len() <= TYPES => {
                let types: Option<Vec<String>> = types.iter().map(|kind| kind.as_str().map(str::to_owned)).collect();
                let wrong = || invalid("context.accept_types has to be a list of types, such as \"text/answer\".");
                Some(types.ok_or_else(wrong)?)
            }
            Some(_) => {
                return Err(Wrong::Invalid(format!("context.accept_types has to be a list of at most {TYPES} types.")));
            }
        };
        let mut text = |name, most| text_of(&mut members, "context.", name, most);
        Ok(Self {
            requesting_agent: text("requesting_agent", AGENT)?,
            user_intent: text("user_intent", INTENT)?,
            max_tokens,
            accept_types: accept_types.filter(|types| !types.is_empty()),
            callback_url: text("callback_url", URL)?,
            locale: text("locale", LOCALE)?,
            idempotency_key: text("idempotency_key", KEY)?,
        })
    }
}

/// A text of at most this many characters; null counts as absent.
fn text(members: &mut Map<String, Value>, name: &str, most: usize) -> Result<Option<String>, Wrong> {
    text_of(members, "", name, most)
}

fn text_of(members: &mut Map<String, Value>, of: &str, name: &str, most: usize) -> Result<Option<String>, Wrong> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= most => Ok(Some(text)),
        Some(Value::String(_)) => Err(Wrong::Invalid(format!("{of}{name} has more than {most} characters."))),
        Some(_) => Err(Wrong::Invalid(format!("{of}{name} has to be a string."))),
    }
}

fn is_version(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| digits(major) && digits(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: Value) -> Result<Question, String> {
        let Value::Object(body) = body else { panic!() };
        Question::read(body, None).map_err(|wrong| wrong.code().to_owned())
    }

    #[test]
    fn what_is_missing_and_what_is_wrong_are_told_apart() {
        assert_eq!(read(json!({ "query": "x" })).unwrap_err(), "missing_field");
        assert_eq!(read(json!({ "capability": "x" })).unwrap_err(), "missing_field");
        assert_eq!(read(json!({ "capability": "x", "query": null })).unwrap_err(), "missing_field");
        for wrong in [
            json!({ "query": 5 }),
            json!({ "query": " " }),
            json!({ "query": "x", "ahp": "one" }),
            json!({ "query": "x", "ahp": "0.1.0" }),
            json!({ "query": "x", "session_id": 5 }),
            json!({ "query": "x", "session_id": "y".repeat(129) }),
            json!({ "query": "x", "input": [] }),
            json!({ "query": "x", "context": "y" }),
            json!({ "query": "x", "context": { "max_tokens": 0 } }),
            json!({ "query": "x", "context": { "max_tokens": "many" } }),
            json!({ "query": "x", "context": { "accept_types": "text/answer" } }),
            json!({ "query": "x", "context": { "accept_types": [5] } }),
            json!({ "query": "x".repeat(4097) }),
        ] {
            let mut body = wrong.clone();
            body["capability"] = "x".into();
            assert_eq!(read(body).unwrap_err(), "invalid_request", "{wrong}");
        }
    }

    #[test]
    fn a_later_version_is_answered_as_this_one() {
        let question =
            read(json!({ "ahp": "9.9", "capability": "c", "query": "ä".repeat(4096), "auth": "x" })).unwrap();
        assert_eq!((question.capability.as_str(), question.session_id), ("c", None));
        assert!(read(json!({ "capability": "c", "input": { "a": 1 } })).unwrap().input.is_some());
    }
}
