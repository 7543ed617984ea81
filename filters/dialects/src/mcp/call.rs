//! Tool calls: the question that a call asks, and the answer as an MCP result (AHP §D.4, §D.5).

use serde_json::{Map, Value, json};

use super::{
    super::{
        ahp::{Question, Said, error},
        arguments::Function,
    },
    envelope::{INVALID_PARAMS, Problem},
    era::META_CLIENT,
    message::Request,
};
use frontdesk_base::fault::Refusal;

/// Maximum bytes of a client's name.
const LONGEST_NAME: usize = 128;

/// The parts of a call beside its arguments.
pub(super) struct Beside<'r> {
    /// A credential (AHP §D.5).
    pub(super) auth: Option<&'r str>,
    session_id: Option<&'r str>,
    confirmation: Option<&'r str>,
    idempotency_key: Option<&'r str>,
    callback_url: Option<&'r str>,
    agent: Option<String>,
}

impl<'r> Beside<'r> {
    pub(super) fn of(request: &'r Request) -> Result<Self, Problem> {
        let meta = request.meta();
        let text = |name: &str| match meta.and_then(|meta| meta.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Problem::new(INVALID_PARAMS, format!("`_meta.{name}` has to be a string."))),
        };
        let client = meta.and_then(|meta| meta.get(META_CLIENT));
        let part = |name| client.and_then(|client| client.get(name)).and_then(Value::as_str);
        let agent = part("name").map(|name| match part("version") {
            Some(version) => format!("{name}/{version}"),
            None => name.to_owned(),
        });
        Ok(Self {
            auth: text("auth")?,
            session_id: text("session_id")?,
            confirmation: text("confirmation")?,
            idempotency_key: text("idempotency_key")?,
            callback_url: text("callback_url")?,
            agent: agent.filter(|agent| agent.len() <= LONGEST_NAME),
        })
    }
}

/// The arguments of a call.
pub(super) fn arguments(request: &Request) -> Result<Map<String, Value>, Problem> {
    match request.params.get("arguments") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(_) => Err(Problem::new(INVALID_PARAMS, "`arguments` has to be an object.".into())),
    }
}

/// The question that a call asks. Where a value stands both in the arguments and beside them, the argument counts.
///
/// # Errors
///
/// What is wrong with the arguments, so that a language model can correct them.
pub(super) fn question(
    function: &Function,
    mut arguments: Map<String, Value>,
    beside: &Beside<'_>,
) -> Result<Question, Box<Said>> {
    let key = function.key(&mut arguments);
    let mut asked = function.asked(arguments);
    for (name, value) in [("session_id", beside.session_id), ("confirmation", beside.confirmation)] {
        if let Some(value) = value {
            asked.entry(name).or_insert_with(|| value.into());
        }
    }
    let context = json!({
        "accept_types": function.types(),
        "requesting_agent": beside.agent,
        "idempotency_key": key.or_else(|| beside.idempotency_key.map(Value::from)),
        "callback_url": beside.callback_url,
    });
    asked.insert("context".into(), context);
    Question::read(asked, Some(&function.name))
}

/// The result of a refused call.
pub(super) fn refused(refusal: &Refusal) -> Map<String, Value> {
    told(&error::body(refusal), None, "")
}

/// The result of a call.
pub(super) fn answered(said: &Said, function: &Function) -> Map<String, Value> {
    let place = function.confirmed_as().unwrap_or("_meta.confirmation");
    told(&said.body, said.confirmation.as_deref(), place)
}

/// `place`: the argument that takes the confirmation token.
fn told(body: &Value, confirmation: Option<&str>, place: &str) -> Map<String, Value> {
    let failed = confirmation.is_some() || matches!(body["status"].as_str(), Some("error" | "failed" | "expired"));
    let mut content = vec![json!({ "type": "text", "text": text(body, confirmation, place) })];
    // Clients without structured content read it here (2025-06-18, "Structured Content").
    if let Some(more) = more(&body["response"]) {
        content.push(json!({ "type": "text", "text": more.to_string() }));
    }
    let mut result = Map::new();
    result.insert("content".into(), content.into());
    let mut meta = Map::new();
    if let Some(session) = body["session_id"].as_str() {
        meta.insert("session_id".into(), session.into());
    }
    if let Some(token) = confirmation {
        meta.insert("confirmation".into(), token.into());
    }
    if let Some(flags) = body.pointer("/meta/flags") {
        meta.insert("flags".into(), flags.clone());
    }
    if failed {
        let key = if confirmation.is_some() { "response" } else { "error" };
        meta.insert(key.into(), body.clone());
    } else {
        result.insert("structuredContent".into(), body.clone());
    }
    result.insert("isError".into(), failed.into());
    if !meta.is_empty() {
        result.insert("_meta".into(), meta.into());
    }
    result
}

/// The parts of an answer that are not in its words.
fn more(response: &Value) -> Option<Value> {
    let mut more = response.as_object()?.clone();
    more.remove("answer");
    more.remove("content_type");
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    more.retain(|_, value| !empty(value));
    (!more.is_empty()).then_some(Value::Object(more))
}

/// An answer in words.
fn text(body: &Value, confirmation: Option<&str>, place: &str) -> String {
    let said = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if let Some(token) = confirmation {
        return format!(
            "Nothing was done yet: a person has to confirm this first. {} Show them that; if they agree, call again with \
             the same arguments and \"{place}\": \"{token}\".",
            said("/clarification/question")
        );
    }
    match body["status"].as_str() {
        Some("clarification_needed") => {
            let options = body.pointer("/clarification/options").and_then(Value::as_array);
            let options: Vec<&str> = options.into_iter().flatten().filter_map(Value::as_str).collect();
            let question = said("/clarification/question");
            let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join("; ")) };
            format!(
                "{question}{options} Call again with the answer as \"clarification\", and this \"session_id\": \"{}\".",
                said("/session_id")
            )
        }
        Some("accepted") => format!("This takes a while. The answer will be at {}; ask there.", said("/poll")),
        Some("pending") => format!("Not done yet: {}", said("/progress")),
        Some("success") => said("/response/answer").to_owned(),
        _ => {
            let mut text = said("/message").to_owned();
            let violations = body["violations"].as_array().into_iter().flatten();
            for violation in violations {
                let part = |name| violation.get(name).and_then(Value::as_str).unwrap_or_default();
                text.push_str(&format!("\n{}: {}", part("pointer"), part("message")));
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_in_words_and_whole() {
        let body = json!({ "status": "success", "session_id": "s-1", "response": { "content_type": "text/answer",
            "answer": "42.", "sources": [{ "url": "/a" }], "follow_up": {} } });
        let result = Value::Object(told(&body, None, ""));
        assert_eq!(result["content"][0], json!({ "type": "text", "text": "42." }));
        assert_eq!(result["content"][1]["text"], "{\"sources\":[{\"url\":\"/a\"}]}");
        assert_eq!((&result["structuredContent"], &result["isError"]), (&body, &json!(false)));
        assert_eq!(result["_meta"]["session_id"], "s-1");
        let plain =
            json!({ "status": "success", "response": { "answer": "x", "content_type": "text/answer", "sources": [] } });
        assert_eq!(told(&plain, None, "")["content"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn what_needs_a_person_is_no_success() {
        let body = json!({ "status": "clarification_needed", "session_id": "s",
            "clarification": { "question": "Hold it?", "options": ["t", "cancel"] } });
        let result = Value::Object(told(&body, Some("t"), "confirmation"));
        assert_eq!((&result["isError"], &result["_meta"]["confirmation"]), (&json!(true), &json!("t")));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Hold it?") && text.contains("\"confirmation\": \"t\""), "{text}");
        let asked = Value::Object(told(&body, None, ""));
        assert_eq!(asked["isError"], false);
        assert!(asked["content"][0]["text"].as_str().unwrap().starts_with("Hold it? (t; cancel)"));
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let body = json!({ "status": "error", "code": "invalid_request", "message": "Not so.",
            "violations": [{ "pointer": "/a", "message": "is no number" }] });
        let result = Value::Object(told(&body, None, ""));
        assert_eq!((&result["isError"], &result["_meta"]["error"]), (&json!(true), &body));
        assert_eq!(result["content"][0]["text"], "Not so.\n/a: is no number");
        assert!(result.get("structuredContent").is_none());
    }
}
