//! A form of the site in a call: its page is read, the form filled in and sent, and what the site answers is judged.

use std::sync::Arc;

use bytes::Bytes;
use frontdesk_answers::form::{Filled, Inputs, Judged, Submitted};
use frontdesk_base::fault::{Fault, Refusal};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use url::Url;

use super::{
    Failed,
    call::Answer,
    exchange::{Exchanged, MOST_REDIRECTS, Visit},
    files,
    form_plan::{FormCall, FormPlan},
    records, shape,
    step::Step,
    trouble::failed,
};

impl Step<'_> {
    /// Reads the page of a form, fills the form in, sends it, and follows where the site leads.
    pub(super) async fn submitted(
        &mut self,
        visit: &mut Visit<'_>,
        plan: &Arc<FormPlan>,
        filled: &FormCall,
    ) -> Exchanged {
        let (page, at) = match self.page_of(visit, &filled.page).await {
            Ok(page) => page,
            Err(exchanged) => return exchanged,
        };
        let inputs = match files::filled(self.desk, self.ask.caller, filled.inputs.clone()).await {
            Ok(inputs) => inputs,
            Err(refusal) => return Exchanged::Withheld(refusal),
        };
        let Ok(boundary) = records::unguessable() else { return Exchanged::Withheld(Fault::Internal.into()) };
        let boundary = format!("----FrontdeskForm{boundary}");
        let inputs = inputs.into_iter().map(|(name, value)| (visit.plan.theirs(&name).to_owned(), value)).collect();
        let Some(read) = self.page_answer(visit, &page, &at) else {
            return Exchanged::Withheld(Fault::Malformed.into());
        };
        let (of, method, action) = (plan.clone(), visit.call.method.clone(), visit.call.target.clone());
        let fill = move || {
            let (ours, declared) = (|name: &str| of.ours(name), |name: &str| of.declared.contains(name));
            let inputs = Inputs { given: inputs, ours: &ours, are_open: of.declared.is_empty(), declared: &declared };
            of.form.fill(&read.as_answered(), (&method, &action), &inputs, &boundary)
        };
        // What it costs depends on the inputs too, however small the page is.
        let form = match self.apart(usize::MAX, fill).await {
            Some(Ok(form)) => form,
            Some(Err(refusal)) => return Exchanged::Withheld(refusal),
            None => return Exchanged::Withheld(Refusal::unread()),
        };
        let headers = self.form_headers(&at, &form);
        let first = match self.sent(visit, &form.method, &form.target, &headers, form.body.clone()).await {
            Ok(answer) => answer,
            Err(failure) => return Exchanged::Failed(failure),
        };
        self.account.upstream_status = Some(first.status.as_u16());
        let exchanged = self.judged(visit, (plan, &at), &form, first).await;
        match exchanged {
            Exchanged::Answer(answer, target) => Exchanged::Answer(shown(answer, &form), form.shown(&target)),
            other => other,
        }
    }

    /// Follows the redirects of an answer to a form, and judges what comes.
    async fn judged(
        &mut self,
        visit: &mut Visit<'_>,
        (plan, at): (&Arc<FormPlan>, &str),
        form: &Filled,
        first: Answer,
    ) -> Exchanged {
        let (status, mut redirects, mut target) = (first.status, Vec::new(), form.target.clone());
        let mut last = first.clone();
        let (mut broke_off, mut in_a_circle) = (false, false);
        while let Some(next) = self.own_redirect(visit, &last, &target) {
            // What was asked for by GET is not asked for again: a search must not be sent twice either.
            let was_asked = redirects.contains(&next) || form.method == Method::GET && next == form.target;
            if was_asked || redirects.len() >= MOST_REDIRECTS {
                in_a_circle = true;
                break;
            }
            redirects.push(next.clone());
            match self.sent(visit, &Method::GET, &next, &[], Bytes::new()).await {
                Ok(answer) => (last, target) = (answer, next),
                Err(_) => {
                    broke_off = true;
                    break;
                }
            }
        }
        if in_a_circle {
            let detail = "The form was sent, and the site redirects in a circle. Find out before trying again.";
            return Exchanged::Unclear(Refusal::from(Fault::SiteFailed).saying(detail));
        }
        let last_status = if broke_off { status } else { last.status };
        // A page of results has its search form again, and that is no failure.
        let only_reads = form.method.is_safe() && self.capability.kind.is_read();
        let filled = form.clone();
        let judged = match self.page_answer(visit, &last, &target) {
            Some(page) => {
                let (of, went, at, action) =
                    (plan.clone(), redirects.clone(), at.to_owned(), visit.call.target.clone());
                let judge = move || {
                    let answered = page.as_answered();
                    let acts = (!only_reads).then_some((at.as_str(), action.as_str()));
                    let last = (!broke_off).then_some(&answered);
                    let sent = Submitted { status, redirects: &went, last_status, last, filled: &filled, acts };
                    of.form.judge(&sent, &|name| of.ours(name))
                };
                self.apart(last.body.len(), judge).await
            }
            None => None,
        };
        match judged {
            Some(Judged::Done) if !redirects.is_empty() && (broke_off || !last.status.is_success()) => {
                // What it leads to cannot be read; that it was taken is known.
                let mut answer = first;
                let to = redirects.last().and_then(|to| HeaderValue::from_str(to).ok());
                if let Some(to) = to {
                    answer.headers.insert(header::LOCATION, to);
                }
                answer.status = StatusCode::SEE_OTHER;
                Exchanged::Answer(answer, target)
            }
            Some(Judged::Done) => Exchanged::Answer(last, target),
            Some(Judged::Refused(refusal)) => Exchanged::Refused(*refusal),
            Some(Judged::Unclear(refusal)) => Exchanged::Unclear(*refusal),
            // The first answer says what failed: a status, or a redirect that is not followed.
            Some(Judged::Failed) if redirects.is_empty() => Exchanged::Answer(first, form.target.clone()),
            Some(Judged::Failed) | None => {
                let detail =
                    "The form was sent, and the page that the site led to failed. Find out before trying again.";
                Exchanged::Unclear(Refusal::from(Fault::SiteFailed).saying(detail))
            }
        }
    }

    /// The page of a form, where the site's redirects lead to, and its path and query.
    async fn page_of(&mut self, visit: &mut Visit<'_>, page: &str) -> Result<(Answer, String), Exchanged> {
        let mut target = page.to_owned();
        for _ in 0..=MOST_REDIRECTS {
            let sent = self.sent(visit, &Method::GET, &target, &[], Bytes::new()).await;
            let answer = sent.map_err(|failure| Exchanged::Withheld(nothing_sent(failure)))?;
            let is_turned_away = visit.plan.in_their_name && self.looks_signed_out(&answer);
            if let Some(next) = self.own_redirect(visit, &answer, &target).filter(|_| !is_turned_away) {
                target = next;
                continue;
            }
            let status = answer.status.as_u16();
            self.account.upstream_status = Some(status);
            return match status {
                200..=299 => Ok((answer, target)),
                401 | 300..=399 if is_turned_away => Err(Exchanged::Withheld(shape::turned_away())),
                401 | 403 => Err(Exchanged::Withheld(Fault::LoginRequired.into())),
                404 | 410 | 300..=399 => Err(changed("The page with the site's form is gone. Nothing was sent.")),
                _ => {
                    let detail = "The site did not give the page with its form. Nothing was sent; try again later.";
                    Err(Exchanged::Withheld(Refusal::from(Fault::SiteFailed).saying(detail)))
                }
            };
        }
        Err(changed("The page with the site's form redirects in a circle. Nothing was sent."))
    }

    /// What a browser sends with a form besides its cookies.
    fn form_headers(&self, page: &str, form: &Filled) -> Vec<(HeaderName, HeaderValue)> {
        let origin = self.origin();
        let mut headers = Vec::new();
        if !form.method.is_safe() {
            headers.push((header::ORIGIN, origin.clone()));
        }
        headers.push((header::REFERER, format!("{origin}{page}")));
        if !form.content_type.is_empty() {
            headers.push((header::CONTENT_TYPE, form.content_type.clone()));
        }
        headers.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?))).collect()
    }

    /// The site's origin as a browser at this host would say it.
    fn origin(&self) -> String {
        let declared = self.desk.compiled.settings.site.origin.as_deref().and_then(|origin| Url::parse(origin).ok());
        let authority = |url: &Url| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{port}", url.host_str().unwrap_or_default())
        };
        match declared {
            Some(origin) if self.ask.host.is_empty() || authority(&origin).eq_ignore_ascii_case(self.ask.host) => {
                origin.origin().ascii_serialization()
            }
            _ => format!("http://{}", self.ask.host.to_ascii_lowercase()),
        }
    }
}

/// An answer to a form whose redirect does not tell what the form had hidden.
fn shown(mut answer: Answer, form: &Filled) -> Answer {
    if let Some(location) = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()) {
        match HeaderValue::try_from(form.shown(location)) {
            Ok(location) => answer.headers.insert(header::LOCATION, location),
            Err(_) => answer.headers.remove(header::LOCATION),
        };
    }
    answer.body = form.without_secrets(answer.body);
    answer
}

fn changed(detail: &'static str) -> Exchanged {
    Exchanged::Withheld(Refusal::from(Fault::SiteChanged).saying(detail))
}

/// The refusal where not even the page of a form could be had.
fn nothing_sent(failure: Failed) -> Refusal {
    let refusal = failed(failure);
    match failure {
        Failed::TimedOut | Failed::Broken => {
            refusal.saying("The site did not give the page with its form in time. Nothing was sent; try again later.")
        }
        _ => refusal,
    }
}
