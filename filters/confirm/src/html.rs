//! The page itself.

use std::time::{Duration, UNIX_EPOCH};

use frontdesk_base::{reply::Reply, text::escaped};
use frontdesk_desk::{Desk, pending::Pending, person_page::document, rfc3339, visitor::Person};
use http::StatusCode;

use crate::words::Words;

/// What the page is about to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Confirmed,
    Declined,
    Expired,
    /// Another person is signed in than the one who is asked.
    SomebodyElse,
}

/// What the person is asked.
pub(crate) struct Shown<'a> {
    pending: &'a Pending,
}

impl<'a> Shown<'a> {
    pub(crate) fn of(pending: &'a Pending) -> Self {
        Self { pending }
    }
}

/// The page for an address that leads to nothing.
pub(crate) fn nothing(words: &Words) -> Reply {
    let body = format!("<h1>{}</h1><p>{}</p>", words.nothing, words.nothing_more);
    document(StatusCode::NOT_FOUND, words.language, words.nothing, &body)
}

/// The page in a state. `shown` is left out where the visitor may not see it.
pub(crate) fn page(
    desk: &Desk<'_>,
    words: &Words,
    state: &State,
    shown: Option<&Shown<'_>>,
    person: Option<&Person>,
) -> Reply {
    let site = desk.compiled.settings.site.name.as_deref().unwrap_or_default();
    let (status, title, said) = match state {
        State::Open => (StatusCode::OK, words.title, ""),
        State::Confirmed => (StatusCode::OK, words.confirmed, words.confirmed_more),
        State::Declined => (StatusCode::OK, words.declined, words.declined_more),
        State::Expired => (StatusCode::GONE, words.expired, words.expired_more),
        State::SomebodyElse => (StatusCode::FORBIDDEN, words.somebody_else, words.somebody_else_more),
    };
    let mut body = String::new();
    if !site.is_empty() {
        body.push_str(&format!("<p class=\"site\" dir=\"auto\">{}</p>", escaped(site)));
    }
    body.push_str(&format!("<h1>{title}</h1>"));
    if !said.is_empty() {
        body.push_str(&format!("<p role=\"status\">{said}</p>"));
    }
    if let Some(shown) = shown {
        body.push_str(&question(words, shown.pending));
    }
    if let Some(person) = person {
        let name = person.name.as_deref().unwrap_or(&person.subject);
        body.push_str(&format!("<p class=\"who\">{} <bdi>{}</bdi></p>", words.signed_in, escaped(name)));
    }
    if *state == State::Open {
        body.push_str(&format!(
            "<form method=\"post\"><button class=\"yes\" name=\"decision\" value=\"confirm\">{}</button>\
             <button name=\"decision\" value=\"decline\">{}</button></form>",
            words.confirm, words.decline
        ));
    }
    document(status, words.language, title, &body)
}

/// What is asked, by whom, and until when.
fn question(words: &Words, pending: &Pending) -> String {
    let asker = match &pending.asker {
        Some(name) if pending.verified => format!("<bdi>{}</bdi> ({})", escaped(name), words.verified),
        Some(name) => format!("<bdi>{}</bdi> ({})", escaped(name), words.claimed),
        None => words.unknown.to_owned(),
    };
    let until = rfc3339(UNIX_EPOCH + Duration::from_secs(pending.expires));
    let readable = until.trim_end_matches('Z').replace('T', " ");
    let mut out = format!("<p class=\"summary\" dir=\"auto\">{}</p>", escaped(&pending.summary));
    if !pending.consequence.is_empty() {
        out.push_str(&format!("<p class=\"consequence\" dir=\"auto\">{}</p>", escaped(&pending.consequence)));
    }
    out.push_str(&format!(
        "<dl><dt>{}</dt><dd>{asker}</dd><dt>{}</dt><dd><time datetime=\"{until}\">{readable} UTC</time></dd></dl>",
        words.asks, words.until
    ));
    out
}
