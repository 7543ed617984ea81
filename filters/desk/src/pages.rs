//! Answers questions from the site's own pages.
//!
//! The answer has the shape that an operator's own concierge would use (AHP §6.2, §6.3), so no later code has to know
//! who answered.

use std::fmt::Write;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Told,
    harness_context::{Fact, HarnessContext},
};
use frontdesk_ask::{Answer, Coverage, Library, Question, Source, Turn};
use frontdesk_base::tokens;
use frontdesk_config::BuiltIn;

/// The conversation that a question belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Talk<'a> {
    pub before: &'a [Turn],
    /// The answer to a clarifying question.
    pub clarification: Option<&'a str>,
    /// Maximum tokens of an answer.
    pub max_tokens: u64,
    pub locale: Option<&'a str>,
    /// The client wants a list of pages, not only an answer.
    pub list: bool,
    /// The conversation's id, where it has one that nobody guesses.
    pub session: Option<&'a str>,
    /// A second id, for clients that do not hand the first one on: one that their credential gives.
    pub standing_session: Option<&'a str>,
    /// The conversation's id where the client named it in this very request.
    pub named_session: Option<&'a str>,
}

impl Default for Talk<'_> {
    fn default() -> Self {
        Self {
            before: &[],
            clarification: None,
            max_tokens: USUAL,
            locale: None,
            list: false,
            session: None,
            standing_session: None,
            named_session: None,
        }
    }
}

/// Tokens of an answer and what stands beside it, if the caller sets no limit.
const USUAL: u64 = 2_000;
/// Pages of a list.
const MOST_LISTED: usize = 10;

/// Asks the library.
pub(super) fn told(
    library: &Library,
    which: BuiltIn,
    query: &str,
    (talk, answer_tokens): (&Talk<'_>, u64),
    vector: Option<&[f32]>,
    perceived: &HarnessContext,
) -> Told {
    let meant = perceived.hint.as_ref().map(|hint| format!("{query} {hint}"));
    let question = Question {
        query: meant.as_deref().unwrap_or(query),
        before: talk.before,
        clarification: talk.clarification,
        max_tokens: usize::try_from(talk.max_tokens).unwrap_or(usize::MAX),
        answer_tokens: usize::try_from(answer_tokens).unwrap_or(usize::MAX),
        locale: talk.locale,
        vector,
    };
    let answer = match which {
        BuiltIn::SiteInfo => library.about(&question),
        BuiltIn::ContentSearch => library.answer(&question),
    };
    let mut data = said(answer);
    if let Some(answer) = data["answer"].as_str() {
        let mut answer = answer.to_owned();
        for Fact { content, source } in &perceived.facts {
            let _ = write!(answer, "\n\nFrom {source}: {content}");
        }
        data["answer"] = answer.into();
    }
    if talk.list && which == BuiltIn::ContentSearch {
        let hits = library.feed(&question, MOST_LISTED);
        let items: Vec<Value> = hits
            .into_iter()
            .map(|hit| json!({ "title": hit.title, "url": hit.url, "description": hit.description }))
            .collect();
        data["total"] = items.len().into();
        data["items"] = items.into();
    }
    match library.coverage() {
        Coverage::Whole => {}
        Coverage::Partial | Coverage::Unreadable => {
            data["coverage"] = json!({ "complete": false, "pages": library.pages() });
        }
    }
    Told::of(StatusCode::OK, data.into())
}

/// How many tokens the words of an answer may take, with its sources and follow-ups beside them.
pub(super) fn room(data: &Value, max_tokens: u64, answer_tokens: u64) -> usize {
    let beside = [&data["sources"], &data["follow_up"]].map(|value| u64::from(tokens::count(&value.to_string())));
    usize::try_from(answer_tokens.min(max_tokens.saturating_sub(beside.iter().sum()))).unwrap_or(usize::MAX)
}

/// Whether this says that the site does not answer the question.
pub(super) fn is_unanswered(data: &Value) -> bool {
    data["confidence"].as_f64() == Some(0.0)
}

/// A source: its address leads to the section where that can be reached.
fn told_source(source: Source) -> Value {
    let mut told = json!({ "title": source.title, "url": source.url, "relevance": source.relevance.name() });
    if let Some(section) = source.section {
        told["section"] = section.into();
    }
    told
}

fn said(answer: Answer) -> Value {
    let follow_up = |queries: Vec<String>| json!({ "suggested_queries": queries });
    match answer {
        Answer::Found { text, sources, follow_ups, confidence } => {
            let sources: Vec<Value> = sources.into_iter().map(told_source).collect();
            // Two digits are all that it says.
            let confidence = (f64::from(confidence) * 100.0).round() / 100.0;
            json!({ "answer": text, "sources": sources, "follow_up": follow_up(follow_ups), "confidence": confidence })
        }
        Answer::Nothing { text, follow_ups } => {
            json!({ "answer": text, "sources": [], "follow_up": follow_up(follow_ups), "confidence": 0.0 })
        }
        Answer::Unclear { question, options } => {
            json!({ "clarification": { "question": question, "options": options, "free_form": true } })
        }
    }
}
