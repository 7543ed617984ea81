//! Authorization codes: what a person has allowed, sealed with a key that only the code gives, for a minute and once.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_answers::Cookies;
use frontdesk_caller::link::{Consent, Kind, LinkId, Token};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Records};
use serde_json::{Value, json};

use crate::ticket::Ticket;

/// How long a code is valid.
const VALID: Duration = Duration::from_secs(60);
/// How long it is remembered that one was used, so that a second use ends the link.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// What a person has allowed.
pub(crate) struct Allowed {
    /// The site that the person was asked by.
    pub(crate) issuer: String,
    pub(crate) client: String,
    pub(crate) agent: String,
    pub(crate) verified: bool,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) resource: String,
    pub(crate) capabilities: Vec<Consent>,
    pub(crate) person: String,
    pub(crate) cookies: Vec<u8>,
    /// When, in seconds since 1970.
    pub(crate) given: u64,
}

/// What is known of a code.
pub(crate) enum Found {
    /// It was never given, or is over.
    Nothing,
    /// It was used before.
    Used,
    Valid(Box<Allowed>, Use),
}

/// The use of a code, which is one.
pub(crate) struct Use {
    id: LinkId,
    hash: String,
    version: u64,
}

/// Stores what a person has allowed, and gives the code. `None`: the form was used before.
///
/// # Errors
///
/// The store is unavailable.
pub(crate) async fn give(
    (records, issuer): (&dyn Records, &str),
    ticket: &Ticket,
    capabilities: &[&Consent],
    cookies: &Cookies,
) -> Result<Option<String>, NotKept> {
    let code = Token::new(Kind::Code, LinkId::new()?)?;
    let capabilities: Vec<Value> = capabilities.iter().map(|consent| consent.json()).collect();
    let given = records.now();
    let plain = json!({
        "issuer": issuer, "client": ticket.client, "agent": ticket.agent, "verified": ticket.verified,
        "redirect_uri": ticket.redirect_uri, "challenge": ticket.challenge, "resource": ticket.resource,
        "capabilities": capabilities, "person": ticket.person, "cookies": STANDARD.encode(cookies.stored()),
        "given": given,
    });
    let sealed = code.key().seal(code.id, plain.to_string().as_bytes())?;
    let until = given + VALID.as_secs();
    let value = json!({ "hash": code.hash(), "until": until, "sealed": sealed });
    let put = Put::Value(value.to_string().into(), VALID);
    let change = Change { key: code.id.code(), expect: Expect::Absent, put };
    match records.commit_safely(&[ticket.used(), change]).await? {
        Committed::Done(_) => Ok(Some(code.text())),
        Committed::Conflict(..) => Ok(None),
    }
}

/// Finds a code.
///
/// # Errors
///
/// The store is unavailable.
pub(crate) async fn find(records: &dyn Records, code: &Token) -> Result<Found, NotKept> {
    let Some(record) = records.get(&code.id.code()).await? else { return Ok(Found::Nothing) };
    let value: Value = serde_json::from_slice(&record.value).unwrap_or_default();
    if value["hash"] != code.hash() {
        return Ok(Found::Nothing);
    }
    let Some(sealed) = value["sealed"].as_str() else { return Ok(Found::Used) };
    if value["until"].as_u64().is_none_or(|until| until <= records.now()) {
        return Ok(Found::Nothing);
    }
    let allowed = code.key().open(code.id, sealed).and_then(|plain| read(&serde_json::from_slice(&plain).ok()?));
    Ok(match allowed {
        Some(allowed) => {
            Found::Valid(Box::new(allowed), Use { id: code.id, hash: code.hash(), version: record.version })
        }
        None => Found::Nothing,
    })
}

fn read(value: &Value) -> Option<Allowed> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(Allowed {
        issuer: text("issuer")?,
        client: text("client")?,
        agent: text("agent")?,
        verified: value["verified"] == true,
        redirect_uri: text("redirect_uri")?,
        challenge: text("challenge")?,
        resource: text("resource")?,
        capabilities: Consent::read_all(&value["capabilities"])?,
        person: text("person")?,
        cookies: STANDARD.decode(value["cookies"].as_str()?).ok()?,
        given: value["given"].as_u64()?,
    })
}

impl Use {
    /// The change that uses the code up, unless another request did before.
    pub(crate) fn used(&self) -> Change {
        let put = Put::Value(json!({ "hash": self.hash }).to_string().into(), REMEMBERED);
        Change { key: self.id.code(), expect: Expect::Version(self.version), put }
    }
}
