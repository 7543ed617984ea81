//! Sessions of clients that ask their person over the event stream (2025-06-18, 2025-11-25).
//!
//! Such a client says in `initialize` what it can do, and not again. So its session id says it: signed with a key that
//! all replicas have, it costs nothing to keep and does not expire. Other clients get no session.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use frontdesk_base::text;
use frontdesk_desk::{Desk, Incoming, records};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ring::hmac;
use serde_json::{Map, Value};

use super::{
    elicitation::Elicits,
    envelope::{INTERNAL, Problem},
    protocol::Era,
};

pub(super) const HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// The versions in which a server can ask a person, and since when also at an address, and with choices that have titles.
const ASKS: [&str; 2] = ["2025-06-18", "2025-11-25"];
const ASKS_AT_ADDRESSES: &str = "2025-11-25";
/// What the key is made for.
const PURPOSE: &[u8] = b"Mcp-Session-Id";
const NONCE: usize = 16;
const SIGNATURE: usize = 32;
/// The code of a session that is not known; the status 404 has the client begin another.
const NO_SESSION: i32 = -32001;

/// What a client in a session can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// The id as the client sends it.
    pub(super) id: String,
    pub(super) elicits: Elicits,
    /// Who sends its requests, by their heads.
    pub(super) holder: Vec<u8>,
}

/// The session of a client that begins; `None`: it needs none.
pub(super) async fn begun(
    desk: &Desk<'_>,
    version: &str,
    params: &Map<String, Value>,
) -> Result<Option<HeaderValue>, Problem> {
    let declared = params.get("capabilities").and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    let Some(modes) = declared.filter(|_| ASKS.contains(&version)) else { return Ok(None) };
    let elicits = Elicits::declared(modes);
    let is_newer = version == ASKS_AT_ADDRESSES;
    let elicits = Elicits { url: elicits.url && is_newer, choices: is_newer, ..elicits };
    let nonce = records::random::<NONCE>().map_err(|_| away())?;
    Ok(HeaderValue::from_str(&signed(&key(desk).await?, nonce, elicits)).ok())
}

/// The session that a message belongs to; `None`: to none.
///
/// # Errors
///
/// There is no such session, so the client has to begin another.
pub(super) async fn of(desk: &Desk<'_>, incoming: &Incoming<'_>, era: Era) -> Result<Option<Session>, Problem> {
    let Some(id) = named(incoming.headers).filter(|_| era == Era::Handshake) else { return Ok(None) };
    let elicits = read(&key(desk).await?, id).ok_or_else(unknown)?;
    Ok(Some(Session { id: id.to_owned(), elicits, holder: incoming.caller.holder().bytes().to_vec() }))
}

/// The id in the head of a message.
pub(super) fn named(headers: &HeaderMap) -> Option<&str> {
    text::once(headers, &HEADER).unwrap_or(Some(""))
}

fn unknown() -> Problem {
    let why = "There is no such session. Begin one with `initialize`.";
    Problem::new(NO_SESSION, why.into()).with_status(StatusCode::NOT_FOUND)
}

pub(super) fn away() -> Problem {
    Problem::new(INTERNAL, "The store is unavailable. Nothing was done; try again later.".into())
}

async fn key(desk: &Desk<'_>) -> Result<hmac::Key, Problem> {
    let secret = records::confirmation_secret(desk.records).await.map_err(|_| away())?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&secret, PURPOSE).as_ref()))
}

fn signed(key: &hmac::Key, nonce: [u8; NONCE], elicits: Elicits) -> String {
    let mut id = nonce.to_vec();
    id.push(u8::from(elicits.form) | u8::from(elicits.url) << 1 | u8::from(elicits.choices) << 2);
    let signature = hmac::sign(key, &id);
    id.extend_from_slice(signature.as_ref());
    URL_SAFE_NO_PAD.encode(id)
}

fn read(key: &hmac::Key, id: &str) -> Option<Elicits> {
    let bytes = URL_SAFE_NO_PAD.decode(id).ok().filter(|bytes| bytes.len() == NONCE + 1 + SIGNATURE)?;
    let (said, signature) = bytes.split_at(NONCE + 1);
    hmac::verify(key, said, signature).ok()?;
    let flags = said.last()?;
    Some(Elicits { form: flags & 1 != 0, url: flags & 2 != 0, choices: flags & 4 != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_says_what_its_client_can_do_and_cannot_be_made_up() {
        let key = |byte: u8| hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32]);
        for elicits in
            [Elicits { form: true, url: false, choices: false }, Elicits { form: true, url: true, choices: true }]
        {
            let id = signed(&key(1), [7; NONCE], elicits);
            assert_eq!((read(&key(1), &id), read(&key(2), &id)), (Some(elicits), None));
            for at in 0..id.len() {
                let mut changed = id.clone().into_bytes();
                changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(changed).unwrap();
                // The last character may hold bits that no byte has.
                assert!(read(&key(1), &changed).is_none() || at + 1 == id.len(), "{at}");
            }
        }
        for wrong in ["", "AAAA", "%", &"A".repeat(500)] {
            assert_eq!(read(&key(1), wrong), None);
        }
    }
}
