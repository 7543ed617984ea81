//! The tour of the demo: it reads a page, asks a question and holds a fare at the running Frontdesk, as an agent does.
//!
//! Each stop has lines to paste, and what came of them just now: figures are measured, and answers are quoted.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_base::tokens;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::outbound::{Outbound, Whole};

/// The page that is read, and the question that is asked.
const PAGE: &str = "/flights";
const QUESTION: &str = "How heavy may a checked bag be?";
/// The fare that is held.
const FARE: &str = "fare_123";
/// The idempotency keys: of the tour, and of the lines to paste.
const KEY_OF_TOUR: &str = "tour-1";
const KEY_TO_PASTE: &str = "hold-1";
/// How long one answer may take, and how long the site may be read before the question has its answer.
const LIMIT: Duration = Duration::from_secs(10);
const READ: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(250);
/// The most bytes of an answer: the pages of the example site are smaller.
const BOUND: usize = 1 << 20;
const JSON: &str = "-H 'Content-Type: application/json' -d";

/// Where Frontdesk is, and how an agent calls it.
pub(super) struct Tour {
    outbound: Arc<Outbound>,
    /// `http://ADDRESS`
    origin: String,
    /// The path of conversations.
    converse: String,
    /// The API key that may hold fares; `None` if only the operator knows it.
    key: Option<String>,
}

/// One stop of the tour.
pub(super) struct Stop {
    pub title: &'static str,
    /// Lines for a shell.
    pub lines: Vec<String>,
    /// What came of them.
    pub result: String,
}

impl Tour {
    pub(super) fn new(origin: String, converse: String, key: Option<String>) -> Self {
        Self { outbound: Outbound::new(), origin, converse, key }
    }

    /// A page as HTML and as Markdown.
    pub(super) async fn read(&self) -> Result<Stop, String> {
        let markdown_path = format!("{PAGE}.md");
        let html = text(self.get(PAGE).await?)?;
        let markdown = text(self.get(&markdown_path).await?)?;
        let (html, markdown) = (tokens::count(&html), tokens::count(&markdown));
        Ok(Stop {
            title: "Read: a page without what is only for browsers",
            lines: vec![format!("curl -s {}{markdown_path}", self.origin)],
            result: format!("{markdown} tokens to a language model; the HTML page {PAGE} is {html}"),
        })
    }

    /// A question, as soon as the site was read far enough to answer it.
    pub(super) async fn ask(&self) -> Result<Stop, String> {
        let question = json!({ "ahp": "0.1", "capability": "content_search", "query": QUESTION });
        let begun = Instant::now();
        let answer = loop {
            let answer = object(self.post(&self.converse, &question, &[]).await?)?;
            if answer.pointer("/response/sources/0/url").is_some() {
                break answer;
            }
            if begun.elapsed() > READ {
                return Err(format!("no answer to {QUESTION:?}: {answer}"));
            }
            sleep(PAUSE).await;
        };
        let said = answer["response"]["answer"].as_str().unwrap_or_default();
        // The answer opens with the headings above the quotation.
        let quoted = said.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or(said);
        let source = answer["response"]["sources"][0]["url"].as_str().unwrap_or_default();
        Ok(Stop {
            title: "Ask: a question in plain words, answered with a quotation",
            lines: vec![format!("curl -s {}{} {JSON} '{question}'", self.origin, self.converse)],
            result: format!("{quoted}\n(from {source}; the whole answer is {} tokens)", tokens::count(said)),
        })
    }

    /// A fare that is held, once its confirmation came.
    pub(super) async fn hold(&self) -> Result<Stop, String> {
        const PATH: &str = "/agent/bookings/hold";
        let input = json!({ "fare_id": FARE });
        let key = self.key.as_deref().unwrap_or("YOUR-KEY");
        let call = format!(
            "curl -s {}{PATH} -H 'X-AHP-Key: {key}' -H 'Idempotency-Key: {KEY_TO_PASTE}' {JSON} '{input}'",
            self.origin
        );
        let token = r#"sed 's/.*"token":"\([0-9a-f]*\)".*/\1/'"#;
        let lines = vec![
            format!("ASKED=$({call}); echo \"$ASKED\""),
            format!("{call} -H \"AICP-Confirmation: $(echo \"$ASKED\" | {token})\""),
        ];
        let title = "Call: hold a fare, after a person has confirmed it";
        let Some(key) = &self.key else {
            return Ok(Stop {
                title,
                lines,
                result: "not tried: TRAVEL_KEY_SHA256 is the hash of a key of yours".into(),
            });
        };
        let headers = [("x-ahp-key", key.as_str()), ("idempotency-key", KEY_OF_TOUR)];
        let asked = self.post(PATH, &input, &headers).await?;
        if asked.status != StatusCode::PRECONDITION_REQUIRED {
            return Err(format!("the call without a confirmation was answered with {}", asked.status));
        }
        let asked = object(asked)?;
        let said = |name: &str| asked["confirmation"][name].as_str().unwrap_or_default().to_owned();
        let confirmed = [headers[0], headers[1], ("aicp-confirmation", &said("token"))];
        let held = object(self.post(PATH, &input, &confirmed).await?)?;
        let again = object(self.post(PATH, &input, &headers).await?)?;
        if again["data"]["hold_id"] != held["data"]["hold_id"] {
            return Err(format!("the repeated call was answered otherwise: {again}"));
        }
        let held = &held["data"];
        let (id, until) = (held["hold_id"].as_str(), held["expires_at"].as_str());
        let (Some(id), Some(until)) = (id, until) else { return Err(format!("the fare was not held: {held}")) };
        let (summary, consequence) = (said("summary"), said("consequence"));
        Ok(Stop {
            title,
            lines,
            result: format!(
                "a person is asked first: {summary}? {consequence}\nthen the site answers: {id}, until {until}\n\
                 the same call once more is answered with {id} again, and holds nothing"
            ),
        })
    }

    async fn get(&self, path: &str) -> Result<Whole, String> {
        self.send(Request::get(format!("{}{path}", self.origin)), Bytes::new()).await
    }

    async fn post(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Result<Whole, String> {
        let mut request = Request::builder().method(Method::POST).uri(format!("{}{path}", self.origin));
        request = request.header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request, body.to_string().into()).await
    }

    async fn send(&self, request: http::request::Builder, body: Bytes) -> Result<Whole, String> {
        let request = request.body(body).map_err(|e| e.to_string())?;
        let path = request.uri().path().to_owned();
        self.outbound.post(request, BOUND, LIMIT).await.map_err(|why| format!("{path}: {why}"))
    }
}

/// The text of a page.
fn text(page: Whole) -> Result<String, String> {
    if page.status != StatusCode::OK {
        return Err(format!("a page was answered with {}", page.status));
    }
    Ok(String::from_utf8_lossy(&page.body).into_owned())
}

/// The JSON of an answer.
fn object(answer: Whole) -> Result<Value, String> {
    serde_json::from_slice(&answer.body).map_err(|_| format!("an answer with {} is no JSON", answer.status))
}
