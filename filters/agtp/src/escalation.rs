//! Requests to a person: a doubt (`ESCALATE`), a statement on what was done (`CONFIRM`), a message (`NOTIFY`).

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::{
    Spoken,
    attribution::assurance,
    calling::Calling,
    error, jws,
    lifecycle::{OPERATE, operator, text},
    response::{AgtpError, AgtpResponse},
};
use frontdesk_desk::{
    Desk, records, rfc3339,
    ticket::{About, Decision, State, Ticket, Tickets, Undecided, Wish},
};

/// The possible reasons of a doubt.
const REASONS: [&str; 5] =
    ["confidence_threshold", "scope_limit", "ethical_flag", "ambiguous_instruction", "resource_unavailable"];
/// Maximum bytes of a statement's comment.
const LONGEST_WORD: usize = 1024;

/// `ESCALATE`: puts the request on the human desk, unabridged.
pub(super) async fn escalate(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let agent = agent(calling)?;
    required(given, "task_id")?;
    let reason = required(given, "reason")?;
    if !REASONS.contains(&reason) {
        let message = format!("reason has to be one of {}.", REASONS.join(", "));
        return Err(AgtpError::new(422, "schema-validation-failed", message));
    }
    if !given.contains_key("context") {
        return Err(missing("context"));
    }
    let id = brought(desk, calling, "escalation", &format!("ESCALATE: {reason}"), given, agent).await?;
    let body = json!({
        "escalation_id": id, "routed_to": "operator", "status": "pending", "task_paused": true,
        "inspect": { "target": "escalation", "escalation_id": id },
    });
    Ok(AgtpResponse { acted: true, ..AgtpResponse::json(202, &body) })
}

/// `NOTIFY`: puts a message for the operator or the hosted agent on the human desk.
pub(super) async fn notify(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let agent = agent(calling)?;
    let recipient = required(given, "recipient")?;
    if !given.contains_key("content") {
        return Err(missing("content"));
    }
    if let Some(urgency) = text(given, "urgency")?
        && !["critical", "informational", "background"].contains(&urgency)
    {
        let message = "urgency has to be critical, informational or background.";
        return Err(AgtpError::new(422, "schema-validation-failed", message));
    }
    let hosted = spoken.hosted.as_ref().is_some_and(|hosted| recipient == hosted.agent_id || recipient == hosted.name);
    if !hosted && recipient != "operator" && recipient != spoken.server_id {
        let message = "The recipient is unknown. Send it to \"operator\", or to an agent of DISCOVER /agents.";
        return Err(AgtpError::new(404, "recipient-not-found", message));
    }
    let id = brought(desk, calling, "notification", "NOTIFY", given, agent).await?;
    Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &json!({ "notification_id": id })) })
}

/// `CONFIRM`: signs a statement on something that was done, or on a doubt. Only the operator can settle a doubt.
pub(super) async fn confirm(
    spoken: &Spoken,
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
) -> Result<AgtpResponse, AgtpError> {
    let agent = agent(calling)?;
    let target = required(given, "target_id")?;
    let status = required(given, "status")?;
    if !["accepted", "rejected", "deferred"].contains(&status) {
        let message = "status has to be accepted, rejected or deferred.";
        return Err(AgtpError::new(400, "invalid-parameter", message));
    }
    let reason = text(given, "reason")?;
    let attestation = given.get("attestation").filter(|said| !said.is_null());
    if attestation.is_some_and(|said| said.to_string().len() > LONGEST_WORD) {
        let message = format!("attestation has at most {LONGEST_WORD} bytes.");
        return Err(AgtpError::new(422, "schema-validation-failed", message));
    }
    let tickets = Tickets::of(desk);
    let ticket = tickets.any(target).await?;
    if ticket.is_some() {
        operator(calling, OPERATE)?;
        let decision = match status {
            "accepted" => Some(Decision::Approve(reason.map(str::to_owned))),
            "rejected" => Some(Decision::Reject { reason: reason.unwrap_or("Rejected.").to_owned() }),
            _ => None,
        };
        if let Some(decision) = decision {
            tickets.decide(target, &decision).await.map_err(undecided)?;
        }
    } else {
        let record = desk.chains.find(desk.records, target).await?;
        let record = record.and_then(|record| jws::read(&record));
        let record = record
            .ok_or_else(|| AgtpError::new(404, "target-not-found", "Nothing is known here by this target_id."))?;
        // Only the operator may confirm what other agents did.
        if record.1["requesting_agent_id"] != agent {
            operator(calling, OPERATE)?;
        }
    }
    let timestamp = rfc3339(SystemTime::now());
    let word = json!({
        "type": "confirmation", "target_id": target, "status": status, "reason": reason, "attestation": attestation,
        "agent_id": agent, "identity_assurance": assurance(calling.incoming.caller),
        "principal_id": calling.incoming.caller.name.as_deref(), "server_id": spoken.server_id, "timestamp": timestamp,
    });
    // The statement is returned and not stored: its holder can show the signature.
    let jws = spoken.signing.attest(&word);
    let body = json!({
        "attestation_id": jws::hash(jws.as_bytes()), "timestamp": timestamp, "status": status, "attestation": jws,
    });
    Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &body) })
}

/// The state of a question to a person (`INSPECT`, targets `escalation` and `task`), for the agent that asked.
pub(super) async fn looked_after(desk: &Desk<'_>, calling: &Calling<'_>, id: &str) -> Result<Value, AgtpError> {
    let found = Tickets::of(desk).look(id, calling.incoming.caller).await?;
    // Two agents at one address each see only their own.
    let theirs = |ticket: &Ticket| {
        let agent = ticket.wish.manner["agent"].as_str();
        agent.is_none_or(|agent| calling.head.agent == Some(agent))
    };
    let found = found.filter(|ticket| ticket.dialect == super::NAME && theirs(ticket));
    let ticket = found.ok_or_else(|| AgtpError::new(404, "not-found", "Nothing of yours is known here by this id."))?;
    Ok(told(&ticket))
}

fn told(ticket: &Ticket) -> Value {
    let (status, result) = match (ticket.state, ticket.told()) {
        (State::Waiting | State::Running, _) => ("pending", None),
        (State::Ended, Some(Ok(told))) => ("completed", Some(told.data.into_value())),
        (State::Ended, _) => ("rejected", None),
        (State::Expired, _) => ("expired", None),
        (State::Lost, _) => ("failed", None),
    };
    json!({
        "id": ticket.id, "about": ticket.capability, "status": status, "result": result, "answer": ticket.answer(),
        "reason": ticket.rejected(),
    })
}

async fn brought(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    what: &str,
    query: &str,
    given: &Map<String, Value>,
    agent: &str,
) -> Result<String, AgtpError> {
    let id = records::unguessable()?;
    let wish = Wish { id, query: query.to_owned(), manner: json!({ "agent": agent }), ..Wish::default() };
    let input = Value::Object(given.clone());
    let about = About { what, dialect: super::NAME, input: &input };
    let asked = Tickets::of(desk).ask(&about, calling.incoming.caller, &wish).await;
    asked.map_err(|refusal| error::wrong(&refusal, None, 455))
}

/// The Agent-ID, which a request to a person needs.
pub(super) fn agent<'c>(calling: &Calling<'c>) -> Result<&'c str, AgtpError> {
    calling.head.agent.ok_or_else(|| {
        let message = "This is for agents that say who they are. Send Agent-ID, your canonical id.";
        let wrong = AgtpError::new(401, "unauthorized", message).with("reason", "agent-unauthenticated");
        AgtpError { reason: "agent_unauthenticated", ..wrong }
    })
}

/// A required text parameter.
pub(super) fn required<'g>(given: &'g Map<String, Value>, name: &str) -> Result<&'g str, AgtpError> {
    text(given, name)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> AgtpError {
    AgtpError::new(422, "missing-parameter", format!("Send {name}; this cannot do without."))
}

fn undecided(why: Undecided) -> AgtpError {
    match why {
        Undecided::Unknown => AgtpError::new(404, "target-not-found", "Nothing waits here under this id."),
        Undecided::Already(state) => {
            AgtpError::new(409, "conflict", format!("This is {} already; the first word stands.", state.word()))
        }
        Undecided::NoAnswer => AgtpError::new(400, "invalid-parameter", "Accept or reject this; it takes no answer."),
        Undecided::Blocked => {
            AgtpError::new(422, "forbidden-field", "This answer holds something that must not leave.")
        }
        Undecided::NotKept(why) => why.into(),
    }
}
