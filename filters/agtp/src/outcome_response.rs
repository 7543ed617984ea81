//! The response for a call's outcome: a status and the data, or the error.

use std::{
    borrow::Cow,
    time::{Duration, UNIX_EPOCH},
};

use http::HeaderValue;
use serde_json::{Value, json};

use super::{
    Spoken,
    calling::Calling,
    endpoint::Endpoint,
    name,
    response::{AgtpError, AgtpResponse, Body, JSON},
};
use frontdesk_config::{Capability, Settings};
use frontdesk_desk::{
    CONFIRMATION_TOLD, ConfirmationPage, {Asked, Done, rfc3339},
};

impl Spoken {
    /// Rewords the details of a failure for AGTP: an endpoint's path in place of the site's, and the verb of the
    /// failed step (§12.1).
    pub(super) fn in_our_words(&self, details: &mut Value, settings: &Settings) {
        let endpoints = || self.routes.all().iter().filter_map(|e| Some((e, e.capability(settings)?)));
        if let Some(there) = details["location"].as_str() {
            let is_there = |capability: &Capability| {
                capability.upstream.as_ref().is_some_and(|call| call.path.as_deref() == Some(there))
            };
            let found = endpoints().find(|(_, capability)| is_there(capability)).map(|(e, _)| e.path.clone());
            if let Some(path) = found {
                details["location"] = path.into();
            }
        }
        if let Some(id) = details["capability"].as_str().map(str::to_owned) {
            let declared = settings.capabilities.iter().find(|capability| capability.id == id);
            if let Some(step) = declared {
                details["method"] = name::method_of(step.kind, step.agtp.method.as_deref()).into();
            }
            // Site statuses are reported as such; AGTP itself has one status for all.
            let settled = matches!(details["reason"].as_str(), Some("outcome_unknown" | "idempotency_in_flight"));
            details["status"] = if settled { 409 } else { 422 }.into();
        }
    }

    /// The answer of a call: a status and the data.
    pub(super) fn done(
        &self,
        done: &Done,
        endpoint: &Endpoint,
        calling: &Calling<'_>,
        by_person: bool,
    ) -> AgtpResponse {
        let status = match done.told.status.as_u16() {
            status @ (202 | 204) => status,
            _ => 200,
        };
        if let Some(raw) = &done.told.raw {
            let kind = HeaderValue::try_from(&raw.content_type).ok().filter(|kind| !kind.is_empty());
            let kind = kind.unwrap_or_else(|| HeaderValue::from_static("application/octet-stream"));
            return AgtpResponse { body: Body::Of(kind, raw.body.clone()), ..AgtpResponse::json(status, &Value::Null) };
        }
        if status == 204 {
            return AgtpResponse::nothing();
        }
        if done.told.omitted {
            let message = "This was carried out before; its answer was too long to be kept.";
            return AgtpResponse::json(status, &json!({ "omitted": true, "message": message }));
        }
        // Most answers pass unparsed.
        let looked_into = by_person || endpoint.promises_anything();
        let data = if looked_into { done.told.data.value() } else { Cow::Owned(Value::Null) };
        if let Some(ticket) = data.get("ticket").filter(|_| by_person) {
            let body =
                json!({ "status": "pending", "task_id": ticket, "inspect": { "target": "task", "task_id": ticket } });
            return AgtpResponse::json(202, &body);
        }
        if let Some(name) = endpoint.lacking(&data) {
            let message = match endpoint.acts {
                true => format!(
                    "The site took this call, but its answer lacks \"{name}\". Find out what it did before trying again."
                ),
                false => format!("The site's answer lacks \"{name}\", which was promised."),
            };
            return AgtpError::new(422, "upstream_malformed_response", message).said(calling.method, calling.path);
        }
        AgtpResponse::text(status, JSON, done.told.data.text())
    }
}

/// 262: a person has to confirm the call first (docs/decisions/0010-confirmations.md).
pub(super) fn confirmation(asked: &Asked) -> AgtpError {
    let expires = UNIX_EPOCH + Duration::from_secs(asked.expires);
    let mut confirmation = json!({
        "summary": asked.summary,
        "consequence": asked.consequence,
        "expires_at": rfc3339(expires),
        "token": asked.token,
        "header": CONFIRMATION_TOLD,
        "input": asked.input,
    });
    if let Some(url) = asked.page.as_ref().and_then(ConfirmationPage::url) {
        confirmation["url"] = url.into();
    }
    let message = match &asked.page {
        Some(_) => asked.refusal.detail.to_string(),
        None => "A person has to confirm this. Show them the summary, and send it again with the token in the header."
            .to_owned(),
    };
    let wrong = AgtpError::required("confirmation-required", message)
        .with("reason", asked.refusal.reason)
        .with("confirmation", confirmation);
    AgtpError { reason: asked.refusal.reason, ..wrong }
}
