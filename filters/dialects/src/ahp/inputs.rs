//! Collects the input of a call: structured input, inputs extracted from the words, and those of earlier turns. Where
//! inputs are missing, a clarifying question asks for them one by one (AHP §6.3).

use serde_json::{Map, Value, json};

use super::{
    asking::{Asking, clarified},
    listed::{BESIDE, Mode},
    question::Question,
};

/// Maximum bytes, as JSON, of extracted inputs in a session; beyond it the client has to send them again.
const KEPT: usize = 4096;
/// Maximum names of requested inputs in a session.
const NAMES: usize = 16;
/// The dialects whose callers send inputs as an object of their own.
const INPUT_IS_AN_OBJECT: [&str; 2] = ["ahp", "a2a"];

/// What a session remembers of the last question's inputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Kept {
    capability: String,
    query: String,
    /// The inputs extracted from words; structured input is not remembered.
    found: Map<String, Value>,
    /// The names that were asked for.
    asked: Vec<String>,
    /// They were not answered yet.
    open: bool,
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
    fn goes_on(&self, question: &Question) -> bool {
        let same = question.query.as_ref().is_none_or(|query| *query == self.query);
        let sent = |name: &String| question.input.as_ref().is_some_and(|input| input.contains_key(name));
        let again = self.open && same && (question.query.is_some() || self.asked.iter().any(sent));
        let answers = question.clarification.is_some() || question.confirmation.is_some();
        self.capability == question.capability && (again || answers)
    }
}

/// The input so far.
pub(super) struct Inputs {
    pub(super) input: Value,
    /// Missing inputs that can still be asked for.
    pub(super) lacking: Vec<String>,
    /// What the session remembers of it.
    pub(super) kept: Kept,
}

impl Asking<'_> {
    /// The input of the call: structured input, inputs extracted from the question, those of earlier turns, and the
    /// question itself where the capability has an input for it.
    pub(super) fn input(&self, question: &Question, before: Option<&Kept>) -> Inputs {
        let Self { listed, prepared, .. } = self;
        let before = before.filter(|kept| kept.goes_on(question));
        let mut input = question.input.clone().unwrap_or_default();
        let words = question.query.as_deref().unwrap_or_default();
        let clarified = clarified(question).unwrap_or_default();
        let mut found = Map::new();
        for (name, pattern) in &prepared.extract {
            let text = [words, clarified].into_iter().find_map(|text| {
                let found = pattern.captures(text)?;
                Some(found.get(1).or_else(|| found.get(0))?.as_str())
            });
            if let Some(text) = text {
                found.insert(name.clone(), self.typed(name, text));
            }
        }
        let asked = before.map(|kept| kept.asked.as_slice()).unwrap_or_default();
        for name in asked.iter().filter(|name| !found.contains_key(*name)).collect::<Vec<_>>() {
            if let Some(text) = answer(clarified, name, asked.len() == 1) {
                found.insert(name.clone(), self.typed(name, text));
            }
        }
        for (name, value) in before.into_iter().flat_map(|kept| &kept.found) {
            found.entry(name).or_insert_with(|| value.clone());
        }
        found.retain(|name, _| !input.contains_key(name));
        input.extend(found.clone());
        let declared = listed.input_schema.as_ref();
        let knows = |name: &str| declared.is_some_and(|schema| schema["properties"].get(name).is_some());
        // Without a declared schema the words are an input like any other (§6.1), unless an object was sent in their
        // place: the arguments of a tool and the body of an operation are such objects.
        let instead = question.input.is_some() && self.has_input_object() && listed.mode != Mode::Two;
        let wanted = knows("query") || declared.is_none() && !instead;
        if wanted && !words.is_empty() && !input.contains_key("query") {
            input.insert("query".to_owned(), words.into());
        }
        // Missing inputs of a question in words are asked for. In a structured input they are an error, unless they
        // were asked for before.
        let in_words = question.input.is_none() || before.is_some_and(|kept| kept.open);
        let required = declared.and_then(|schema| schema["required"].as_array()).into_iter().flatten();
        let lacking: Vec<String> = required
            .filter_map(Value::as_str)
            .filter(|name| in_words && !input.contains_key(*name))
            .filter(|name| !(BESIDE.contains(name) && listed.takes_beside(name)))
            .map(str::to_owned)
            .collect();
        let open = !lacking.is_empty();
        let kept = Kept {
            capability: listed.name.clone(),
            query: question.query.clone().or_else(|| Some(before?.query.clone())).unwrap_or_default(),
            found,
            asked: if open { lacking.clone() } else { asked.to_vec() },
            open,
        };
        Inputs { input: Value::Object(input), lacking, kept }
    }

    /// Whether inputs are an object of their own in this dialect, and not arguments beside the words.
    fn has_input_object(&self) -> bool {
        INPUT_IS_AN_OBJECT.contains(&self.dialect)
    }

    /// A text, converted to the type in the schema.
    fn typed(&self, name: &str, text: &str) -> Value {
        let capability = self.desk.compiled.settings.capability(self.listed.index);
        let schema = capability.and_then(|capability| capability.input.as_deref());
        schema.map_or_else(|| text.into(), |schema| schema.read(name, vec![text.to_owned()]))
    }

    /// The clarifying question for missing inputs, which says where to put the answer.
    pub(super) fn asks_back(&self, lacking: &[String]) -> String {
        let in_an_object = self.has_input_object();
        let place = |name: &String| if in_an_object { format!("input.{name}") } else { name.clone() };
        let places: Vec<String> = lacking.iter().map(place).collect();
        let (names, places) = (lacking.join(", "), places.join(", "));
        let argument = if in_an_object { "" } else { "the argument " };
        match lacking {
            [_] => format!("This also needs: {names}. What should it be? It can be sent as {argument}{places} too."),
            _ => {
                let arguments = argument.replace("argument ", "arguments ");
                format!("This also needs: {names}. What should each of them be? Send them as {arguments}{places}.")
            }
        }
    }
}

/// The answer to a request for a named input: the whole text, where nothing else was asked for; else the text after
/// the name, as in "from: MAD, to: NRT".
fn answer<'t>(said: &'t str, name: &str, alone: bool) -> Option<&'t str> {
    let after_name = |text: &'t str| {
        let text = text.trim();
        let (before, after) = (text.get(..name.len())?, text.get(name.len()..)?);
        let value = after.trim_start().strip_prefix([':', '='])?.trim();
        before.eq_ignore_ascii_case(name).then_some(value)
    };
    let found = match alone {
        true => after_name(said).or(Some(said.trim())),
        false => said.split([',', ';', '\n']).find_map(after_name),
    };
    let unquoted = |text: &'t str| text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    found.map(unquoted).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_with_its_name_or_alone() {
        for said in ["f", " f ", "fare: f", "Fare = f", "\"f\"", "fare:\"f\""] {
            assert_eq!(answer(said, "fare", true), Some("f"), "{said}");
        }
        assert_eq!(answer("f, or g", "fare", true), Some("f, or g"));
        assert_eq!(answer("farel", "fare", true), Some("farel"));
        let both = "from: MAD; to=NRT";
        assert_eq!((answer(both, "from", false), answer(both, "to", false)), (Some("MAD"), Some("NRT")));
        assert_eq!(
            (answer("MAD", "from", false), answer("", "from", true), answer("to: ", "to", false)),
            (None, None, None)
        );
    }

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
