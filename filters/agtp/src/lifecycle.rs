//! The life of the hosted agent (notes §2, lifecycle): active, suspended, deprecated, retired; and how it came to be so.
//!
//! It is kept where everything is that was promised, so that every replica knows. Only whoever operates this may change
//! it: a credential with the scope `agtp:operate`.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::{
    Spoken,
    calling::Calling,
    said::{Said, Wrong},
    tries::{TRIES, busy, step_aside},
};
use frontdesk_desk::{Desk, records, rfc3339};
use frontdesk_state::{Change, Committed, Expect, Put, Record};

/// What a credential grants to whoever operates this.
pub(super) const OPERATE: &str = "agtp:operate";
/// What a credential grants to whoever may look into everything.
pub(super) const INSPECT_ALL: &str = "inspect:all";
/// For how long it is kept without a change.
const KEPT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The same of agents that are not hosted here.
const KEPT_OF_OTHERS: Duration = Duration::from_secs(24 * 3600);
/// Changes of its status that are kept of one agent, the newest; and likewise of what else happened to it.
const MOST_EVENTS: usize = 50;
/// All that may be told of one.
pub(super) const MOST_TOLD: u64 = 2 * MOST_EVENTS as u64;
/// Bytes of a reason or of an actor's name.
const LONGEST: usize = 1024;

/// How an agent is doing (A40).
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
            // What cannot be read was written by somebody who meant something.
            _ => Self::Suspended,
        }
    }
}

/// How the hosted agent is doing; where none is hosted, nobody can be suspended.
///
/// # Errors
///
/// 503: it cannot be looked up.
pub(super) async fn status(spoken: &Spoken, desk: &Desk<'_>) -> Result<Status, Wrong> {
    let Some(hosted) = &spoken.hosted else { return Ok(Status::Active) };
    let record = desk.records.get(&key(&hosted.agent_id)).await?;
    Ok(record.map_or(Status::Active, |record| status_of(&log(&record))))
}

/// Whether calls are carried out: a suspended agent's are not, nor a retired one's. A deprecated one goes on.
pub(super) async fn serving(spoken: &Spoken, desk: &Desk<'_>) -> Result<(), Wrong> {
    match status(spoken, desk).await? {
        Status::Active | Status::Deprecated => Ok(()),
        Status::Suspended => {
            Err(Wrong::new(503, "agent-suspended", "This agent is suspended. Its operator may reinstate it."))
        }
        Status::Retired => Err(Wrong::new(410, "agent-retired", "This agent is retired, for good.")),
    }
}

/// ACTIVATE, DEACTIVATE, REINSTATE, REVOKE and DEPRECATE.
pub(super) async fn change(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<Said, Wrong> {
    operator(calling, OPERATE)?;
    let wanted = text(given, "agent_id")?
        .ok_or_else(|| Wrong::new(400, "missing-parameter", "Send agent_id: the agent that this is about."))?;
    let hosted = spoken.hosted.as_ref().filter(|hosted| hosted.agent_id == wanted || hosted.name == wanted);
    let hosted = hosted.ok_or_else(|| {
        Wrong::new(404, "agent-not-found", "No such agent is hosted here. DISCOVER /agents lists them.")
    })?;
    let reason = text(given, "reason")?;
    if calling.method == "REVOKE" && reason.is_none() {
        return Err(Wrong::new(400, "missing-parameter", "Send reason: why the agent is retired for good."));
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
            // Nothing happened, and nothing is written down.
            let last =
                log["events"].as_array().into_iter().flatten().find(|entry| !entry["payload"]["status"].is_null());
            let body = json!({
                "status": next.word(), "previous_status": before.word(), "event_type": event_type,
                "audit_id": last.map(|entry| &entry["audit_id"]), "noop": true,
            });
            return Ok(Said::json(200, &body));
        }
        if before == Status::Retired {
            return Err(
                Wrong::new(422, "invalid-transition", "A retired agent stays retired.").with("status", before.word())
            );
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
                return Ok(Said { acted: true, ..Said::json(200, &body) });
            }
            Committed::Conflict(..) => step_aside().await,
        }
    }
    Err(busy())
}

/// Adds something that happened to an agent, and is no change of its status. Anybody may say they are that agent, and have
/// it happen as often as they like: it stands in a list of its own, and takes no room from what its operator did. Of an
/// agent that is not hosted here it is kept for a day.
pub(super) async fn note(spoken: &Spoken, desk: &Desk<'_>, agent: &str, event: Value) -> Result<(), Wrong> {
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

/// What happened to an agent, the newest first.
pub(super) async fn events(desk: &Desk<'_>, agent: &str, limit: usize) -> Result<Vec<Value>, Wrong> {
    let mut all = Vec::new();
    for key in [key(agent), key_of_the_rest(agent)] {
        let record = desk.records.get(&key).await?;
        if let Some(Value::Array(events)) = record.map(|record| log(&record)["events"].take()) {
            all.extend(events);
        }
    }
    // Each of the two is in this order already, and stays in its own within a second.
    all.sort_by(|one, other| other["payload"]["at"].as_str().cmp(&one["payload"]["at"].as_str()));
    all.truncate(limit);
    Ok(all)
}

/// Whether somebody has a credential that grants a scope; a claim is none.
///
/// # Errors
///
/// 403.
pub(super) fn operator(calling: &Calling<'_>, scope: &str) -> Result<(), Wrong> {
    let caller = calling.incoming.caller;
    if caller.has_credential() && caller.scopes().iter().any(|granted| granted == scope) {
        return Ok(());
    }
    let message = format!("This takes a credential that grants {scope}.");
    Err(Wrong::new(403, "forbidden", message).with("required_scopes", vec![scope]))
}

/// A text among the parameters.
///
/// # Errors
///
/// It is no text, or too long.
pub(super) fn text<'g>(given: &'g Map<String, Value>, name: &str) -> Result<Option<&'g str>, Wrong> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text)),
        Some(_) => {
            let message = format!("{name} has to be a text of at most {LONGEST} bytes.");
            Err(Wrong::new(422, "schema-validation-failed", message))
        }
    }
}

/// The record of an entry: signed like everything that is attested here.
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

/// An agent that something happened to, and whose status never changed, is as it was.
fn status_of(log: &Value) -> Status {
    log.get("status").map_or(Status::Active, |status| Status::of(status.as_str().unwrap_or_default()))
}

fn key(agent: &str) -> String {
    format!("v:{}", records::fingerprint(&[agent.as_bytes()]))
}

fn key_of_the_rest(agent: &str) -> String {
    format!("v:{}", records::fingerprint(&[agent.as_bytes(), b"besides"]))
}
