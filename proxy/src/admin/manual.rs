//! The manual at the admin address, as plain text: what the operator's page links to.
//!
//! The pages are those of the binary and hold nothing of this site, so they need no token.

use http::StatusCode;
use url::form_urlencoded;

use super::{Answer, problem, text};
use crate::manual::{contents, explain, page};

/// The answer at a path below `/manual` or `/explain`; `None`: the path is neither.
pub(super) fn answer(path: &str) -> Option<Answer> {
    if matches!(path, "/manual" | "/manual/") {
        let list = format!("The manual of Frontdesk. GET /manual/PAGE, GET /explain/WORD\n\n{}", contents());
        return Some(text(StatusCode::OK, &list));
    }
    let found = match (path.strip_prefix("/manual/"), path.strip_prefix("/explain/")) {
        (Some(name), _) => page(name).map(|page| page.text.to_owned()),
        (None, Some(words)) => form_urlencoded::parse(words.as_bytes()).next().and_then(|(words, _)| explain(&words)),
        (None, None) => return None,
    };
    Some(match found {
        Some(found) => text(StatusCode::OK, &found),
        None => problem(StatusCode::NOT_FOUND, "The manual does not have this. GET /manual lists its pages."),
    })
}
