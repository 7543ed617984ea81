//! An answer in this protocol's parts, and the tokens it takes.

use serde_json::{Map, Value, json};

use super::{
    converse::{Converse, Prepared},
    listed::{Listed, Mode},
    types::{self, Chosen},
    words,
};
use crate::desk::Done;

/// Tokens that an operator's own concierge may say it took for one answer.
const MOST_TOLD: u64 = 1_000_000;

/// Tokens that were spent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spent {
    /// On the answer, besides the question.
    Answer(u64),
    /// On all of it, as whoever answered says.
    All(u64),
}

impl Spent {
    pub(super) const NOTHING: Self = Self::Answer(0);

    /// All that was spent, where so much was asked.
    pub(super) fn of(self, asked: u64) -> u64 {
        match self {
            Self::Answer(spent) => asked.saturating_add(spent),
            Self::All(spent) => spent,
        }
    }
}

/// An answer, in this protocol's parts.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) spent: Spent,
    kind: Chosen,
    pub(super) payload: Option<Value>,
    pub(super) sources: Value,
    follow_up: Value,
    /// What was found in it.
    flags: Vec<String>,
}

impl Answer {
    /// In words only.
    pub(super) fn words(text: &str) -> Self {
        let kind = Chosen { kind: super::listed::TEXT.to_owned(), fallback_from: None };
        let (text, tokens) = words::cut(text.to_owned(), u64::MAX);
        let spent = Spent::Answer(tokens);
        Self { text, spent, kind, payload: None, sources: Value::Null, follow_up: Value::Null, flags: Vec::new() }
    }

    /// Of what the desk did.
    pub(super) fn of(
        converse: &Converse,
        (listed, prepared): (&Listed, &Prepared),
        chosen: &Chosen,
        (done, data): (&Done, &Value),
        most: u64,
    ) -> Self {
        // A concierge's answer, ours or the operator's, has this protocol's parts already, perhaps in an envelope.
        let (said, enveloped) = match data.get("response").filter(|r| r.is_object()) {
            Some(response) => (response, true),
            None => (data, false),
        };
        let theirs = said["answer"].as_str().filter(|_| listed.mode == Mode::Two);
        let payload = match said.get("payload").filter(|_| enveloped && theirs.is_some()) {
            Some(payload) if said["content_type"] == chosen.kind.as_str() => Some(payload.clone()),
            _ => types::payload(listed, &chosen.kind, &prepared.payload, &done.input, data),
        };
        let kind = match (&payload, chosen.kind.as_str()) {
            (None, kind) if kind != super::listed::TEXT => {
                Chosen { kind: super::listed::TEXT.to_owned(), fallback_from: Some(kind.to_owned()) }
            }
            _ => chosen.clone(),
        };
        let text = match theirs {
            Some(text) => text.to_owned(),
            None => converse.words.answer(listed, &done.input, &done.told, data, payload.is_some()),
        };
        let (text, mut tokens) = words::cut(text, most);
        let (mut sources, mut follow_up) = (Value::Null, Value::Null);
        if theirs.is_some() {
            // What has another form than the protocol gives it (§6.2) nobody could read.
            if let Some(all) = said["sources"].as_array() {
                sources = all.iter().filter(|source| source["url"].is_string()).cloned().collect();
            }
            follow_up = Some(&said["follow_up"]).filter(|next| next.is_object()).cloned().unwrap_or_default();
        }
        // What is told beside the words is read too; four bytes are about a token.
        let beside = [payload.as_ref(), Some(&sources), Some(&follow_up)].into_iter().flatten();
        tokens += beside.filter(|value| !value.is_null()).map(|value| value.to_string().len() as u64 / 4).sum::<u64>();
        let flags = done.told.flags.told().to_vec();
        // An operator's own concierge knows better what it took.
        if let Some(own) = data["meta"]["tokens_used"].as_u64().filter(|_| theirs.is_some() && enveloped) {
            let spent = Spent::All(own.min(MOST_TOLD));
            return Self { text, spent, kind, payload, sources, follow_up, flags };
        }
        Self { text, spent: Spent::Answer(tokens), kind, payload, sources, follow_up, flags }
    }

    /// The same in a person's words.
    pub(super) fn say(&mut self, text: &str, most: u64) {
        (self.text, _) = words::cut(text.to_owned(), most);
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent
    }

    /// The response of §6.2.
    pub(super) fn success(&self, converse: &Converse, listed: &Listed, session: Option<&str>) -> Value {
        let mut response = Map::new();
        response.insert("content_type".into(), self.kind.kind.as_str().into());
        response.insert("answer".into(), self.text.as_str().into());
        if let Some(payload) = &self.payload {
            response.insert("payload".into(), payload.clone());
        }
        for (name, value) in [("sources", &self.sources), ("follow_up", &self.follow_up)] {
            if !value.is_null() {
                response.insert(name.into(), value.clone());
            }
        }
        let mut meta = json!({
            "tokens_used": self.spent.of(0),
            "capability_used": listed.name,
            "mode": listed.mode.word(),
            "cached": false,
            "content_type": self.kind.kind,
            "content_signals": converse.signals,
        });
        if let Some(from) = &self.kind.fallback_from {
            meta["fallback_from"] = from.as_str().into();
        }
        if !self.flags.is_empty() {
            meta["flags"] = json!(self.flags);
        }
        if listed.mode == Mode::Three {
            meta["tools_used"] = json!([listed.name]);
        }
        json!({ "status": "success", "session_id": session, "response": response, "meta": meta })
    }
}
