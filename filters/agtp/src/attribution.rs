//! The Attribution-Record: what a server says, and signs, of every response; each links to the one before it.
//!
//! It tells who asked, for what and with which outcome, and nothing of what was said: it needs the request and the
//! status, never a body, and no credential ever enters it.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::{
    genesis::Hosted,
    jws::{Jws, canonical, hash},
};
use frontdesk_base::{
    reply::Reply,
    text::{self, hex},
};
use frontdesk_caller::{Caller, Proof};
use frontdesk_config::Settings;
use frontdesk_desk::rfc3339;
use frontdesk_state::chain::Appended;

const SERVER_ID: HeaderName = HeaderName::from_static("server-id");
const AGENT_ID: HeaderName = HeaderName::from_static("agent-id");
const SESSION_ID: HeaderName = HeaderName::from_static("session-id");
const TASK_ID: HeaderName = HeaderName::from_static("task-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const RESPONSE_ID: HeaderName = HeaderName::from_static("response-id");
const OWNER_ID: HeaderName = HeaderName::from_static("owner-id");
const TRUST_TIER: HeaderName = HeaderName::from_static("trust-tier");
const VERIFICATION_PATH: HeaderName = HeaderName::from_static("verification-path");
const TRUST_WARNING: HeaderName = HeaderName::from_static("trust-warning");
const ATTRIBUTION_RECORD: HeaderName = HeaderName::from_static("attribution-record");
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// What nobody else says in a response.
const OURS: [HeaderName; 11] = [
    SERVER_ID,
    AGENT_ID,
    TASK_ID,
    REQUEST_ID,
    RESPONSE_ID,
    OWNER_ID,
    TRUST_TIER,
    VERIFICATION_PATH,
    TRUST_WARNING,
    ATTRIBUTION_RECORD,
    AUDIT_ID,
];

/// The longest value of a request that is said again.
const LONGEST_ECHO: usize = 128;
/// Bytes that hardly a record is longer than.
const LONG: usize = 1024;
/// The version of what stands in a record.
const VERSION: &str = "1";
/// How a server is called that nobody gave a name.
const NO_NAME: &str = "frontdesk";

/// Everything a record says that differs from one to the next.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    pub(crate) issued_at: SystemTime,
    pub status: StatusCode,
    /// SHA-256 of the request's bytes.
    pub(crate) request_hash: [u8; 32],
    /// Whoever the request says sent it.
    pub(crate) requesting_agent_id: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
    pub request_id: Option<&'a str>,
    pub(crate) response_id: &'a str,
    /// Of a method that changes something.
    pub(crate) action_id: Option<&'a str>,
    /// The method that was asked for, where another was meant by it.
    pub(crate) requested_method: Option<&'a str>,
    /// What the site answered, where the response has another status.
    pub upstream_status: Option<u16>,
    /// How it is known who asked: see [`assurance`].
    pub(crate) identity_assurance: Option<&'static str>,
    /// Whose credential it came with.
    pub(crate) principal_id: Option<&'a str>,
    pub contract: Option<Contract<'a>>,
}

/// The contract that an action was carried out under (AGTP-API §10.1.6).
#[derive(Debug, Clone, Copy)]
pub struct Contract<'a> {
    pub(crate) synthesis_id: &'a str,
    pub(crate) contract_hash: &'a str,
    /// `rcns-gate`, `propose` or `pre-registered`.
    pub(crate) negotiation_origin: &'a str,
}

impl<'a> Record<'a> {
    /// Of the answer to a request, as it is known so far.
    pub fn of(
        headers: &'a HeaderMap,
        caller: &'a Caller,
        request_hash: [u8; 32],
        response_id: &'a str,
        status: StatusCode,
    ) -> Self {
        Self {
            issued_at: SystemTime::now(),
            status,
            request_hash,
            requesting_agent_id: echoed(headers, &AGENT_ID),
            session_id: echoed(headers, &SESSION_ID),
            task_id: echoed(headers, &TASK_ID),
            request_id: echoed(headers, &REQUEST_ID),
            response_id,
            action_id: None,
            requested_method: None,
            upstream_status: None,
            identity_assurance: Some(assurance(caller)),
            principal_id: caller.name.as_deref(),
            contract: None,
        }
    }
}

/// How it is known who asked: by a credential, by a signature over the request, or only by what it says.
pub(crate) fn assurance(caller: &Caller) -> &'static str {
    match caller.proof {
        Proof::None => "unverified",
        Proof::Key | Proof::Token => "credential",
        Proof::Signature => "signature",
    }
}

/// A value of a request that can be said again as it is: there once, 1 to 128 visible ASCII characters.
fn echoed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = text::once(headers, name).ok()??;
    ((1..=LONGEST_ECHO).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic())).then_some(value)
}

/// What records are made with, and what is said beside them: prepared when a configuration is loaded.
#[derive(Debug)]
pub(crate) struct Signing {
    jws: Jws,
    pub server_id: String,
    agent_id: Option<String>,
    owner_id: Option<String>,
    /// The name of its chain.
    chain: String,
    server: HeaderValue,
    /// Owner and trust.
    posture: Vec<(HeaderName, HeaderValue)>,
}

/// The members of a record, sorted as they are written. All text in it is ASCII, or what the operator wrote, so that this
/// is its canonical form.
#[derive(Serialize)]
struct Payload<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    action_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    audit_record_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    contract_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_assurance: Option<&'static str>,
    issued_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    negotiation_origin: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_id: Option<&'a str>,
    previous_audit_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal_id: Option<&'a str>,
    request_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requesting_agent_id: Option<&'a str>,
    response_id: &'a str,
    server_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    synthesis_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_status: Option<u16>,
}

impl Signing {
    /// For what is configured, and the agent that is hosted.
    pub fn new(settings: &Settings, hosted: Option<&Hosted>) -> Self {
        let server_id = server_id(settings);
        let agent_id = hosted.map(|hosted| hosted.agent_id.clone());
        let owner_id = hosted.and_then(|hosted| hosted.owner.clone());
        let mut posture = Vec::with_capacity(4);
        if let Some(hosted) = hosted {
            let owner = owner_id.as_deref().filter(|owner| is_owner(owner));
            let said = [
                (OWNER_ID, owner),
                (TRUST_TIER, Some(["1", "2", "3"][usize::from(hosted.tier.clamp(1, 3) - 1)])),
                (VERIFICATION_PATH, Some(hosted.path)),
                (TRUST_WARNING, hosted.warning),
            ];
            let value = |(name, value): (HeaderName, Option<&str>)| Some((name, HeaderValue::from_str(value?).ok()?));
            posture.extend(said.into_iter().filter_map(value));
        }
        Self {
            jws: Jws::new(settings.integrity.as_ref()),
            // A rule sees to it that it can be said.
            server: HeaderValue::from_str(&server_id).unwrap_or(HeaderValue::from_static(NO_NAME)),
            chain: agent_id.clone().unwrap_or_else(|| hash(server_id.as_bytes())),
            server_id,
            agent_id,
            owner_id,
            posture,
        }
    }

    /// The chain that its records belong to: that of the hosted agent, or where there is none, the server's own.
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// The agent whose chain it is.
    pub fn agent_id(&self) -> Option<&str> {
        self.agent_id.as_deref()
    }

    /// A record that links to the one before it: a compact JWS of visible ASCII.
    pub fn sign(&self, record: &Record<'_>, previous: &str) -> String {
        let contract = record.contract.as_ref();
        let payload = Payload {
            action_id: record.action_id,
            agent_id: self.agent_id.as_deref(),
            audit_record_version: VERSION,
            contract_hash: contract.map(|contract| contract.contract_hash),
            identity_assurance: record.identity_assurance,
            issued_at: rfc3339(record.issued_at),
            negotiation_origin: contract.map(|contract| contract.negotiation_origin),
            owner_id: self.owner_id.as_deref(),
            previous_audit_id: previous,
            principal_id: record.principal_id,
            request_hash: hex(&record.request_hash),
            request_id: record.request_id,
            requested_method: record.requested_method,
            requesting_agent_id: record.requesting_agent_id,
            response_id: record.response_id,
            server_id: &self.server_id,
            session_id: record.session_id,
            status: record.status.as_u16(),
            synthesis_id: contract.map(|contract| contract.synthesis_id),
            task_id: record.task_id,
            upstream_status: record.upstream_status,
        };
        // Text and numbers can always be written.
        let mut written = Vec::with_capacity(LONG);
        let _ = serde_json::to_writer(&mut written, &payload);
        self.jws.sign(&written)
    }

    /// Says of a reply whose it is: the server, what of the request is said again, the hosted agent's owner and trust, the
    /// record. It stands before everything else.
    pub fn attribute(&self, reply: &mut Reply, record: &Record<'_>, appended: &Appended) {
        let said = [
            (AGENT_ID, record.requesting_agent_id),
            (TASK_ID, record.task_id),
            (REQUEST_ID, record.request_id),
            (RESPONSE_ID, Some(record.response_id)),
        ];
        let value = |(name, value): (HeaderName, Option<&str>)| Some((name, HeaderValue::from_str(value?).ok()?));
        let mut headers = Vec::with_capacity(OURS.len() + reply.headers.len());
        headers.push((SERVER_ID, self.server.clone()));
        headers.extend(said.into_iter().filter_map(value));
        headers.extend(self.posture.iter().cloned());
        let ids = [(ATTRIBUTION_RECORD, appended.record.clone()), (AUDIT_ID, Bytes::from(appended.id.clone()))];
        let value = |(name, value): (HeaderName, Bytes)| Some((name, HeaderValue::from_maybe_shared(value).ok()?));
        headers.extend(ids.into_iter().filter_map(value));
        headers.extend(std::mem::take(&mut reply.headers).into_iter().filter(|(name, _)| !OURS.contains(name)));
        reply.headers = headers;
    }

    /// Says of a reply only who gave it, where it is no answer to anything that could be looked at.
    pub fn name(&self, reply: &mut Reply, response_id: &str) {
        let id = HeaderValue::from_str(response_id).ok().map(|id| (RESPONSE_ID, id));
        let ours = [Some((SERVER_ID, self.server.clone())), id].into_iter().flatten();
        reply.headers = ours.chain(std::mem::take(&mut reply.headers)).collect();
    }

    /// Signs a word of its own: the compact JWS of its canonical form.
    pub(crate) fn attest(&self, word: &Value) -> String {
        self.jws.sign(&canonical(word))
    }

    /// See [`Jws::manifest_signature`].
    pub(crate) fn manifest_signature(&self, manifest: &Value) -> Value {
        self.jws.manifest_signature(manifest)
    }
}

/// How the server names itself: as the operator says, or by the site's host.
pub(super) fn server_id(settings: &Settings) -> String {
    let host = || Some(settings.site.origin.as_deref()?.split_once("://")?.1.split('/').next()?.to_owned());
    settings.agtp.server_id.clone().or_else(host).unwrap_or_else(|| NO_NAME.to_owned())
}

/// What an Owner-ID may be (AGTP-IDENTIFIERS).
pub(crate) fn is_owner(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte);
    (1..=256).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
