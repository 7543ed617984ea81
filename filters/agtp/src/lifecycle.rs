//! The lifecycle of the hosted agent: active, suspended, deprecated, retired; and its history.
//!
//! It is stored with the other records, so that every replica knows it. Only the operator may change it, with a
//! credential of the scope `agtp:operate`.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::{
    Spoken,
    calling::Calling,
    compare_and_set::{TRIES, busy, step_aside},
    response::{AgtpError, AgtpResponse},
};
use frontdesk_desk::{Desk, records, rfc3339};
use frontdesk_state::{Change, Committed, Expect, Put, Record};

/// The operator's scope.
pub(super) const OPERATE: &str = "agtp:operate";
/// The scope that allows to see everything.
pub(super) const INSPECT_ALL: &str = "inspect:all";
/// How long the lifecycle is kept without a change.
const KEPT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The same for agents that are not hosted here.
const KEPT_OF_OTHERS: Duration = Duration::from_secs(24 * 3600);
/// Maximum stored status changes of one agent, the newest; also the maximum of its other events.
const MOST_EVENTS: usize = 50;
/// Maximum events in a response.
pub(super) const MOST_TOLD: u64 = 2 * MOST_EVENTS as u64;
/// Maximum bytes of a reason or of an actor's name.
const LONGEST: usize = 1024;

/// The status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Status {
    #[default]
    Active,
    Suspended,
    Deprecated,
    Retired,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deprecated => "deprecated",
            Self::Retired => "retired",
        }
    }

    fn of(word: &str) -> Self {
        match word {
            "suspended" => Self::Suspended,
            "deprecated" => Self::Deprecated,
            "retired" => Self::Retired,
            "active" => Self::Active,
            // An unknown status counts as suspended.
            _ => Self::Suspended,
        }
    }
}

/// The status of the hosted agent; active where none is hosted.
///
/// # Errors
///
/// 503: the store is unavailable.
pub(super) async fn status(spoken: &Spoken, desk: &Desk<'_>) -> Result<Status, AgtpError> {
    let Some(hosted) = &spoken.hosted else { return Ok(Status::Active) };
    let record = desk.records.get(&key(&hosted.agent_id)).await?;
    Ok(record.map_or(Status::Active, |record| status_of(&log(&record))))
}

/// Checks that calls are served: those of a suspended or retired agent are not; a deprecated agent's are.
pub(super) async fn serving(spoken: &Spoken, desk: &Desk<'_>) -> Result<(), AgtpError> {
    match status(spoken, desk).await? {
        Status::Active | Status::Deprecated => Ok(()),
        Status::Suspended => {
            Err(AgtpError::new(503, "agent-suspended", "This agent is suspended. Its operator may reinstate it."))
        }
        Status::Retired => Err(AgtpError::new(410, "agent-retired", "This agent is retired, for good.")),
    }
}

/// ACTIVATE, DEACTIVATE, REINSTATE, REVOKE and DEPRECATE.
pub(super) async fn change(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    operator(calling, OPERATE)?;
    let wanted = text(given, "agent_id")?
        .ok_or_else(|| AgtpError::new(400, "missing-parameter", "Send agent_id: the agent that this is about."))?;
    let hosted = spoken.hosted.as_ref().filter(|hosted| hosted.agent_id == wanted || hosted.name == wanted);
    let hosted = hosted.ok_or_else(|| {
        AgtpError::new(404, "agent-not-found", "No such agent is hosted here. DISCOVER /agents lists them.")
    })?;
    let reason = text(given, "reason")?;
    if calling.method == "REVOKE" && reason.is_none() {
        return Err(AgtpError::new(400, "missing-parameter", "Send reason: why the agent is retired for good."));
    }
    let (next, event_type) = match calling.method {
        "DEACTIVATE" => (Status::Suspended, "agent-lifecycle-suspended"),
        "REINSTATE" => (Status::Active, "agent-lifecycle-reinstated"),
        "REVOKE" => (Status::Retired, "agent-genesis-revoked"),
        "DEPRECATE" => (Status::Deprecated, "agent-lifecycle-deprecated"),
        _ => (Status::Active, "agent-lifecycle-activated"),
    };
    let key = key(&hosted.agent_id);
    for _ in 0..TRIES {
        let found = desk.records.get(&key).await?;
        let mut log = found.as_ref().map_or_else(|| json!({}), log);
        let before = status_of(&log);
        if before == next {
            // Nothing changes, so nothing is recorded.
            let last =
                log["events"].as_array().into_iter().flatten().find(|entry| !entry["payload"]["status"].is_null());
            let body = json!({
                "status": next.word(), "previous_status": before.word(), "event_type": event_type,
                "audit_id": last.map(|entry| &entry["audit_id"]), "noop": true,
            });
            return Ok(AgtpResponse::json(200, &body));
        }
        if before == Status::Retired {
            return Err(AgtpError::new(422, "invalid-transition", "A retired agent stays retired.")
                .with("status", before.word()));
        }
        let mut event = json!({
            "event_type": event_type, "agent_id": hosted.agent_id, "status": next.word(),
            "previous_status": before.word(), "at": rfc3339(SystemTime::now()), "reason": reason,
            "actor": text(given, "actor")?, "credential": calling.incoming.caller.name.as_deref(),
            "requested_by": calling.head.agent,
        });
        for name in ["successor_agent_id", "migration_deadline"] {
            if let Some(value) = text(given, name)? {
                event[name] = value.into();
            }
        }
        let entry = signed(spoken, event);
        let audit_id = entry["audit_id"].clone();
        log["status"] = next.word().into();
        push(&mut log, entry);
        let expect = found.map_or(Expect::Absent, |record| Expect::Version(record.version));
        let put = Put::Value(log.to_string().into(), KEPT);
        match desk.records.commit(&[Change { key: key.clone(), expect, put }]).await? {
            Committed::Done(_) => {
                let body = json!({
                    "status": next.word(), "previous_status": before.word(), "event_type": event_type, "audit_id": audit_id,
                });
                return Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &body) });
            }
            Committed::Conflict(..) => step_aside().await,
        }
    }
    Err(busy())
}

/// Records an event that does not change the status. Anyone can claim an Agent-ID and cause such events, so they have
/// a list of their own that cannot displace the operator's changes. For an agent that is not hosted here they are kept
/// for a day.
pub(super) async fn note(spoken: &Spoken, desk: &Desk<'_>, agent: &str, event: Value) -> Result<(), AgtpError> {
    let key = key_of_the_rest(agent);
    let hosted = spoken.hosted.as_ref().is_some_and(|hosted| hosted.agent_id == agent);
    let kept = if hosted { KEPT } else { KEPT_OF_OTHERS };
    for _ in 0..TRIES {
        let found = desk.records.get(&key).await?;
        let mut log = found.as_ref().map_or_else(|| json!({}), log);
        push(&mut log, signed(spoken, event.clone()));
        let expect = found.map_or(Expect::Absent, |record| Expect::Version(record.version));
        let put = Put::Value(log.to_string().into(), kept);
        if let Committed::Done(_) = desk.records.commit(&[Change { key: key.clone(), expect, put }]).await? {
            return Ok(());
        }
        step_aside().await;
    }
    Err(busy())
}

/// The events of an agent, newest first.
pub(super) async fn events(desk: &Desk<'_>, agent: &str, limit: usize) -> Result<Vec<Value>, AgtpError> {
    let mut all = Vec::new();
    for key in [key(agent), key_of_the_rest(agent)] {
        let record = desk.records.get(&key).await?;
        if let Some(Value::Array(events)) = record.map(|record| log(&record)["events"].take()) {
            all.extend(events);
        }
    }
    // Each list is sorted already; the stable sort keeps its order within a second.
    all.sort_by(|one, other| other["payload"]["at"].as_str().cmp(&one["payload"]["at"].as_str()));
    all.truncate(limit);
    Ok(all)
}

/// Checks that the credential grants a scope; a claim is not enough.
///
/// # Errors
///
/// 403.
pub(super) fn operator(calling: &Calling<'_>, scope: &str) -> Result<(), AgtpError> {
    let caller = calling.incoming.caller;
    if caller.has_credential() && caller.scopes().iter().any(|granted| granted == scope) {
        return Ok(());
    }
    let message = format!("This takes a credential that grants {scope}.");
    Err(AgtpError::new(403, "forbidden", message).with("required_scopes", vec![scope]))
}

/// A text parameter.
///
/// # Errors
///
/// It is not text, or too long.
pub(super) fn text<'g>(given: &'g Map<String, Value>, name: &str) -> Result<Option<&'g str>, AgtpError> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text)),
        Some(_) => {
            let message = format!("{name} has to be a text of at most {LONGEST} bytes.");
            Err(AgtpError::new(422, "schema-validation-failed", message))
        }
    }
}

/// A signed event.
fn signed(spoken: &Spoken, event: Value) -> Value {
    let jws = spoken.signing.attest(&event);
    let audit_id = super::jws::hash(jws.as_bytes());
    json!({ "format": "jws", "jws": jws, "payload": event, "audit_id": audit_id })
}

fn push(log: &mut Value, entry: Value) {
    let mut events = match log["events"].take() {
        Value::Array(events) => events,
        _ => Vec::new(),
    };
    events.insert(0, entry);
    events.truncate(MOST_EVENTS);
    log["events"] = events.into();
}

fn log(record: &Record) -> Value {
    serde_json::from_slice(&record.value).unwrap_or_else(|_| json!({ "status": "unreadable" }))
}

/// The status in a log; active for an agent that has events and no status change.
fn status_of(log: &Value) -> Status {
    log.get("status").map_or(Status::Active, |status| Status::of(status.as_str().unwrap_or_default()))
}

fn key(agent: &str) -> String {
    format!("v:{}", records::fingerprint(&[agent.as_bytes()]))
}

fn key_of_the_rest(agent: &str) -> String {
    format!("v:{}", records::fingerprint(&[agent.as_bytes(), b"besides"]))
}
