//! Collects the input of a call: structured input, inputs extracted from the words, and those of earlier turns. Where
//! inputs are missing, a clarifying question asks for them one by one (AHP §6.3).

use serde_json::{Map, Value};

use super::{
    asking::Asking,
    kept::Kept,
    listed::{BESIDE, Mode},
    question::Question,
};

/// The dialects whose callers send inputs as an object of their own.
const INPUT_IS_AN_OBJECT: [&str; 2] = ["ahp", "a2a"];

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
        let clarified = question.clarified().unwrap_or_default();
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
}
