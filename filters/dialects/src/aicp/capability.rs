//! A capability at its own endpoint (§5.5): translates the request into an ask, and the outcome into a response.

use frontdesk_desk::Compiled;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    aom::{Planes, is_no_caches},
    error::{self, ASK_THE_USER, AUTHORIZE, Form},
};
use frontdesk_base::{
    boxed,
    fault::{Fault, Refusal},
    reply::Reply,
    text::once,
};
use frontdesk_caller::{Caller, Proof};
use frontdesk_config::Capability;
use frontdesk_desk::{
    conversation, problem, {About, CONFIRMATION, CONFIRMATION_TOLD, Incoming, REPLAYED, Serve, Served},
    {Ask, Asked, Authority, Carried, ConfirmationPage, Desk, Done, Given, Outcome, Talk, Turned, rfc3339},
};

/// The capability that the agent believes to call (§8.2).
const CAPABILITY: HeaderName = HeaderName::from_static("aicp-capability");
/// The conversation that a call belongs to, by an id of the client's choice that nobody else knows.
const SESSION: HeaderName = HeaderName::from_static("aicp-session");
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

const VARY: HeaderValue = HeaderValue::from_static("Accept, Authorization, X-AHP-Key");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const ASKED_EACH_TIME: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Its name in the audit log.
const DIALECT: &str = super::DIALECT.name;

/// The endpoint of one capability.
#[derive(Debug)]
pub(super) struct AtEndpoint {
    pub(super) index: usize,
    pub(super) planes: Planes,
    /// Where a person can grant further permissions.
    pub(super) authorization_url: Option<String>,
    pub(super) strong_acr: Vec<String>,
    /// The address of the contract.
    pub(super) contract: String,
}

#[async_trait]
impl Serve for AtEndpoint {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        boxed(|| self.called(desk, request, places)).await
    }

    fn about(&self) -> Option<About> {
        Some(About { capability: self.index, dialect: DIALECT })
    }

    /// A refusal for lack of authentication names the capability.
    fn refused(&self, compiled: &Compiled, refusal: &Refusal, accept: Option<&str>) -> Option<Reply> {
        let capability = compiled.settings.capability(self.index)?;
        if refusal.fault != Fault::Unauthenticated || accept.is_some_and(problem::prefers_html) {
            return None;
        }
        let refusal = Refusal { required_scopes: capability.required_scopes.clone(), ..refusal.clone() };
        Some(self.refusal_reply(&refusal, accept, Some(capability)))
    }
}

impl AtEndpoint {
    async fn called(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        let accept = request.accept();
        let accept = accept.as_deref();
        let Some(capability) = desk.compiled.settings.capabilities.get(self.index) else {
            return self.refusal_reply(&Fault::NotFound.into(), accept, None).into();
        };
        let authority = Authority::of(request.caller);
        let admitted = desk.admit(self.index, &authority);
        let named = named_conversation(request);
        let conversation = named.clone().or_else(|| conversation::of_credential(request));
        let ask = match admitted.and_then(|()| self.ask(capability, authority, request, places, accept)) {
            Ok(ask) => ask,
            Err(refusal) => {
                let idempotency_key = request.idempotency_key().ok().flatten();
                let Incoming { caller, request_id, .. } = *request;
                let turned =
                    Turned { capability: self.index.into(), caller, idempotency_key, request_id, dialect: DIALECT };
                let account = desk.compiled.turned_away(&turned, refusal.reason, desk.audit);
                let reply = self.refusal_reply(&refusal, accept, Some(capability));
                return Served { reason: Some(refusal.reason), account: Some(account), ..reply.into() };
            }
        };
        let ask = Ask {
            talk: Talk {
                session: conversation.as_deref(),
                named_session: named.as_deref(),
                max_tokens: desk.compiled.settings.token_budget.max_response,
                ..ask.talk
            },
            ..ask
        };
        let Carried { outcome, replayed, account } = desk.carry_out(ask).await;
        let (mut reply, reason) = match &outcome {
            Outcome::Done(done) => (self.done(done, capability, desk, request, accept), None),
            Outcome::NeedsConfirmation(asked) => (self.asked(asked, capability, request), Some(asked.refusal.reason)),
            Outcome::Fault(refusal) => (self.refusal_reply(refusal, accept, Some(capability)), Some(refusal.reason)),
        };
        if replayed || matches!(&outcome, Outcome::Done(Done { replayed: true, .. })) {
            reply = reply.with(REPLAYED, "true");
        }
        Served { reason, account: Some(account), ..reply.into() }
    }

    fn ask<'r>(
        &self,
        capability: &Capability,
        authority: Authority<'r>,
        request: &'r Incoming<'_>,
        places: &'r [(String, String)],
        accept: Option<&str>,
    ) -> Result<Ask<'r>, Refusal> {
        // A call whose response cannot be delivered is not carried out.
        if Form::of(accept).is_none() && !is_raw(capability) {
            return Err(Fault::NotAcceptable.into());
        }
        if let Some(claimed) = text(request.headers, &CAPABILITY)?
            && claimed.trim_matches('"') != capability.id
        {
            let detail = "AICP-Capability names another capability than the one at this address.";
            return Err(Refusal::from(Fault::BadRequest).saying(detail));
        }
        let idempotency_key = request.idempotency_key()?;
        let body = if has_body(request.method) { json_body(request)? } else { &[] };
        if !has_body(request.method) && !request.body.is_empty() {
            // A cache would store the answer under the address alone.
            let detail = "A body of GET is not read here: send the input in the query.";
            return Err(Refusal::from(Fault::BadRequest).saying(detail));
        }
        let input = Given { body, query: request.query(), places }.merged(capability.input.as_deref())?;
        Ok(Ask {
            capability: self.index.into(),
            input,
            caller: request.caller,
            authority,
            confirmation: text(request.headers, &CONFIRMATION)?,
            idempotency_key,
            request_id: request.request_id,
            dialect: DIALECT,
            host: request.authority,
            talk: Talk::default(),
            beside: Map::new(),
            wish: None,
            begun: None,
            unnamed: false,
        })
    }

    fn done(
        &self,
        done: &Done,
        capability: &Capability,
        desk: &Desk<'_>,
        request: &Incoming<'_>,
        accept: Option<&str>,
    ) -> Reply {
        let status = match done.told.status {
            _ if capability.kind.is_read() => StatusCode::OK,
            // These statuses could not carry the body.
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT => StatusCode::OK,
            status => status,
        };
        let reply = if let Some(raw) = &done.told.raw {
            let mut reply = Reply::empty(status);
            reply.body = raw.body.clone();
            let kind = HeaderValue::try_from(&raw.content_type);
            let kind = kind.unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
            reply.with_value(header::CONTENT_TYPE, kind).with(NOSNIFF, "nosniff")
        } else {
            let form = Form::of(accept).unwrap_or(Form::Aom);
            let body = match form {
                // The AOM form states that the stored data is missing.
                Form::Bare if !done.told.omitted => done.told.data.text(),
                _ => {
                    let settings = &desk.compiled.settings;
                    let reads = matches!(*request.method, Method::GET | Method::HEAD);
                    let address = if reads { request.address() } else { request.path() };
                    self.planes.response(done, request.caller, settings, address).into()
                }
            };
            Reply::of(status, form.media_type(), body)
        };
        let control = cache_control(done, capability, request.caller);
        reply.with_value(header::VARY, VARY).with_value(header::CACHE_CONTROL, control)
    }

    fn asked(&self, asked: &Asked, capability: &Capability, request: &Incoming<'_>) -> Reply {
        let expires = std::time::UNIX_EPOCH + std::time::Duration::from_secs(asked.expires);
        let mut confirmation = json!({
            "required": true,
            "summary": asked.summary,
            "consequence": asked.consequence,
            "expires_at": rfc3339(expires),
            "token": asked.token,
            "header": CONFIRMATION_TOLD,
        });
        if let Some(url) = asked.page.as_ref().and_then(ConfirmationPage::url) {
            confirmation["url"] = url.into();
        }
        let again = json!({
            "id": capability.id,
            "label": "Repeat the call once a person has confirmed it",
            "method": capability.method(),
            "endpoint": capability.endpoint,
            "risk_level": capability.risk(),
            "requires_user_confirmation": true,
            "input": asked.input,
        });
        let more = Map::from_iter([("confirmation".to_owned(), confirmation)]);
        error::refusal_reply(&asked.refusal, request.accept().as_deref(), Some(capability.risk()), more, vec![again])
    }

    fn refusal_reply(&self, refusal: &Refusal, accept: Option<&str>, capability: Option<&Capability>) -> Reply {
        let risk = capability.map(Capability::risk);
        error::refusal_reply(refusal, accept, risk, Map::new(), self.helping(refusal, capability))
    }

    /// Actions that can help after a refusal.
    fn helping(&self, refusal: &Refusal, capability: Option<&Capability>) -> Vec<Value> {
        let permission =
            |id, label, input| Some(error::permission(self.authorization_url.as_deref()?, id, label, &input));
        let scope = || refusal.required_scopes.join(" ");
        let action = match refusal.fault {
            Fault::MissingScope => {
                permission("auth.request_scope", "Request additional permission", json!({ "scope": scope() }))
            }
            Fault::Unauthenticated if refusal.required_scopes.is_empty() => {
                permission(AUTHORIZE, ASK_THE_USER, json!({}))
            }
            Fault::Unauthenticated => permission(AUTHORIZE, ASK_THE_USER, json!({ "scope": scope() })),
            Fault::WeakAuthentication => {
                let input = json!({ "acr_values": self.strong_acr.join(" ") });
                permission(AUTHORIZE, "Ask the user to authenticate more strongly", input)
            }
            Fault::InvalidInput | Fault::ForbiddenField | Fault::BadRequest | Fault::KeyRequired => Some(json!({
                "id": "contract.read", "label": "Read what this capability takes", "method": "GET",
                "endpoint": self.contract, "risk_level": "low", "requires_user_confirmation": false,
                "input": {}, "capability": capability.map(|c| &c.id),
            })),
            _ => None,
        };
        action.into_iter().collect()
    }
}

/// Who may cache the answer, and for how long (docs/decisions/0018-private-answers.md).
fn cache_control(done: &Done, capability: &Capability, caller: &Caller) -> HeaderValue {
    // A signature identifies the caller as well as a credential does.
    let whose = if capability.is_public() && caller.proof == Proof::None && caller.credential.is_none() {
        "public"
    } else {
        "private"
    };
    match done.keeps.map(|keeps| keeps.as_secs()) {
        _ if is_no_caches(capability) => NO_STORE,
        Some(seconds) => HeaderValue::try_from(format!("{whose}, max-age={seconds}")).unwrap_or(NO_STORE),
        None => ASKED_EACH_TIME,
    }
}

/// The id of the conversation that the client named.
fn named_conversation(request: &Incoming<'_>) -> Option<String> {
    let own = request.headers.get(&SESSION).and_then(|value| value.to_str().ok());
    own.filter(|id| (16..=200).contains(&id.len())).map(conversation::named)
}

fn is_raw(capability: &Capability) -> bool {
    capability.upstream.as_ref().is_some_and(|call| call.response == frontdesk_config::ResponseKind::Raw)
}

fn has_body(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// The value of an AICP header.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    once(headers, name).map_err(|twice| Refusal::from(Fault::BadRequest).saying(twice.to_string()))
}

/// The body, declared as JSON.
fn json_body<'r>(request: &'r Incoming<'_>) -> Result<&'r [u8], Refusal> {
    request.takes_json().map_err(|unfit| Refusal::from(Fault::BadRequest).saying(unfit.detail("application/json")))?;
    Ok(&request.body)
}

/// The endpoints of every capability that has one.
pub(super) fn all_ids(capabilities: &Arc<[Capability]>) -> std::collections::HashMap<&str, usize> {
    capabilities.iter().enumerate().map(|(at, capability)| (capability.id.as_str(), at)).collect()
}
