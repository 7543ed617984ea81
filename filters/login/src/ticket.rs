//! What a person is being asked: a record that the form of the consent page leads to, once. It is sealed with a key that only
//! the form gives.

use std::time::Duration;

use frontdesk_caller::link::{Consent, Key};
use frontdesk_desk::records::{fingerprint, is_id, unguessable};
use frontdesk_state::{Change, Expect, NotKept, Put, Records};
use serde_json::{Value, json};

use crate::{authorization_request::AuthorizationRequest, visit::Visit};

/// How long a person may take.
const HOLDS: Duration = Duration::from_secs(600);
/// What sealed tickets are bound to.
const PURPOSE: &[u8] = b"frontdesk: ticket of a consent page";

/// A question to a person.
pub(crate) struct Ticket {
    pub(crate) client: String,
    /// How the agent was shown, and whether as verified.
    pub(crate) agent: String,
    pub(crate) verified: bool,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) challenge: String,
    pub(crate) resource: String,
    /// The capabilities as they were shown.
    pub(crate) offered: Vec<Consent>,
    /// Who was asked, and in which session.
    pub(crate) person: String,
    pub(crate) bound: String,
    key: String,
    version: u64,
}

fn place(id: &str) -> String {
    format!("oauth:ask:{}", fingerprint(&[id.as_bytes()]))
}

fn key(id: &str) -> Key {
    Key::of(id.as_bytes(), PURPOSE)
}

impl Ticket {
    /// Stores a question, and gives the secret of its form.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(crate) async fn store(
        records: &dyn Records,
        asked: &AuthorizationRequest,
        visit: &Visit,
    ) -> Result<String, NotKept> {
        let id = unguessable()?;
        let client = &asked.client;
        let offered: Vec<Value> = asked.offered.iter().map(Consent::json).collect();
        let value = json!({
            "client": client.id, "agent": client.shown(), "verified": client.is_verified(&asked.redirect_uri),
            "redirect_uri": asked.redirect_uri, "state": asked.state, "challenge": asked.challenge,
            "resource": asked.resource, "offered": offered, "person": visit.person.subject, "bound": visit.bound,
        });
        let sealed = key(&id).seal_for(PURPOSE, value.to_string().as_bytes())?;
        let put = Put::Value(sealed.into(), HOLDS);
        records.commit(&[Change { key: place(&id), expect: Expect::Absent, put }]).await?;
        Ok(id)
    }

    /// Finds the question of a form.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(crate) async fn find(records: &dyn Records, id: &str) -> Result<Option<Self>, NotKept> {
        if !is_id(id) {
            return Ok(None);
        }
        let place = place(id);
        let Some(record) = records.get(&place).await? else { return Ok(None) };
        let sealed = std::str::from_utf8(&record.value).unwrap_or_default();
        let plain = key(id).open_for(PURPOSE, sealed).unwrap_or_default();
        Ok(serde_json::from_slice(&plain).ok().and_then(|value| Self::read(&value, place, record.version)))
    }

    fn read(value: &Value, key: String, version: u64) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            client: text("client")?,
            agent: text("agent")?,
            verified: value["verified"] == true,
            redirect_uri: text("redirect_uri")?,
            state: text("state"),
            challenge: text("challenge")?,
            resource: text("resource")?,
            offered: Consent::read_all(&value["offered"])?,
            person: text("person")?,
            bound: text("bound")?,
            key,
            version,
        })
    }

    /// The change that uses it up, unless another form did before.
    pub(crate) fn used(&self) -> Change {
        Change { key: self.key.clone(), expect: Expect::Version(self.version), put: Put::Nothing }
    }
}
