//! Records of failed attempts, each with an id to look it up by (AGTP-API §10.1, `RCNS-Attempt-Id`).
//!
//! Anyone can make attempts, so all share a fixed number of slots, and a new attempt overwrites an old one.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderName;
use serde_json::{Value, json};

use super::{calling::Calling, contract::NoContract};
use frontdesk_desk::{
    Desk,
    records::{self, is_id, seconds},
    rfc3339,
};
use frontdesk_state::{Change, Expect, NotKept, Put};

/// On every 464.
pub(super) const ATTEMPT: HeaderName = HeaderName::from_static("rcns-attempt-id");

/// How long an attempt is kept, unless its slot is overwritten.
const KEPT: Duration = Duration::from_secs(3600);
/// Hex digits of the id that name its slot: 4,096 slots.
const PLACE: usize = 3;
/// Maximum bytes of a stored path.
const LONGEST_PATH: usize = 256;

/// Records an attempt, if possible. `None`: no id could be generated.
pub(super) async fn noted(desk: &Desk<'_>, calling: &Calling<'_>, reason: NoContract) -> Option<String> {
    let id = records::unguessable().ok()?;
    let at = rfc3339(UNIX_EPOCH + Duration::from_secs(seconds()));
    let path: String = calling.path.chars().take(LONGEST_PATH).collect();
    let kept = json!({
        "attempt_id": id, "agent_id": calling.head.agent, "method": calling.method, "path": path,
        "status": 464, "reason": reason.word(), "at": at,
    });
    let put = Put::Value(kept.to_string().into(), KEPT);
    // If it cannot be stored, the response is the same without a lookup.
    let _ = desk.records.commit(&[Change { key: key(&id), expect: Expect::Anything, put }]).await;
    Some(id)
}

/// An attempt, for the caller who made it or one who may see all.
pub(super) async fn find(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    id: &str,
    sees_all: bool,
) -> Result<Option<Value>, NotKept> {
    if !is_id(id) {
        return Ok(None);
    }
    let Some(record) = desk.records.get(&key(id)).await? else { return Ok(None) };
    let Ok(kept) = serde_json::from_slice::<Value>(&record.value) else { return Ok(None) };
    // The id itself is unguessable.
    let theirs = kept["agent_id"].as_str() == calling.head.agent;
    Ok((kept["attempt_id"] == id && (theirs || sees_all)).then_some(kept))
}

fn key(id: &str) -> String {
    format!("n:a:{}", &id[..PLACE])
}
