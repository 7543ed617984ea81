//! The page on which a person confirms or declines a call (`confirmation.by = "page"`).
//!
//! The agent gets only the page's address, or not even that. What it asks for is done once the person has confirmed it
//! here and the agent has repeated the call. Reading the page decides nothing, so a preview of a link does no harm. The
//! form works without scripts. It is taken from the page itself only: not from another site, not from a frame.
//!
//! The address alone is enough to confirm, unless `[auth.visitor]` is declared: then the site is asked who is signed in,
//! with the visitor's own cookies, and only the person in whose name the call is made may decide.

#![forbid(unsafe_code)]

mod declaration;
mod html;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_config::Settings;
use frontdesk_desk::{
    Desk, Endpoint, Incoming, Serve, Served,
    pending::{self, Decision, Pending},
    person_page::{self, guarded},
    problem,
    visitor::{self, Person},
};
use http::{Method, header};

pub use declaration::EXTENSION;
use html::{Shown, State};
use words::Words;

/// A form has one short field.
const LONGEST_FORM: usize = 1024;

/// The endpoints of the page, where any capability is confirmed there.
pub fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    if !settings.capabilities.iter().any(|capability| capability.confirmation.by_page) {
        return Vec::new();
    }
    let path = format!("{}/{{id}}", settings.paths.confirm.path.trim_end_matches('/'));
    let serve: Arc<dyn Serve> = Arc::new(Page);
    [Method::GET, Method::POST]
        .map(|method| Endpoint::call(&path, method, false, problem::reply).served(serve.clone()).for_people())
        .into()
}

/// The handler of the page.
#[derive(Debug)]
struct Page;

#[async_trait]
impl Serve for Page {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        let words = Words::preferred(request.headers);
        let id = places.first().map(|(_, id)| id.as_str()).unwrap_or_default();
        let answered = match *request.method {
            Method::POST => decide(desk, request, id, words).await,
            _ => show(desk, request, id, words).await,
        };
        match answered {
            Ok(reply) => guarded(reply).into(),
            Err(refusal) => {
                let reply = problem::reply(&refusal, request.accept().as_deref(), None);
                Served { reason: Some(refusal.reason), ..guarded(reply).into() }
            }
        }
    }

    fn most(&self, _: &Settings) -> usize {
        LONGEST_FORM
    }
}

/// The page as this visitor may see it.
async fn show(desk: &Desk<'_>, request: &Incoming<'_>, id: &str, words: &Words) -> Result<Reply, Refusal> {
    let Some(pending) = found(desk, id).await? else { return Ok(html::nothing(words)) };
    Ok(match allowed(desk, request, &pending, id).await? {
        Visit::SignIn(to) => see_other(&to)?,
        Visit::SomebodyElse(person) => html::page(desk, words, &State::SomebodyElse, None, person.as_ref()),
        Visit::Allowed(person) => {
            let state = match pending.decision {
                Decision::Pending if pending.is_over(desk.records.now()) => State::Expired,
                Decision::Pending => State::Open,
                Decision::Confirmed => State::Confirmed,
                Decision::Declined => State::Declined,
            };
            html::page(desk, words, &state, Some(&Shown::of(&pending)), person.as_ref())
        }
    })
}

/// Stores what the person decided, and leads back to the page.
async fn decide(desk: &Desk<'_>, request: &Incoming<'_>, id: &str, words: &Words) -> Result<Reply, Refusal> {
    if !person_page::is_from_this_origin(request, desk.compiled.settings.site.origin.as_deref()) {
        let detail = "This form is taken from its own page only. Open the page and press the button there.";
        return Err(Refusal { reason: "foreign_form", ..Fault::Forbidden.into() }.saying(detail));
    }
    let decision = match decision(&request.body) {
        Some(decision) => decision,
        None => return Err(Refusal::from(Fault::BadRequest).saying("The form has to say confirm or decline.")),
    };
    let Some(pending) = found(desk, id).await? else { return Ok(html::nothing(words)) };
    match allowed(desk, request, &pending, id).await? {
        Visit::SignIn(to) => see_other(&to),
        Visit::SomebodyElse(person) => Ok(html::page(desk, words, &State::SomebodyElse, None, person.as_ref())),
        Visit::Allowed(_) => {
            // Whether this one decided, or somebody did before: the page says what holds.
            pending::decide(desk, id, &pending, decision).await.map_err(frontdesk_desk::not_kept)?;
            see_other(&place(desk, id))
        }
    }
}

/// What the form says.
fn decision(body: &[u8]) -> Option<Decision> {
    let (_, value) = url::form_urlencoded::parse(body).find(|(name, _)| name == "decision")?;
    match &*value {
        "confirm" => Some(Decision::Confirmed),
        "decline" => Some(Decision::Declined),
        _ => None,
    }
}

/// Who visits the page.
enum Visit {
    /// They may decide; the person, where the site was asked.
    Allowed(Option<Person>),
    /// The call is made in somebody else's name.
    SomebodyElse(Option<Person>),
    /// Nobody is signed in: where to do that.
    SignIn(String),
}

async fn allowed(desk: &Desk<'_>, request: &Incoming<'_>, pending: &Pending, id: &str) -> Result<Visit, Refusal> {
    let Some(visitor) = &desk.compiled.settings.auth.visitor else { return Ok(Visit::Allowed(None)) };
    let cookies = request.headers.get_all(header::COOKIE).iter();
    let cookies: Vec<_> = cookies.map(|value| (header::COOKIE, value.clone())).collect();
    let person = match cookies.is_empty() {
        true => None,
        false => visitor::signed_in(desk, visitor, &cookies).await?,
    };
    Ok(match person {
        None => Visit::SignIn(visitor.sign_in_from(&place(desk, id))),
        Some(person) if pending.subject.as_ref().is_some_and(|subject| *subject != person.subject) => {
            Visit::SomebodyElse(Some(person))
        }
        Some(person) => Visit::Allowed(Some(person)),
    })
}

/// The path of the page; a redirect never leaves the site.
fn place(desk: &Desk<'_>, id: &str) -> String {
    format!("{}/{id}", desk.compiled.settings.paths.confirm.path.trim_end_matches('/'))
}

async fn found(desk: &Desk<'_>, id: &str) -> Result<Option<Pending>, Refusal> {
    pending::look(desk, id).await.map_err(frontdesk_desk::not_kept)
}

fn see_other(to: &str) -> Result<Reply, Refusal> {
    person_page::see_other(to).map_err(|_| Fault::Internal.into())
}
