//! Idempotency and confirmation records: a call runs once (AICP §8.7), and only as it was confirmed (§8.6).
//!
//! A key names a call of one caller and one capability. The desk writes its record before it calls the site, and adds
//! the answer later, so that a retry gets the same answer. A token stands for one confirmation. It is signed and not
//! stored, so issuing one costs no write; its use is recorded. One commit reserves the key and consumes the token. So
//! one of two concurrent equal calls runs, and after a crash a call that was begun never runs again.

use std::time::Duration;

use bytes::Bytes;
use ring::{
    digest, hmac,
    rand::{SecureRandom, SystemRandom},
};
use serde_json::{Value, json};

pub use super::fingerprint::fingerprint;

use super::approval::GrantedApproval;
use frontdesk_base::text::{hex, unhex};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record, Records, Subject, keep_past, wall_seconds};

/// How long a key stands for its call.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Where the secret is that tokens are signed with, and for how long. Who restarts, or stands beside us, reads the same.
const SECRET: (&str, Duration) = ("k:confirmation", Duration::from_secs(365 * 24 * 3600));
/// Bytes of a token before its signature: an expiry time and a nonce.
const SIGNED: usize = 8 + 16;
/// Bytes of a token.
const TOKEN: usize = SIGNED + digest::SHA256_OUTPUT_LEN;
/// Maximum bytes of a stored answer. Of a longer one the record says only that it existed.
const LONGEST_KEPT: usize = 32 * 1024;
/// Seconds beyond the site's time limit after which the holder of a running call is presumed dead.
const GRACE: u64 = 5;
/// How long after its reservation a call may still start. A process that was suspended longer comes too late, since
/// others may soon presume it dead. Well below [`GRACE`], so that the call ends before they do.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(2);

/// Identifies the processes that carry out calls. Several may share one store.
pub trait Holders: Send + Sync {
    /// The name of this process.
    fn name(&self) -> &str;
    /// A monotonic clock that also advances while this process is suspended.
    fn clock(&self) -> Duration;
    /// Whether a process is known to be dead. One that cannot be checked from here is not.
    fn is_gone(&self, name: &str) -> bool;
}

/// The state of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    Nothing,
    /// The key was used with another input.
    Other,
    /// Running, for at most this many seconds more.
    Begun(u64),
    /// Its holder died, or stored no answer.
    Unknown(u64),
    /// Carried out, with the stored answer.
    Ended(Value),
}

/// A call that takes a key, a token, or both.
#[derive(Clone, Copy)]
pub(super) struct Begin<'a> {
    pub(super) key: Option<&'a str>,
    /// The version of a record whose holder died, where the site may be called again.
    pub(super) after: Option<u64>,
    pub(super) input: &'a str,
    pub(super) token: Option<&'a Token>,
    /// The approvals, each for one call.
    pub(super) permissions: &'a [GrantedApproval],
    pub(super) limit: Duration,
    pub(super) now: u64,
    /// When the reservation was requested, by [`Holders::clock`].
    pub(super) at: Duration,
    /// Version of the record, once it exists.
    pub(super) version: u64,
}

/// A valid confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The key of the record of its use.
    key: String,
    expires: u64,
}

impl Token {
    /// Records the use, for longer than any replica would accept the token, clock skew included.
    fn used(&self, now: u64) -> Change {
        let put = Put::Value(Bytes::from_static(b"{}"), keep_past(self.expires, now));
        Change { key: self.key.clone(), expect: Expect::Absent, put }
    }
}

/// What was known of a token when its call's key was looked up.
#[derive(Debug)]
pub(super) struct Seen {
    key: String,
    used: bool,
}

/// The result of a reservation.
pub(super) enum Began {
    /// Reserved; the version of the record.
    Yes(u64),
    /// Another call was first.
    No,
}

/// Idempotency records in the terms of a call.
pub(super) struct Promises<'a> {
    pub(super) records: &'a dyn Records,
    pub(super) holders: &'a dyn Holders,
}

/// The names under which the record of an idempotency key may be stored.
pub(super) struct KeyNames {
    /// The name made of this caller, this capability and this key. It needs no Host header: one process serves one
    /// site, sites that share a store have different `prefix` settings, and the client chooses the header.
    current: String,
    /// The name that versions before 2026-12 used, with the Host header in it. It is looked up as well, so that an
    /// update does not run a call again. Remove it once no such version can be updated from.
    with_host: String,
}

impl KeyNames {
    /// `conversation`: the one that the key counts in alone, where its capability works with the conversation's cookies.
    pub(super) fn of(holder: Subject, host: &str, (capability, conversation): (&str, Option<&str>), key: &str) -> Self {
        let (holder, host) = (holder.bytes(), host.to_ascii_lowercase());
        let [capability, key] = [capability, key].map(str::as_bytes);
        let name = |parts: &[&[u8]]| format!("i:{}", fingerprint(parts));
        let (current, with_host) = match conversation.map(|id| [&b"conversation"[..], id.as_bytes()]) {
            None => (name(&[&holder, capability, key]), name(&[&holder, host.as_bytes(), capability, key])),
            // No version has used the second one.
            Some([word, id]) => (
                name(&[word, &holder, capability, key, id]),
                name(&[word, &holder, host.as_bytes(), capability, key, id]),
            ),
        };
        Self { current, with_host }
    }
}

/// The result of looking up a call with an idempotency key.
pub(super) struct Found {
    /// The name of the key's record; the current name where there is none yet.
    pub(super) key: String,
    pub(super) known: Known,
    /// The state of its confirmation token, where it has one.
    pub(super) seen: Option<Seen>,
}

impl Promises<'_> {
    /// The state of a key, for this input at this time.
    pub(super) async fn look(&self, key: &str, input: &str, now: u64) -> Result<Known, NotKept> {
        Ok(match self.records.get(key).await? {
            Some(record) => self.read(&record, input, now),
            None => Known::Nothing,
        })
    }

    /// The state of a key under every name that its record may have, and of its token, in one read. A token that is
    /// consumed after this read is detected when the call begins.
    pub(super) async fn find(
        &self,
        names: KeyNames,
        token: Option<&str>,
        input: &str,
        now: u64,
    ) -> Result<Found, NotKept> {
        let used = token.and_then(unhex).filter(|bytes| bytes.len() == TOKEN).map(|bytes| used_key(&bytes));
        let keys: Vec<&str> = [&*names.current, &*names.with_host].into_iter().chain(used.as_deref()).collect();
        let mut records = self.records.get_all(&keys).await?.into_iter();
        let mut next = || records.next().flatten();
        let (current, with_host, token) = (next(), next(), next());
        let (key, record) = match (current, with_host) {
            (None, Some(old)) => (names.with_host, Some(old)),
            (current, _) => (names.current, current),
        };
        let known = record.map_or(Known::Nothing, |record| self.read(&record, input, now));
        Ok(Found { key, known, seen: used.map(|key| Seen { key, used: token.is_some() }) })
    }

    fn read(&self, record: &Record, input: &str, now: u64) -> Known {
        // An unreadable record still reserves the key, but for an unknown input.
        let Ok(mut value) = serde_json::from_slice::<Value>(&record.value) else { return Known::Other };
        if value["input"].as_str() != Some(input) {
            return Known::Other;
        }
        match value["state"].as_str() {
            Some("ended") => Known::Ended(value["told"].take()),
            Some("begun") => {
                let left = value["until"].as_u64().unwrap_or(0).saturating_sub(now);
                let gone = value["holder"].as_str().is_none_or(|holder| self.holders.is_gone(holder));
                if left == 0 || gone { Known::Unknown(record.version) } else { Known::Begun(left) }
            }
            _ => Known::Unknown(record.version),
        }
    }

    /// Writes a call's record and consumes its token and its approvals, in one commit.
    pub(super) async fn begin(&self, begin: &Begin<'_>) -> Result<Began, NotKept> {
        let mut changes = Vec::with_capacity(2);
        if let Some(key) = begin.key {
            let value = json!({
                "state": "begun", "input": begin.input, "holder": self.holders.name(),
                "until": begin.now + begin.limit.as_secs() + GRACE,
                "token": begin.token.map(|token| &token.key),
            });
            let expect = begin.after.map_or(Expect::Absent, Expect::Version);
            changes.push(Change { key: key.to_owned(), expect, put: Put::Value(value.to_string().into(), KEPT) });
        }
        changes.extend(begin.token.map(|token| token.used(begin.now)));
        changes.extend(begin.permissions.iter().map(GrantedApproval::used));
        if changes.is_empty() {
            return Ok(Began::Yes(0));
        }
        match self.records.commit_safely(&changes).await {
            Ok(Committed::Done(version)) => Ok(Began::Yes(version)),
            Ok(Committed::Conflict(..)) => Ok(Began::No),
            Err(why) => {
                // The commit's result was lost: key and token may be taken, and the call is not made.
                if let NotKept::Unsure(version) = why {
                    let _ = self.take_back(&Begin { version, ..*begin }).await;
                }
                Err(why)
            }
        }
    }

    /// Whether the reservation is too old for the call to start.
    pub(super) fn is_too_late(&self, begin: &Begin<'_>) -> bool {
        self.holders.clock().saturating_sub(begin.at) > START_WITHIN
    }

    /// Stores the answer of a call; `None`: its outcome is unknown.
    pub(super) async fn end(&self, begin: &Begin<'_>, told: Option<&Value>) -> Result<(), NotKept> {
        let Some(key) = begin.key else { return Ok(()) };
        let value = match told {
            Some(told) => json!({ "state": "ended", "input": begin.input, "told": bounded(told) }),
            None => json!({ "state": "unknown", "input": begin.input }),
        };
        let put = Put::Value(value.to_string().into(), KEPT);
        let change = |expect| Change { key: key.to_owned(), expect, put: put.clone() };
        // A process that took the record over has the last word.
        let ended = vec![change(Expect::Version(begin.version))];
        // A store that lost the reservation gets it now, with the use of the confirmation.
        let mut anew = vec![change(Expect::Absent)];
        if let Some(token) = begin.token {
            let mut used = token.used(begin.now);
            used.expect = Expect::Anything;
            anew.push(used);
        }
        self.records.finish(vec![ended, anew]).await
    }

    /// Withdraws a call that never reached the site: frees its key and its confirmation.
    pub(super) async fn take_back(&self, begin: &Begin<'_>) -> Result<(), NotKept> {
        // If the record was withdrawn before and another call has reserved it since, leave that one alone.
        let expect = Expect::Version(begin.version);
        let mut changes = Vec::with_capacity(2);
        if let Some(key) = begin.key {
            // A record taken over from a dead holder becomes unknown again.
            let unknown = || json!({ "state": "unknown", "input": begin.input }).to_string().into();
            let put = begin.after.map_or(Put::Nothing, |_| Put::Value(unknown(), KEPT));
            changes.push(Change { key: key.to_owned(), expect, put });
        }
        if let Some(token) = begin.token {
            changes.push(Change { key: token.key.clone(), expect, put: Put::Nothing });
        }
        let mut attempts = Vec::with_capacity(2);
        if !begin.permissions.is_empty() {
            let given_back = begin.permissions.iter().map(|permission| permission.given_back(KEPT));
            attempts.push(changes.iter().cloned().chain(given_back).collect());
        }
        // A person may have been asked anew meanwhile; that must not block the rest.
        if !changes.is_empty() {
            attempts.push(changes);
        }
        if attempts.is_empty() { Ok(()) } else { self.records.finish(attempts).await }
    }

    /// Issues a token that stands for one confirmation.
    pub(super) async fn offer(&self, binding: &str, lasts: Duration, now: u64) -> Result<String, NotKept> {
        let secret = self.secret().await?;
        let mut token = (now + lasts.as_secs()).to_be_bytes().to_vec();
        token.extend_from_slice(&random::<16>()?);
        let signature = hmac::sign(&secret, &signed(&token, binding));
        token.extend_from_slice(signature.as_ref());
        Ok(hex(&token))
    }

    /// The confirmation of a token; `None` where it is invalid, for another call, or used.
    pub(super) async fn confirmed(
        &self,
        token: &str,
        seen: Option<&Seen>,
        binding: &str,
        now: u64,
    ) -> Result<Option<Token>, NotKept> {
        let Some(bytes) = unhex(token).filter(|bytes| bytes.len() == TOKEN) else {
            return Ok(None);
        };
        let (head, signature) = bytes.split_at(SIGNED);
        let secret = self.secret().await?;
        if hmac::verify(&secret, &signed(head, binding), signature).is_err() {
            return Ok(None);
        }
        let expires = head.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        if expires <= now {
            return Ok(None);
        }
        let key = used_key(&bytes);
        let used = match seen.filter(|seen| seen.key == key) {
            Some(seen) => seen.used,
            None => self.records.get(&key).await?.is_some(),
        };
        Ok((!used).then_some(Token { key, expires }))
    }

    /// The secret that signs tokens.
    async fn secret(&self) -> Result<hmac::Key, NotKept> {
        confirmation_secret(self.records).await
    }
}

/// The secret behind confirmations: generated once, and kept in the store, so that all replicas read it. Keys for other
/// purposes are derived from it.
pub async fn confirmation_secret(records: &dyn Records) -> Result<hmac::Key, NotKept> {
    let (key, lasts) = SECRET;
    let secret = match records.get_lasting(key).await? {
        Some(record) => record.value,
        None => {
            let fresh = Bytes::from(hex(&random::<32>()?));
            let put = Put::Value(fresh.clone(), lasts);
            match records.commit(&[Change { key: key.to_owned(), expect: Expect::Absent, put }]).await? {
                Committed::Done(_) => fresh,
                Committed::Conflict(_, Some(record)) => record.value,
                Committed::Conflict(_, None) => return Err(NotKept::Away),
            }
        }
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &secret))
}

/// The key of the record of a token's use.
fn used_key(token: &[u8]) -> String {
    format!("c:{}", fingerprint(&[token]))
}

fn signed(token: &[u8], binding: &str) -> Vec<u8> {
    [token, binding.as_bytes()].concat()
}

/// A random name: 128 bits, in hex.
pub fn unguessable() -> Result<String, NotKept> {
    random::<16>().map(|bytes| hex(&bytes))
}

pub fn random<const N: usize>() -> Result<[u8; N], NotKept> {
    let mut bytes = [0; N];
    // Without randomness nothing can be reserved.
    SystemRandom::new().fill(&mut bytes).map_err(|_| NotKept::Away)?;
    Ok(bytes)
}

/// Whether it is written as `unguessable` does, so that no other record is ever named.
pub fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Whether a text may be a confirmation's token; nothing that people say looks like one.
pub fn looks_like_token(text: &str) -> bool {
    text.len() == 2 * TOKEN && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether an answer is short enough to be stored in full.
pub(super) fn is_kept_whole(told: &Value) -> bool {
    told.to_string().len() <= LONGEST_KEPT
}

/// The part of an answer that is stored.
fn bounded(told: &Value) -> Value {
    if is_kept_whole(told) {
        return told.clone();
    }
    let mut short = told.clone();
    short["ok"]["data"] = Value::Null;
    short["ok"]["raw"] = Value::Null;
    short["ok"]["omitted"] = true.into();
    short
}

/// The present time, in seconds since 1970.
pub fn seconds() -> u64 {
    wall_seconds()
}
