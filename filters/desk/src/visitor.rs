//! Asks the site who is signed in (`[auth.visitor]`), with that visitor's own header lines.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use frontdesk_answers::{Answered, Extract};
use http::{HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use url::Url;

use super::{Answer, Call, Desk, trouble::failed};
use frontdesk_base::{
    fault::{Fault, Refusal},
    media,
};
use frontdesk_config::{self as config, ExtractField, FieldKind, Visitor};

/// How long the site may take to answer.
const WITHIN: Duration = Duration::from_secs(10);
/// Maximum bytes of its answer.
const MOST: usize = 256 * 1024;

/// A person who is signed in at the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The site's own name for them, which never changes.
    pub subject: String,
    /// How they are called, for their own eyes.
    pub name: Option<String>,
}

/// Who is signed in with these header lines; `None`: nobody.
///
/// # Errors
///
/// The site cannot be asked, or its answer has no subject where it was declared to be.
pub async fn signed_in(
    desk: &Desk<'_>,
    visitor: &Visitor,
    lines: &[(HeaderName, HeaderValue)],
) -> Result<Option<Person>, Refusal> {
    let is_page = !visitor.subject.starts_with('/');
    let accept = if is_page { "text/html" } else { "application/json" };
    let headers = [
        (header::ACCEPT, HeaderValue::from_static(accept)),
        (header::USER_AGENT, HeaderValue::from_static("frontdesk")),
    ];
    let call = Call {
        elsewhere: None,
        method: &Method::GET,
        target: visitor.check.clone(),
        headers: Cow::Borrowed(&headers),
        body: Default::default(),
        limit: WITHIN.min(desk.compiled.settings.upstream.read_timeout),
        send_by: None,
        most: MOST,
        caller: None,
        named: false,
        form: None,
        credential: Cow::Borrowed(lines),
    };
    let answer = desk.upstream.call(call).await.map_err(failed)?;
    if answer.status.is_server_error() {
        return Err(Fault::SiteFailed.into());
    }
    if !answer.status.is_success() {
        return Ok(None);
    }
    if is_page {
        return on_page(desk, visitor, answer).await;
    }
    let said: Value = serde_json::from_slice(&answer.body).map_err(|_| unclear())?;
    let text = |pointer: &str| match said.pointer(pointer) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    // Sites that answer everybody with 200 have nothing there for a visitor who is not signed in.
    let Some(subject) = text(&visitor.subject) else { return Ok(None) };
    Ok(Some(Person { subject, name: visitor.name.as_deref().and_then(text) }))
}

/// The same for a page, by selectors.
async fn on_page(desk: &Desk<'_>, visitor: &Visitor, answer: Answer) -> Result<Option<Person>, Refusal> {
    let content_type =
        answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !media::essence(content_type).eq_ignore_ascii_case("text/html") {
        return Err(unclear());
    }
    let field = |name: &str, select: &str| {
        (name.to_owned(), ExtractField { select: select.to_owned(), all: false, kind: FieldKind::Text })
    };
    let name = visitor.name.as_deref().map(|select| field("name", select));
    let fields = [field("subject", &visitor.subject)].into_iter().chain(name).collect();
    let extract = Extract::new(&config::Extract { fields, ..Default::default() }).map_err(|_| unclear())?;
    let (content_type, body, size) = (content_type.to_owned(), answer.body.clone(), answer.body.len());
    let at = Url::parse("http://localhost/").map_err(|_| unclear())?;
    let read = desk.looked_through(size, move |_| {
        let answered = Answered {
            content_type: &content_type,
            disposition: None,
            body: &body,
            at: &at,
            is_named: false,
            own_hosts: &[],
            tokens: u64::MAX,
        };
        // The parser of pages is a library's, and reads what others wrote.
        catch_unwind(AssertUnwindSafe(|| extract.read(&answered))).ok()
    });
    let said = read.await.flatten().ok_or_else(unclear)??;
    let text = |name: &str| said[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let name = text("name");
    Ok(text("subject").map(|subject| Person { subject, name }))
}

fn unclear() -> Refusal {
    let detail =
        "The site did not say who is signed in. Nothing was done; tell the operator to look at auth.visitor.check.";
    Refusal::from(Fault::Malformed).saying(detail)
}
