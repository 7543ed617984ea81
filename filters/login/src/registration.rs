//! Dynamic client registration (RFC 7591), by choice (`clients = "dynamic"`). A registered client is a name that nobody
//! has checked, and redirect URIs.

use std::time::Duration;

use frontdesk_base::text::hex;
use frontdesk_caller::link::random;
use frontdesk_config::{Login, REGISTERED};
use frontdesk_desk::{Desk, Incoming};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Records, Subject};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    client::{self, Client},
    reply::{Answer, away, error, json_reply},
    request_limits::{self, Budget},
};

/// Registrations of one address, and of all, in an hour.
const MOST_OF_ONE: u64 = 20;
const MOST_OF_ALL: u64 = 1000;
const HOUR: Duration = Duration::from_secs(3600);
/// Registrations that one person makes last longer in a day, by allowing their client something.
const MOST_OF_PERSON: u64 = 20;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long one is kept that no person has used yet: together with the number in an hour, this bounds how many there are.
const UNUSED: Duration = HOUR;
/// Redirect URIs, and bytes of all that is kept.
const MOST_URIS: usize = 5;
const LARGEST: usize = 2048;

/// Whether an id may be that of a registered client.
pub(crate) fn is_id(id: &str) -> bool {
    // One spelling: limits and links go by the id as it is written.
    let is_hex = |rest: &str| rest.len() == 32 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    id.strip_prefix(REGISTERED).is_some_and(is_hex)
}

fn place(id: &str) -> String {
    format!("oauth:client:{id}")
}

/// A registered client.
pub(crate) async fn client(records: &dyn Records, id: &str) -> Result<Option<Client>, NotKept> {
    let Some(record) = records.get(&place(id)).await? else { return Ok(None) };
    let said: Value = serde_json::from_slice(&record.value).unwrap_or_default();
    Ok(client::read(&said).ok().map(|client| Client { id: id.to_owned(), ..client }))
}

/// Registers a client.
pub(crate) async fn register(desk: &Desk<'_>, request: &Incoming<'_>) -> Answer {
    if request.takes_json().is_err() {
        return error(StatusCode::BAD_REQUEST, "invalid_client_metadata", "The body has to be JSON.").into();
    }
    let said: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let client = match client::read(&said) {
        Ok(client) => client,
        Err(why) => {
            let code = if why.contains("redirect") { "invalid_redirect_uri" } else { "invalid_client_metadata" };
            return error(StatusCode::BAD_REQUEST, code, &why).into();
        }
    };
    let kept = json!({ "client_name": client.name, "redirect_uris": client.redirect_uris }).to_string();
    if client.redirect_uris.len() > MOST_URIS || kept.len() > LARGEST {
        let why = format!("A client registers with at most {MOST_URIS} redirect_uris and {LARGEST} bytes.");
        return error(StatusCode::BAD_REQUEST, "invalid_client_metadata", &why).into();
    }
    let address = Subject::address(request.caller.address);
    let limits = [
        request_limits::limit(address.with(Subject::named(&[b"registrations"])), MOST_OF_ONE, HOUR),
        request_limits::limit(Subject::named(&[b"all registrations"]), MOST_OF_ALL, HOUR),
    ];
    match request_limits::take(desk.counters, &limits).await {
        Ok(None) => {}
        Ok(Some(wait)) => return Budget::Registrations.refusal(wait),
        Err(_) => return away().into(),
    }
    let Ok(bytes) = random::<16>() else { return away().into() };
    let id = format!("{REGISTERED}{}", hex(&bytes));
    // A client that nobody has used for that long asks for a new id.
    let put = Put::Value(kept.into(), UNUSED);
    let change = Change { key: place(&id), expect: Expect::Absent, put };
    match desk.records.commit(&[change]).await {
        Ok(Committed::Done(_)) => json_reply(
            StatusCode::CREATED,
            &json!({
                "client_id": id, "client_id_issued_at": desk.records.now(), "client_name": client.name,
                "redirect_uris": client.redirect_uris, "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            }),
        )
        .into(),
        _ => away().into(),
    }
}

/// Keeps a registered client for as long as what a person has just allowed it.
pub(crate) async fn used(desk: &Desk<'_>, login: &Login, id: &str, person: &str) -> Result<(), NotKept> {
    if !is_id(id) {
        return Ok(());
    }
    let limit =
        request_limits::limit(Subject::named(&[b"registrations used by", person.as_bytes()]), MOST_OF_PERSON, DAY);
    // Beyond that it works as before, until it is over.
    if request_limits::take(desk.counters, &[limit]).await != Ok(None) {
        return Ok(());
    }
    let Some(record) = desk.records.get(&place(id)).await? else { return Ok(()) };
    let put = Put::Value(record.value, login.link_ttl.max(DAY));
    let change = Change { key: place(id), expect: Expect::Version(record.version), put };
    desk.records.commit(&[change]).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn an_id_has_one_spelling() {
        assert!(is_id(&format!("fdc_{}", "0a".repeat(16))));
        for wrong in [format!("fdc_{}", "0A".repeat(16)), format!("fdc_{}", "0a".repeat(15)), "fdc_".to_owned()] {
            assert!(!is_id(&wrong), "{wrong}");
        }
    }
}
