//! A contract: an endpoint that was created for an agent at run time (AGTP-API §10.1.4), with its owner, its duration
//! and its representations.
//!
//! A contract contains all that it was made from, so a changed declaration does not alter it. Authorisation and
//! consent, however, follow the current declaration.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{calling::Calling, jws, response::Lineage, source::Source, template::Places};
use frontdesk_base::text::hex;
use frontdesk_desk::{records, rfc3339};

/// An endpoint, the agent that may call it, and until when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Contract {
    /// `synthesis_id`: 32 random hex digits.
    pub(super) id: String,
    /// The Agent-ID that it was made for.
    pub(super) agent: String,
    /// The proven identity behind that agent, in hex (docs/decisions/0017-proven-callers.md). Quotas count by it.
    pub(super) holder: String,
    pub(super) origin: Origin,
    pub(super) bound: Bound,
    /// The verb that calls it, after aliases and redirects.
    pub(super) method: String,
    /// The path; may have placeholders, as a declared one.
    pub(super) path: String,
    /// Fixed values for placeholders of the source's path.
    pub(super) places: Places,
    pub(super) source: Source,
    /// The endpoint as agreed.
    pub(super) endpoint: Value,
    /// SHA-256 of endpoint and lineage in canonical form, in hex.
    pub(super) hash: String,
    /// Seconds since 1970.
    pub(super) issued: u64,
    pub(super) until: u64,
    /// How it ended early.
    pub(super) ended: Option<Ending>,
}

/// How it came about (§10.1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    Gate,
    Propose,
}

/// The prefix of a connection's mark.
const CONNECTION: &str = "on:";

/// What ends it besides its expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Bound {
    /// Nothing; it belongs to the agent.
    Agent,
    /// The end of the session with this id.
    Session(String),
    /// The end of the connection it was made on.
    Connection(String),
    /// Nothing; it is in the manifest, for all who may call its source.
    Anybody,
}

impl Bound {
    /// A mark that tells sessions apart without revealing their ids.
    pub(super) fn mark(&self) -> String {
        let named = |kind: &str, name: &str| records::fingerprint(&[kind.as_bytes(), name.as_bytes()])[..16].to_owned();
        match self {
            Self::Agent => "agent".to_owned(),
            Self::Anybody => "anybody".to_owned(),
            Self::Session(name) => named("session", name),
            Self::Connection(name) => format!("{CONNECTION}{}", named("connection", name)),
        }
    }
}

/// Whether a mark is a connection's.
pub(super) fn is_of_a_connection(mark: &str) -> bool {
    mark.starts_with(CONNECTION)
}

/// How a contract ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Released,
    Revoked,
}

/// Why there is no contract, or none for this caller (§10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoContract {
    Disabled,
    TrustTier,
    Impossible,
    Failed,
    NotYours,
    Revoked,
}

impl NoContract {
    /// The word in responses.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Disabled => "rcns-disabled",
            Self::TrustTier => "trust-tier-insufficient",
            Self::Impossible => "composition-impossible",
            Self::Failed => "synthesis-error",
            Self::NotYours => "contract-not-yours",
            Self::Revoked => "contract-revoked",
        }
    }
}

impl Origin {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Gate => "rcns-gate",
            Self::Propose => "propose",
        }
    }
}

/// The proven identity of a request, else its address, in the form that contracts use.
pub(super) fn holder(calling: &Calling<'_>) -> String {
    hex(&calling.incoming.caller.counted_as().bytes())
}

/// The definition of an endpoint without the inputs that have fixed values.
pub(super) fn without(definition: &Value, places: &Places) -> Value {
    let mut definition = definition.clone();
    let fixed = |name: &str| places.iter().any(|(place, _)| place == name);
    // Indexing would insert a null for a missing member.
    if let Some(properties) = definition.pointer_mut("/input_schema/properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !fixed(name));
    }
    if let Some(required) = definition.pointer_mut("/input_schema/required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(fixed));
    }
    definition
}

/// `contract_hash` (§10.1.6).
pub(super) fn hash(endpoint: &Value, lineage: &Value) -> String {
    let whole = json!({ "endpoint": endpoint, "recipe_lineage": lineage });
    jws::hash(&jws::canonical(&whole))
}

impl Contract {
    /// Whether it belongs to this caller: the same Agent-ID and the same proven identity.
    pub(super) fn is_of(&self, calling: &Calling<'_>) -> bool {
        calling.head.agent == Some(self.agent.as_str()) && holder(calling) == self.holder
    }

    /// Whether it has expired or was ended.
    pub(super) fn is_over(&self, now: u64) -> bool {
        self.ended.is_some() || self.until <= now
    }

    /// Checks that a request may use it.
    ///
    /// # Errors
    ///
    /// The reason, with a sentence.
    pub(super) fn admits(&self, calling: &Calling<'_>, now: u64) -> Result<(), (NoContract, &'static str)> {
        if self.bound != Bound::Anybody && !self.is_of(calling) {
            return Err((NoContract::NotYours, "This contract was made for another agent. PROPOSE one of your own."));
        }
        if self.is_over(now) {
            return Err((NoContract::Revoked, "This contract is over. Ask for another."));
        }
        match &self.bound {
            Bound::Session(session) if calling.head.session != Some(session) => Err((
                NoContract::NotYours,
                "This contract is of another session. Send the Session-ID that it was made under, or PROPOSE another.",
            )),
            Bound::Connection(name) if calling.incoming.framed.is_none_or(|framed| framed.connection != name) => Err((
                NoContract::Revoked,
                "This contract ended with the connection that it was made on. PROPOSE another.",
            )),
            _ => Ok(()),
        }
    }

    /// Whether this existing contract can serve in place of a new one: the same subject, the same duration, and most
    /// of it left.
    pub(super) fn replaces(&self, other: &Self, now: u64) -> bool {
        let lasts = |contract: &Self| contract.until.saturating_sub(contract.issued);
        !self.is_over(now)
            && (&self.hash, &self.source, &self.places) == (&other.hash, &other.source, &other.places)
            && (&self.holder, &self.agent, &self.bound) == (&other.holder, &other.agent, &other.bound)
            && lasts(self) == lasts(other)
            && (self.until - now) * 2 >= lasts(self)
    }

    /// The contract as every record of its calls names it.
    pub(super) fn lineage(&self) -> Lineage {
        Lineage {
            synthesis_id: self.id.clone(),
            contract_hash: self.hash.clone(),
            negotiation_origin: self.origin.word(),
        }
    }

    /// An entry of `DISCOVER /contracts` (§5.8.7).
    pub(super) fn listing(&self) -> Value {
        json!({
            "synthesis_id": self.id,
            "method": self.method,
            "path": self.path,
            "originating_agent_id": self.agent,
            "recipe_lineage": self.source.lineage(),
            "contract_hash": self.hash,
            "negotiation_origin": self.origin.word(),
            "issued_at": at(self.issued),
            "expires_at": at(self.until),
            "persistent": self.bound == Bound::Anybody,
        })
    }

    /// Its status in one word.
    pub(super) fn status(&self, now: u64) -> &'static str {
        match self.ended {
            Some(Ending::Released) => "released",
            Some(Ending::Revoked) => "revoked",
            None if self.until <= now => "expired",
            None => "active",
        }
    }

    /// The full representation (INSPECT target=contract).
    pub(super) fn whole(&self, now: u64) -> Value {
        let mut whole = self.listing();
        whole["endpoint"] = self.endpoint.clone();
        whole["status"] = self.status(now).into();
        whole["bound_to"] = match self.bound {
            Bound::Agent => "agent",
            Bound::Session(_) => "session",
            Bound::Connection(_) => "connection",
            Bound::Anybody => "anybody",
        }
        .into();
        whole
    }

    /// The body of a 461 (§10.1.3), which describes what a call accepts.
    pub(super) fn preview(&self) -> Value {
        json!({
            "status": 461,
            "synthesis_id": self.id,
            "method": self.method,
            "path": self.path,
            "endpoint": self.endpoint,
            "recipe_lineage": self.source.lineage(),
            "contract_hash": self.hash,
            "expires_at": at(self.until),
        })
    }

    /// The body of a 263 (§10.4.3), under the proposed names.
    pub(super) fn approval(&self, method: &str, path: &str) -> Value {
        let mut body = json!({
            "status": 263,
            "method": method,
            "path": path,
            "synthesis_id": self.id,
            "endpoint": self.endpoint,
            "contract_hash": self.hash,
            "expires_at": at(self.until),
            "persistent": self.bound == Bound::Anybody,
            "granted_duration": self.until.saturating_sub(self.issued),
        });
        let lineage = self.source.lineage();
        if !lineage.is_null() {
            body["recipe_lineage"] = lineage;
        }
        body
    }

    /// The lifecycle event of its end (§10.1.4): `rcns_release`.
    pub(super) fn event(&self, reason: &str, actor: Option<&str>, now: u64) -> Value {
        let mut event = Map::from_iter([
            ("event_type".to_owned(), Value::from("rcns_release")),
            ("agent_id".to_owned(), self.agent.as_str().into()),
            ("synthesis_id".to_owned(), self.id.as_str().into()),
            ("contract_hash".to_owned(), self.hash.as_str().into()),
            ("reason".to_owned(), reason.into()),
            ("at".to_owned(), at(now).into()),
        ]);
        if let Some(actor) = actor {
            event.insert("actor".to_owned(), actor.into());
        }
        event.into()
    }
}

/// A timestamp in its displayed form; takes seconds since 1970.
fn at(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds))
}
