//! Everything that a call sends to the site: mostly one request; for a form its page first, then the form, then the
//! pages that the site leads to.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use frontdesk_answers::{
    Answered, Cookies,
    form::{Filled, Inputs, Judged, Submitted},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};

use url::{Position, Url};

use super::{
    Call, Failed,
    call::{Answer, CallPlan},
    files,
    form_plan::{FormCall, FormPlan},
    records, shape,
    step::Step,
    trouble::failed,
};
use frontdesk_base::fault::{Fault, Refusal};

/// The most redirects that are followed.
const MOST_REDIRECTS: usize = 5;

/// What came of it.
pub(super) enum Exchanged {
    /// An answer to read, and the path and query that it is of.
    Answer(Answer, String),
    /// Nothing was sent that acts.
    Withheld(Refusal),
    /// The site did not do it.
    Refused(Refusal),
    /// It was sent, and nothing shows whether it was done.
    Unclear(Refusal),
    Failed(Failed),
}

/// Pages and answers of one call.
struct Visit<'c> {
    plan: &'c CallPlan,
    call: &'c Call<'c>,
    cookies: Cookies,
    began: Instant,
    own_hosts: Vec<String>,
    /// An answer looks as if the person's session had ended.
    may_be_signed_out: bool,
}

impl<'a> Step<'a> {
    /// Sends a call.
    pub(super) async fn exchanged(&mut self, plan: &CallPlan, call: Call<'_>) -> Exchanged {
        if plan.form.is_none() && !plan.keeps_cookies && self.link(plan).is_none() {
            let target = call.target.clone();
            return match self.desk.upstream.call(call).await {
                Ok(answer) => Exchanged::Answer(answer, target),
                Err(failure) => Exchanged::Failed(failure),
            };
        }
        Box::pin(self.visited(plan, call)).await
    }

    /// The same with the site's cookies, and perhaps a form.
    async fn visited(&mut self, plan: &CallPlan, call: Call<'_>) -> Exchanged {
        let cookies = match self.kept_cookies(plan).await {
            Ok(cookies) => cookies,
            Err(refusal) => return Exchanged::Withheld(refusal),
        };
        let link = self.link(plan).cloned();
        if let Some(refusal) = self.refused_before(link.as_deref(), &call).await {
            return Exchanged::Withheld(refusal);
        }
        let cookies = self.with_linked(link.as_deref(), cookies);
        let mut own_hosts = plan.own_hosts.to_vec();
        own_hosts.push(self.ask.host.to_ascii_lowercase());
        let mut visit =
            Visit { plan, call: &call, cookies, began: Instant::now(), own_hosts, may_be_signed_out: false };
        let exchanged = match (&plan.form, &call.form) {
            (Some(form), Some(filled)) => self.submitted(&mut visit, form, filled).await,
            _ => match self.sent(&mut visit, call.method, &call.target, &[], call.body.clone()).await {
                Ok(answer) => Exchanged::Answer(answer, call.target.clone()),
                Err(failure) => Exchanged::Failed(failure),
            },
        };
        let Visit { cookies, may_be_signed_out, .. } = visit;
        if let Some(link) = &link {
            return self.linked_answer(link, plan, (&cookies, may_be_signed_out), exchanged).await;
        }
        if plan.keeps_cookies && cookies.has_changed() {
            self.account.unkept_cookies |= self.keep_cookies(&cookies).await.is_err();
        }
        exchanged
    }

    /// Reads the page of a form, fills the form in, sends it, and follows where the site leads.
    async fn submitted(&mut self, visit: &mut Visit<'_>, plan: &Arc<FormPlan>, filled: &FormCall) -> Exchanged {
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
            let inputs = Inputs { given: inputs, ours: &ours, declared: &declared };
            of.form.fill(&read.as_answered(), (&method, &action), &inputs, &boundary)
        };
        let form = match self.apart(page.body.len(), fill).await {
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
        self.judged(visit, plan, &form, first).await
    }

    /// Follows the redirects of an answer to a form, and judges what comes.
    async fn judged(&mut self, visit: &mut Visit<'_>, plan: &Arc<FormPlan>, form: &Filled, first: Answer) -> Exchanged {
        let (status, mut redirects, mut target) = (first.status, Vec::new(), form.target.clone());
        let mut last = first.clone();
        let (mut broke_off, mut in_a_circle) = (false, false);
        while let Some(next) = self.own_redirect(visit, &last, &target) {
            if redirects.len() >= MOST_REDIRECTS {
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
        let lost = Answer { status: StatusCode::OK, body: Bytes::new(), ..last.clone() };
        let read = if broke_off { &lost } else { &last };
        let last_status = if broke_off { status } else { last.status };
        // A page of results has its search form again, and that is no failure.
        let put_in = if form.method.is_safe() { Vec::new() } else { form.put_in.clone() };
        let judged = match self.page_answer(visit, read, &target) {
            Some(page) => {
                let (of, went) = (plan.clone(), redirects.clone());
                let judge = move || {
                    let last = &page.as_answered();
                    let sent = Submitted { status, redirects: &went, last_status, last, put_in: &put_in };
                    of.form.judge(&sent, &|name| of.ours(name))
                };
                self.apart(read.body.len(), judge).await
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

    /// One request of a call that takes several, with the site's cookies.
    async fn sent(
        &self,
        visit: &mut Visit<'_>,
        method: &Method,
        target: &str,
        more: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Answer, Failed> {
        let left = visit.call.limit.saturating_sub(visit.began.elapsed());
        if left.is_zero() {
            return Err(if method.is_safe() { Failed::TimedOut } else { Failed::NotSent });
        }
        let is_form = visit.plan.form.is_some();
        let mut headers: Vec<(HeaderName, HeaderValue)> = visit
            .call
            .headers
            .iter()
            .filter(|(name, _)| !is_form || *name != header::CONTENT_TYPE)
            .filter(|(name, _)| more.iter().all(|(other, _)| other != name))
            .cloned()
            .collect();
        headers.extend(more.iter().cloned());
        let mut credential = visit.call.credential.to_vec();
        let own: Vec<String> = credential
            .iter()
            .filter(|(name, _)| *name == header::COOKIE)
            .filter_map(|(_, value)| value.to_str().ok().map(str::to_owned))
            .collect();
        // One line for the cookies of the caller and those that the site has set since.
        let cookies =
            visit.cookies.sent_to(target).map(|set| own.into_iter().chain([set]).collect::<Vec<_>>().join("; "));
        let cookies = cookies.and_then(|cookies| HeaderValue::try_from(cookies).ok());
        if let Some(mut cookies) = cookies {
            credential.retain(|(name, _)| *name != header::COOKIE);
            cookies.set_sensitive(true);
            headers.retain(|(name, _)| *name != header::COOKIE);
            headers.push((header::COOKIE, cookies));
        }
        let call = Call {
            method,
            target: target.to_owned(),
            headers: headers.into(),
            body,
            limit: left.max(Duration::from_millis(1)),
            form: None,
            credential: credential.into(),
            ..visit.call.clone()
        };
        let mut answer = self.desk.upstream.call(call).await?;
        let host = self.ask.host;
        let set: Vec<String> = answer
            .headers
            .get_all(header::SET_COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        visit.cookies.take(set.iter().map(String::as_str), target, host);
        answer.headers.remove(header::SET_COOKIE);
        visit.may_be_signed_out |= self.looks_signed_out(&answer);
        Ok(answer)
    }

    /// Where an answer leads on this site, if it is followed by GET.
    fn own_redirect(&self, visit: &Visit<'_>, answer: &Answer, target: &str) -> Option<String> {
        let status = answer.status.as_u16();
        let is_safe = visit.call.method.is_safe();
        if !(matches!(status, 301..=303) || is_safe && matches!(status, 300..=303 | 305..=399)) {
            return None;
        }
        let location = answer.headers.get(header::LOCATION)?.to_str().ok()?;
        let (at, _) = self.address_of(visit.plan, target)?;
        let mut to = at.join(location).ok()?;
        to.set_fragment(None);
        let port = to.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{}{port}", to.host_str()?);
        let is_own = matches!(to.scheme(), "http" | "https")
            && (to.origin() == at.origin()
                || visit.own_hosts.contains(&host)
                || to.host_str() == at.host_str() && to.port().is_none());
        let path = to[Position::BeforePath..].to_owned();
        let is_hidden = self.desk.compiled.settings.firewall.hide && frontdesk_firewall::is_hidden(&path);
        (is_own && !is_hidden && path.starts_with('/') && !path.starts_with("//")).then_some(path)
    }

    /// Reads a page, on a thread of its own where it is large. `None`: it could not be read.
    async fn apart<T: Send + 'static>(&self, size: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        // The parser of pages is a library's, and reads what others wrote.
        self.desk.looked_through(size, move |_| catch_unwind(AssertUnwindSafe(work)).ok()).await.flatten()
    }

    /// An answer with what is needed to read it as a page.
    fn page_answer(&self, visit: &Visit<'_>, answer: &Answer, target: &str) -> Option<PageAnswer> {
        let (at, is_named) = self.address_of(visit.plan, target)?;
        let content_type = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Some(PageAnswer {
            content_type: content_type.unwrap_or_default().to_owned(),
            body: answer.body.clone(),
            at,
            is_named,
            own_hosts: visit.own_hosts.clone(),
        })
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

/// An answer with what is needed to read it as a page.
struct PageAnswer {
    content_type: String,
    body: Bytes,
    at: Url,
    is_named: bool,
    own_hosts: Vec<String>,
}

impl PageAnswer {
    fn as_answered(&self) -> Answered<'_> {
        Answered {
            content_type: &self.content_type,
            disposition: None,
            body: &self.body,
            at: &self.at,
            is_named: self.is_named,
            own_hosts: &self.own_hosts,
            tokens: u64::MAX,
        }
    }
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
