//! A person's list of agents, with an end for each.

use frontdesk_base::text::hex;
use frontdesk_caller::link::end;
use frontdesk_config::{Login, Visitor};
use frontdesk_desk::{Desk, Incoming, not_kept, person_page};
use frontdesk_state::NotKept;
use ring::digest;

use crate::{
    authorization_request::Parameters,
    consent::{Shown, foreign_form, see_other},
    html,
    list::List,
    visit::{Visit, visit},
    words::Words,
};

/// How often the list is tried to be changed.
const TRIES: usize = 4;

/// The list.
pub(crate) async fn show(desk: &Desk<'_>, (login, visitor): (&Login, &Visitor), request: &Incoming<'_>) -> Shown {
    let words = Words::preferred(request.headers);
    let Some(visit) = visit(desk, (login, visitor), request).await? else {
        let back = desk.compiled.settings.paths.links.path.as_str();
        return Ok((person_page::guarded(see_other(&visitor.sign_in_from(back))?), None));
    };
    let list = List::of(desk.records, &login.issuer, &visit.person.subject).await.map_err(not_kept)?;
    let uses = list.last_uses(desk.records).await.map_err(not_kept)?;
    let page = html::links(desk, words, &visit.person, (&list.links, &uses), &form_token(&visit));
    Ok((person_page::guarded(page), None))
}

/// Ends one.
pub(crate) async fn end_one(desk: &Desk<'_>, (login, visitor): (&Login, &Visitor), request: &Incoming<'_>) -> Shown {
    if !person_page::is_from_this_origin(request, desk.compiled.settings.site.origin.as_deref()) {
        return Err(foreign_form());
    }
    let visit = visit(desk, (login, visitor), request).await?;
    let form = Parameters::read(&request.body, "").map_err(|_| foreign_form())?;
    let visit = visit.filter(|visit| form.get("token") == Some(&form_token(visit))).ok_or_else(foreign_form)?;
    let is_ended = ended((desk, login), &visit, form.get("link").unwrap_or_default()).await.map_err(not_kept)?;
    let back = see_other(&desk.compiled.settings.paths.links.path)?;
    Ok((person_page::guarded(back), is_ended.then_some("ended")))
}

async fn ended((desk, login): (&Desk<'_>, &Login), visit: &Visit, handle: &str) -> Result<bool, NotKept> {
    for _ in 0..TRIES {
        let mut list = List::of(desk.records, &login.issuer, &visit.person.subject).await?;
        let Some(at) = list.links.iter().position(|listed| listed.id.handle() == handle) else { return Ok(false) };
        let id = list.links.remove(at).id;
        end(desk.records, id).await?;
        // The list leaves out what has ended, so it may be tidied by another request.
        let changed = desk.records.commit(&[list.change(desk.records.now())]).await?;
        if matches!(changed, frontdesk_state::Committed::Done(_)) {
            break;
        }
    }
    Ok(true)
}

/// What the forms of the list carry: only a page in the same session knows it.
fn form_token(visit: &Visit) -> String {
    let parts = ["frontdesk: forms of the list of agents", &visit.bound, &visit.person.subject];
    hex(digest::digest(&digest::SHA256, parts.join("\0").as_bytes()).as_ref())
}
