//! Asks the site who is signed in (`[auth.visitor]`), with that visitor's own header lines.

use std::{borrow::Cow, time::Duration};

use http::{HeaderName, HeaderValue, Method, header};
use serde_json::Value;

use super::{Call, Desk, trouble::failed};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config::Visitor;

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
    static HEADERS: [(HeaderName, HeaderValue); 2] = [
        (header::ACCEPT, HeaderValue::from_static("application/json")),
        (header::USER_AGENT, HeaderValue::from_static("frontdesk")),
    ];
    let call = Call {
        elsewhere: None,
        method: &Method::GET,
        target: visitor.check.clone(),
        headers: Cow::Borrowed(&HEADERS),
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

fn unclear() -> Refusal {
    let detail =
        "The site did not say who is signed in. Nothing was done; tell the operator to look at auth.visitor.check.";
    Refusal::from(Fault::Malformed).saying(detail)
}
