//! What a session remembers of one turn: enough to understand the next question, and no more.

use serde_json::{Value, json};

use super::plain::shortened;

/// Bounds of what is kept of a turn, in bytes, and of how many.
const QUERY: usize = 512;
const CAPABILITY: usize = 64;
const ANSWER: usize = 400;
const TITLE: usize = 120;
/// An option is offered as it is kept, so that it is known again.
pub(super) const OPTION: usize = 120;
const URL: usize = 512;
const SOURCES: usize = 3;
const OPTIONS: usize = 6;

/// A question and what came back, in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub query: String,
    pub capability: String,
    pub answer: String,
    /// Title and address of what the answer came from.
    pub sources: Vec<(String, String)>,
    /// What was offered if the question was asked back.
    pub options: Vec<String>,
}

impl Turn {
    /// As it is kept in a session: at most some 5 KB, whatever it was made of.
    pub fn to_json(&self) -> Value {
        let sources: Vec<Value> = self
            .sources
            .iter()
            .take(SOURCES)
            .map(|(title, url)| json!([shortened(title, TITLE), cut(url, URL)]))
            .collect();
        let options: Vec<&str> = self.options.iter().take(OPTIONS).map(|option| shortened(option, OPTION)).collect();
        json!({
            "query": shortened(&self.query, QUERY),
            "capability": cut(&self.capability, CAPABILITY),
            "answer": shortened(&self.answer, ANSWER),
            "sources": sources,
            "options": options,
        })
    }

    /// Reads what [`Self::to_json`] wrote; `None` if it is something else.
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str, most: usize| Some(shortened(value.get(name)?.as_str()?, most).to_owned());
        let list = |name: &str, most: usize| Some(value.get(name)?.as_array()?.iter().take(most));
        let source = |pair: &Value| {
            let [title, url] = pair.as_array()?.as_slice() else { return None };
            Some((shortened(title.as_str()?, TITLE).to_owned(), cut(url.as_str()?, URL).to_owned()))
        };
        Some(Self {
            query: text("query", QUERY)?,
            capability: text("capability", CAPABILITY)?,
            answer: text("answer", ANSWER)?,
            sources: list("sources", SOURCES)?.map(source).collect::<Option<_>>()?,
            options: list("options", OPTIONS)?
                .map(|option| Some(shortened(option.as_str()?, OPTION).to_owned()))
                .collect::<Option<_>>()?,
        })
    }
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_as_it_was_written() {
        let turn = Turn {
            query: "How heavy?".into(),
            capability: "content_search".into(),
            answer: "23 kg".into(),
            sources: vec![("Baggage".into(), "/help/baggage".into())],
            options: vec!["Tokyo".into()],
        };
        assert_eq!(Turn::from_json(&turn.to_json()), Some(turn));
        for broken in [json!(null), json!({}), json!({"query": 1}), json!([1])] {
            assert_eq!(Turn::from_json(&broken), None);
        }
    }

    #[test]
    fn a_turn_is_small_whatever_was_said() {
        let long = "ä ".repeat(100_000);
        let turn = Turn {
            query: long.clone(),
            capability: long.clone(),
            answer: long.clone(),
            sources: vec![(long.clone(), long.clone()); 100],
            options: vec![long; 100],
        };
        let written = turn.to_json();
        assert!(written.to_string().len() < 6 * 1024);
        assert_eq!(Turn::from_json(&written).map(|turn| turn.to_json()), Some(written));
    }
}
