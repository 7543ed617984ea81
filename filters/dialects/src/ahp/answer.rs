//! An answer in the parts of an AHP response, and the tokens it costs.

use serde_json::Value;

use super::{
    conversed::Conversed,
    listed::{Listed, Mode},
    prepared::{Converse, Prepared},
    turn::Answered,
    types::{self, Chosen},
    words,
};
use frontdesk_desk::Done;

/// Maximum tokens that an operator's concierge may report for one answer.
const MOST_TOLD: u64 = 1_000_000;

/// The tokens spent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spent {
    /// For the answer, without the question.
    Answer(u64),
    /// In total, as the concierge reports it.
    All(u64),
}

impl Spent {
    pub(super) const NOTHING: Self = Self::Answer(0);

    /// The total, where the question had `asked` tokens.
    pub(super) fn of(self, asked: u64) -> u64 {
        match self {
            Self::Answer(spent) => asked.saturating_add(spent),
            Self::All(spent) => spent,
        }
    }
}

/// A clarifying question that a concierge asks in place of an answer (§6.3).
pub(super) struct AskedBack {
    pub(super) question: String,
    pub(super) options: Option<Vec<String>>,
    free_form: bool,
    pub(super) spent: Spent,
}

impl AskedBack {
    /// The clarifying question in a concierge's answer, at most `most` tokens long; `None` where it answered.
    pub(super) fn of(listed: &Listed, data: &Value, most: u64) -> Option<Self> {
        let asked = data.get("clarification").filter(|_| listed.mode == Mode::Two)?;
        let (question, spent) = words::cut(asked["question"].as_str()?.to_owned(), most);
        // A budget of bytes: a token is about four.
        let mut left = most.saturating_sub(spent).saturating_mul(4);
        let fits = |option: &&str| left.checked_sub(option.len() as u64).map(|rest| left = rest).is_some();
        let options = asked["options"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).take_while(fits).map(str::to_owned).collect::<Vec<_>>());
        let spent = spent + options.iter().flatten().map(|option| option.len() as u64).sum::<u64>() / 4;
        let free_form = asked["free_form"].as_bool().unwrap_or(true);
        Some(Self { question, options, free_form, spent: Spent::Answer(spent) })
    }

    pub(super) fn conversed(&self, session: &str) -> Conversed {
        Conversed::unclear(Some(session), &self.question, self.options.as_deref(), self.free_form)
    }
}

/// An answer in the parts of an AHP response.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) spent: Spent,
    kind: Chosen,
    payload: Option<Value>,
    pub(super) sources: Option<Vec<Value>>,
    follow_up: Option<Value>,
    /// The firewall's findings in it.
    flags: Vec<String>,
    /// How much of the site it rests on, where that is not all.
    coverage: Value,
    /// How much an answer from the pages is to be trusted, from 0 to 1.
    confidence: Value,
}

impl Answer {
    /// An answer in words only.
    pub(super) fn words(text: &str) -> Self {
        let kind = Chosen { kind: super::listed::TEXT.to_owned(), fallback_from: None };
        let (text, tokens) = words::cut(text.to_owned(), u64::MAX);
        let spent = Spent::Answer(tokens);
        let (coverage, confidence) = (Value::Null, Value::Null);
        Self {
            text,
            spent,
            kind,
            payload: None,
            sources: None,
            follow_up: None,
            flags: Vec::new(),
            coverage,
            confidence,
        }
    }

    /// The answer for a result of the desk.
    pub(super) fn of(
        converse: &Converse,
        (listed, prepared): (&Listed, &Prepared),
        chosen: &Chosen,
        (done, data): (&Done, &Value),
        most: u64,
    ) -> Self {
        // A concierge's answer, ours or the operator's, has AHP's parts already, perhaps in an envelope.
        let (said, enveloped) = match data.get("response").filter(|r| r.is_object()) {
            Some(response) => (response, true),
            None => (data, false),
        };
        let theirs = said["answer"].as_str().filter(|_| listed.mode == Mode::Two);
        let payload = match said.get("payload").filter(|_| enveloped && theirs.is_some()) {
            Some(payload) if said["content_type"] == chosen.kind.as_str() => Some(payload.clone()),
            // A body that is no JSON is given in words.
            _ if (done.told.raw.is_some() || done.told.omitted) && prepared.payload.is_empty() && !listed.is_action => {
                None
            }
            _ => types::payload(listed, &chosen.kind, &prepared.payload, &done.input, data),
        };
        let embeds = payload.as_ref().is_some_and(|payload| types::embeds(&chosen.kind, payload));
        let payload = payload.filter(|_| !embeds);
        let kind = match (&payload, chosen.kind.as_str()) {
            (None, kind) if kind != super::listed::TEXT => chosen.in_words(),
            _ => chosen.clone(),
        };
        let text = match theirs {
            Some(text) => text.to_owned(),
            None if embeds => format!("{}: the site sent it along, where an address is wanted.", listed.subject()),
            None => converse.words.answer(listed, &done.input, &done.told, data, payload.is_some()),
        };
        let (text, mut tokens) = words::cut(text, most);
        let (mut sources, mut follow_up) = (None, None);
        if theirs.is_some() {
            // Entries that do not have the protocol's form (§6.2) are dropped.
            if let Some(all) = said["sources"].as_array() {
                sources = Some(all.iter().filter_map(source).collect::<Vec<_>>());
            }
            follow_up = next(&said["follow_up"]);
        }
        // The parts beside the words cost tokens too: about one per four bytes.
        let listed_sources = sources.clone().map(Value::from);
        let beside = [payload.as_ref(), listed_sources.as_ref(), follow_up.as_ref()].into_iter().flatten();
        tokens += beside.filter(|value| !value.is_null()).map(|value| value.to_string().len() as u64 / 4).sum::<u64>();
        let flags = done.told.flags.told().to_vec();
        let from_pages = listed.mode == Mode::Two && !listed.is_concierge;
        let coverage = said.get("coverage").filter(|_| from_pages).cloned().unwrap_or_default();
        let confidence = said.get("confidence").filter(|_| from_pages).cloned().unwrap_or_default();
        // An operator's own concierge knows better what it took.
        if let Some(own) = data["meta"]["tokens_used"].as_u64().filter(|_| theirs.is_some() && enveloped) {
            let spent = Spent::All(own.min(MOST_TOLD));
            return Self { text, spent, kind, payload, sources, follow_up, flags, coverage, confidence };
        }
        Self { text, spent: Spent::Answer(tokens), kind, payload, sources, follow_up, flags, coverage, confidence }
    }

    /// A person's answer in words.
    pub(super) fn say(&mut self, text: &str, most: u64) {
        (self.text, _) = words::cut(text.to_owned(), most);
    }

    /// Tokens beyond the limit, where the parts that cost them can be left out. The result of an action is always
    /// given in full.
    pub(super) fn over(&self, listed: &Listed, most: u64) -> u64 {
        let may_be_left_out = self.payload.is_some() && !listed.is_action;
        if may_be_left_out { self.spent.of(0).saturating_sub(most) } else { 0 }
    }

    /// The response of §6.2.
    pub(super) fn success(&self, converse: &Converse, listed: &Listed, session: Option<&str>) -> Answered {
        Answered {
            session: session.map(str::to_owned),
            text: self.text.clone(),
            content_type: self.kind.kind.clone(),
            fallback_from: self.kind.fallback_from.clone(),
            payload: self.payload.clone(),
            file: None,
            sources: self.sources.clone(),
            follow_up: self.follow_up.clone(),
            tokens_used: self.spent.of(0),
            cached: false,
            declined: false,
            flags: self.flags.clone(),
            coverage: self.coverage.clone(),
            confidence: self.confidence.clone(),
            signals: converse.signals.clone(),
            capability: listed.name.clone(),
            mode: listed.mode,
        }
    }
}

/// A source, reduced to the members that have the right form.
fn source(said: &Value) -> Option<Value> {
    let mut source = said.as_object().filter(|source| source.get("url").is_some_and(Value::is_string))?.clone();
    source.retain(|name, value| match name.as_str() {
        "title" => value.is_string(),
        "relevance" => ["direct", "indirect", "background"].iter().any(|known| value == known),
        _ => true,
    });
    Some(source.into())
}

/// A follow-up, reduced in the same way.
fn next(said: &Value) -> Option<Value> {
    let mut next = said.as_object()?.clone();
    if let Some(queries) = next.remove("suggested_queries").as_ref().and_then(Value::as_array) {
        let queries = queries.iter().filter(|query| query.is_string()).cloned().collect();
        next.insert("suggested_queries".into(), queries);
    }
    Some(next.into())
}
