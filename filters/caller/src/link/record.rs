//! The record of a link.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use frontdesk_state::NotKept;
use serde_json::{Value, json};

use frontdesk_base::text::{hex, unhex};

use super::{
    Link,
    consent::Consent,
    id::LinkId,
    seal::Key,
    token::{Marks, Token},
};
use crate::Rejected;

/// Access tokens that are valid at a time. A client that refreshes more often loses the oldest one.
const MOST_ACCESS: usize = 4;

/// A token as the record knows it: its hash, when it ends, and the key of the link sealed by it.
#[derive(Debug, Clone)]
struct Entry {
    hash: String,
    until: u64,
    key: String,
    /// The ids of the capabilities that it is for; `None`: all that the person allowed.
    only: Option<Vec<String>>,
}

impl Entry {
    fn of(token: &Token, until: u64, key: &Key) -> Result<Self, NotKept> {
        Ok(Self { hash: token.hash(), until, key: key.sealed_with(&token.key(), token.id)?, only: None })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let only = value["only"].as_array();
        let only = only.map(|only| only.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(Self { hash: text("hash")?, until: value["until"].as_u64()?, key: text("key")?, only })
    }

    fn json(&self) -> Value {
        json!({ "hash": self.hash, "until": self.until, "key": self.key, "only": self.only })
    }

    fn is_of(&self, hash: &str) -> bool {
        // Hashes of secrets of 256 bits: how long a comparison takes tells nothing about the secret.
        self.hash == hash
    }
}

/// What only a token opens.
pub struct Sealed {
    /// The site's own name for the person.
    pub person: String,
    /// What the person is called in logs.
    pub known_as: String,
    pub cookies: Vec<u8>,
}

/// A link as it is stored.
#[derive(Debug, Clone)]
pub struct LinkRecord {
    /// The site that the person signed in at. Another site may have the same store, and gets nothing of it.
    pub issuer: String,
    pub client: String,
    pub agent: String,
    pub verified: bool,
    pub capabilities: Vec<Consent>,
    pub created: u64,
    pub until: u64,
    marks: Marks,
    access: Vec<Entry>,
    refresh: Option<Entry>,
    sealed: String,
}

impl LinkRecord {
    /// A link without tokens and without anything sealed.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn new(
        (issuer, client): (&str, &str),
        (agent, verified): (&str, bool),
        capabilities: &[Consent],
        created: u64,
        until: u64,
    ) -> Result<Self, NotKept> {
        Ok(Self {
            issuer: issuer.to_owned(),
            client: client.to_owned(),
            agent: agent.to_owned(),
            verified,
            capabilities: capabilities.to_vec(),
            created,
            until,
            marks: Marks::new()?,
            access: Vec::new(),
            refresh: None,
            sealed: String::new(),
        })
    }

    /// A new refresh token for it.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn refresh_token(&self, id: LinkId) -> Result<Token, NotKept> {
        self.marks.token(id)
    }

    /// Whether a refresh token was given for it, now or earlier. Anything else that looks like one is invented.
    pub fn has_given(&self, token: &Token) -> bool {
        self.marks.are_of(token)
    }

    /// Reads a stored link.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            issuer: text("issuer")?,
            client: text("client")?,
            agent: text("agent")?,
            verified: value["verified"] == true,
            capabilities: Consent::read_all(&value["capabilities"])?,
            created: value["created"].as_u64()?,
            until: value["until"].as_u64()?,
            marks: Marks(unhex(value["marks"].as_str()?)?.try_into().ok()?),
            access: value["access"].as_array()?.iter().filter_map(Entry::read).collect(),
            refresh: Entry::read(&value["refresh"]),
            sealed: text("sealed")?,
        })
    }

    /// Its stored form.
    pub fn written(&self) -> Bytes {
        let access: Vec<Value> = self.access.iter().map(Entry::json).collect();
        let capabilities: Vec<Value> = self.capabilities.iter().map(Consent::json).collect();
        let record = json!({
            "issuer": self.issuer,
            "client": self.client, "agent": self.agent, "verified": self.verified, "capabilities": capabilities,
            "created": self.created, "until": self.until, "access": access, "marks": hex(&self.marks.0),
            "refresh": self.refresh.as_ref().map(Entry::json), "sealed": self.sealed,
        });
        record.to_string().into()
    }

    /// Seals what only a token opens.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn seal(&mut self, id: LinkId, key: &Key, sealed: &Sealed) -> Result<(), NotKept> {
        let plain = json!({
            "person": sealed.person, "known_as": sealed.known_as, "cookies": STANDARD.encode(&sealed.cookies),
        });
        self.sealed = key.seal(id, plain.to_string().as_bytes())?;
        Ok(())
    }

    /// Takes new tokens. The refresh token before is valid no more; access tokens are until they end. `only`: what the access
    /// token is for, if it is for less than the person allowed.
    ///
    /// # Errors
    ///
    /// There is no randomness.
    pub fn take(
        &mut self,
        key: &Key,
        (access, until, only): (&Token, u64, Option<Vec<String>>),
        refresh: &Token,
        now: u64,
    ) -> Result<(), NotKept> {
        self.access.retain(|entry| entry.until > now);
        while self.access.len() >= MOST_ACCESS {
            self.access.remove(0);
        }
        self.access.push(Entry { only, ..Entry::of(access, until, key)? });
        self.refresh = Some(Entry::of(refresh, self.until, key)?);
        Ok(())
    }

    /// Forgets an access token.
    pub fn forget(&mut self, token: &Token) {
        let hash = token.hash();
        self.access.retain(|entry| !entry.is_of(&hash));
    }

    /// The key of the link, from a valid access token.
    ///
    /// # Errors
    ///
    /// The token is not valid, or no longer.
    pub fn opened_by(&self, token: &Token, now: u64) -> Result<Key, Rejected> {
        let hash = token.hash();
        let entry = self.access.iter().find(|entry| entry.is_of(&hash)).ok_or(Rejected::TokenNotValid)?;
        if entry.until.min(self.until) <= now {
            return Err(Rejected::TokenExpired);
        }
        Key::opened_with(&token.key(), token.id, &entry.key).ok_or(Rejected::TokenNotValid)
    }

    /// The part of what the person allowed that an access token is for.
    pub fn allowed_to(&self, token: &Token) -> Vec<Consent> {
        let hash = token.hash();
        let only = self.access.iter().find(|entry| entry.is_of(&hash)).and_then(|entry| entry.only.as_ref());
        let is_in = |consent: &&Consent| only.is_none_or(|only| only.contains(&consent.id));
        self.capabilities.iter().filter(is_in).cloned().collect()
    }

    /// The key of the link, from the refresh token that is valid now; `None`: it is an earlier one, or none.
    pub fn refreshed_by(&self, token: &Token, now: u64) -> Option<Key> {
        let entry = self.refresh.as_ref().filter(|entry| entry.is_of(&token.hash()) && entry.until > now)?;
        Key::opened_with(&token.key(), token.id, &entry.key)
    }

    /// The link, opened.
    pub fn open(&self, id: LinkId, key: Key) -> Option<Link> {
        let plain: Value = serde_json::from_slice(&key.open(id, &self.sealed)?).ok()?;
        let cookies = STANDARD.decode(plain["cookies"].as_str()?).ok()?;
        Some(Link {
            id,
            key,
            issuer: self.issuer.as_str().into(),
            client: self.client.as_str().into(),
            agent: self.agent.as_str().into(),
            verified: self.verified,
            capabilities: self.capabilities.as_slice().into(),
            person: plain["person"].as_str()?.into(),
            known_as: plain["known_as"].as_str()?.into(),
            cookies: cookies.into(),
            until: self.until,
            used: None,
        })
    }
}
