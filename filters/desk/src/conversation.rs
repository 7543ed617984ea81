//! A conversation's id for clients that hand none on: the credential that they present each time gives one.

use http::{HeaderName, header};

use super::{records, serve::Incoming};
use frontdesk_caller::Proof;

const API_KEY: HeaderName = HeaderName::from_static("x-ahp-key");

/// The id that a verified credential gives; `None` without one. Two people behind one key, each with a credential for the
/// site, are two conversations.
pub fn of_credential(request: &Incoming<'_>) -> Option<String> {
    let value = |name: &HeaderName| request.headers.get(name).map(|value| value.as_bytes());
    let credential = value(&header::AUTHORIZATION).or_else(|| value(&API_KEY))?;
    let holder = request.caller.holder().bytes();
    let parts: [&[u8]; 3] = [b"conversation of a credential", credential, &holder];
    (request.caller.proof != Proof::None).then(|| records::fingerprint(&parts))
}

/// The id of a conversation that the client named.
pub fn named(id: &str) -> String {
    records::fingerprint(&[b"named conversation", id.as_bytes()])
}
