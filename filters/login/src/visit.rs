//! Who visits a page of ours: the site is asked, with the visitor's own cookies.

use std::borrow::Cow;

use frontdesk_answers::Cookies;
use frontdesk_base::{fault::Refusal, text::hex};
use frontdesk_config::{Login, Visitor};
use frontdesk_desk::{
    Desk, Incoming,
    visitor::{self, Person},
};
use http::{HeaderValue, header};
use ring::digest;

/// A person who is signed in, and the cookies that say so.
pub(crate) struct Visit {
    pub(crate) person: Person,
    /// Those that calls carry (`auth.login.cookies`).
    pub(crate) cookies: Cookies,
    /// A hash of them, which binds forms to this session.
    pub(crate) bound: String,
}

/// The person who is signed in with all cookies of a request; `None`: nobody is.
pub(crate) async fn visit(
    desk: &Desk<'_>,
    (login, visitor): (&Login, &Visitor),
    request: &Incoming<'_>,
) -> Result<Option<Visit>, Refusal> {
    let lines: Vec<_> = request.headers.get_all(header::COOKIE).iter().cloned().collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let sent: Vec<_> = lines.iter().map(|line| (header::COOKIE, line.clone())).collect();
    let Some(person) = visitor::signed_in(desk, visitor, &sent).await? else { return Ok(None) };
    // Cookies of others may have any bytes in them.
    let texts: Vec<Cow<'_, str>> = lines.iter().map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    let cookies = Cookies::sent_by_browser(texts.iter().map(Cow::as_ref), &login.cookies);
    let all = || lines.iter().map(HeaderValue::as_bytes).collect::<Vec<_>>().join(&b';');
    let named = if cookies.is_empty() { all() } else { cookies.stored() };
    let bound = hex(digest::digest(&digest::SHA256, &named).as_ref());
    Ok(Some(Visit { person, cookies, bound }))
}

/// Whether the cookies that calls carry alone stand for the person.
pub(crate) async fn stand_for(
    desk: &Desk<'_>,
    visitor: &Visitor,
    cookies: &Cookies,
    person: &str,
) -> Result<bool, Refusal> {
    let line = cookies.sent_to(&visitor.check).and_then(|line| HeaderValue::try_from(line).ok());
    let Some(mut line) = line else { return Ok(false) };
    line.set_sensitive(true);
    let found = visitor::signed_in(desk, visitor, &[(header::COOKIE, line)]).await?;
    Ok(found.is_some_and(|found| found.subject == person))
}
