//! Serves a page as Markdown: at the page's address by content negotiation, and at an address of its own.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use url::Url;

use super::{
    Decision, Desk, Request,
    made::{Got, Made, Question, SMALL_BYTES, Site},
};
use crate::{
    accept,
    caller::Caller,
    content,
    desk::Answer,
    firewall::blocked,
    limits::Counted,
    page::markdown::{self, By, Written},
    path::Path,
    problem,
    reply::Reply,
    state::{Amount, Away},
};

impl Desk<'_> {
    pub(super) async fn markdown_by_accept(&self, caller: &Caller, site: &dyn Site) -> Option<Made> {
        let standing = match self.content_taken(caller).await {
            Ok(standing) => standing,
            Err(refused) => return Some(refused),
        };
        let target = self.request.target;
        let got = site.get(Question { target, accept: Some(markdown::ACCEPT), most: page_most }).await?;
        let answer = got.whole()?;
        match self.written(&answer, target, site).await {
            Some(written) => Some(self.told_markdown(&written, By::Accept, target, &answer, standing)),
            None if answer.status == StatusCode::NOT_FOUND && !markdown::is_own(&answer.headers) => {
                Some(self.not_found(answer))
            }
            None => {
                let what = if markdown::is_own(&answer.headers) { "own_markdown" } else { "html" };
                Some(Made::of(Decision::Answer(self.relayed(answer)), what))
            }
        }
    }

    pub(super) async fn markdown_by_path(&self, caller: &Caller, site: &dyn Site) -> Option<Made> {
        let target = self.request.target;
        let absent = |status| matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        let mut pages = markdown::pages_of(target);
        // A page there is not the site's own Markdown, nor is a redirect to the page that Markdown is asked of.
        let is_none = |status: StatusCode, headers: &HeaderMap| {
            let leads_back = status.is_redirection() && pages.iter().any(|page| self.leads_to(headers, page));
            absent(status) || leads_back || markdown::is_page_instead(status, headers)
        };
        // A page that says so may be as long as it likes; it passes then.
        let own = match site.get(Question { target, accept: None, most: own_most }).await? {
            Got::Whole(own) if !is_none(own.status, &own.headers) => {
                return Some(Made::of(Decision::Answer(self.relayed(own)), "own_markdown"));
            }
            Got::Whole(own) => Some(self.relayed(own)),
            Got::Head(status, headers) if is_none(status, &headers) => None,
            Got::Head(..) => return None,
        };
        // Frontdesk's own endpoints have no Markdown. A page that must not be read has none under any of its names.
        let endpoints = &self.snapshot.endpoints;
        if pages.iter().any(|page| self.snapshot.excludes(page) || self.snapshot.hides(page)) {
            pages.clear();
        }
        pages.retain(|page| endpoints.find(&Path::of(page), &http::Method::GET).is_none());
        let preferred = accept::of(self.request.headers);
        let prefers = preferred.is_some_and(|accept| accept::prefers_explicitly(&accept, markdown::MEDIA_TYPE));
        let nothing = || {
            let instead = &self.snapshot.not_found;
            match prefers.then(|| instead.markdown(target, &self.origin())).flatten() {
                Some(reply) => Some(Made::of(Decision::Answer(reply), "not_found")),
                None => own.map(|reply| Made::of(Decision::Answer(reply), "nothing")),
            }
        };
        if pages.is_empty() {
            return nothing();
        }
        let standing = match self.content_taken(caller).await {
            Ok(standing) => standing,
            Err(refused) => return Some(refused),
        };
        for page in &pages {
            let question = Question { target: page, accept: Some(markdown::ACCEPT), most: page_most };
            let answer = match site.get(question).await {
                Some(Got::Whole(answer)) => answer,
                Some(Got::Head(StatusCode::OK, headers)) if markdown::is_html(&headers) => {
                    return Some(Made::of(Decision::Answer(instead(page)), "html"));
                }
                _ => continue,
            };
            if let Some(written) = self.written(&answer, page, site).await {
                return Some(self.told_markdown(&written, By::Path, page, &answer, standing));
            }
            let found = answer.status == StatusCode::OK;
            if absent(answer.status)
                || found && !markdown::is_html(&answer.headers) && !markdown::is_own(&answer.headers)
                || answer.status.is_redirection() && pages.iter().any(|other| self.leads_to(&answer.headers, other))
            {
                continue;
            }
            if found && markdown::is_html(&answer.headers) {
                return Some(Made::of(Decision::Answer(instead(page)), "html"));
            }
            let what = if found { "own_markdown" } else { "html" };
            return Some(Made::of(Decision::Answer(self.relayed(answer)), what));
        }
        nothing()
    }

    /// The answer for a page that is not there.
    fn not_found(&self, answer: Answer) -> Made {
        match self.snapshot.not_found.markdown(self.request.target, &self.origin()) {
            Some(reply) => Made::of(Decision::Answer(reply), "not_found"),
            None => Made::of(Decision::Answer(self.relayed(answer)), "html"),
        }
    }

    /// Takes one Markdown rendering from the rate limit. Returns the rate-limit headers.
    async fn content_taken(&self, caller: &Caller) -> Result<Vec<(HeaderName, HeaderValue)>, Made> {
        // By address, like everything on pages, so that the count does not reveal whether a credential is valid.
        let held = self.snapshot.policies.held(Counted::Content, &Caller::at(caller.address));
        let explain = self.snapshot.manifest_explain;
        match held.take(self.counters, Amount::ONE).await {
            Ok(taken) if taken.granted.is_none() => {
                let refusal = held.exceeded(&taken);
                let told = self.told(caller.clone(), Err(refusal.into()), explain, Some((&held, &taken)));
                Err(Made::of(told.decision, "refused"))
            }
            Ok(taken) => Ok(held.fields(&taken)),
            // The page fails open.
            Err(Away) => Ok(Vec::new()),
        }
    }

    /// The answer as Markdown, if it is a page that can be converted.
    async fn written(&self, answer: &Answer, page: &str, site: &dyn Site) -> Option<Written> {
        if !markdown::may_be_written(answer.status, &answer.headers) {
            return None;
        }
        let at = self.address_of(page)?;
        let Answer { headers, body, .. } = answer.clone();
        let firewall = self.snapshot.firewall.clone();
        let opens = self.snapshot.settings.content.front_matter;
        let bytes = markdown::read_as(&headers, &body);
        site.work(bytes, Box::new(move || markdown::write(&headers, &body, &at, &firewall, opens))).await
    }

    fn told_markdown(
        &self,
        written: &Written,
        by: By,
        page: &str,
        answer: &Answer,
        standing: Vec<(HeaderName, HeaderValue)>,
    ) -> Made {
        let flags = match written.passed() {
            Ok(flags) => flags,
            Err(flags) => {
                let told = self.told(Caller::at(self.request.address), Err(blocked().into()), problem::reply, None);
                return Made { decision: told.decision, what: "blocked", flags: flags.clone() };
            }
        };
        let signals = self.snapshot.signals.as_ref();
        let mut reply = written.reply(by, page, &answer.headers, self.request.headers, signals);
        reply.headers.extend(standing);
        reply.headers.extend(flags.header());
        Made { decision: Decision::Answer(reply), what: "markdown", flags: flags.clone() }
    }

    /// The address of this page: the declared origin, else the host that the client used.
    fn address_of(&self, page: &str) -> Option<Url> {
        let Request { tls, authority, .. } = self.request;
        let scheme = if *tls { "https" } else { "http" };
        let origin = match self.snapshot.settings.site.origin.as_deref() {
            Some(origin) => origin.trim_end_matches('/').to_owned(),
            None => format!("{scheme}://{authority}"),
        };
        Url::parse(&format!("{origin}{page}")).ok()
    }

    /// Whether a redirect leads to this page of the site.
    fn leads_to(&self, headers: &HeaderMap, page: &str) -> bool {
        let location = headers.get(header::LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let (Some(here), Some(there)) = (self.address_of(self.request.target), self.address_of(page)) else {
            return false;
        };
        // The site may assume another scheme than the one that the client used.
        here.join(location).is_ok_and(|to| self.is_own_host(&to, &there) && to.path() == there.path())
    }

    /// Whether a redirect stays on the site, under its declared name or the one that the client used.
    fn is_own_host(&self, to: &Url, own: &Url) -> bool {
        let asked = self.request.authority.parse::<http::uri::Authority>();
        to.host() == own.host() || asked.is_ok_and(|asked| to.host_str() == Some(asked.host()))
    }
}

/// There is no Markdown: redirects to the page.
fn instead(page: &str) -> Reply {
    match HeaderValue::try_from(page) {
        Ok(location) => Reply::empty(StatusCode::FOUND)
            .with_value(header::LOCATION, location)
            .with(header::CACHE_CONTROL, "private, no-cache"),
        Err(_) => Reply::empty(StatusCode::NOT_FOUND),
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Buffers pages, and small or unsuccessful answers; not streams and downloads.
fn page_most(status: StatusCode, headers: &HeaderMap) -> Option<usize> {
    if status == StatusCode::OK && (markdown::is_html(headers) || markdown::is_own(headers)) {
        return Some(content::MAX_BYTES);
    }
    let small = status != StatusCode::OK || announced(headers).is_some_and(|length| length <= SMALL_BYTES);
    small.then_some(SMALL_BYTES)
}

/// What to buffer of an answer that the site itself may have at a `.md` path.
fn own_most(status: StatusCode, headers: &HeaderMap) -> Option<usize> {
    let absent = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
    let small = announced(headers).is_some_and(|length| length <= SMALL_BYTES);
    (absent || small || status == StatusCode::NOT_MODIFIED).then_some(SMALL_BYTES)
}
