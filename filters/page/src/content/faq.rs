//! Questions and answers that a page marks up as such (schema.org `FAQPage` and `QAPage`): in JSON-LD, and in its elements.
//!
//! An answer that is folded away until a person asks for it is on the page, though it is hidden; one that stands in JSON-LD
//! alone is added to the page's Markdown.

use std::collections::HashSet;

use dom_query::NodeRef;
use serde_json::Value;

use super::walk::{attribute, collapsed, has_word, name};

/// The longest JSON-LD that is read, in bytes, and how deep.
const LONGEST: usize = 512 * 1024;
const DEEPEST: usize = 6;
/// Questions of one page.
const QUESTIONS: usize = 200;
/// How much of an answer has to be on the page for the answer to be there, in letters and digits.
const BEGINNING: usize = 60;

/// A question, and its answer as HTML.
#[derive(Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) question: String,
    pub(super) answer: String,
}

/// The questions and answers of a page's JSON-LD.
pub(super) fn of_scripts(root: &NodeRef<'_>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let scripts = root.descendants_it().filter(|node| {
        name(node) == "script"
            && attribute(node, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("application/ld+json"))
    });
    for script in scripts {
        let text = script.text();
        if text.len() <= LONGEST
            && text.contains("Question")
            && let Ok(value) = serde_json::from_str::<Value>(&text)
        {
            collect(&value, DEEPEST, &mut pairs);
        }
    }
    let mut seen = HashSet::new();
    pairs.retain(|pair| seen.insert(pair.question.clone()));
    pairs
}

fn collect(value: &Value, left: usize, pairs: &mut Vec<Pair>) {
    let Some(left) = left.checked_sub(1) else { return };
    match value {
        Value::Array(all) => all.iter().for_each(|each| collect(each, left, pairs)),
        Value::Object(fields) if is_of(value, "Question") => {
            let question = fields.get("name").or(fields.get("text")).and_then(Value::as_str).map(collapsed);
            let answers = ["acceptedAnswer", "suggestedAnswer"].iter().filter_map(|key| fields.get(*key));
            let first = answers.map(|answer| answer.get(0).unwrap_or(answer)).next();
            let answer = first.and_then(|answer| answer.get("text")).and_then(Value::as_str);
            if let (Some(question), Some(answer)) = (question, answer)
                && !question.is_empty()
                && pairs.len() < QUESTIONS
            {
                pairs.push(Pair { question, answer: answer.to_owned() });
            }
        }
        Value::Object(fields) => {
            ["@graph", "mainEntity", "hasPart"]
                .iter()
                .filter_map(|key| fields.get(*key))
                .for_each(|below| collect(below, left, pairs));
        }
        _ => {}
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    let is = |of: &Value| of.as_str().is_some_and(|of| of.rsplit('/').next() == Some(kind));
    match &value["@type"] {
        Value::Array(all) => all.iter().any(is),
        one => is(one),
    }
}

/// Is an answer on a page already?
pub(super) fn is_there(markdown: &str, answer: &str) -> bool {
    let answer = letters(answer);
    let beginning = &answer[..answer.floor_char_boundary(BEGINNING)];
    !beginning.is_empty() && letters(markdown).contains(beginning)
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Is this element the words of a question in schema.org's microdata?
pub(super) fn is_question(node: &NodeRef<'_>) -> bool {
    has_word(node, "itemprop", &["name"])
        && node.ancestors_it(Some(4)).any(|around| is_item(&around, "Question"))
        && !node.ancestors_it(Some(4)).any(|around| is_item(&around, "Answer"))
}

/// Is this element an answer in schema.org's microdata? It may be folded away.
pub(super) fn is_answer(node: &NodeRef<'_>) -> bool {
    has_word(node, "itemprop", &["acceptedAnswer", "suggestedAnswer"]) || is_item(node, "Answer")
}

fn is_item(node: &NodeRef<'_>, kind: &str) -> bool {
    attribute(node, "itemtype").is_some_and(|of| of.rsplit('/').next() == Some(kind) && of.contains("schema.org"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::parse;

    #[test]
    fn pairs_are_found_wherever_they_stand() {
        let one = |question: &str| {
            format!(
                r#"{{"@type": "Question", "name": " {question} ", "acceptedAnswer": {{"@type": "Answer", "text": "<p>Yes.</p>"}}}}"#
            )
        };
        for json in [
            format!(r#"{{"@context": "https://schema.org", "@type": "FAQPage", "mainEntity": [{}]}}"#, one("A?")),
            format!(r#"{{"@graph": [{{"@type": ["WebPage", "FAQPage"], "mainEntity": {}}}]}}"#, one("A?")),
            format!(r#"[{{"@type": "https://schema.org/FAQPage", "mainEntity": [{}, {}]}}]"#, one("A?"), one("A?")),
        ] {
            let document =
                parse::parse(&format!("<script type='application/ld+json'>{json}</script>")).expect("a page");
            let pair = Pair { question: "A?".into(), answer: "<p>Yes.</p>".into() };
            assert_eq!(of_scripts(&document.root()), [pair], "{json}");
        }
        for json in ["{", "[]", r#"{"@type": "Question", "name": "A?"}"#, &"[".repeat(100_000)] {
            let document =
                parse::parse(&format!("<script type='application/ld+json'>{json}Question</script>")).expect("a page");
            assert_eq!(of_scripts(&document.root()), [], "{json:.40}");
        }
    }

    #[test]
    fn an_answer_that_stands_on_the_page_is_not_added() {
        assert!(is_there("# Q\n\nYes, **we** do.\n", "<p>Yes, we do.".replace("<p>", "").as_str()));
        assert!(!is_there("# Q\n\nWe do.\n", "Yes, we do."));
    }
}
