//! What a client's person answered (2025-06-18, 2025-11-25): the question goes out on the event stream of a call, and
//! the answer comes in a message of its own, perhaps at another replica. A record in the store is where they meet.
//!
//! The record is bound to the session and to who sends its messages, and takes one answer. A call that its client has
//! canceled meanwhile is not carried out, whatever the answer.

use std::time::Duration;

use bytes::Bytes;
use frontdesk_base::{reply::Reply, strict};
use frontdesk_desk::{Desk, Incoming, Served, records};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    envelope::{INVALID_PARAMS, Problem},
    protocol::Era,
    served::refused,
    session::{self, Session},
};

/// How long a person may take to answer, and how often it is looked for an answer.
pub(super) const WAIT: Duration = Duration::from_secs(300);
/// How much longer the record is kept.
const GRACE: Duration = Duration::from_secs(30);
/// Maximum bytes of an answer.
const LONGEST: usize = 16 * 1024;

/// A question that a client was asked.
pub(super) struct Open {
    /// The id of the request to the client.
    pub(super) id: String,
    key: String,
}

/// Keeps a place for an answer.
pub(super) async fn open(desk: &Desk<'_>, session: &Session) -> Result<Open, NotKept> {
    let id = records::unguessable()?;
    let key = key(session, &id);
    let put = Put::Value(Bytes::from_static(b"{}"), WAIT + GRACE);
    let change = Change { key: key.clone(), expect: Expect::Absent, put };
    match desk.records.commit(&[change]).await? {
        Committed::Done(_) => Ok(Open { id, key }),
        Committed::Conflict(..) => Err(NotKept::Away),
    }
}

impl Open {
    /// The answer, once there is one: the `result` of the client's reply, or null where it replied with an error.
    pub(super) async fn look(&self, desk: &Desk<'_>) -> Result<Option<Value>, NotKept> {
        let record = desk.records.get(&self.key).await?;
        let value: Option<Value> = record.and_then(|record| serde_json::from_slice(&record.value).ok());
        Ok(value.and_then(|value| value.get("answer").cloned()))
    }

    /// Takes no answer any more.
    pub(super) async fn close(&self, desk: &Desk<'_>) {
        let gone = Change { key: self.key.clone(), expect: Expect::Anything, put: Put::Nothing };
        let _ = desk.records.commit(&[gone]).await;
    }
}

/// A message that needs no answer: a notification, or a person's answer.
pub(super) async fn heard(desk: &Desk<'_>, incoming: &Incoming<'_>) -> Served {
    match taken(desk, incoming).await {
        Ok(()) => Reply::empty(StatusCode::ACCEPTED).into(),
        Err(problem) => refused(problem),
    }
}

async fn taken(desk: &Desk<'_>, incoming: &Incoming<'_>) -> Result<(), Problem> {
    if session::named(incoming.headers).is_none() {
        return Ok(());
    }
    let (id, answer) = match said(&incoming.body) {
        Some(Said::Answer(id, answer)) => (id, answer),
        Some(Said::Canceled(call)) => return cancel(desk, incoming, &call).await,
        None => return Ok(()),
    };
    let Some(session) = session::of(desk, incoming, Era::Handshake).await? else { return Ok(()) };
    let nothing = |why: &str| {
        let said = format!("{why} Nothing was done with this answer.");
        Problem::new(INVALID_PARAMS, said).with_status(StatusCode::BAD_REQUEST)
    };
    if incoming.body.len() > LONGEST {
        return Err(nothing(&format!("An answer may have {LONGEST} bytes.")));
    }
    let asked = "This was not asked in this session, is answered already, or is no longer waited for.";
    if !records::is_id(&id) {
        return Err(nothing(asked));
    }
    let key = key(&session, &id);
    let found = desk.records.get(&key).await.map_err(|_| session::away())?.ok_or_else(|| nothing(asked))?;
    if *found.value != *b"{}" {
        return Err(nothing(asked));
    }
    let put = Put::Value(json!({ "answer": answer }).to_string().into(), WAIT + GRACE);
    let change = Change { key, expect: Expect::Version(found.version), put };
    match desk.records.commit(&[change]).await.map_err(|_| session::away())? {
        Committed::Done(_) => Ok(()),
        Committed::Conflict(..) => Err(nothing(asked)),
    }
}

/// What a client says that is no request.
enum Said {
    /// The id and the result of a reply.
    Answer(String, Value),
    /// The id of a call that it no longer waits for.
    Canceled(Value),
}

fn said(body: &[u8]) -> Option<Said> {
    let Ok(Value::Object(mut message)) = strict::value(body) else { return None };
    match message.get("method").and_then(Value::as_str) {
        Some("notifications/cancelled") => Some(Said::Canceled(message.get("params")?.get("requestId")?.clone())),
        Some(_) => None,
        None => {
            let id = message.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            // A reply with an error is none, whatever else it says.
            let result = message.remove("result").filter(|_| !message.contains_key("error"));
            Some(Said::Answer(id, result.unwrap_or_default()))
        }
    }
}

/// Remembers that a call was canceled, for as long as one may wait.
async fn cancel(desk: &Desk<'_>, incoming: &Incoming<'_>, call: &Value) -> Result<(), Problem> {
    let Some(session) = session::of(desk, incoming, Era::Handshake).await? else { return Ok(()) };
    let put = Put::Value(Bytes::from_static(b"{}"), WAIT + GRACE);
    let change = Change { key: key(&session, &canceled(call)), expect: Expect::Anything, put };
    desk.records.commit(&[change]).await.map(drop).map_err(|_| session::away())
}

/// Whether the client has canceled a call meanwhile.
pub(super) async fn is_canceled(desk: &Desk<'_>, session: &Session, call: &Value) -> bool {
    // Who cannot find out does not act.
    !matches!(desk.records.get(&key(session, &canceled(call))).await, Ok(None))
}

/// A name that no question has.
fn canceled(call: &Value) -> String {
    format!("canceled {call}")
}

/// Bound to who sends the session's messages.
fn key(session: &Session, id: &str) -> String {
    format!("m:{}", records::fingerprint(&[session.id.as_bytes(), id.as_bytes(), &session.holder]))
}
