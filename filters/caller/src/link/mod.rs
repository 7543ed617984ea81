//! Links: what a person has allowed an agent to do at the site in their name (`[auth.login]`).
//!
//! A link is one record. It holds hashes of the tokens that are valid now, and the site's cookies, sealed with a key
//! that is in the store only sealed by each token's own secret. So the store alone opens nothing, and neither does a
//! token whose link has ended. The id of a link is in its tokens and nowhere else but the store.

mod consent;
mod ended;
mod id;
mod record;
mod seal;
#[cfg(test)]
mod tests;
mod token;

use std::{fmt, sync::Arc, time::Duration};

use frontdesk_config::Capability;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Records, Subject};

pub use consent::Consent;
pub use ended::{EndedClients, end_all_of};
pub use id::{LinkId, random};
pub use record::{LinkRecord, Sealed};
pub use seal::Key;
pub use token::{Kind, Token};

use crate::Rejected;

/// How often the time of the last use is written, and the site is asked whether the person is still signed in.
const NOTED: u64 = 60;
/// How often a change is tried again that another one came before.
const TRIES: usize = 8;

/// An open link: a token was valid, and opened it.
#[derive(Clone)]
pub struct Link {
    id: LinkId,
    key: Key,
    issuer: Arc<str>,
    /// The agent's client id.
    pub client: Arc<str>,
    /// How the agent is called, and whether that is verified.
    pub agent: Arc<str>,
    pub verified: bool,
    /// What the person allowed.
    pub capabilities: Arc<[Consent]>,
    /// The site's own name for the person.
    pub person: Arc<str>,
    /// What the person is called in logs, records and headers: a keyed hash of that name.
    pub known_as: Arc<str>,
    /// The site's cookies, in the stored form of `frontdesk_answers::Cookies`.
    pub cookies: Arc<[u8]>,
    /// When it ends, in seconds since 1970.
    pub until: u64,
    /// When a call was made with it last, to the minute.
    used: Option<u64>,
}

// Neither the key nor a cookie nor the person's name may get into a log.
impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Link(of {})", self.client)
    }
}

impl Link {
    /// Opens the link that an access token of this issuer belongs to, for what the token is for.
    ///
    /// # Errors
    ///
    /// The token is not valid here, or its link has ended; or the store is unavailable ([`Rejected::KeysAway`]).
    pub async fn open(records: &dyn Records, token: &str, issuer: &str) -> Result<Arc<Self>, Rejected> {
        let token = Token::parse(token, Kind::Access).ok_or(Rejected::TokenNotValid)?;
        let found = find(records, token.id).await.map_err(|_| Rejected::KeysAway)?;
        // A client that asks again after this gets a new link, or hears that it has to ask the person.
        let Found { record, used, .. } = found.ok_or(Rejected::TokenExpired)?;
        if record.issuer != issuer {
            return Err(Rejected::TokenNotValid);
        }
        let key = record.opened_by(&token, records.now())?;
        let link = record.open(token.id, key).ok_or(Rejected::TokenNotValid)?;
        Ok(Arc::new(Self { used, capabilities: record.allowed_to(&token).into(), ..link }))
    }

    /// Whether the person allowed a capability as it is declared now.
    pub fn allows(&self, capability: &Capability) -> bool {
        self.capabilities.iter().any(|allowed| allowed.covers(capability))
    }

    /// Whether no call was made with it within the last minute.
    pub fn is_idle(&self, now: u64) -> bool {
        self.used.is_none_or(|used| used + NOTED <= now)
    }

    /// Notes that a call is made with it.
    pub async fn note_use(&self, records: &dyn Records, now: u64) {
        let put = Put::Value(now.to_string().into(), lasts(self.until, now));
        // A lost note makes the list of agents less exact, and the site is asked once more.
        let _ = records.commit(&[Change { key: self.id.noted(), expect: Expect::Anything, put }]).await;
    }

    /// Whom calls are counted and recorded as: the person together with the agent, so that a new link of the same two is
    /// the same caller.
    pub fn subject(&self) -> Subject {
        Subject::named(&[b"link", self.issuer.as_bytes(), self.person.as_bytes(), self.client.as_bytes()])
    }

    /// Stores the cookies that the site has renewed. `false`: the link has ended meanwhile.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn renew(&self, records: &dyn Records, cookies: &[u8]) -> Result<bool, NotKept> {
        let place = self.id.place();
        for _ in 0..TRIES {
            let Some(found) = records.get(&place).await? else { return Ok(false) };
            let Some(mut record) = LinkRecord::read(&found.value) else { return Ok(false) };
            let (person, known_as) = (self.person.to_string(), self.known_as.to_string());
            let sealed = Sealed { person, known_as, cookies: cookies.to_vec() };
            record.seal(self.id, &self.key, &sealed)?;
            let put = Put::Value(record.written(), lasts(record.until, records.now()));
            let change = Change { key: place.clone(), expect: Expect::Version(found.version), put };
            if let Committed::Done(_) = records.commit(&[change]).await? {
                return Ok(true);
            }
        }
        Err(NotKept::Away)
    }

    /// Whether it has other cookies now than it was opened with.
    pub async fn is_renewed(&self, records: &dyn Records) -> bool {
        let Ok(Some(found)) = records.get(&self.id.place()).await else { return false };
        let now = LinkRecord::read(&found.value).and_then(|record| record.open(self.id, self.key.clone()));
        now.is_some_and(|now| now.cookies != self.cookies)
    }

    /// Ends it: none of its tokens is valid any more.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn end(&self, records: &dyn Records) -> Result<(), NotKept> {
        end(records, self.id).await
    }
}

/// A link as it was found.
pub struct Found {
    pub record: LinkRecord,
    /// The version of its record.
    pub version: u64,
    used: Option<u64>,
}

/// Finds a link. `None`: there is none, or the operator has ended all of its agent.
///
/// # Errors
///
/// The store is unavailable.
pub async fn find(records: &dyn Records, id: LinkId) -> Result<Option<Found>, NotKept> {
    let (place, noted) = (id.place(), id.noted());
    let found = records.get_all(&[&place, &noted, EndedClients::PLACE]).await?;
    let [Some(stored), used, ended] = &found[..] else { return Ok(None) };
    let Some(record) = LinkRecord::read(&stored.value) else { return Ok(None) };
    if EndedClients::of(ended.as_ref()).have(&record.client, record.created) {
        // If the store does not take this, the next request finds it again.
        let _ = end(records, id).await;
        return Ok(None);
    }
    let used = used.as_ref().and_then(|used| std::str::from_utf8(&used.value).ok()?.parse().ok());
    Ok(Some(Found { record, version: stored.version, used }))
}

/// Ends a link.
///
/// # Errors
///
/// The store is unavailable.
pub async fn end(records: &dyn Records, id: LinkId) -> Result<(), NotKept> {
    let gone = |key| Change { key, expect: Expect::Anything, put: Put::Nothing };
    records.commit_safely(&[gone(id.place()), gone(id.noted())]).await.map(drop)
}

/// How long a record is kept that ends at a moment in seconds since 1970.
pub fn lasts(until: u64, now: u64) -> Duration {
    Duration::from_secs(until.saturating_sub(now).max(1))
}
