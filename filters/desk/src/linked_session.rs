//! Calls in the name of a person who has allowed the agent that (`[auth.login]`): with the site's cookies of their session,
//! which are renewed as the site renews them, and until the site has ended it.

use std::{sync::Arc, time::Duration};

use frontdesk_answers::Cookies;
use frontdesk_base::fault::{Fault, REALM, Refusal};
use frontdesk_caller::Link;
use frontdesk_config::Visitor;
use http::{HeaderValue, header};

use super::{
    call::{Answer, Call, CallPlan},
    exchange::Exchanged,
    step::Step,
    visitor,
};

/// How long another call of the same agent may take from the site's answer to the stored cookies.
const ANOTHERS: Duration = Duration::from_millis(500);

impl Step<'_> {
    /// The link whose cookies a call carries.
    pub(super) fn link(&self, plan: &CallPlan) -> Option<&Arc<Link>> {
        // The site alone gets them, and only where the person has allowed this capability.
        let link = self.ask.caller.link.as_ref().filter(|_| plan.in_their_name && plan.elsewhere().is_none())?;
        link.allows(self.capability).then_some(link)
    }

    /// The cookies of a call together with those of the link.
    pub(super) fn with_linked(&self, link: Option<&Link>, cookies: Cookies) -> Cookies {
        match link {
            Some(link) => cookies.with(Cookies::read(&link.cookies)),
            None => cookies,
        }
    }

    /// The refusal of a call that the site would not take for the person's.
    pub(super) async fn refused_before(&self, link: Option<&Link>, call: &Call<'_>) -> Option<Refusal> {
        let link = link?;
        match self.refused_as_guest(link, call) {
            Some(refusal) => Some(refusal),
            None => self.refused_as_over(link).await,
        }
    }

    /// The refusal of a call that not all cookies of the link are sent along with: the site would take the person for a
    /// guest.
    fn refused_as_guest(&self, link: &Link, call: &Call<'_>) -> Option<Refusal> {
        let cookies = Cookies::read(&link.cookies);
        let page = call.form.as_ref().map(|form| form.page.as_str());
        let mut targets = [Some(call.target.as_str()), page].into_iter().flatten();
        (!targets.all(|target| cookies.all_reach(target))).then(signed_out)
    }

    /// The refusal of a call whose person has signed out at the site. It is asked before a call, once a minute for each link: a
    /// site that serves guests too would answer the call as if nothing were wrong.
    async fn refused_as_over(&self, link: &Link) -> Option<Refusal> {
        let now = self.desk.records.now();
        if !link.is_idle(now) {
            return None;
        }
        match self.is_theirs(link, &Cookies::read(&link.cookies)).await {
            Some(true) => {
                link.note_use(self.desk.records, now).await;
                None
            }
            Some(false) => Some(self.over(link).await),
            None => Some(unasked()),
        }
    }

    /// Ends a link whose session is over, and gives the refusal. Another call may have been given new cookies, and be about to
    /// store them: then these are only old.
    async fn over(&self, link: &Link) -> Refusal {
        let mut is_renewed = link.is_renewed(self.desk.records).await;
        if !is_renewed {
            self.desk.outside.pause(ANOTHERS).await;
            is_renewed = link.is_renewed(self.desk.records).await;
        }
        if is_renewed {
            return renewed();
        }
        // If the store is away, the next call finds it out again.
        let _ = link.end(self.desk.records).await;
        signed_out()
    }

    /// Whether an answer looks as if nobody were signed in any more.
    pub(super) fn looks_signed_out(&self, answer: &Answer) -> bool {
        let Some(visitor) = &self.desk.compiled.settings.auth.visitor else { return false };
        match answer.status.as_u16() {
            401 | 403 => true,
            300..=399 => leads_to_sign_in(answer, visitor),
            _ => false,
        }
    }

    /// What came of a call with a link: stores the cookies that the site has renewed, and finds out whether the site has
    /// ended the session.
    pub(super) async fn linked_answer(
        &mut self,
        link: &Link,
        plan: &CallPlan,
        (cookies, may_be_signed_out): (&Cookies, bool),
        exchanged: Exchanged,
    ) -> Exchanged {
        let Some(login) = &self.desk.compiled.settings.auth.login else { return exchanged };
        let (own, others) = (cookies.only(&login.cookies, true).latest(), cookies.only(&login.cookies, false));
        if cookies.has_changed() && plan.keeps_cookies {
            self.account.unkept_cookies |= self.keep_cookies(&others).await.is_err();
        }
        let was_turned_away = match &exchanged {
            Exchanged::Answer(answer, _) => self.looks_signed_out(answer),
            Exchanged::Withheld(_) | Exchanged::Refused(_) => may_be_signed_out,
            Exchanged::Unclear(_) | Exchanged::Failed(_) => false,
        };
        if was_turned_away && self.has_signed_out(link, &own).await {
            return Exchanged::Withheld(self.over(link).await);
        }
        let stored = own.stored();
        if stored[..] != link.cookies[..] {
            // The site may have signed the person out, or somebody else in.
            match self.is_theirs(link, &own).await {
                Some(true) => self.account.unkept_cookies |= link.renew(self.desk.records, &stored).await.is_err(),
                Some(false) if !link.is_renewed(self.desk.records).await => {
                    let _ = link.end(self.desk.records).await;
                }
                Some(false) | None => {}
            }
        }
        exchanged
    }

    /// Whether the site says that the person is signed in no more, or that it is somebody else. A site that cannot say
    /// has ended nothing.
    async fn has_signed_out(&self, link: &Link, cookies: &Cookies) -> bool {
        self.is_theirs(link, cookies).await == Some(false)
    }

    /// Whether these cookies are of a session of the link's person; `None`: the site cannot say.
    async fn is_theirs(&self, link: &Link, cookies: &Cookies) -> Option<bool> {
        let visitor = self.desk.compiled.settings.auth.visitor.as_ref()?;
        let line = cookies.sent_to(&visitor.check).and_then(|line| HeaderValue::try_from(line).ok());
        let Some(mut line) = line else { return Some(false) };
        line.set_sensitive(true);
        let person = visitor::signed_in(self.desk, visitor, &[(header::COOKIE, line)]).await.ok()?;
        Some(person.is_some_and(|person| *person.subject == *link.person))
    }
}

/// Whether a redirect leads to where people sign in.
fn leads_to_sign_in(answer: &Answer, visitor: &Visitor) -> bool {
    let path = |target: &str| target.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let to = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // An absolute address at the site was shortened to its path before; any other one leads away from it.
    let to = to.split_once("://").map_or(to, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    !to.is_empty() && path(to) == path(&visitor.sign_in)
}

/// The refusal where the site has ended the session (RFC 6750 §3.1): the client asks the person anew.
fn signed_out() -> Refusal {
    let said = "The person's session at the site has ended. Ask them to sign in and allow it anew.";
    let challenge = format!("{REALM}, error=\"invalid_token\", error_description=\"{said}\"");
    let challenge = HeaderValue::try_from(challenge).ok();
    Refusal { reason: "site_session_ended", challenge, ..Fault::Unauthenticated.into() }.saying(said)
}

/// The refusal where the site cannot say whether the person is still signed in.
fn unasked() -> Refusal {
    let said = "The site could not say whether the person is still signed in. Nothing was sent to it; try again.";
    Refusal { reason: "site_session_unknown", retry_after: Some(5), ..Fault::Unavailable.into() }.saying(said)
}

/// The refusal of a call that was made with cookies which the site renewed meanwhile.
fn renewed() -> Refusal {
    let said = "The person's session was renewed meanwhile, and the site did nothing. Try again.";
    Refusal { reason: "site_session_renewed", retry_after: Some(1), ..Fault::Unavailable.into() }.saying(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};

    #[test]
    fn a_redirect_to_the_sign_in_page_is_known() {
        let visitor = Visitor {
            check: "/me".into(),
            subject: "/id".into(),
            name: None,
            sign_in: "/login?x=1".into(),
            return_to: None,
        };
        let leads = |location: &'static str| {
            let headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_static(location))]);
            leads_to_sign_in(&Answer { status: StatusCode::FOUND, headers, body: Default::default() }, &visitor)
        };
        assert!(leads("/login") && leads("/login/?next=/x") && leads("https://site.test/login#a"));
        assert!(!leads("/logins") && !leads("/shop/login") && !leads("https://site.test") && !leads(""));
    }
}
