//! The conversation's outcome as parts of a message, and as the status of a task.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{
    super::ahp::{
        Turn,
        turn::{Answered, Clarification, Confirmation, Failure},
    },
    form::{Part, State, Status},
    tasks::Stage,
};
use frontdesk_desk::{ConfirmationPage, rfc3339};

/// The status of a task after this outcome.
pub(super) fn status(turn: &Turn, now: u64) -> Status {
    let (state, message) = match turn {
        Turn::Answer(answer) if answer.declined => (State::Canceled, vec![Part::Text(answer.text.clone())]),
        Turn::Answer(answer) => {
            let (artifact, flags) = (answered(answer), answer.flags.clone());
            return Status { state: State::Completed, since: now, message: Vec::new(), artifact, flags };
        }
        Turn::Clarify(asked) => (State::InputRequired, clarification(asked)),
        Turn::Confirm(asked) => (State::InputRequired, confirmation(asked)),
        Turn::Later(accepted) => (State::Working, waiting("It takes a while.", accepted.eta)),
        Turn::Pending(pending) => (State::Working, waiting(pending.progress, pending.eta)),
        Turn::Gone(gone) => (State::Failed, vec![Part::Text(gone.message.to_owned())]),
        Turn::Failed(failure) => (State::Failed, failed(failure)),
    };
    Status { state, since: now, message, artifact: Vec::new(), flags: Vec::new() }
}

/// What the task waits for after this outcome.
pub(super) fn stage(turn: &Turn) -> Stage {
    match turn {
        Turn::Clarify(_) => Stage::Clarify,
        Turn::Confirm(asked) => Stage::Confirm(asked.token.clone()),
        Turn::Later(accepted) => Stage::Later(accepted.id.clone()),
        Turn::Pending(pending) => Stage::Later(pending.id.clone()),
        Turn::Answer(_) | Turn::Gone(_) | Turn::Failed(_) => Stage::Over,
    }
}

/// An answer: its words, and beside them its data and its sources.
pub(super) fn answered(answer: &Answered) -> Vec<Part> {
    let mut parts = vec![Part::Text(answer.text.clone())];
    let mut data = Map::new();
    if let Some(payload) = &answer.payload {
        data.insert("content_type".into(), answer.content_type.as_str().into());
        data.insert("payload".into(), payload.clone());
    }
    if let Some(sources) = answer.sources.as_ref().filter(|sources| !sources.is_empty()) {
        data.insert("sources".into(), sources.clone().into());
    }
    if let Some(next) = answer.follow_up.as_ref().filter(|next| next.as_object().is_some_and(|next| !next.is_empty())) {
        data.insert("follow_up".into(), next.clone());
    }
    if !data.is_empty() {
        parts.push(Part::Data(data.into()));
    }
    parts
}

fn confirmation(asked: &Confirmation) -> Vec<Part> {
    let says = asked.says();
    let words = match &asked.page {
        None => format!(
            "Nothing was done yet: a person has to confirm this first. {} Send \"yes\" or \"no\" in this task.",
            asked.question()
        ),
        Some(ConfirmationPage::At(url)) => format!(
            "Nothing was done yet: a person has to confirm this at {url} first. {says} Send \"yes\" in this task once \
             they have, or \"no\"."
        ),
        Some(ConfirmationPage::Sent) => format!(
            "Nothing was done yet: a person was sent a link to confirm this. {says} Send \"yes\" in this task once they \
             have, or \"no\"."
        ),
    };
    let expires = rfc3339(UNIX_EPOCH + Duration::from_secs(asked.expires));
    let mut question = json!({ "summary": asked.summary, "consequence": asked.consequence, "expires_at": expires });
    if let Some(url) = asked.page.as_ref().and_then(ConfirmationPage::url) {
        question["url"] = url.into();
    }
    let data = json!({ "confirmation": question });
    vec![Part::Text(words), Part::Data(data)]
}

fn clarification(asked: &Clarification) -> Vec<Part> {
    let options = asked.options.as_deref().unwrap_or_default();
    let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join("; ")) };
    let words = format!("{}{options}", asked.question);
    let data = json!({
        "clarification": { "question": asked.question, "options": asked.options, "free_form": asked.free_form },
    });
    vec![Part::Text(words), Part::Data(data)]
}

fn waiting(words: &str, eta: Option<u64>) -> Vec<Part> {
    let mut parts = vec![Part::Text(words.to_owned())];
    if let Some(seconds) = eta {
        parts.push(Part::Data(json!({ "eta_seconds": seconds })));
    }
    parts
}

fn failed(failure: &Failure) -> Vec<Part> {
    let refusal = &failure.refusal;
    let mut error = json!({ "reason": refusal.name.as_deref().unwrap_or(refusal.reason) });
    if !refusal.violations.is_empty() {
        let violations = refusal.violations.iter();
        error["violations"] =
            violations.map(|v| json!({ "pointer": v.pointer, "message": v.message })).collect::<Value>();
    }
    if let Some(details) = &refusal.details {
        error["details"] = details.clone();
    }
    vec![Part::Text(refusal.detail.clone().into_owned()), Part::Data(json!({ "error": error }))]
}
