//! What a person is being asked: a record that the form of the consent page leads to, once.

use std::time::Duration;

use frontdesk_desk::records::{fingerprint, is_id, unguessable};
use frontdesk_state::{Change, Expect, NotKept, Put, Records};
use serde_json::{Value, json};

use crate::{asked::Asked, visit::Visit};

/// How long a person may take.
const HOLDS: Duration = Duration::from_secs(600);

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
    pub(crate) offered: Vec<String>,
    /// Who was asked, and in which session.
    pub(crate) person: String,
    pub(crate) bound: String,
    key: String,
    version: u64,
}

fn place(id: &str) -> String {
    format!("oauth:ask:{}", fingerprint(&[id.as_bytes()]))
}

impl Ticket {
    /// Stores a question, and gives the secret of its form.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(crate) async fn store(records: &dyn Records, asked: &Asked, visit: &Visit) -> Result<String, NotKept> {
        let id = unguessable()?;
        let client = &asked.client;
        let value = json!({
            "client": client.id, "agent": client.shown(), "verified": client.is_verified(&asked.redirect_uri),
            "redirect_uri": asked.redirect_uri, "state": asked.state, "challenge": asked.challenge,
            "resource": asked.resource, "offered": asked.offered, "person": visit.person.subject, "bound": visit.bound,
        });
        let put = Put::Value(value.to_string().into(), HOLDS);
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
        let key = place(id);
        let Some(record) = records.get(&key).await? else { return Ok(None) };
        Ok(serde_json::from_slice(&record.value).ok().and_then(|value| Self::read(&value, key, record.version)))
    }

    fn read(value: &Value, key: String, version: u64) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let offered = value["offered"].as_array()?.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        Some(Self {
            client: text("client")?,
            agent: text("agent")?,
            verified: value["verified"] == true,
            redirect_uri: text("redirect_uri")?,
            state: text("state"),
            challenge: text("challenge")?,
            resource: text("resource")?,
            offered,
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
