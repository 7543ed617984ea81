//! The operator's authorization server: what an opaque token means (RFC 7662), and which token the site takes for a
//! caller's (RFC 8693).
//!
//! Answers are cached by the token's hash: what a token means for a minute at most, a token that is not active for ten
//! seconds, an exchanged token until shortly before it expires. Concurrent requests with one token ask once. A server
//! that cannot be reached, or answers with something else, proves nothing: the call is 503, and nothing is cached.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use frontdesk_base::fault::{CHALLENGE, Fault, Refusal};
use frontdesk_config::{Settings, TokenEndpoint};
use http::{HeaderValue, StatusCode};
use quick_cache::sync::Cache;
use ring::digest;
use serde_json::Value;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::{Rejected, token::Token, token::claims_of_introspection};

/// Seconds for which the meaning of a token is cached.
const ACTIVE_SECONDS: u64 = 60;
/// Seconds for which it is cached that a token is not active.
const INACTIVE_SECONDS: u64 = 10;
/// Seconds before its end at which an exchanged token is no longer used.
const BEFORE_THE_END: u64 = 10;
/// Seconds for which an exchanged token is used that does not say when it expires.
const UNSAID_SECONDS: u64 = 60;
/// Tokens in each cache.
const CACHED: usize = 4096;
/// Maximum bytes of a token.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Requests to the server at once.
const AT_ONCE: usize = 64;

/// Sends a form to the authorization server.
#[async_trait]
pub trait TokenServer: Send + Sync + fmt::Debug {
    /// POSTs a form with these credentials and gives status and body of the answer.
    ///
    /// # Errors
    ///
    /// Why there is no answer, for the log.
    async fn post_form(
        &self,
        url: &str,
        authorization: HeaderValue,
        form: String,
    ) -> Result<(StatusCode, Bytes), String>;
}

/// A server that never answers, for tests.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug)]
pub struct NoTokenServer;

#[cfg(any(test, feature = "testing"))]
#[async_trait]
impl TokenServer for NoTokenServer {
    async fn post_form(&self, _: &str, _: HeaderValue, _: String) -> Result<(StatusCode, Bytes), String> {
        Err("there is none".into())
    }
}

/// One endpoint of the server, and how we authenticate there (RFC 6749 §2.3.1).
struct Endpoint {
    url: String,
    authorization: HeaderValue,
    /// Requests that wait for an answer.
    waiting: AtomicUsize,
}

impl Endpoint {
    fn new(settings: &TokenEndpoint) -> Option<Self> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(&settings.client_id), encoded(&settings.client_secret));
        let mut authorization = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
        authorization.set_sensitive(true);
        Some(Self { url: settings.url.clone(), authorization, waiting: AtomicUsize::new(0) })
    }

    /// The status and the JSON of the answer; `None`: there is none that can be used.
    async fn ask(&self, server: &dyn TokenServer, form: String) -> Option<(StatusCode, Value)> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= AT_ONCE {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let waiting = Waiting(&self.waiting);
        let answer = server.post_form(&self.url, self.authorization.clone(), form).await;
        drop(waiting);
        let (status, body) = answer.ok()?;
        Some((status, serde_json::from_slice(&body).ok()?))
    }
}

/// Gives its place back also where the client hangs up meanwhile.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

type Hash = [u8; 32];

fn hash(token: &str) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    hash
}

/// What a token means, and until when that is cached, in seconds since 1970.
#[derive(Clone)]
struct Meaning {
    token: Option<Arc<Token>>,
    until: u64,
}

/// `[auth.introspection]`.
pub(crate) struct Introspection {
    endpoint: Endpoint,
    issuer: Option<String>,
    audience: Option<String>,
    known: Cache<Hash, Meaning>,
}

impl Introspection {
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let auth = &settings.auth;
        let endpoint = Endpoint::new(auth.introspection.as_ref()?)?;
        let (issuer, audience) = (auth.issuer.clone(), auth.audience.clone());
        Some(Self { endpoint, issuer, audience, known: Cache::new(CACHED) })
    }

    /// Asks what a token means, at a time in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The token is not active or not for this site, or nobody can say at the moment ([`Rejected::KeysAway`]).
    pub(crate) async fn look(&self, server: &dyn TokenServer, token: &str, now: u64) -> Result<Arc<Token>, Rejected> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Rejected::TokenMalformed);
        }
        let key = hash(token);
        if self.known.get(&key).is_some_and(|meaning| meaning.until <= now) {
            self.known.remove(&key);
        }
        let meaning = self.known.get_or_insert_async(&key, self.ask(server, token, now)).await?;
        meaning.token.ok_or(Rejected::TokenNotValid)
    }

    async fn ask(&self, server: &dyn TokenServer, token: &str, now: u64) -> Result<Meaning, Rejected> {
        let form = Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("token_type_hint", "access_token")
            .finish();
        let (status, said) = self.endpoint.ask(server, form).await.ok_or(Rejected::KeysAway)?;
        let active = said["active"].as_bool().filter(|_| status.is_success()).ok_or(Rejected::KeysAway)?;
        if !active {
            return Ok(Meaning { token: None, until: now + INACTIVE_SECONDS });
        }
        let issuer = self.issuer.as_deref();
        let token = claims_of_introspection(said, issuer, self.audience.as_deref(), now, now + ACTIVE_SECONDS)?;
        let until = token.expires.min(now + ACTIVE_SECONDS);
        Ok(Meaning { token: Some(Arc::new(token)), until })
    }
}

/// A token that the site takes, and until when.
#[derive(Clone)]
struct Exchanged {
    authorization: HeaderValue,
    until: u64,
}

/// `[auth.exchange]`.
pub struct Exchange {
    endpoint: Endpoint,
    audience: String,
    known: Cache<Hash, Exchanged>,
}

impl Exchange {
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let exchange = settings.auth.exchange.as_ref()?;
        let endpoint = Endpoint::new(&exchange.endpoint)?;
        Some(Self { endpoint, audience: exchange.audience.clone(), known: Cache::new(CACHED) })
    }

    /// `Authorization` for the site in exchange for the caller's, at a time in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The server does not exchange this credential, or cannot be asked.
    pub async fn authorization(
        &self,
        server: &dyn TokenServer,
        presented: &HeaderValue,
        now: u64,
    ) -> Result<HeaderValue, Refusal> {
        let token = presented.to_str().ok().and_then(bearer).ok_or_else(not_exchanged)?;
        let key = hash(token);
        if self.known.get(&key).is_some_and(|exchanged| exchanged.until <= now) {
            self.known.remove(&key);
        }
        let exchanged = self.known.get_or_insert_async(&key, self.ask(server, token, now)).await?;
        Ok(exchanged.authorization)
    }

    async fn ask(&self, server: &dyn TokenServer, token: &str, now: u64) -> Result<Exchanged, Refusal> {
        const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            .append_pair("subject_token", token)
            .append_pair("subject_token_type", ACCESS_TOKEN)
            .append_pair("requested_token_type", ACCESS_TOKEN)
            .append_pair("audience", &self.audience)
            .finish();
        let (status, said) = self.endpoint.ask(server, form).await.ok_or_else(away)?;
        // The client's own failure (RFC 6749 §5.2), unless it is ours: then the operator has to look.
        if status == StatusCode::BAD_REQUEST && said["error"] != "invalid_client" {
            return Err(not_exchanged());
        }
        let is_bearer = said["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
        let token = said["access_token"].as_str().filter(|_| status.is_success() && is_bearer).ok_or_else(away)?;
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| away())?;
        authorization.set_sensitive(true);
        let lasts = said["expires_in"].as_u64().unwrap_or(UNSAID_SECONDS + BEFORE_THE_END);
        Ok(Exchanged { authorization, until: now + lasts.saturating_sub(BEFORE_THE_END) })
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Introspection({} cached)", self.known.len())
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Exchange({} cached)", self.known.len())
    }
}

/// The token in an `Authorization` value.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| token.len() <= MAX_TOKEN_BYTES)
}

fn not_exchanged() -> Refusal {
    let said = "The authorization server does not exchange this credential for one that the site takes. Get a new one.";
    let refusal = Refusal { challenge: Some(CHALLENGE), ..Fault::Unauthenticated.into() };
    Refusal { reason: "token_not_exchanged", ..refusal.saying(said) }
}

fn away() -> Refusal {
    let said = "The authorization server cannot be reached at the moment. Nothing was done; try again in ten seconds.";
    Refusal { reason: "exchange_away", retry_after: Some(10), ..Refusal::from(Fault::Unavailable).saying(said) }
}
