//! The `decide` phase: identifies the caller, applies the limits, and decides whether Frontdesk or the site answers.

mod identity;
mod made;
mod markdown;
mod robots;
#[cfg(test)]
mod signature_corpus;
#[cfg(feature = "agtp")]
mod spoken;
#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderName, Method, StatusCode, header};

pub use made::{Got, Made, Making, Question, Site, Work, make};
#[cfg(feature = "agtp")]
pub use spoken::{decide_spoken, decide_unread};

use crate::{
    Snapshot, accept,
    caller::{Caller, Head, TokenServer},
    dialect::{Explain, ahp},
    discovery::protected_resource,
    endpoint::Endpoint,
    fault::{Fault, Refusal},
    harness::Harness,
    limits::{Counted, Held, Near, store_away},
    path::Path,
    problem,
    reply::Reply,
    serve::{About, Serve, Serving},
    site::AcceptAnswer,
    state::{Amount, Away, Counters, Records, Taken},
};

const ACCEPT_SIGNATURE: HeaderName = HeaderName::from_static("accept-signature");

/// A request's head, and the facts about its connection.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a Method,
    /// The path and query as sent.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    /// The client address, as far as trusted proxies vouch for it.
    pub address: IpAddr,
    /// `Host`, or `:authority` in HTTP/2.
    pub authority: &'a str,
    /// The client speaks TLS to us or to a trusted proxy.
    pub tls: bool,
    /// Seconds since 1970.
    pub now: u64,
    /// The harness that may lengthen the wait of a caller over a limit; `None`: there is none.
    pub harness: Option<&'a Harness>,
    /// The way to the authorization server that knows opaque tokens; `None`: there is none.
    pub token_server: Option<&'a dyn TokenServer>,
    /// The store that knows the tokens of our own authorization server; `None`: there is none.
    pub records: Option<&'a dyn Records>,
}

impl<'a> Request<'a> {
    /// What of it says who is asking.
    fn head(&self) -> Head<'a> {
        let Self { method, target, headers, address, authority, tls, now, .. } = *self;
        Head { method, target, headers, address, authority, tls, now }
    }

    /// The origin that the client used. Empty where its name has characters that no host has: it is written into
    /// documents.
    fn origin(&self) -> String {
        let is_of_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']');
        let scheme = if self.tls { "https" } else { "http" };
        match !self.authority.is_empty() && self.authority.bytes().all(is_of_host) {
            true => format!("{scheme}://{}", self.authority),
            false => String::new(),
        }
    }
}

/// What becomes of a request, and who is behind it.
#[derive(Debug)]
#[must_use]
pub struct Decided {
    pub decision: Decision,
    pub caller: Caller,
    /// What was called, for the audit log of a request that is refused at once.
    pub about: Option<About>,
    /// A key is unknown but may have been published since; the key sets are worth another fetch.
    pub wants_keys: bool,
    /// The dialect that rewrites every reply, refusals included.
    pub finish: Option<Arc<dyn Serve>>,
    /// The request is for an agent endpoint or derived content, and not for a page.
    pub agents: bool,
    /// The limit that is almost used up, if one is. For the operator's eyes.
    pub near: Option<Near>,
}

/// The decision on a request.
#[derive(Debug)]
pub enum Decision {
    /// The site answers.
    Pass,
    /// The site answers, and Frontdesk derives another answer from that ([`make`]).
    Make(Making),
    /// Frontdesk answers.
    Answer(Reply),
    /// Frontdesk refuses, for this reason.
    Refuse(Reply, &'static str),
    /// A dialect answers once the body is read.
    Serve(Serving),
}

/// An endpoint's answer.
enum Says {
    Reply(Reply),
    Serve(Arc<dyn Serve>, Vec<(String, String)>),
}

impl From<Reply> for Says {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

/// Decides by the request's head alone. The only thing it waits for is the counters.
pub async fn decide(snapshot: &Snapshot, counters: &dyn Counters, request: &Request<'_>) -> Decided {
    let path = Path::of(request.target);
    let desk = Desk { snapshot, counters, request, serve: None };
    #[cfg(feature = "agtp")]
    if let Some(spoken) = &snapshot.spoken
        && spoken.claims(request.method, request.headers)
    {
        return Box::pin(desk.spoken(spoken)).await;
    }
    match snapshot.endpoints.find_with(&path, request.method, Some(request.headers)) {
        Some(endpoint) => {
            let serve = endpoint.server(request.method).flatten();
            let about = serve.as_ref().and_then(|serve| serve.about());
            Decided { about, ..Desk { serve: serve.as_deref(), ..desk }.endpoint(endpoint, &path.canonical).await }
        }
        None => desk.page(&path).await,
    }
}

/// One request while it is decided.
struct Desk<'a> {
    snapshot: &'a Snapshot,
    counters: &'a dyn Counters,
    request: &'a Request<'a>,
    /// The handler of the endpoint that was found.
    serve: Option<&'a dyn Serve>,
}

impl Desk<'_> {
    /// Decides on a request for an agent endpoint: an invalid credential is refused, and every caller is limited.
    async fn endpoint(&self, endpoint: &Endpoint, canonical: &str) -> Decided {
        let explain = endpoint.explain(self.request.method);
        let published = endpoint.published().is_some();
        let (caller, unproven) = self.identified(false).await;
        if let Some(refused) = Box::pin(self.guessing(&caller, explain)).await {
            return refused;
        }
        let unproven = match unproven {
            // Published documents are no secret, so a caller who cannot be checked now gets them as anonymous.
            Some(unproven) if published && unproven.is_unknown() => None,
            // A browser may send a credential of the site's own, which proves nothing here.
            _ if endpoint.is_for_people() => None,
            None if !published => self.missing(&caller, endpoint.may_be_proven_later()),
            unproven => unproven,
        };
        if let Some(unproven) = unproven {
            return Box::pin(self.unproven(caller, unproven, explain)).await;
        }
        if endpoint.counts_messages() {
            let outcome = self.answer(endpoint, canonical);
            if matches!(outcome, Ok(Says::Serve(..))) {
                return self.told(caller, outcome, explain, None);
            }
        }
        let counted = endpoint.counted(self.request.method);
        let held = self.snapshot.policies.held(counted, &caller);
        let taken = match held.take(self.counters, Amount::ONE).await {
            Ok(taken) => Some(taken),
            // Published documents are no secret and cost nothing: they are served without the counters.
            Err(Away) if counted == Counted::Content => None,
            Err(Away) => return self.told(caller, Err(store_away().into()), explain, None),
        };
        let outcome = match &taken {
            Some(taken) if taken.granted.is_none() => Err(Box::pin(self.exceeded(&held, taken, &caller)).await),
            _ => self.answer(endpoint, canonical),
        };
        self.told(caller, outcome, explain, taken.as_ref().map(|taken| (&held, taken)))
    }

    /// The endpoint's answer to an admitted caller.
    fn answer(&self, endpoint: &Endpoint, canonical: &str) -> Result<Says, Box<Refusal>> {
        let Request { method, target, headers, .. } = self.request;
        let Some(places) = endpoint.spelled(method, target, canonical) else {
            // The site might fold this spelling into the declared path, so it never passes
            // (docs/decisions/0016-path-spellings.md).
            return Err(Box::new(Fault::NotFound.into()));
        };
        if let Some(reply) =
            endpoint.published().and_then(|document| document.respond(method, headers, &|| self.request.origin()))
        {
            return Ok(reply.into());
        }
        match endpoint.server(method) {
            Some(Some(serve)) => return Ok(Says::Serve(serve, places)),
            Some(None) => return Err(Box::new(Fault::NotImplemented.into())),
            None => {}
        }
        let allow = endpoint.allow();
        if **method == Method::OPTIONS {
            return Ok(Reply::empty(StatusCode::NO_CONTENT).with_value(header::ALLOW, allow).into());
        }
        Err(Box::new(Refusal { allow: Some(allow), ..Fault::MethodNotAllowed.into() }))
    }

    /// Decides on any other request: it passes, unless the operator limits pages too or the client prefers the
    /// manifest.
    async fn page(&self, path: &Path<'_>) -> Decided {
        if path.is_tangled() || self.snapshot.hides_path(path) {
            let refusal = Refusal { reason: "hidden", ..Fault::NotFound.into() }.saying("There is nothing here.");
            let told = self.told(Caller::at(self.request.address), Err(refusal.into()), problem::reply, None);
            return Decided { agents: false, ..told };
        }
        let caller = self.identified_on_page().await;
        let accept = accept::of(self.request.headers);
        let preferred = accept.as_deref().filter(|_| self.reads()).and_then(accept::preferred);
        let instead = preferred.is_some_and(|media| media.eq_ignore_ascii_case(ahp::MEDIA_TYPE));
        let making = if self.reads() && !instead { self.making(preferred) } else { None };
        let policies = &self.snapshot.policies;
        let (counted, explain): (_, Explain) = match instead {
            true => (Counted::Content, self.snapshot.manifest_explain),
            false if !policies.counts_site() => return Decided::pass(caller, making),
            false => (Counted::Site, problem::reply),
        };
        // By address for every caller: another count would reveal whether a credential is valid.
        let held = policies.held(counted, &Caller::at(self.request.address));
        match held.take(self.counters, Amount::ONE).await {
            Ok(taken) if taken.granted.is_none() => {
                let told = self.told(caller, Err(held.exceeded(&taken).into()), explain, Some((&held, &taken)));
                Decided { agents: instead, ..told }
            }
            Ok(taken) if instead => {
                self.told(caller, Ok(self.manifest_instead().into()), explain, Some((&held, &taken)))
            }
            Err(Away) if instead => self.told(caller, Ok(self.manifest_instead().into()), explain, None),
            // The page fails open.
            Ok(_) | Err(Away) => Decided::pass(caller, making),
        }
    }

    /// The refusal of a caller over the limit of an agent endpoint, with the time to wait. The harness may lengthen
    /// it.
    async fn exceeded(&self, held: &Held<'_>, taken: &Taken, caller: &Caller) -> Box<Refusal> {
        let mut refusal: Box<Refusal> = held.exceeded(taken).into();
        if let Some(harness) = self.request.harness {
            let wait = refusal.retry_after.unwrap_or(1);
            refusal.retry_after = harness.wait_longer(caller, wait).await.or(refusal.retry_after);
        }
        refusal
    }

    /// Turns an outcome into a decision, with the rate-limit headers.
    fn told(
        &self,
        caller: Caller,
        outcome: Result<Says, Box<Refusal>>,
        explain: Explain,
        standing: Option<(&Held<'_>, &Taken)>,
    ) -> Decided {
        let stand = |reply: Reply| match standing {
            Some((held, taken)) => {
                held.tell(taken, SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(), reply)
            }
            None => reply,
        };
        let decision = match outcome {
            Ok(Says::Reply(reply)) => Decision::Answer(stand(reply)),
            Ok(Says::Serve(serve, places)) => {
                let standing = stand(Reply::empty(StatusCode::OK)).headers;
                Decision::Serve(Serving { serve, explain, places, standing })
            }
            Err(mut refusal) => {
                if refusal.fault == Fault::Unauthenticated {
                    refusal.detail =
                        format!("{}{}", refusal.detail, self.snapshot.settings.auth.how_to_register()).into();
                }
                let insertion = self.snapshot.insertion.as_ref().map(|(insertion, _)| insertion.as_ref());
                let accept = accept::of(self.request.headers);
                let by_server = self.serve.and_then(|serve| serve.refused(self.snapshot, &refusal, accept.as_deref()));
                let mut reply = by_server.unwrap_or_else(|| explain(&refusal, accept.as_deref(), insertion));
                if refusal.fault == Fault::Unauthenticated {
                    protected_resource::name_in(
                        &mut reply,
                        &self.snapshot.settings,
                        &self.origin(),
                        self.request.target,
                    );
                }
                if refusal.fault == Fault::Unauthenticated
                    && let Some(how) = self.snapshot.callers.signature_challenge()
                {
                    reply = reply.with(ACCEPT_SIGNATURE, how);
                }
                Decision::Refuse(stand(reply), refusal.reason)
            }
        };
        let near = standing.and_then(|(held, taken)| held.near(taken));
        Decided { decision, caller, about: None, wants_keys: false, finish: None, agents: true, near }
    }

    /// The origin of the site: the declared one, else the one that the client used.
    fn origin(&self) -> String {
        let declared = self.snapshot.settings.site.origin.as_deref();
        declared.map_or_else(|| self.request.origin(), |origin| origin.trim_end_matches('/').to_owned())
    }

    /// Whether the method is safe.
    fn reads(&self) -> bool {
        matches!(*self.request.method, Method::GET | Method::HEAD)
    }

    /// The manifest in place of a page (AHP §3.4). It is a variant of the page's address, so no shared cache may store
    /// it.
    fn manifest_instead(&self) -> Reply {
        let snapshot = self.snapshot;
        let reply = match snapshot.settings.discovery.accept {
            AcceptAnswer::Inline => Reply::new(StatusCode::OK, "application/json", snapshot.manifest.clone()),
            AcceptAnswer::Redirect => {
                Reply::empty(StatusCode::FOUND).with_value(header::LOCATION, snapshot.manifest_path.clone())
            }
        };
        reply.with(header::CACHE_CONTROL, "private, no-cache").with(header::VARY, "Accept")
    }
}

impl Decided {
    fn pass(caller: Caller, making: Option<Making>) -> Self {
        Self {
            decision: making.map_or(Decision::Pass, Decision::Make),
            caller,
            about: None,
            wants_keys: false,
            finish: None,
            agents: false,
            near: None,
        }
    }
}
