//! AHP's JSON (§6.2 to §6.4, §9.2, §10): one object for each outcome. No other dialect reads a member of it: they get
//! the types of `turn.rs`, and this JSON as text only.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{
    conversed::CANCEL,
    error,
    listed::Mode,
    turn::{Answered, Clarification, Confirmation, Failure, Turn},
};
use frontdesk_desk::{ConfirmationPage, rfc3339};

impl Turn {
    /// The outcome as AHP writes it.
    pub fn json(&self) -> String {
        self.object().to_string()
    }

    fn object(&self) -> Value {
        match self {
            Self::Answer(answer) => answered(answer),
            Self::Clarify(asked) => unclear(asked),
            Self::Confirm(asked) => confirmation(asked),
            Self::Later(accepted) => {
                let mut body = json!({
                    "status": "accepted", "session_id": accepted.id, "eta_seconds": accepted.eta, "poll": accepted.poll,
                });
                if let Some(url) = &accepted.callback {
                    body["callback"] = json!({ "method": "POST", "url": url });
                }
                body
            }
            Self::Pending(pending) => json!({
                "status": "pending", "session_id": pending.id, "progress": pending.progress,
                "eta_seconds": pending.eta,
            }),
            Self::Gone(gone) => json!({
                "status": if gone.is_expired { "expired" } else { "failed" }, "session_id": gone.id,
                "code": "concierge_error", "message": gone.message,
            }),
            Self::Failed(failure) => failed(failure),
        }
    }
}

fn answered(answer: &Answered) -> Value {
    let mut response = Map::new();
    response.insert("content_type".into(), answer.content_type.as_str().into());
    response.insert("answer".into(), answer.text.as_str().into());
    if let Some(payload) = &answer.payload {
        response.insert("payload".into(), payload.clone());
    }
    if let Some(sources) = &answer.sources {
        response.insert("sources".into(), sources.clone().into());
    }
    if let Some(next) = &answer.follow_up {
        response.insert("follow_up".into(), next.clone());
    }
    let mut meta = json!({
        "tokens_used": answer.tokens_used,
        "capability_used": answer.capability,
        "mode": answer.mode.word(),
        "cached": answer.cached,
        "content_type": answer.content_type,
        "content_signals": answer.signals,
    });
    if let Some(from) = &answer.fallback_from {
        meta["fallback_from"] = from.as_str().into();
    }
    if !answer.flags.is_empty() {
        meta["flags"] = json!(answer.flags);
    }
    for (name, value) in [("coverage", &answer.coverage), ("confidence", &answer.confidence)] {
        if !value.is_null() {
            meta[name] = value.clone();
        }
    }
    if answer.mode == Mode::Three && !answer.declined {
        meta["tools_used"] = json!([answer.capability]);
    }
    json!({ "status": "success", "session_id": answer.session, "response": response, "meta": meta })
}

/// A clarifying question. It contains both spellings of the question that the specification uses.
fn unclear(asked: &Clarification) -> Value {
    let Clarification { session, question, options, free_form } = asked;
    json!({
        "status": "clarification_needed",
        "session_id": session,
        "clarification_question": question,
        "clarification": { "question": question, "options": options, "free_form": free_form },
    })
}

fn confirmation(asked: &Confirmation) -> Value {
    let options = Some(vec![asked.token.clone(), CANCEL.to_owned()]);
    let session = asked.session.clone();
    let mut body = unclear(&Clarification { session, question: asked.question(), options, free_form: false });
    body["confirmation"] = json!({
        "required": true,
        "summary": asked.summary,
        "consequence": asked.consequence,
        "expires_at": rfc3339(UNIX_EPOCH + Duration::from_secs(asked.expires)),
        "token": asked.token,
    });
    if let Some(url) = asked.page.as_ref().and_then(ConfirmationPage::url) {
        body["confirmation"]["url"] = url.into();
    }
    body["reason"] = asked.reason.into();
    body
}

fn failed(failure: &Failure) -> Value {
    let mut body = error::body(&failure.refusal);
    if let Some(wrong) = &failure.wrong {
        body["code"] = wrong.code().into();
        body["reason"] = wrong.code().into();
        if let Some((name, value)) = wrong.member() {
            body[name] = value;
        }
    }
    if let Some(id) = &failure.id {
        body["status"] = "failed".into();
        body["session_id"] = id.as_str().into();
    }
    body
}
