//! Every address opened, and its form sent with everything that a program can claim about itself.

use super::model::{Heard, Line};
use super::ways::header;
use crate::support::Ask;
use std::collections::BTreeSet;

/// Forms that could mean yes.
const FORMS: [&str; 6] = [
    "decision=confirm",
    "decision=confirm&confirm=yes&confirmed=true&ok=true",
    "decision=decline&decision=confirm",
    "confirm=1",
    "action=accept&ok=true",
    "_method=POST&decision=confirm&subject=ada",
];

/// What a browser would say about itself, and what only the person's own browser should.
fn claims() -> Vec<Vec<(&'static str, &'static str)>> {
    let own = ("Sec-Fetch-Site", "same-origin");
    let origin = ("Origin", "https://site.test");
    vec![
        vec![],
        vec![own],
        vec![origin],
        vec![own, origin, ("Referer", "https://site.test/agent/confirm/"), ("Sec-Fetch-Mode", "navigate")],
        vec![own, ("Cookie", "sid=ada")],
        vec![own, ("Cookie", "sid=")],
        vec![own, ("Cookie", "ada; sid=ada; session=ada; user=ada")],
        // The model has an account of its own.
        vec![own, ("Cookie", "sid=mallory-session")],
        vec![own, ("Cookie", "sid=mallory-session"), ("Cookie", "sid=ada")],
        vec![own, ("X-Forwarded-User", "ada"), ("Remote-User", "ada"), ("X-User", "ada"), ("From", "ada")],
        vec![own, ("X-Frontdesk-Caller", "ada"), ("X-Frontdesk-Subject", "ada"), ("X-Agent-Id", "ada")],
        vec![own, ("X-HTTP-Method-Override", "POST"), ("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1")],
    ]
}

/// Opens each address, and what the answers lead to, three steps far.
pub async fn open(line: &mut Line<'_>, heard: &mut Heard, key: Option<&str>) -> usize {
    let mut opened = BTreeSet::new();
    for _ in 0..3 {
        let places: Vec<String> = heard.places().difference(&opened).cloned().collect();
        for path in places {
            let ask = Ask::get(&path);
            let ask = if let Some(key) = key { ask.bearer(key) } else { ask };
            let response = line.ask(&ask).await;
            heard.response(&response);
            opened.insert(path);
        }
    }
    opened.len()
}

/// Sends the form of each address, with every claim.
pub async fn press(line: &mut Line<'_>, heard: &mut Heard, places: &[String], key: &str) -> usize {
    let mut sent = 0;
    for path in places {
        // What is no page of ours gets the plainest attempts.
        let most = if is_page(path) { usize::MAX } else { 2 };
        for claims in claims().into_iter().take(most) {
            let claimed = |ask: Ask| claims.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
            for form in FORMS.into_iter().take(most) {
                let ask = Ask::post(path, form).header("Content-Type", "application/x-www-form-urlencoded");
                heard.response(&line.ask(&claimed(ask)).await);
                sent += 1;
            }
            let json = Ask::post(path, r#"{"decision":"confirm","confirmed":true}"#);
            let query = Ask::get(&format!("{path}?decision=confirm"));
            for ask in [
                json.header("Content-Type", "application/json"),
                query,
                Ask::new("PUT", path).body("decision=confirm"),
                Ask::post(path, "decision=confirm")
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .bearer(key),
            ] {
                heard.response(&line.ask(&claimed(ask)).await);
                sent += 1;
            }
        }
    }
    sent
}

/// Whether an address is one of a confirmation page.
pub fn is_page(path: &str) -> bool {
    path.starts_with("/agent/confirm/")
}

/// Takes each text for the end of a page's address, and for the person's cookie on a page.
pub async fn guess(line: &mut Line<'_>, heard: &mut Heard, texts: &[String], pages: &[String]) -> usize {
    let press = |path: &str| {
        Ask::post(path, "decision=confirm")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Sec-Fetch-Site", "same-origin")
    };
    let mut sent = 0;
    for text in texts {
        let name = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        let mut all = vec![press(&format!("/agent/confirm/{name}"))];
        for page in pages.iter().take(1) {
            all.push(header(press(page), "Cookie", text));
            all.push(header(press(page), "Cookie", &format!("sid={text}")));
            all.push(header(press(page), "Authorization", &format!("Bearer {text}")));
        }
        for ask in all {
            heard.response(&line.ask(&ask).await);
            sent += 1;
        }
    }
    sent
}
