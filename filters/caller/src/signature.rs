//! Signed agents: Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol) over HTTP Message Signatures (RFC 9421).
//!
//! A signature says which agent sends a request; it grants nothing. Only agents the operator has listed are known,
//! each by the thumbprint of an Ed25519 key; nothing is fetched while a request waits.
//!
//! A request may carry several signatures. Those with another `tag` are not ours. Of ours, each by a key we know must
//! hold, and a single bad one refuses the request: whoever adds to a signed request cannot have it half believed.
//! Those by keys or algorithms we do not know prove nothing and are passed over, as long as one of the others holds
//! (an agent may be changing its key). The agent is the one of the first that holds, in the order they came in.
//!
//! No secret is compared here: keys are public, their thumbprints too, and that one is unknown is said openly. So
//! times need not be made equal.

mod base;
mod component;
mod input;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use self::{
    base::base,
    component::{Components, name},
    input::Input,
};
use super::{
    jwk::{PublicKey, thumbprint},
    key_set,
    rejected::Rejected,
};
use frontdesk_config::AgentKey;
use frontdesk_state::TOGETHER;

/// `tag` of the signatures that are ours (Web Bot Auth).
const TAG: &str = "web-bot-auth";
/// Seconds by which an agent's clock may be ahead of ours.
const SKEW_SECONDS: u64 = 30;
/// Seconds from `created` to `expires` at most. Whoever sees a request can repeat it for that long.
const MAX_LIFETIME_SECONDS: u64 = 24 * 60 * 60;

/// The value of `Accept-Signature` (RFC 9421 §5.1) that asks for such a signature, beside a 401.
pub const CHALLENGE: &str = r#"sig1=("@authority");created;expires;alg="ed25519";tag="web-bot-auth""#;

/// A request's head as it was received, before anything is added or taken away.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// As sent.
    pub method: &'a Method,
    /// The authority that was asked for (`:authority`, else `Host`), in any case, with or without the default port.
    /// It must be one that this site answers to: a signature made for somebody else's name verifies here too, if it
    /// arrives under that name.
    pub authority: &'a str,
    /// `https` or `http`, as the client sees it.
    pub scheme: &'a str,
    /// The path as sent, not decoded.
    pub path: &'a str,
    /// What follows the question mark, as sent.
    pub query: Option<&'a str>,
    /// All header fields.
    pub headers: &'a HeaderMap,
}

/// A signature that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The agent, as the settings name it.
    pub agent: Arc<str>,
    /// Of every signature that holds, each once and at most [`TOGETHER`]: with any of them left out the request could be
    /// sent again. It is not checked here whether they were used before.
    pub nonces: Vec<Nonce>,
}

/// What a signature may be used once by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce {
    /// The SHA-256 thumbprint of the signer's key (RFC 7638), which is its `keyid`.
    pub thumbprint: String,
    /// At most 256 characters.
    pub text: String,
    /// `expires` in Unix seconds; it must be remembered until then on every clock.
    pub expires: u64,
}

/// The agents whose signatures are known.
#[derive(Debug, Clone, Default)]
pub struct SignedAgents {
    /// By thumbprint.
    known: HashMap<String, Known>,
    configured: bool,
    /// Whether the keys of somebody who is configured are not here.
    away: bool,
}

#[derive(Debug, Clone)]
struct Known {
    agent: Arc<str>,
    key: PublicKey,
    /// Unix seconds.
    valid: Range<u64>,
}

impl SignedAgents {
    /// The keys of `[[auth.signed_agents.keys]]`, with what was fetched from their directories, by URL. What is of no
    /// use is left out and comes back as a list of problems for the operator.
    ///
    /// No key stands for two agents. Those written in the settings go before those of directories, so that nobody's
    /// directory can claim them.
    pub fn new(keys: &[AgentKey], fetched: &HashMap<String, Bytes>) -> (Self, Vec<String>) {
        let mut agents = Self { configured: !keys.is_empty(), ..Self::default() };
        let mut problems = Vec::new();
        for key in keys {
            if let Some(jwk) = &key.jwk
                && let Err(why) = agents.add(&key.agent, jwk)
            {
                problems.push(format!("{}: jwk {why}", key.agent));
            }
        }
        for (key, directory) in keys.iter().filter_map(|key| Some((key, key.directory.as_ref()?))) {
            // One that is not fetched yet is no problem of the configuration's.
            match fetched.get(directory).map(|json| key_set::entries(json)) {
                None => agents.away = true,
                Some(Err(why)) => {
                    agents.away = true;
                    problems.push(format!("{directory} {why}"));
                }
                Some(Ok(jwks)) => {
                    for (index, jwk) in jwks.iter().enumerate() {
                        if let Err(why) = agents.add(&key.agent, jwk) {
                            problems.push(format!("{directory}: keys[{index}] {why}"));
                        }
                    }
                }
            }
        }
        (agents, problems)
    }

    /// Whether nobody is configured: signatures are not looked at.
    pub fn is_empty(&self) -> bool {
        !self.configured
    }

    /// Verifies the signatures of a request at a time in Unix seconds; `None` where it has none of ours.
    ///
    /// # Errors
    ///
    /// The first of our signatures, in the order they came in, that does not hold; or that none is by a key we know.
    pub fn verify(&self, request: &Signed<'_>, now: u64) -> Result<Option<Verified>, Rejected> {
        if self.is_empty() {
            return Ok(None);
        }
        let inputs = input::read(request.headers)?;
        if inputs.is_empty() {
            return Ok(None);
        }
        let mut components = Components::new(request);
        let mut first: Option<Verified> = None;
        let mut passed_over = if self.away { Rejected::KeysAway } else { Rejected::SignatureUnknownKey };
        for input in inputs {
            if input.alg.as_ref().is_some_and(|alg| alg != "ed25519") {
                passed_over = Rejected::SignatureAlgorithm;
                continue;
            }
            let Some(known) = self.known.get(&input.keyid).filter(|known| known.valid.contains(&now)) else { continue };
            let nonce = known.verify(input, &mut components, request, now)?;
            let verified = first.get_or_insert_with(|| Verified { agent: known.agent.clone(), nonces: Vec::new() });
            verified.nonces.extend(nonce.filter(|nonce| !verified.nonces.contains(nonce)));
            if verified.nonces.len() > TOGETHER {
                return Err(Rejected::SignatureMalformed);
            }
        }
        first.map(Some).ok_or(passed_over)
    }

    fn add(&mut self, agent: &str, jwk: &Value) -> Result<(), String> {
        let key = PublicKey::from_jwk(jwk)?;
        let PublicKey::Ed25519(point) = &key else { return Err("is not an Ed25519 key".into()) };
        let valid = date(jwk, "nbf")?.unwrap_or(0)..date(jwk, "exp")?.unwrap_or(u64::MAX);
        match self.known.entry(thumbprint(point)) {
            Entry::Vacant(entry) => drop(entry.insert(Known { agent: agent.into(), key, valid })),
            Entry::Occupied(entry) if *entry.get().agent == *agent => {}
            Entry::Occupied(entry) => return Err(format!("is already a key of {}", entry.get().agent)),
        }
        Ok(())
    }
}

impl Known {
    /// Whether a signature by this key holds: its times, what it covers, and then the signature itself.
    fn verify(
        &self,
        input: Input,
        components: &mut Components,
        request: &Signed,
        now: u64,
    ) -> Result<Option<Nonce>, Rejected> {
        let Input { list, keyid, nonce, created, expires, signature, .. } = input;
        if created > now.saturating_add(SKEW_SECONDS) {
            return Err(Rejected::SignatureNotYetValid);
        }
        if expires <= now {
            return Err(Rejected::SignatureExpired);
        }
        if expires <= created || expires - created > MAX_LIFETIME_SECONDS {
            return Err(Rejected::SignatureLifetime);
        }
        let covers = |wanted: &str| list.items.iter().any(|item| name(item) == Some(wanted));
        // The target URI begins with the authority.
        let addressed = covers("@authority") || covers("@target-uri");
        if !addressed || (request.headers.contains_key("signature-agent") && !covers("signature-agent")) {
            return Err(Rejected::SignatureUncovered);
        }
        if !self.key.verify(base(&list, components)?.as_bytes(), &signature) {
            return Err(Rejected::SignatureNotValid);
        }
        Ok(nonce.map(|text| Nonce { thumbprint: keyid, text, expires }))
    }
}

/// When a key in a directory begins or ceases to be valid, in Unix seconds. Directories are written with milliseconds
/// as well; as seconds those would be thousands of years away.
fn date(jwk: &Value, member: &str) -> Result<Option<u64>, String> {
    /// The year 5138 in seconds, 1973 in milliseconds.
    const MILLISECONDS_FROM: u64 = 100_000_000_000;
    let Some(value) = jwk.get(member) else { return Ok(None) };
    let date = value.as_u64().ok_or_else(|| format!("has an {member} that is no time"))?;
    Ok(Some(if date >= MILLISECONDS_FROM { date / 1000 } else { date }))
}
