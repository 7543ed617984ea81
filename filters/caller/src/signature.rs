//! Signed agents: Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol) over HTTP Message Signatures (RFC 9421).
//!
//! A signature identifies the agent that sends a request; it grants nothing. Only the agents that the operator listed
//! are known, each by the thumbprint of an Ed25519 key. No key is fetched while a request waits.
//!
//! A request may carry several signatures. Those with another `tag` are ignored. Of ours, each one by a known key must
//! be valid: one bad signature refuses the request, so that no one can add a signature and have half of the request
//! believed. Signatures by unknown keys or algorithms prove nothing, and are skipped as long as another one is valid
//! (the agent may be rotating its key). The agent is that of the first valid signature, in the order received.
//!
//! No comparison here involves a secret. Keys and thumbprints are public, and an unknown one is reported as unknown,
//! so constant time is not needed.

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

/// The `tag` of Web Bot Auth signatures.
const TAG: &str = "web-bot-auth";
/// Seconds by which an agent's clock may be ahead.
const SKEW_SECONDS: u64 = 30;
/// Maximum seconds from `created` to `expires`. Anyone who sees a request can replay it that long.
const MAX_LIFETIME_SECONDS: u64 = 24 * 60 * 60;

/// The value of `Accept-Signature` (RFC 9421 §5.1) that asks for such a signature, sent with a 401.
pub const CHALLENGE: &str = r#"sig1=("@authority");created;expires;alg="ed25519";tag="web-bot-auth""#;

/// A request's head as received, before any header is added or removed.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// As sent.
    pub method: &'a Method,
    /// The requested authority (`:authority`, else `Host`), in any case, with or without the default port. The caller
    /// must check that the site answers to it: a signature for another name verifies here too if the request arrives
    /// under that name.
    pub authority: &'a str,
    /// `https` or `http`, as the client sees it.
    pub scheme: &'a str,
    /// The path as sent, not decoded.
    pub path: &'a str,
    /// The query as sent, without the question mark.
    pub query: Option<&'a str>,
    /// All header fields.
    pub headers: &'a HeaderMap,
}

/// A valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The agent's name in the settings.
    pub agent: Arc<str>,
    /// The nonces of all valid signatures, each once and at most [`TOGETHER`]. All of them have to be consumed: if one
    /// is left out, the request can be replayed. Their reuse is not checked here.
    pub nonces: Vec<Nonce>,
}

/// The nonce of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce {
    /// The SHA-256 thumbprint of the signer's key (RFC 7638), which is its `keyid`.
    pub thumbprint: String,
    /// At most 256 characters.
    pub text: String,
    /// `expires` in Unix seconds; the nonce must be remembered until then, clock skew included.
    pub expires: u64,
}

/// The known signing agents.
#[derive(Debug, Clone, Default)]
pub struct SignedAgents {
    /// By thumbprint.
    known: HashMap<String, Known>,
    configured: bool,
    /// The keys of a configured agent are not fetched yet.
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
    /// Builds the set from `[[auth.signed_agents.keys]]` and the fetched directories, by URL. Unusable keys are left
    /// out and returned as problems for the operator.
    ///
    /// No key stands for two agents. Keys in the settings take precedence over those in directories, so that no
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
            // A directory that is not fetched yet is no configuration error.
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

    /// Whether no agent is configured, so that signatures are ignored.
    pub fn is_empty(&self) -> bool {
        !self.configured
    }

    /// Verifies a request's signatures at a time in Unix seconds; `None` where it has none with our tag.
    ///
    /// # Errors
    ///
    /// The first invalid signature, in the order received; or no signature is by a known key.
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
    /// Checks one signature: its times, its covered components, then the signature itself.
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

/// When a key in a directory becomes valid or expires, in Unix seconds. Some directories write milliseconds, which as
/// seconds would lie thousands of years ahead.
fn date(jwk: &Value, member: &str) -> Result<Option<u64>, String> {
    /// The year 5138 in seconds, 1973 in milliseconds.
    const MILLISECONDS_FROM: u64 = 100_000_000_000;
    let Some(value) = jwk.get(member) else { return Ok(None) };
    let date = value.as_u64().ok_or_else(|| format!("has an {member} that is no time"))?;
    Ok(Some(if date >= MILLISECONDS_FROM { date / 1000 } else { date }))
}
