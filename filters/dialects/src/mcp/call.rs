//! Tool calls: the question that a call asks, and the answer as an MCP result (AHP §D.4, §D.5).

use serde_json::{Map, Value, json};

use super::{
    super::{
        ahp::{Conversed, Question, Turn, question::Wrong, turn::Answered},
        arguments::Function,
        json,
    },
    envelope::{INVALID_PARAMS, Problem},
    era::META_CLIENT,
    files,
    message::Request,
};
use frontdesk_base::fault::Refusal;
use frontdesk_desk::ConfirmationPage;

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
) -> Result<Question, Wrong> {
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

/// The result of a refused call, as the members of an object.
pub(super) fn refused(refusal: &Refusal) -> String {
    told(&Conversed::refused(refusal).turn, "", "")
}

/// The result of a call, as the members of an object.
/// `function`: the tool, where it is still there. `base`: the site's origin, for addresses of files.
pub(super) fn answered(turn: &Turn, function: Option<&Function>, base: &str) -> String {
    told(turn, function.and_then(Function::confirmed_as).unwrap_or("_meta.confirmation"), base)
}

/// The description of a file in a payload of any shape.
fn file_in(payload: &Value) -> Option<&Value> {
    let places = ["/data/file", "/result/file", "/file"];
    places.into_iter().find_map(|place| payload.pointer(place)).filter(|file| file["media_type"].is_string())
}

/// `place`: the argument that takes the confirmation token.
fn told(turn: &Turn, place: &str, base: &str) -> String {
    let needs_person = matches!(turn, Turn::Confirm(_));
    let failed = needs_person || matches!(turn, Turn::Failed(_) | Turn::Gone(_));
    // The whole outcome, in AHP's form.
    let whole = turn.json();
    let mut content = vec![json!({ "type": "text", "text": text(turn, place) })];
    // Clients without structured content read it here (2025-06-18, "Structured Content").
    if let Turn::Answer(answer) = turn
        && let Some(more) = more(answer)
    {
        content.push(json!({ "type": "text", "text": more.to_string() }));
    }
    if let Turn::Answer(answer) = turn
        && let Some(file) = answer.payload.as_ref().and_then(file_in)
    {
        content.extend(files::content(file, answer.file.as_deref(), base));
    }
    let mut result = Vec::new();
    json::object(&mut result, |result| {
        let session = turn.session();
        let confidence = confidence(turn);
        if session.is_some() || failed || confidence.is_some() || !turn.flags().is_empty() {
            json::object(result.key("_meta"), |meta| {
                if let Some(confidence) = confidence {
                    meta.value("confidence", confidence);
                }
                if let Turn::Confirm(asked) = turn {
                    meta.text("confirmation", &asked.token);
                }
                if failed && !needs_person {
                    meta.json("error", &whole);
                }
                if !turn.flags().is_empty() {
                    meta.texts("flags", turn.flags().iter().map(String::as_str));
                }
                if needs_person {
                    meta.json("response", &whole);
                }
                if let Some(session) = session {
                    meta.text("session_id", session);
                }
            });
        }
        result.value("content", &content.into());
        result.value("isError", &failed.into());
        if !failed {
            result.json("structuredContent", &whole);
        }
    });
    let result = String::from_utf8(result).unwrap_or_default();
    result.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned()
}

/// How much an answer is to be trusted, where that is known.
fn confidence(turn: &Turn) -> Option<&Value> {
    match turn {
        Turn::Answer(answer) => Some(&answer.confidence).filter(|confidence| !confidence.is_null()),
        _ => None,
    }
}

/// The parts of an answer that are not in its words.
fn more(answer: &Answered) -> Option<Value> {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    let sources = answer.sources.clone().map(Value::from);
    let parts = [("payload", answer.payload.clone()), ("sources", sources), ("follow_up", answer.follow_up.clone())];
    let parts = parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part.filter(|part| !empty(part))?)));
    let mut more: Map<String, Value> = parts.collect();
    if more.is_empty() {
        return None;
    }
    if !answer.confidence.is_null() {
        more.insert("confidence".into(), answer.confidence.clone());
    }
    Some(Value::Object(more))
}

/// An answer in words.
fn text(turn: &Turn, place: &str) -> String {
    match turn {
        Turn::Answer(answer) => answer.text.clone(),
        Turn::Confirm(asked) => {
            let token = &asked.token;
            let do_this = match &asked.page {
                None => "Show them that; if they agree, call again".to_owned(),
                Some(ConfirmationPage::At(url)) => {
                    format!(
                        "Give them this address, where they confirm or decline it: {url} Once they have, call again"
                    )
                }
                Some(ConfirmationPage::Sent) => {
                    "They were sent a link. Once they have confirmed it, call again".to_owned()
                }
            };
            let question = if asked.page.is_some() { asked.says() } else { asked.question() };
            format!(
                "Nothing was done yet ({}): a person has to confirm this first. {question} {do_this} with the same \
                 arguments and \"{place}\": \"{token}\".",
                asked.reason
            )
        }
        Turn::Clarify(asked) => {
            let options = asked.options.as_deref().unwrap_or_default();
            let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join("; ")) };
            let (question, session) = (&asked.question, asked.session.as_deref().unwrap_or_default());
            format!(
                "{question}{options} Call again with the answer as \"clarification\", and this \"session_id\": \"{session}\"."
            )
        }
        Turn::Later(accepted) => {
            format!("This takes a while. The answer will be at {}; ask there.", accepted.poll)
        }
        Turn::Pending(pending) => format!("Not done yet: {}", pending.progress),
        Turn::Gone(gone) => gone.message.to_owned(),
        Turn::Failed(failure) => {
            let mut text = failure.refusal.detail.clone().into_owned();
            for violation in &failure.refusal.violations {
                text.push_str(&format!("\n{}: {}", violation.pointer, violation.message));
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahp::{
        listed::Mode,
        turn::{Clarification, Confirmation},
    };
    use frontdesk_base::{fault::Fault, violation::Violation};

    fn result(turn: &Turn, place: &str) -> Value {
        serde_json::from_str(&format!("{{{}}}", told(turn, place, ""))).unwrap()
    }

    fn whole(turn: &Turn) -> Value {
        serde_json::from_str(&turn.json()).unwrap()
    }

    #[test]
    fn an_answer_is_told_in_words_and_whole() {
        let answer = Answered {
            session: Some("s-1".into()),
            text: "42.".into(),
            content_type: "text/answer".into(),
            fallback_from: None,
            payload: None,
            file: None,
            sources: Some(vec![json!({ "url": "/a" })]),
            follow_up: Some(json!({})),
            tokens_used: 1,
            cached: false,
            declined: false,
            flags: vec!["pii".into()],
            coverage: Value::Null,
            confidence: Value::Null,
            signals: Value::Null,
            capability: "c".into(),
            mode: Mode::Three,
        };
        let turn = Turn::Answer(Box::new(answer.clone()));
        let told = result(&turn, "");
        assert_eq!(told["content"][0], json!({ "type": "text", "text": "42." }));
        assert_eq!(told["content"][1]["text"], "{\"sources\":[{\"url\":\"/a\"}]}");
        assert_eq!((&told["structuredContent"], &told["isError"]), (&whole(&turn), &json!(false)));
        assert_eq!(told["_meta"], json!({ "session_id": "s-1", "flags": ["pii"] }));
        let sure = Turn::Answer(Box::new(Answered { confidence: json!(0.83), ..answer.clone() }));
        let sure = result(&sure, "");
        assert_eq!(sure["content"][1]["text"], "{\"confidence\":0.83,\"sources\":[{\"url\":\"/a\"}]}");
        assert_eq!(sure["_meta"]["confidence"], 0.83);
        let plain = Answered { sources: Some(Vec::new()), session: None, flags: Vec::new(), ..answer };
        let plain = result(&Turn::Answer(Box::new(plain)), "");
        assert_eq!((plain["content"].as_array().map(Vec::len), plain.get("_meta")), (Some(1), None));
    }

    #[test]
    fn what_needs_a_person_is_no_success() {
        let session = Some("s".to_owned());
        let confirm = Turn::Confirm(Confirmation {
            session: session.clone(),
            summary: "Hold it".into(),
            consequence: "It costs.".into(),
            expires: 0,
            token: "t".into(),
            page: None,
            reason: "confirmation_required",
        });
        let told = result(&confirm, "confirmation");
        assert_eq!((&told["isError"], &told["_meta"]["confirmation"]), (&json!(true), &json!("t")));
        assert_eq!((&told["_meta"]["response"], told.get("structuredContent")), (&whole(&confirm), None));
        let text = told["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Hold it. It costs. Confirm?") && text.contains("\"confirmation\": \"t\""), "{text}");
        let options = Some(vec!["t".to_owned(), "cancel".to_owned()]);
        let asked = Turn::Clarify(Clarification { session, question: "Hold it?".into(), options, free_form: false });
        let asked = result(&asked, "");
        assert_eq!(asked["isError"], false);
        assert!(asked["content"][0]["text"].as_str().unwrap().starts_with("Hold it? (t; cancel)"));
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let violations = vec![Violation { pointer: "/a".into(), message: "is no number".into() }];
        let refusal = Refusal { violations, ..Refusal::from(Fault::InvalidInput).saying("Not so.") };
        let turn = Conversed::refused(&refusal).turn;
        let told = result(&turn, "");
        assert_eq!((&told["isError"], &told["_meta"]["error"]), (&json!(true), &whole(&turn)));
        assert_eq!(told["content"][0]["text"], "Not so.\n/a: is no number");
        assert!(told.get("structuredContent").is_none());
    }
}
