//! Attribution-Records: the signed statement about every response, each linked to the one before.
//!
//! A record says who asked, for what and with which outcome, and nothing of the content. It is made from the request's
//! head and the status, never from a body, and contains no credential.

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
/// The response headers that only Frontdesk sets.
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

/// Maximum length of a request value that the response repeats.
const LONGEST_ECHO: usize = 128;
/// Usual maximum bytes of a record, for the buffer's capacity.
const LONG: usize = 1024;
/// The version of the record format.
const VERSION: &str = "1";
/// The Server-ID where none is configured.
const NO_NAME: &str = "frontdesk";

/// The parts of a record that vary.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    pub(crate) issued_at: SystemTime,
    pub status: StatusCode,
    /// SHA-256 of the request's bytes.
    pub(crate) request_hash: [u8; 32],
    /// The Agent-ID that the request claims.
    pub(crate) requesting_agent_id: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
    pub request_id: Option<&'a str>,
    pub(crate) response_id: &'a str,
    /// Set for a method that changes something.
    pub(crate) action_id: Option<&'a str>,
    /// The method as requested, where it was mapped to another one.
    pub(crate) requested_method: Option<&'a str>,
    /// What the site answered, where the response has another status.
    pub upstream_status: Option<u16>,
    /// How it is known who asked: see [`assurance`].
    pub(crate) identity_assurance: Option<&'static str>,
    /// The holder of the credential.
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
    /// The record of a response, as far as it is known.
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

/// How the sender was authenticated: by a credential, by a signature over the request, or not at all.
pub(crate) fn assurance(caller: &Caller) -> &'static str {
    match caller.proof {
        Proof::None => "unverified",
        Proof::Key | Proof::Token => "credential",
        Proof::Signature => "signature",
    }
}

/// A header value that may be repeated: it occurs once, with 1 to 128 visible ASCII characters.
fn echoed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = text::once(headers, name).ok()??;
    ((1..=LONGEST_ECHO).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic())).then_some(value)
}

/// The signer of records with the headers beside them, prepared when the configuration is loaded.
#[derive(Debug)]
pub(crate) struct Signing {
    jws: Jws,
    pub server_id: String,
    agent_id: Option<String>,
    owner_id: Option<String>,
    /// The name of its chain.
    chain: String,
    server: HeaderValue,
    /// The owner and trust headers.
    posture: Vec<(HeaderName, HeaderValue)>,
}

/// The members of a record, in sorted order. All text is ASCII or the operator's, so serialising them in this order
/// gives the canonical form.
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
    /// The signer for this configuration and its hosted agent.
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
            // A configuration check ensures that the id fits a header.
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
        // Text and numbers always serialise.
        let mut written = Vec::with_capacity(LONG);
        let _ = serde_json::to_writer(&mut written, &payload);
        self.jws.sign(&written)
    }

    /// Adds the attribution headers to a reply, before all others: the server, repeated request values, owner and
    /// trust of the hosted agent, and the record.
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

    /// Adds only the server's name to a reply to input that could not be parsed.
    pub fn name(&self, reply: &mut Reply, response_id: &str) {
        let id = HeaderValue::from_str(response_id).ok().map(|id| (RESPONSE_ID, id));
        let ours = [Some((SERVER_ID, self.server.clone())), id].into_iter().flatten();
        reply.headers = ours.chain(std::mem::take(&mut reply.headers)).collect();
    }

    /// Signs a statement: the compact JWS of its canonical form.
    pub(crate) fn attest(&self, word: &Value) -> String {
        self.jws.sign(&canonical(word))
    }

    /// See [`Jws::manifest_signature`].
    pub(crate) fn manifest_signature(&self, manifest: &Value) -> Value {
        self.jws.manifest_signature(manifest)
    }
}

/// The Server-ID: the configured one, or the site's host.
pub(super) fn server_id(settings: &Settings) -> String {
    let host = || Some(settings.site.origin.as_deref()?.split_once("://")?.1.split('/').next()?.to_owned());
    settings.agtp.server_id.clone().or_else(host).unwrap_or_else(|| NO_NAME.to_owned())
}

/// Whether a text is a valid Owner-ID (AGTP-IDENTIFIERS).
pub(crate) fn is_owner(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte);
    (1..=256).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
