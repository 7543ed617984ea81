//! Makes requests to a person idempotent: under a key, or under their own content where the protocol says that
//! repeating them changes nothing. A repetition gets the first answer.

use std::time::Duration;

use http::HeaderValue;
use serde_json::{Map, Value, json};

use super::{
    calling::Calling,
    contract::holder,
    error, jws,
    response::{AgtpError, AgtpResponse, Body, JSON},
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_desk::{
    REPLAYED,
    {
        Desk,
        records::{KEPT, fingerprint},
    },
};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record};

/// Seconds after which a running attempt is presumed dead.
const PATIENCE: u64 = 30;

/// Does the work, unless it was done before. `lasts`: how long equal requests without a key count as repetitions;
/// `None`: never.
///
/// # Errors
///
/// The work fails; or the key was used for another request, or for one that is running.
pub(super) async fn once(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    given: &Map<String, Value>,
    lasts: Option<Duration>,
    work: impl Future<Output = Result<AgtpResponse, AgtpError>>,
) -> Result<AgtpResponse, AgtpError> {
    let refused = |refusal: Refusal| error::wrong(&refusal, None, 455);
    let key = calling.incoming.idempotency_key().map_err(refused)?;
    // Without an Agent-ID no record can be kept.
    let Some(agent) = calling.head.agent else { return work.await };
    let input = jws::hash(&jws::canonical(given));
    let (about, lasts) = match (key, lasts) {
        (Some(key), _) => (["key", key], KEPT),
        (None, Some(lasts)) => (["same", &*input], lasts.max(Duration::from_secs(1))),
        (None, None) => return work.await,
    };
    let whose = holder(calling);
    let parts = [&*whose, agent, calling.method, about[0], about[1]].map(str::as_bytes);
    let place = format!("o:{}", fingerprint(&parts));
    let put =
        |expect, value: &Value| Change { key: place.clone(), expect, put: Put::Value(value.to_string().into(), lasts) };
    let begun = json!({ "input": input, "until": desk.records.now() + PATIENCE });
    let mut committed = begin(desk, put(Expect::Absent, &begun)).await?;
    if let Committed::Conflict(_, Some(record)) = &committed {
        if let Some(said) = again(record, &input, desk.records.now()).map_err(refused)? {
            return Ok(said);
        }
        // The process that began it died before it answered.
        committed = begin(desk, put(Expect::Version(record.version), &begun)).await?;
    }
    let Committed::Done(version) = committed else { return Err(refused(Fault::InFlight.into())) };
    let said = work.await;
    let ended = match &said {
        Ok(AgtpResponse { status, body: Body::Of(_, body), .. }) => {
            let body = String::from_utf8_lossy(body);
            put(Expect::Version(version), &json!({ "input": input, "status": status, "body": body }))
        }
        // Nothing was done, so a repetition may try again.
        _ => Change { key: place.clone(), expect: Expect::Version(version), put: Put::Nothing },
    };
    // The work is done, whether or not its record can be stored.
    let _ = desk.records.finish(vec![vec![ended]]).await;
    said
}

/// Creates the record. If the store's reply is lost, the record is withdrawn and nothing is done.
async fn begin(desk: &Desk<'_>, change: Change) -> Result<Committed, NotKept> {
    let begun = desk.records.commit_safely(std::slice::from_ref(&change)).await;
    if let Err(NotKept::Unsure(version)) = begun {
        let taken_back = Change { expect: Expect::Version(version), put: Put::Nothing, ..change };
        let _ = desk.records.finish(vec![vec![taken_back]]).await;
    }
    begun
}

/// The stored answer; `None` where the first attempt died.
fn again(record: &Record, input: &str, now: u64) -> Result<Option<AgtpResponse>, Refusal> {
    let kept: Value = serde_json::from_slice(&record.value).unwrap_or_default();
    if kept["input"] != input {
        return Err(Fault::KeyReused.into());
    }
    let status = kept["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    if let (Some(status), Some(body)) = (status, kept["body"].as_str()) {
        let said = AgtpResponse::text(status, JSON, body.to_owned());
        return Ok(Some(said.with(REPLAYED, HeaderValue::from_static("true"))));
    }
    match kept["until"].as_u64().unwrap_or(0).saturating_sub(now) {
        0 => Ok(None),
        left => Err(Refusal { retry_after: Some(left.min(5)), ..Fault::InFlight.into() }),
    }
}
