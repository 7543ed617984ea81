//! What a session remembers of the last question's inputs, so that an answer to a clarifying question completes them.

use serde_json::{Map, Value, json};

use super::question::Question;

/// Maximum bytes, as JSON, of extracted inputs in a session; beyond it the client has to send them again.
const KEPT: usize = 4096;
/// Maximum names of requested inputs in a session.
const NAMES: usize = 16;

/// What a session remembers of the last question's inputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Kept {
    pub(super) capability: String,
    pub(super) query: String,
    /// The inputs extracted from words; structured input is not remembered.
    pub(super) found: Map<String, Value>,
    /// The names that were asked for.
    pub(super) asked: Vec<String>,
    /// They were not answered yet.
    pub(super) open: bool,
}

impl Kept {
    /// The form in which a session stores it; null where there is nothing to store.
    pub(super) fn to_json(&self) -> Value {
        let found = Value::from(self.found.clone());
        if self.found.is_empty() && self.asked.is_empty() || found.to_string().len() > KEPT {
            return Value::Null;
        }
        let asked: Vec<&String> = self.asked.iter().take(NAMES).collect();
        json!({ "capability": self.capability, "query": self.query, "found": found, "asked": asked, "open": self.open })
    }

    /// Parses what [`Self::to_json`] wrote; `None` for anything else.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let asked = value["asked"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned);
        Some(Self {
            capability: value["capability"].as_str()?.to_owned(),
            query: value["query"].as_str()?.to_owned(),
            found: value["found"].as_object()?.clone(),
            asked: asked.collect(),
            open: value["open"].as_bool()?,
        })
    }

    /// Whether a question continues the last one. The same question asked again is a new call once the last one was
    /// carried out. Only an answer to the clarifying question continues it, for example after a lost reply, or to
    /// confirm.
    pub(super) fn goes_on(&self, question: &Question) -> bool {
        let same = question.query.as_ref().is_none_or(|query| *query == self.query);
        let sent = |name: &String| question.input.as_ref().is_some_and(|input| input.contains_key(name));
        let again = self.open && same && (question.query.is_some() || self.asked.iter().any(sent));
        let answers = question.clarification.is_some() || question.confirmation.is_some();
        self.capability == question.capability && (again || answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was_written_and_is_bounded() {
        let Value::Object(found) = json!({ "to": "NRT", "n": 2 }) else { panic!() };
        let kept = Kept { capability: "find".into(), query: "q".into(), found, asked: vec!["from".into()], open: true };
        assert_eq!(Kept::from_json(&kept.to_json()), Some(kept.clone()));
        assert_eq!((Kept::default().to_json(), Kept::from_json(&Value::Null)), (Value::Null, None));
        let mut long = kept;
        long.found.insert("x".into(), "x".repeat(KEPT).into());
        assert_eq!(long.to_json(), Value::Null);
    }

    #[test]
    fn a_question_goes_on_where_it_is_answered() {
        let kept = |open| Kept {
            capability: "find".into(),
            query: "q".into(),
            asked: vec!["from".into()],
            open,
            ..Kept::default()
        };
        let asked = |value: Value| {
            let Value::Object(body) = value else { panic!() };
            Question::read(body, Some("find")).unwrap()
        };
        for (body, open, done) in [
            (json!({ "query": "q", "clarification": "MAD" }), true, true),
            (json!({ "query": "another", "clarification": "MAD" }), true, true),
            (json!({ "query": "q" }), true, false),
            (json!({ "query": "another" }), false, false),
            (json!({ "input": { "from": "MAD" } }), true, false),
            (json!({ "input": { "to": "MAD" } }), false, false),
        ] {
            let question = asked(body.clone());
            assert_eq!((kept(true).goes_on(&question), kept(false).goes_on(&question)), (open, done), "{body}");
        }
    }
}
