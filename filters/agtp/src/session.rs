//! Suspended sessions (SUSPEND): nothing runs in a session until it is resumed with the nonce that was issued for it,
//! once.
//!
//! One record per caller holds its suspended sessions and its recently used ones, so that no caller can fill the store
//! with invented sessions. Only a session that was used can be suspended.

use std::time::{Duration, SystemTime};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use super::{
    calling::{Calling, Parameters},
    compare_and_set::{TRIES, busy, step_aside},
    escalation,
    head::{VISIBLE, passed},
    lifecycle::text,
    response::{AgtpError, AgtpResponse},
};
use frontdesk_base::text::hex;
use frontdesk_desk::{Desk, records, rfc3339};
use frontdesk_state::{Change, Committed, Expect, Put, Record};

/// Maximum duration of a suspension.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Maximum suspended sessions of one caller.
const MOST: usize = 20;

/// Maximum remembered sessions of one caller, the latest.
const MOST_SEEN: usize = 256;
/// The record's member for used sessions. The other members are ids of suspended ones, which are longer.
const SEEN: &str = "seen";
/// Characters of the hash by which a used session is remembered.
const MARK: usize = 16;

/// `SUSPEND` of a session that the parameters or the envelope name.
pub(super) async fn suspend(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Parameters,
) -> Result<AgtpResponse, AgtpError> {
    let agent = escalation::agent(calling)?;
    let around = given.envelope.as_ref().map_or(Ok(None), |envelope| text(envelope, "session_id"))?;
    let session = match text(&given.members, "session_id")?.or(around) {
        Some(session) => session,
        None => escalation::required(&given.members, "session_id")?,
    };
    // Only a valid Session-ID can be suspended.
    if passed(Some(session)).is_none() {
        let message = format!("session_id has to be {VISIBLE}, as Session-ID is.");
        return Err(AgtpError::new(422, "schema-validation-failed", message));
    }
    let now = SystemTime::now();
    let latest = rfc3339(now + LONGEST);
    let until = text(&given.members, "resume_by")?.unwrap_or(&latest);
    // In this form timestamps sort as text.
    if !is_moment(until) || *until <= *rfc3339(now) || *until > *latest {
        let message = "resume_by has to be a moment within the next 24 hours, as in 2026-06-01T00:00:00Z.";
        return Err(AgtpError::new(422, "schema-validation-failed", message));
    }
    let nonce = URL_SAFE_NO_PAD.encode(records::random::<16>()?);
    let suspension = records::unguessable()?;
    let name = name(agent, session);
    let entry = json!({ "nonce": records::fingerprint(&[nonce.as_bytes()]), "until": until });
    let key = key(calling);
    for _ in 0..TRIES {
        let found = desk.records.get(&key).await?;
        let mut all = found.as_ref().map(sessions).unwrap_or_default();
        if !all.contains_key(&name) && !is_seen(&all, &name) {
            let message =
                "Nothing was asked in this session yet. Send its name as Session-ID with what is asked in it.";
            return Err(AgtpError::new(404, "session-not-found", message));
        }
        let suspended = |all: &Map<String, Value>| all.keys().filter(|key| *key != SEEN).count();
        // Expired suspensions are kept as long as there is room.
        if suspended(&all) >= MOST {
            all.retain(|key, entry| key == SEEN || entry["until"].as_str().is_some_and(|until| *until > *rfc3339(now)));
        }
        if suspended(&all) >= MOST && !all.contains_key(&name) {
            let message = format!("You have {MOST} sessions suspended, and no more are kept. Resume one.");
            return Err(AgtpError::new(503, "unavailable", message).with("reason", "too-many-suspended"));
        }
        all.insert(name.clone(), entry.clone());
        if put(desk, &key, found, all).await? {
            let body = json!({
                "suspension_id": suspension, "session_id": session, "resumption_nonce": nonce,
                "resume_by": until, "status": "suspended",
            });
            return Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &body) });
        }
        step_aside().await;
    }
    Err(busy())
}

/// Checks that a session may continue: it was never suspended, or the request has its nonce. Records the session as
/// used.
///
/// # Errors
///
/// 409: it is suspended; 408: its time to resume has passed.
pub(super) async fn resumed(desk: &Desk<'_>, calling: &Calling<'_>) -> Result<(), AgtpError> {
    let (Some(agent), Some(session)) = (calling.head.agent, calling.head.session) else { return Ok(()) };
    let (key, name) = (key(calling), name(agent, session));
    for _ in 0..TRIES {
        let found = desk.records.get(&key).await?;
        let mut all = found.as_ref().map(sessions).unwrap_or_default();
        let Some(entry) = all.remove(&name) else {
            note(desk, &key, &name, found, all).await;
            return Ok(());
        };
        see(&mut all, &name);
        if entry["until"].as_str().is_none_or(|until| *until <= *rfc3339(SystemTime::now())) {
            return Err(AgtpError::new(408, "timeout", "This session was to be resumed earlier. Begin a new one."));
        }
        let nonce = calling.incoming.headers.get("resumption-nonce").and_then(|nonce| nonce.to_str().ok());
        if !nonce.is_some_and(|nonce| entry["nonce"] == records::fingerprint(&[nonce.as_bytes()])) {
            let message =
                "This session is suspended. Resume it with the header Resumption-Nonce: what SUSPEND gave out.";
            return Err(AgtpError::new(409, "conflict", message).with("reason", "session-suspended"));
        }
        if put(desk, &key, found, all).await? {
            return Ok(());
        }
        step_aside().await;
    }
    Err(busy())
}

/// Records a session as used, for requests that a suspension does not block.
pub(super) async fn used(desk: &Desk<'_>, calling: &Calling<'_>) {
    let (Some(agent), Some(session)) = (calling.head.agent, calling.head.session) else { return };
    let key = key(calling);
    // Without the record no session can be suspended.
    let Ok(found) = desk.records.get(&key).await else { return };
    let all = found.as_ref().map(sessions).unwrap_or_default();
    note(desk, &key, &name(agent, session), found, all).await;
}

/// Stores the use, unless it is known. If that fails, the next request in the session does it.
async fn note(desk: &Desk<'_>, key: &str, name: &str, found: Option<Record>, all: Map<String, Value>) {
    let (mut found, mut all) = (found, all);
    for _ in 0..TRIES {
        if is_seen(&all, name) {
            return;
        }
        see(&mut all, name);
        if let Ok(true) | Err(_) = put(desk, key, found, all).await {
            return;
        }
        step_aside().await;
        let Ok(again) = desk.records.get(key).await else { return };
        all = again.as_ref().map(sessions).unwrap_or_default();
        found = again;
    }
}

fn is_seen(all: &Map<String, Value>, name: &str) -> bool {
    let seen = all.get(SEEN).and_then(Value::as_array).into_iter().flatten();
    seen.filter_map(Value::as_str).any(|mark| mark == &name[..MARK])
}

fn see(all: &mut Map<String, Value>, name: &str) {
    if is_seen(all, name) {
        return;
    }
    let seen = all.entry(SEEN).or_insert_with(|| json!([]));
    if let Some(seen) = seen.as_array_mut() {
        seen.push(name[..MARK].into());
        let extra = seen.len().saturating_sub(MOST_SEEN);
        seen.drain(..extra);
    }
}

async fn put(desk: &Desk<'_>, key: &str, found: Option<Record>, all: Map<String, Value>) -> Result<bool, AgtpError> {
    let expect = found.map_or(Expect::Absent, |record| Expect::Version(record.version));
    let put = match all.is_empty() {
        true => Put::Nothing,
        false => Put::Value(Value::Object(all).to_string().into(), LONGEST * 2),
    };
    let committed = desk.records.commit(&[Change { key: key.to_owned(), expect, put }]).await?;
    Ok(matches!(committed, Committed::Done(_)))
}

fn sessions(record: &Record) -> Map<String, Value> {
    serde_json::from_slice(&record.value).unwrap_or_default()
}

fn name(agent: &str, session: &str) -> String {
    records::fingerprint(&[agent.as_bytes(), session.as_bytes()])
}

fn key(calling: &Calling<'_>) -> String {
    format!("u:{}", hex(&calling.incoming.caller.counted_as().bytes()))
}

/// Whether a text is a UTC timestamp to the second, in the one form that sorts as text.
fn is_moment(text: &str) -> bool {
    text.len() == 20
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
        && text.parse::<toml::value::Datetime>().is_ok()
}
