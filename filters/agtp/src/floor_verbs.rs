//! The floor's verbs at the root: `EXECUTE` runs an action by name, `QUERY` answers a question in words, `INSPECT`
//! looks up what was done.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Spoken,
    call::Given,
    calling::{Calling, Parameters},
    contract::Contract,
    endpoint::Endpoint,
    escalation, inspect,
    lifecycle::{self, MOST_TOLD, text},
    response::{AgtpError, AgtpResponse, Body},
};
use frontdesk_config::names::name;

use frontdesk_config::BuiltIn;
use frontdesk_desk::Desk;

/// `EXECUTE`: calls the endpoint that the action names.
pub(super) async fn execute(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: Parameters,
) -> Result<AgtpResponse, AgtpError> {
    let mut members = given.members;
    members.extend(calling.added());
    let action = escalation::required(&members, "action")?.to_owned();
    let found = find(spoken, desk, &action).await?.ok_or_else(|| {
        let message = "There is no such action. Name an id or a verb and its path, as DISCOVER /methods lists them.";
        AgtpError::new(422, "unknown-action", message).with("action", action.chars().take(64).collect::<String>())
    })?;
    let key = text(&members, "idempotency_key")?.map(str::to_owned);
    let known = ["action", "parameters", "idempotency_key", "context"];
    if let Some(other) = members.keys().find(|name| !known.contains(&name.as_str())) {
        let message = format!("EXECUTE takes {} here, and nothing else.", known.join(", "));
        let other: String = other.chars().take(64).collect();
        return Err(AgtpError::new(422, "schema-validation-failed", message).with("parameter", other));
    }
    let input = match members.remove("parameters") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(input)) => input,
        Some(_) => {
            let message = "parameters has to be an object.";
            return Err(AgtpError::new(422, "schema-validation-failed", message));
        }
    };
    match found {
        Action::Declared(endpoint) => Ok(spoken.call(desk, calling, &endpoint, Given::Input(input, key, &[])).await),
        Action::Published(contract) => {
            spoken.carried_out(desk, calling, &contract, Given::Input(input, key, &contract.places)).await
        }
    }
}

/// The target of `EXECUTE`.
enum Action {
    Declared(Arc<Endpoint>),
    Published(Arc<Contract>),
}

async fn find(spoken: &Spoken, desk: &Desk<'_>, action: &str) -> Result<Option<Action>, AgtpError> {
    if let Some(endpoint) = named(spoken, desk, action) {
        return Ok(Some(Action::Declared(endpoint)));
    }
    let Some((method, path)) = action.split_once(' ') else { return Ok(None) };
    let published = spoken.published(desk).await?;
    Ok(published.and_then(|published| published.named(method, path)).map(Action::Published))
}

/// An endpoint by its capability's id, by its name, or by verb and path. Redirects apply.
fn named(spoken: &Spoken, desk: &Desk<'_>, action: &str) -> Option<Arc<Endpoint>> {
    let settings = &desk.compiled.settings;
    let is_it = |endpoint: &&Arc<Endpoint>| {
        let Some(capability) = endpoint.capability(settings) else { return false };
        capability.id == action
            || name(&capability.id, capability.ahp.name.as_deref()) == action
            || action.split_once(' ') == Some((&endpoint.method, &endpoint.path))
    };
    let found = spoken.routes.all().iter().find(is_it)?;
    let asked = super::path::read(&endpoint_path(found), &spoken.catalog).ok()?.alone();
    spoken.policy.redirect(&found.method, &asked).is_none().then(|| found.clone())
}

/// A path that matches the endpoint, with sample values for placeholders.
fn endpoint_path(endpoint: &Endpoint) -> String {
    let segments: String = endpoint.template.segments().map(|segment| format!("/{}", segment.unwrap_or("0"))).collect();
    if segments.is_empty() { "/".to_owned() } else { segments }
}

/// `QUERY` at the root: a question in words, answered from the site's pages.
pub(super) async fn query(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let intent = escalation::required(given, "intent")?;
    let settings = &desk.compiled.settings;
    let asked = spoken
        .routes
        .all()
        .iter()
        .find(|endpoint| endpoint.capability(settings).is_some_and(|c| c.built_in == Some(BuiltIn::ContentSearch)));
    let Some(endpoint) = asked.cloned() else { return Err(super::native::not_here("QUERY")) };
    let input = Map::from_iter([("query".to_owned(), Value::from(intent))]);
    Ok(spoken.call(desk, calling, &endpoint, Given::Input(input, None, &[])).await)
}

/// `INSPECT`: records of what was done, for callers who may see them.
pub(super) async fn inspected(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let settings = &desk.compiled.settings;
    let may = || inspect::admitted(settings.agtp.inspect, calling.incoming.caller, calling.head.agent);
    let told = match escalation::required(given, "target")? {
        "audit" => {
            may()?;
            let asks = (settings.agtp.inspect, calling.incoming.caller);
            inspect::audit((desk.chains, desk.records), asks, given).await?
        }
        "chain_head" => {
            may()?;
            inspect::chain_head(desk.chains, desk.records, &spoken.signing, given).await?
        }
        "lifecycle" => {
            may()?;
            let hosted = spoken.hosted.as_ref().map(|hosted| hosted.agent_id.as_str());
            let agent = text(given, "agent_id")?.or(hosted);
            let agent = agent.ok_or_else(|| AgtpError::new(404, "agent-not-found", "No agent is hosted here."))?;
            if Some(agent) != hosted && Some(agent) != calling.head.agent {
                lifecycle::operator(calling, lifecycle::INSPECT_ALL)?;
            }
            json!({ "agent_id": agent, "entries": lifecycle::events(desk, agent, limit(given)).await? })
        }
        "escalation" => escalation::looked_after(desk, calling, escalation::required(given, "escalation_id")?).await?,
        "contract" => spoken.inspect_contract(desk, calling, escalation::required(given, "synthesis_id")?).await?,
        "rcns-attempt" => spoken.inspect_attempt(desk, calling, escalation::required(given, "attempt_id")?).await?,
        "task" => escalation::looked_after(desk, calling, escalation::required(given, "task_id")?).await?,
        other => {
            let other: String = other.chars().take(64).collect();
            let message = "There is no such target. Known are audit, chain_head, lifecycle, contract, rcns-attempt, \
                           escalation and task.";
            return Err(AgtpError::new(400, "unknown-target", message).with("target", other));
        }
    };
    Ok(AgtpResponse::json(200, &told))
}

/// Maximum entries of a list: all, unless the request asks for fewer.
fn limit(given: &Map<String, Value>) -> usize {
    // In a query the limit is text.
    let read = |limit: &Value| limit.as_u64().or_else(|| limit.as_str()?.parse().ok());
    let limit = given.get("limit").and_then(read).unwrap_or(MOST_TOLD);
    usize::try_from(limit.clamp(1, MOST_TOLD)).unwrap_or(1)
}

/// The answer, in an envelope if the request came in one.
pub(super) fn enveloped(said: AgtpResponse, calling: &Calling<'_>, envelope: &Map<String, Value>) -> AgtpResponse {
    let Body::Of(kind, body) = &said.body else { return said };
    let Ok(result) = serde_json::from_slice::<Value>(body) else { return said };
    let task = envelope.get("task_id").cloned().or_else(|| calling.head.task.map(Value::from));
    let whole = match (said.reason, result) {
        // The members that the drafts name stay at the top level of a refusal, envelope or not.
        (Some(_), Value::Object(mut refusal)) => {
            refusal.insert("task_id".into(), task.into());
            Value::Object(refusal)
        }
        (_, result) => json!({ "status": said.status, "task_id": task, "result": result }),
    };
    AgtpResponse { body: Body::Of(kind.clone(), whole.to_string().into()), ..said }
}
