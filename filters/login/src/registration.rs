//! Dynamic client registration (RFC 7591), by choice (`clients = "dynamic"`). A registered client is a name that nobody
//! has checked, and redirect URIs.

use std::time::Duration;

use frontdesk_base::reply::Reply;
use frontdesk_base::text::hex;
use frontdesk_caller::link::random;
use frontdesk_config::{Login, REGISTERED};
use frontdesk_desk::{Desk, Incoming};
use frontdesk_state::{Amount, Change, Class, Committed, Expect, Key, Limit, NotKept, Put, Records, Subject, Window};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    client::{self, Client},
    reply::{error, json_reply},
};

/// Registrations of one address, and of all, in an hour.
const MOST_OF_ONE: u64 = 20;
const MOST_OF_ALL: u64 = 1000;
const HOUR: Duration = Duration::from_secs(3600);

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
pub(crate) async fn register(desk: &Desk<'_>, login: &Login, request: &Incoming<'_>) -> Reply {
    if request.takes_json().is_err() {
        return error(StatusCode::BAD_REQUEST, "invalid_client_metadata", "The body has to be JSON.");
    }
    let said: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let client = match client::read(&said) {
        Ok(client) => client,
        Err(why) => {
            let code = if why.contains("redirect") { "invalid_redirect_uri" } else { "invalid_client_metadata" };
            return error(StatusCode::BAD_REQUEST, code, &why);
        }
    };
    let limit = |subject, most| Limit { key: Key::new(Class::Links, subject), most, window: Window::Fixed(HOUR) };
    let address = Subject::address(request.caller.address);
    let limits = [
        limit(address.with(Subject::named(&[b"registrations"])), MOST_OF_ONE),
        limit(Subject::named(&[b"all registrations"]), MOST_OF_ALL),
    ];
    match desk.counters.take(&limits, Amount::ONE).await {
        Ok(taken) if taken.granted.is_some() => {}
        Ok(_) => {
            let why = "Too many clients were registered in the last hour. Try again later.";
            return error(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", why);
        }
        Err(_) => return crate::reply::away(),
    }
    let Ok(bytes) = random::<16>() else { return crate::reply::away() };
    let id = format!("{REGISTERED}{}", hex(&bytes));
    let kept = json!({ "client_name": client.name, "redirect_uris": client.redirect_uris });
    // A client that nobody has used for that long asks for a new id.
    let put = Put::Value(kept.to_string().into(), login.link_ttl.max(Duration::from_secs(24 * 3600)) * 2);
    let change = Change { key: place(&id), expect: Expect::Absent, put };
    match desk.records.commit(&[change]).await {
        Ok(Committed::Done(_)) => json_reply(
            StatusCode::CREATED,
            &json!({
                "client_id": id, "client_id_issued_at": desk.records.now(), "client_name": client.name,
                "redirect_uris": client.redirect_uris, "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            }),
        ),
        _ => crate::reply::away(),
    }
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
