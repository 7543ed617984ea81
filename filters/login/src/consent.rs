//! The authorization endpoint: who is signed in at the site, what an agent asks them for, and what they decide.
//!
//! Reading the page decides nothing. Its form is taken once, from the page itself only, and from the same session at the
//! site that it was shown to.

use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_caller::link::Consent;
use frontdesk_config::{Login, Visitor};
use frontdesk_desk::{Desk, Incoming, not_kept, person_page};
use frontdesk_state::Subject;

use crate::{
    authorization_request::{Parameters, Return, Wrong, asked},
    code,
    documents::{Documents, Sources},
    html, redirect_uri, registration,
    ticket::Ticket,
    visit,
    words::Words,
};

/// A page, and what became of a link.
pub(crate) type Shown = Result<(Reply, Option<&'static str>), Refusal>;

fn plain(reply: Reply) -> (Reply, Option<&'static str>) {
    (person_page::guarded(reply), None)
}

/// The consent page.
pub(crate) async fn ask(
    desk: &Desk<'_>,
    (login, visitor, documents): (&Login, &Visitor, &Documents),
    request: &Incoming<'_>,
) -> Shown {
    let words = Words::preferred(request.headers);
    // The person first: a stranger makes Frontdesk read no client's document.
    let Some(visit) = visit::visit(desk, (login, visitor), request).await? else {
        return Ok(plain(see_other(&visitor.sign_in_from(request.address()))?));
    };
    let person = Subject::named(&[b"person", visit.person.subject.as_bytes()]);
    let from = Sources {
        outside: desk.outside,
        counters: desk.counters,
        records: desk.records,
        askers: [Subject::address(request.caller.address), person],
    };
    let asked = match asked(desk, login, (documents, &from), request.query()).await {
        Ok(asked) => asked,
        Err(Wrong::Away) => return Err(not_kept(frontdesk_state::NotKept::Away)),
        Err(Wrong::ToPerson(code, why)) => return Ok(plain(html::wrong(desk, words, code, &why, None))),
        Err(Wrong::Busy) => return Err(busy()),
        Err(Wrong::ToClient(back)) => return wrong(desk, login, words, &back),
    };
    if visit.cookies.is_empty() {
        // Nothing that a call could carry.
        return Ok(plain(html::no_session(desk, words)));
    }
    let ticket = Ticket::store(desk.records, &asked, &visit).await.map_err(not_kept)?;
    let page = html::consent(desk, words, login, &asked, &visit.person, &ticket);
    Ok((person_page::guarded_leading_to(page, &redirect_uri::sources(&asked.redirect_uri)), Some("asked")))
}

/// An error of a client that is known. Only a client that the operator listed is told by a redirect, because a redirect that
/// nobody has agreed to could lead anywhere (RFC 9700 §4.11.2).
fn wrong(desk: &Desk<'_>, login: &Login, words: &Words, back: &Return) -> Shown {
    let address = back.address(&login.issuer);
    if back.client.is_listed {
        return Ok(plain(see_other(&address)?));
    }
    let to = (redirect_uri::shown(&back.redirect_uri), address);
    Ok(plain(html::wrong(desk, words, back.code, &back.why, Some(&to))))
}

/// The refusal where the documents of too many clients were read in the last minute.
fn busy() -> Refusal {
    let said = "You have opened the requests of too many agents in the last minute. Try again in a minute.";
    Refusal { reason: "client_documents_busy", retry_after: Some(60), ..Fault::Unavailable.into() }.saying(said)
}

/// What the person decided.
pub(crate) async fn decide(desk: &Desk<'_>, (login, visitor): (&Login, &Visitor), request: &Incoming<'_>) -> Shown {
    let words = Words::preferred(request.headers);
    if !person_page::is_from_this_origin(request, desk.compiled.settings.site.origin.as_deref()) {
        return Err(foreign_form());
    }
    let bad = || Refusal::from(Fault::BadRequest).saying("The form has to say allow or deny.");
    let form = Parameters::read(&request.body, "allow").map_err(|_| bad())?;
    let is_allowed = match form.get("decision") {
        Some("allow") => true,
        Some("deny") => false,
        _ => return Err(bad()),
    };
    let ticket = Ticket::find(desk.records, form.get("ticket").unwrap_or_default()).await.map_err(not_kept)?;
    let Some(ticket) = ticket else { return Ok(plain(html::over(desk, words))) };
    let visit = visit::visit(desk, (login, visitor), request).await?;
    // Another person, or another session of the same one.
    let visit = visit.filter(|visit| visit.bound == ticket.bound && visit.person.subject == ticket.person);
    let Some(visit) = visit else { return Err(foreign_form()) };
    let chosen: Vec<&Consent> =
        ticket.offered.iter().filter(|offered| form.all("allow").any(|chosen| chosen == offered.id)).collect();
    let mut answer = vec![("iss", login.issuer.as_str())];
    answer.extend(ticket.state.as_deref().map(|state| ("state", state)));
    if !is_allowed || chosen.is_empty() {
        let used = desk.records.commit(&[ticket.used()]).await.map_err(not_kept)?;
        if !matches!(used, frontdesk_state::Committed::Done(_)) {
            return Ok(plain(html::over(desk, words)));
        }
        answer.push(("error", "access_denied"));
        return led_back(&ticket, &answer, "denied");
    }
    // Calls carry these cookies and no others, so they have to stand for the person by themselves.
    if !visit::stand_for(desk, visitor, &visit.cookies, &ticket.person).await? {
        return Ok(plain(html::no_session(desk, words)));
    }
    let code = code::give((desk.records, &login.issuer), &ticket, &chosen, &visit.cookies).await.map_err(not_kept)?;
    let Some(code) = code else { return Ok(plain(html::over(desk, words))) };
    // If it is not kept longer, the client registers anew when it asks again.
    let _ = registration::used(desk, login, &ticket.client, &ticket.person).await;
    answer.push(("code", &code));
    led_back(&ticket, &answer, "allowed")
}

fn led_back(ticket: &Ticket, answer: &[(&str, &str)], event: &'static str) -> Shown {
    let reply = see_other(&redirect_uri::with(&ticket.redirect_uri, answer))?;
    let places = redirect_uri::sources(&ticket.redirect_uri);
    Ok((person_page::guarded_leading_to(reply, &places), Some(event)))
}

/// The refusal of a form that did not come from a page of ours in the same session.
pub(crate) fn foreign_form() -> Refusal {
    let detail = "This form is taken from its own page only, in the session that it was shown to. Start again.";
    Refusal { reason: "foreign_form", ..Fault::Forbidden.into() }.saying(detail)
}

/// A redirect by which a browser goes on with GET.
pub(crate) fn see_other(to: &str) -> Result<Reply, Refusal> {
    person_page::see_other(to).map_err(|_| Fault::Internal.into())
}
