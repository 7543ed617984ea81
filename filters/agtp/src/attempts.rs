//! Attempts that came to nothing, each with a name that it can be asked after by (AGTP-API §10.1, `RCNS-Attempt-Id`).
//!
//! Anybody can make attempts, so they share so many places and no more: a new one takes the place of an old one.

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

/// How long one is kept, unless its place is taken.
const KEPT: Duration = Duration::from_secs(3600);
/// Digits of its name that say its place: there are 4,096.
const PLACE: usize = 3;
/// Bytes of a path that are kept.
const LONGEST_PATH: usize = 256;

/// Writes an attempt down, as far as that can be. `None`: there is no name to be had.
pub(super) async fn noted(desk: &Desk<'_>, calling: &Calling<'_>, reason: NoContract) -> Option<String> {
    let id = records::unguessable().ok()?;
    let at = rfc3339(UNIX_EPOCH + Duration::from_secs(seconds()));
    let path: String = calling.path.chars().take(LONGEST_PATH).collect();
    let kept = json!({
        "attempt_id": id, "agent_id": calling.head.agent, "method": calling.method, "path": path,
        "status": 464, "reason": reason.word(), "at": at,
    });
    let put = Put::Value(kept.to_string().into(), KEPT);
    // That it cannot be asked after is no reason to say anything else.
    let _ = desk.records.commit(&[Change { key: key(&id), expect: Expect::Anything, put }]).await;
    Some(id)
}

/// An attempt, for whoever made it or may see everybody's.
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
    // Its name is nothing that anybody could guess.
    let theirs = kept["agent_id"].as_str() == calling.head.agent;
    Ok((kept["attempt_id"] == id && (theirs || sees_all)).then_some(kept))
}

fn key(id: &str) -> String {
    format!("n:a:{}", &id[..PLACE])
}
