//! Reads the site's answer as the capability declares it: JSON at once, anything else by `frontdesk-answers`, on a
//! thread of its own where it is large.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use frontdesk_answers::{Answered, Data as Read, Kind, read, xml};
use http::{HeaderMap, Method, header};
use serde_json::json;
use url::Url;

use super::{
    Told,
    call::{Answer, CallPlan},
    clean_responses::Seen,
    files::Given,
    records::seconds,
    shape,
    step::Step,
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    path::Path,
};
use frontdesk_caller::Proof;
use frontdesk_config::ResponseKind;

/// The longest body of a failure that is read for its name.
const MOST_OF_A_FAILURE: usize = 256 * 1024;

impl Step<'_> {
    /// Reads an answer to a request for `target`. `seen`: the cache of clean responses, where it may be used.
    ///
    /// # Errors
    ///
    /// The answer is a failure, or does not match the declaration.
    pub(super) async fn understood(
        &mut self,
        plan: &CallPlan,
        target: &str,
        answer: Answer,
        seen: Option<&Seen>,
    ) -> Result<Told, Refusal> {
        if !answer.status.is_success()
            && let Some(name) = named_failure(plan, &answer)
        {
            return Err(Refusal { name: Some(name), ..Fault::Named(answer.status).into() });
        }
        if matches!(plan.response, ResponseKind::Json | ResponseKind::Wrap | ResponseKind::Raw) {
            let kind = (plan.response == ResponseKind::Json && answer.status.is_success())
                .then(|| Kind::of(content_type(&answer.headers), &answer.body));
            let told = shape::told(plan, answer, seconds(), seen);
            if matches!(&told, Err(refusal) if refusal.fault == Fault::Malformed) {
                self.account.fits = kind.filter(|kind| *kind != Kind::Json).map(Kind::word);
            }
            return told;
        }
        let taken = shape::taken(plan, &answer)?;
        if taken.sends_on {
            let location = shape::elsewhere(&answer.headers).unwrap_or_default();
            return shape::shaped(plan, &answer, json!({ "location": location }).into(), taken, seconds());
        }
        let told = match self.read_apart(target, plan, &answer).await? {
            Read::Json => shape::told_as_json(plan, answer, taken, seconds(), seen)?,
            Read::Value(value) => {
                if let Some(Err(violations)) = plan.promised.as_ref().map(|schema| schema.check(&value)) {
                    // Where in the data, but not what the page says there.
                    let places: Vec<&str> = violations.iter().map(|violation| violation.pointer.as_str()).collect();
                    let detail = "What this reads from the site's page is not as declared: the site has changed.";
                    let details = Some(json!({ "output": places }));
                    return Err(Refusal { details, ..Refusal::from(Fault::SiteChanged).saying(detail) });
                }
                shape::shaped(plan, &answer, value.into(), taken, seconds())?
            }
            Read::File(file) => {
                let url = self.open_address(plan, target, &answer.headers);
                let data = file.told(url.as_deref());
                let mut told = shape::shaped(plan, &answer, data.into(), taken, seconds())?;
                told.file = Some(Box::new(Given { file, url }));
                told
            }
        };
        Ok(told)
    }

    async fn read_apart(&mut self, target: &str, plan: &CallPlan, answer: &Answer) -> Result<Read, Refusal> {
        let (at, is_named) = self.address_of(plan, target).ok_or(Fault::Malformed)?;
        let (headers, body, tokens) = (answer.headers.clone(), answer.body.clone(), self.ask.talk.max_tokens);
        let size = body.len();
        let reader = plan.reader.clone();
        let mut own_hosts = plan.own_hosts.clone();
        own_hosts.push(self.ask.host.to_ascii_lowercase());
        let work = move || {
            let answered = Answered {
                content_type: content_type(&headers),
                disposition: text(&headers, &header::CONTENT_DISPOSITION),
                body: &body,
                at: &at,
                is_named,
                own_hosts: &own_hosts,
                tokens,
            };
            // The parser of pages is a library's, and reads what others wrote.
            catch_unwind(AssertUnwindSafe(|| read(&reader, &answered)))
        };
        let read = self.desk.looked_through(size, move |_| work()).await.ok_or_else(Refusal::unread)?;
        match read {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(unfit)) => {
                self.account.fits = unfit.is.map(Kind::word);
                Err(*unfit.refusal)
            }
            Err(_) => Err(Fault::Malformed.into()),
        }
    }

    /// The address that was asked, and whether the site's name in it is its own.
    pub(super) fn address_of(&self, plan: &CallPlan, target: &str) -> Option<(Url, bool)> {
        if let Some(url) = plan.elsewhere() {
            return Some((url.join(target).ok()?, true));
        }
        let origin = self.desk.compiled.settings.site.origin.as_deref();
        let own = origin.and_then(|origin| Url::parse(origin).ok()).and_then(|origin| origin.join(target).ok());
        if let Some(own) = own {
            return Some((own, true));
        }
        let host = if self.ask.host.is_empty() { "site.invalid" } else { self.ask.host };
        Some((Url::parse(&format!("http://{host}")).ok()?.join(target).ok()?, false))
    }

    /// The address of the answer at the site itself, where everybody gets it there.
    fn open_address(&self, plan: &CallPlan, target: &str, headers: &HeaderMap) -> Option<String> {
        let settings = &self.desk.compiled.settings;
        let told_nothing_private = self.capability.is_public() || self.ask.caller.proof == Proof::None;
        let control = text(headers, &header::CACHE_CONTROL).unwrap_or_default().to_ascii_lowercase();
        let is_private = ["private", "no-store"].iter().any(|word| control.contains(word));
        let path = target.split('?').next().unwrap_or_default();
        let is_ours = settings.firewall.hide && frontdesk_firewall::is_hidden(target)
            || self.desk.compiled.endpoints.find(&Path::of(path), &Method::GET).is_some();
        let is_open = plan.elsewhere().is_none()
            // What came with the caller's own credential is for this caller.
            && !plan.in_their_name
            && plan.is_plain_read()
            && told_nothing_private
            && !is_private
            && !headers.contains_key(header::SET_COOKIE)
            && !is_ours;
        is_open.then(|| target.to_owned())
    }

    /// Whether the answer depends on how much room the caller has.
    pub(super) fn depends_on_room(plan: &CallPlan) -> bool {
        matches!(plan.response, ResponseKind::Auto | ResponseKind::Page)
    }
}

/// The operator's name for what a failure's body says, where it is JSON or XML.
fn named_failure(plan: &CallPlan, answer: &Answer) -> Option<Arc<str>> {
    if !plan.failures.have_names() || answer.status.is_redirection() || answer.body.len() > MOST_OF_A_FAILURE {
        return None;
    }
    let data = match Kind::of(content_type(&answer.headers), &answer.body) {
        Kind::Json => serde_json::from_slice(&answer.body).ok()?,
        Kind::Xml => xml(&answer.body, content_type(&answer.headers)).ok()?,
        _ => return None,
    };
    plan.failures.named_by(&data)
}

fn content_type(headers: &HeaderMap) -> &str {
    text(headers, &header::CONTENT_TYPE).unwrap_or_default()
}

fn text<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
