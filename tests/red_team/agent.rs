//! The model as an agent: its credential, every text that it is sent, and where it tries them.

use super::model::{Heard, Line};
use super::pages;
use super::ways::{self, Way};
use crate::support::calls::FULL;
use crate::support::verbs::verb;
use crate::support::{Ask, Desk, SOON, rpc};
use serde_json::json;
use std::time::Duration;

/// A piece of the documents is tried in one of so many dialects, and one of so many pieces in all places there.
const DOCUMENTS: usize = 80;
const DOCUMENTS_ELSEWHERE: usize = 10;
/// Pieces of the answers to attempts that are tried in turn.
const SECOND_ROUND: usize = 10;
/// The most texts that are tried in all dialects; more take turns in them. Those of one question are fewer.
pub const IN_ALL: usize = 30;
/// Likewise for all other places, of which a dialect has about a dozen.
const ELSEWHERE: usize = 4;
/// A client that answers for its person is kept waiting for a page; then it leaves.
const LEAVES_AFTER: Duration = Duration::from_millis(700);

/// Where an agent begins to read.
const STARTS: [&str; 7] =
    ["/", "/.well-known/agent.json", "/openapi.json", "/llms.txt", "/robots.txt", "/sitemap.xml", "/auth.md"];

/// The agent: its credential, and every text that it is sent.
pub struct Agent<'a> {
    pub line: Line<'a>,
    pub key: Option<&'static str>,
    pub heard: Heard,
    pub documents: Heard,
    pub attempts: usize,
}

impl<'a> Agent<'a> {
    /// Reads every document, and whatever they lead to.
    pub async fn reading(desk: &'a Desk, key: Option<&'static str>) -> Agent<'a> {
        let (heard, documents) = (Heard::default(), Heard::default());
        let mut agent = Agent { line: Line::to(desk), key, heard, documents, attempts: 0 };
        for path in STARTS {
            agent.heard.text(path);
        }
        pages::open(&mut agent.line, &mut agent.heard, key).await;
        for target in ["/", "/methods", "/contracts", "/agents"] {
            agent.hears(verb("DISCOVER", target)).await;
        }
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover"] {
            agent.hears(rpc::stateless(method, json!({}))).await;
        }
        agent.documents = agent.heard.clone();
        agent
    }

    fn with_key(&self, ask: Ask) -> Ask {
        match self.key {
            Some(key) => ask.bearer(key),
            None => ask,
        }
    }

    pub async fn hears(&mut self, ask: Ask) {
        let response = self.line.ask(&self.with_key(ask)).await;
        self.heard.response(&response);
    }

    /// Hears the answer to an attempt, if it comes soon.
    pub async fn attempts(&mut self, way: Way, ask: Ask) {
        self.attempts += 1;
        let limit = if way == Way::McpAsking { LEAVES_AFTER } else { SOON };
        if let Some(response) = self.line.within(limit, &self.with_key(ask)).await {
            self.heard.response(&response);
        }
    }

    /// Asks for a book in every dialect.
    pub async fn asks(&mut self, book: impl Fn(Way) -> String) {
        for way in ways::ALL {
            self.hears(way.call(&book(way))).await;
        }
    }

    /// Tries each of these texts as a confirmation.
    pub async fn confirms(&mut self, texts: &[String], book: impl Fn(Way) -> String) {
        self.confirms_in_turns(texts, usize::MAX, book).await;
    }

    /// The same, where more texts than `most` take turns in the dialects.
    pub async fn confirms_in_turns(&mut self, texts: &[String], most: usize, book: impl Fn(Way) -> String) {
        for (way, text) in turns(texts, most) {
            self.attempts(way, way.confirming(&book(way), text)).await;
        }
    }

    /// Tries each of these texts in all other places.
    pub async fn tries_elsewhere(&mut self, texts: &[String], book: impl Fn(Way) -> String) {
        for (way, text) in turns(texts, ELSEWHERE) {
            for ask in way.elsewhere(&book(way), text) {
                self.attempts(way, ask).await;
            }
        }
    }

    /// Tries what stands in the documents.
    pub async fn tries_documents(&mut self, book: impl Fn(Way) -> String) {
        for (at, text) in self.documents.strings().iter().enumerate() {
            for (nth, way) in ways::ALL.into_iter().enumerate().filter(|(nth, _)| (at + nth).is_multiple_of(DOCUMENTS))
            {
                self.attempts(way, way.confirming(&book(way), text)).await;
                if (at / DOCUMENTS + nth).is_multiple_of(DOCUMENTS_ELSEWHERE) {
                    for ask in way.elsewhere(&book(way), text) {
                        self.attempts(way, ask).await;
                    }
                }
            }
        }
    }

    /// What it was told since it had read the documents.
    pub fn answers(&self) -> Vec<String> {
        self.heard.since(&self.documents)
    }

    /// The pages that it knows of.
    pub fn pages(&self) -> Vec<String> {
        self.heard.places().into_iter().filter(|path| pages::is_page(path)).collect()
    }

    /// Everything that it can think of.
    pub async fn tries_everything(&mut self, book: impl Fn(Way) -> String) {
        let answers = self.answers();
        self.confirms_in_turns(&answers, IN_ALL, &book).await;
        self.tries_elsewhere(&promising(&answers), &book).await;
        self.tries_documents(&book).await;
        let (places, pages): (Vec<String>, _) = (self.heard.places().into_iter().collect(), self.pages());
        pages::open(&mut self.line, &mut self.heard, None).await;
        self.attempts += pages::press(&mut self.line, &mut self.heard, &places, FULL).await;
        self.attempts += pages::guess(&mut self.line, &mut self.heard, &answers, &pages).await;
        // What was said to all that.
        let later: Vec<String> = self.answers().into_iter().filter(|text| !answers.contains(text)).collect();
        let later = some_of(later, SECOND_ROUND);
        self.confirms(&later, &book).await;
    }
}

/// At most so many of these texts, from all over them.
pub fn some_of(texts: Vec<String>, most: usize) -> Vec<String> {
    let each = texts.len().div_ceil(most).max(1);
    texts.into_iter().step_by(each).collect()
}

/// Each text in each dialect; of more texts than `most`, each in some, and all dialects as often.
pub fn turns(texts: &[String], most: usize) -> impl Iterator<Item = (Way, &String)> {
    let every = texts.len().div_ceil(most).clamp(1, ways::ALL.len());
    ways::ALL.into_iter().enumerate().flat_map(move |(nth, way)| {
        texts
            .iter()
            .enumerate()
            .filter(move |(at, _)| (at + nth).is_multiple_of(every))
            .map(move |(_, text)| (way, text))
    })
}

/// The texts among these that could identify something.
pub fn promising(texts: &[String]) -> Vec<String> {
    texts.iter().filter(|text| text.len() > 15 && !text.contains(' ')).cloned().collect()
}
