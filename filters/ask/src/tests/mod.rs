//! The library asked, over a small site of its own.

mod answers;
mod bounds;
mod clarifying;
mod hostile;
mod languages;
mod meaning;
mod ranking;
mod renewed;
mod sessions;
mod site;
mod unanswered;
mod words;

use std::sync::Arc;

use super::{ANSWER_TOKENS, Answer, Coverage, Library, Question, Relevance, SiteFacts, Turn};
use frontdesk_base::tokens;
use frontdesk_page::content::{Page, testing};

fn page(path: &str, title: &str, markdown: &str) -> Arc<Page> {
    let title = format!("{title} | Harbour Tours");
    Arc::new(Page { language: Some("en".into()), ..testing::page(path, &title, markdown) })
}

fn pages() -> Vec<Arc<Page>> {
    vec![
        page("/", "Harbour Tours", "# Harbour Tours\n\nWe sail around the harbour every day from April to October.\n"),
        page(
            "/tickets",
            "Tickets",
            "# Tickets\n\n## Prices\n\nA ticket costs 24 EUR. Children under six sail free of charge.\n\n\
             ## Groups\n\nGroups of ten or more pay 18 EUR each. Please write to us a week before.\n\n\
             ## Can I bring a bicycle?\n\nYes. A bicycle costs 5 EUR and stays on deck.\n\n\
             ## Refunds\n\nTickets are refunded until one day before the tour.\n",
        ),
        page(
            "/tours/north",
            "North tour",
            "# North tour\n\nPast the docks.\n\n## Departure\n\nFrom pier 3 at 10:00.\n",
        ),
        page(
            "/tours/south",
            "South tour",
            "# South tour\n\nTo the lighthouse.\n\n## Departure\n\nFrom pier 7 at noon.\n",
        ),
        page("/about", "About us", "# About us\n\nHarbour Tours was founded in 1987 by two brothers.\n"),
    ]
}

fn facts() -> SiteFacts {
    SiteFacts {
        name: Some("Harbour Tours".into()),
        description: Some("Boat tours.".into()),
        origin: Some("https://harbour.test/".into()),
        operator: Some("Harbour Tours Ltd".into()),
        contact: Some("hello@harbour.test".into()),
        capabilities: vec![("book_tour".into(), "Books a tour".into())],
    }
}

fn library() -> Library {
    Library::build(&facts(), &pages())
}

fn ask<'a>(query: &'a str, before: &'a [Turn]) -> Question<'a> {
    Question { query, before, ..Question::default() }
}

fn found(answer: Answer) -> String {
    match answer {
        Answer::Found { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// A turn as a session would remember it.
fn turn(query: &str, answer: &Answer) -> Turn {
    let mut turn = Turn { query: query.into(), capability: "content_search".into(), ..Turn::default() };
    match answer {
        Answer::Found { text, sources, .. } => {
            turn.answer = text.clone();
            turn.sources = sources.iter().map(|source| (source.title.clone(), source.url.clone())).collect();
        }
        Answer::Unclear { options, .. } => turn.options = options.clone(),
        Answer::Nothing { text, .. } => turn.answer = text.clone(),
    }
    Turn::from_json(&turn.to_json()).unwrap()
}
