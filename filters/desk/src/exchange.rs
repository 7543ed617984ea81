//! Everything that a call sends to the site: mostly one request; for a form its page first, then the form, then the
//! pages that the site leads to (`submission.rs`).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use bytes::Bytes;
use frontdesk_answers::{Answered, Cookies};
use http::{HeaderName, HeaderValue, Method, header};
use url::{Position, Url};

use super::{
    Call, Failed,
    call::{Answer, CallPlan},
    step::Step,
};
use frontdesk_base::fault::Refusal;

/// The most redirects that are followed.
pub(super) const MOST_REDIRECTS: usize = 5;

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
pub(super) struct Visit<'c> {
    pub(super) plan: &'c CallPlan,
    pub(super) call: &'c Call<'c>,
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

    /// One request of a call that takes several, with the site's cookies.
    pub(super) async fn sent(
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
    pub(super) fn own_redirect(&self, visit: &Visit<'_>, answer: &Answer, target: &str) -> Option<String> {
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
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        size: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // The parser of pages is a library's, and reads what others wrote.
        self.desk.looked_through(size, move |_| catch_unwind(AssertUnwindSafe(work)).ok()).await.flatten()
    }

    /// An answer with what is needed to read it as a page.
    pub(super) fn page_answer(&self, visit: &Visit<'_>, answer: &Answer, target: &str) -> Option<PageAnswer> {
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
}

/// An answer with what is needed to read it as a page.
pub(super) struct PageAnswer {
    content_type: String,
    body: Bytes,
    at: Url,
    is_named: bool,
    own_hosts: Vec<String>,
}

impl PageAnswer {
    pub(super) fn as_answered(&self) -> Answered<'_> {
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
