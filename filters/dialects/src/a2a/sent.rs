//! The message of a client: its words, its data, and what it answers.

use serde_json::{Map, Value};

use super::{
    super::jsonrpc::INVALID_PARAMS,
    form::{NoPart, Part},
    problem::{CONTENT_TYPE, NO_PUSH, Problem},
};

/// Maximum characters of an id that a client chooses.
const LONGEST_ID: usize = 256;
/// Maximum parts of a message.
const MOST_PARTS: usize = 32;

/// The parameters of `SendMessage`.
#[derive(Debug)]
pub(super) struct Sent {
    /// A retry has the same id.
    pub(super) id: String,
    pub(super) context: Option<String>,
    pub(super) task: Option<String>,
    /// The text parts.
    pub(super) words: Option<String>,
    /// The data part.
    pub(super) data: Option<Call>,
    /// The client takes data, and not only words.
    pub(super) takes_data: bool,
}

/// A data part: a call of a capability, or an answer to a task.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) capability: Option<String>,
    pub(super) input: Option<Map<String, Value>>,
    pub(super) idempotency_key: Option<String>,
    pub(super) confirmed: Option<bool>,
}

impl Sent {
    /// Parses the parameters.
    ///
    /// # Errors
    ///
    /// A part is missing, wrong, or of a kind that is not taken here.
    pub(super) fn read(params: &Map<String, Value>) -> Result<Self, Problem> {
        let message = params.get("message").and_then(Value::as_object);
        let message = message.ok_or_else(|| wrong("`message` has to be an object."))?;
        if message.get("role").is_some_and(|role| !["user", "ROLE_USER"].iter().any(|user| role == user)) {
            return Err(wrong("`message.role` has to be the user's: ROLE_USER, in 0.3 `user`."));
        }
        let id = text(message, "messageId")?.ok_or_else(|| wrong("`message.messageId` is missing."))?;
        let takes_data = takes_data(params.get("configuration"))?;
        let (words, data) = parts(message.get("parts"))?;
        let (context, task) = (text(message, "contextId")?, text(message, "taskId")?);
        Ok(Self { id, context, task, words, data, takes_data })
    }

    /// What it answers to "Confirm?"; `None`: neither yes nor no.
    pub(super) fn confirms(&self) -> Option<bool> {
        if let Some(confirmed) = self.data.as_ref().and_then(|data| data.confirmed) {
            return Some(confirmed);
        }
        let words = self.words.as_deref()?.trim().trim_end_matches(['.', '!']).to_lowercase();
        match words.as_str() {
            "yes" | "confirm" => Some(true),
            "no" | "cancel" => Some(false),
            _ => None,
        }
    }
}

fn wrong(message: &str) -> Problem {
    Problem::new(INVALID_PARAMS, message)
}

/// A text of the message; empty counts as absent, as proto3 has it.
fn text(message: &Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match message.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= LONGEST_ID => Ok(Some(text.clone())),
        Some(_) => Err(wrong(&format!("`message.{name}` has to be a string of at most {LONGEST_ID} characters."))),
    }
}

fn parts(parts: Option<&Value>) -> Result<(Option<String>, Option<Call>), Problem> {
    let parts = parts.and_then(Value::as_array).filter(|parts| (1..=MOST_PARTS).contains(&parts.len()));
    let parts = parts.ok_or_else(|| wrong(&format!("`message.parts` has to be a list of 1 to {MOST_PARTS} parts.")))?;
    let (mut words, mut data) = (Vec::new(), None);
    for part in parts {
        match Part::read(part) {
            Ok(Part::Text(text)) => words.push(text),
            Ok(Part::Data(_)) if data.is_some() => return Err(wrong("A message may have one data part.")),
            Ok(Part::Data(value)) => data = Some(Call::read(value)?),
            Err(NoPart::OtherContent) => {
                return Err(Problem::new(CONTENT_TYPE, "Only text parts and data parts are taken here; no files."));
            }
            Err(NoPart::Malformed) => return Err(wrong("A part has to have `text`, a string, or `data`, an object.")),
        }
    }
    let words = words.join("\n");
    Ok(((!words.trim().is_empty()).then_some(words), data))
}

impl Call {
    fn read(data: Value) -> Result<Self, Problem> {
        let Value::Object(mut data) = data else { return Err(wrong("A data part is an object.")) };
        let mut text = |name: &str| match data.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(&format!("`data.{name}` has to be a string."))),
        };
        let (capability, idempotency_key) = (text("capability")?, text("idempotency_key")?);
        let input = match data.remove("input") {
            None | Some(Value::Null) => None,
            Some(Value::Object(input)) => Some(input),
            Some(_) => return Err(wrong("`data.input` has to be an object.")),
        };
        let confirmed = match data.remove("confirmed") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(confirmed)) => Some(confirmed),
            Some(_) => return Err(wrong("`data.confirmed` has to be true or false.")),
        };
        Ok(Self { capability, input, idempotency_key, confirmed })
    }
}

/// Whether the accepted output modes include data.
fn takes_data(configuration: Option<&Value>) -> Result<bool, Problem> {
    let Some(configuration) = configuration.filter(|value| !value.is_null()) else { return Ok(true) };
    for name in ["taskPushNotificationConfig", "pushNotificationConfig"] {
        if configuration.get(name).is_some_and(|value| !value.is_null()) {
            return Err(Problem::new(NO_PUSH, "Nothing is pushed from here. Ask for the task until it is over."));
        }
    }
    let accepted = configuration.get("acceptedOutputModes").and_then(Value::as_array);
    let mut accepted = accepted.into_iter().flatten().filter_map(Value::as_str).peekable();
    if accepted.peek().is_none() {
        return Ok(true);
    }
    let modes: Vec<String> = accepted.map(str::to_ascii_lowercase).collect();
    let has = |names: &[&str]| modes.iter().any(|mode| names.iter().any(|name| mode.starts_with(name)));
    match (has(&["application/json", "application/*", "*/*", "data"]), has(&["text"])) {
        (true, _) => Ok(true),
        (false, true) => Ok(false),
        (false, false) => Err(Problem::new(CONTENT_TYPE, "Answers are text/plain and application/json.")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::form::Form;

    fn read(params: Value) -> Result<Sent, i64> {
        Sent::read(params.as_object().unwrap()).map_err(|problem| {
            let body: Value = serde_json::from_slice(&problem.reply(Form::V1).body).unwrap();
            body["error"]["code"].as_i64().unwrap()
        })
    }

    fn message(parts: Value) -> Value {
        json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": parts } })
    }

    #[test]
    fn words_and_data_are_told_apart() {
        let sent = read(message(json!([{ "text": "Where?" }, { "kind": "text", "text": "And when?" }]))).unwrap();
        assert_eq!((sent.words.as_deref(), sent.data), (Some("Where?\nAnd when?"), None));
        let data = json!({ "capability": "c", "input": { "n": 1 }, "idempotency_key": "k" });
        let sent = read(message(json!([{ "kind": "data", "data": data }]))).unwrap();
        let call = sent.data.unwrap();
        assert_eq!((call.capability.as_deref(), call.idempotency_key.as_deref()), (Some("c"), Some("k")));
        assert_eq!((call.input, sent.words), (json!({ "n": 1 }).as_object().cloned(), None));
    }

    #[test]
    fn only_a_plain_yes_or_no_answers() {
        let said = |text: &str| read(message(json!([{ "text": text }]))).unwrap().confirms();
        for yes in ["yes", " Yes. ", "YES!", "confirm"] {
            assert_eq!(said(yes), Some(true), "{yes}");
        }
        for no in ["no", "No.", "cancel"] {
            assert_eq!(said(no), Some(false), "{no}");
        }
        for else_ in ["yes, but cheaper", "no idea", "sure", "y", "yesterday", "not yes"] {
            assert_eq!(said(else_), None, "{else_}");
        }
        let data = |value: Value| read(message(json!([{ "text": "yes" }, { "data": value }]))).unwrap().confirms();
        assert_eq!((data(json!({ "confirmed": false })), data(json!({}))), (Some(false), Some(true)));
    }

    #[test]
    fn what_is_missing_or_wrong_is_refused() {
        let of = |message: Value| json!({ "message": message });
        for (params, code) in [
            (json!({}), -32602),
            (of(json!({ "role": "user", "parts": [{ "text": "x" }] })), -32602),
            (of(json!({ "messageId": "", "parts": [{ "text": "x" }] })), -32602),
            (of(json!({ "messageId": "m", "role": "agent", "parts": [{ "text": "x" }] })), -32602),
            (of(json!({ "messageId": "m", "contextId": 7, "parts": [{ "text": "x" }] })), -32602),
            (message(json!([])), -32602),
            (message(json!([{ "text": 1 }])), -32602),
            (message(json!([{ "data": { "input": [] } }])), -32602),
            (message(json!([{ "data": { "confirmed": "yes" } }])), -32602),
            (message(json!([{ "data": {} }, { "data": {} }])), -32602),
            (message(json!([{ "url": "https://a/" }])), -32005),
        ] {
            assert_eq!(read(params.clone()).map(|_| ()), Err(code), "{params}");
        }
    }

    #[test]
    fn the_client_says_what_it_takes() {
        let with = |configuration: Value| {
            let mut params = message(json!([{ "text": "x" }]));
            params["configuration"] = configuration;
            read(params).map(|sent| sent.takes_data)
        };
        assert_eq!(with(json!({ "acceptedOutputModes": ["text/plain"] })), Ok(false));
        assert_eq!(with(json!({ "acceptedOutputModes": ["text/plain", "application/json"] })), Ok(true));
        assert_eq!((with(json!({})), with(json!({ "acceptedOutputModes": [] }))), (Ok(true), Ok(true)));
        assert_eq!(with(json!({ "acceptedOutputModes": ["audio/wav"] })), Err(-32005));
        assert_eq!(with(json!({ "taskPushNotificationConfig": { "url": "https://a/" } })), Err(-32003));
    }
}
