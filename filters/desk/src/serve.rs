//! The interface of dialects: handlers that answer a request to an agent endpoint, once its caller is known and within
//! limits.

use std::{borrow::Cow, fmt::Debug, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::{Account, Compiled, Desk, Events, explain::Explain, message::count_unread};
use frontdesk_base::{
    accept,
    fault::{Fault, Refusal},
    media::{self, Unfit},
    reply::Reply,
    text,
};
use frontdesk_caller::{Caller, limits::Near};
use frontdesk_config::Settings;
use frontdesk_firewall::Flags;
use frontdesk_state::Counters;

/// The header in which an agent sends a confirmation token back (design, decision 10), and its name as clients read it.
pub const CONFIRMATION: HeaderName = HeaderName::from_static("aicp-confirmation");
pub const CONFIRMATION_TOLD: &str = "AICP-Confirmation";
/// The header that marks a reply to an idempotency key as a repetition of the first reply.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Says from which site a browser's request comes (W3C Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request with its body.
pub struct Incoming<'a> {
    pub method: &'a Method,
    /// The path and query as sent.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    pub body: Bytes,
    pub caller: &'a Caller,
    /// The requested authority.
    pub authority: &'a str,
    pub request_id: &'a str,
    /// Set for a request over a socket of its own protocol.
    pub framed: Option<Framed<'a>>,
    /// Where the reply can leave in parts; `None`: it leaves as a whole.
    pub events: Option<&'a dyn Events>,
}

/// A request in another protocol than HTTP.
#[derive(Debug, Clone, Copy)]
pub struct Framed<'a> {
    /// SHA-256 of its bytes, from the request line to the end of the body.
    pub digest: [u8; 32],
    /// A unique id of its connection.
    pub connection: &'a str,
}

impl Incoming<'_> {
    /// What was asked for, query included.
    pub fn address(&self) -> &str {
        &self.target[..memchr::memchr(b'#', self.target.as_bytes()).unwrap_or(self.target.len())]
    }

    /// The path as it was sent.
    pub fn path(&self) -> &str {
        &self.target[..memchr::memchr2(b'?', b'#', self.target.as_bytes()).unwrap_or(self.target.len())]
    }

    /// The query, without its question mark.
    pub fn query(&self) -> &str {
        self.address()[self.path().len()..].strip_prefix('?').unwrap_or_default()
    }

    /// `Idempotency-Key`, if present: once, as text, of valid length (draft-ietf-httpapi-idempotency-key-header puts
    /// it in quotes; most clients do not).
    ///
    /// # Errors
    ///
    /// The key is invalid. Ignoring it would make a retry a second call.
    pub fn idempotency_key(&self) -> Result<Option<&str>, Refusal> {
        let value = text::once(self.headers, &IDEMPOTENCY_KEY);
        let value = value.map_err(|_| Refusal::from(Fault::BadRequest).saying(NO_KEY))?;
        let Some(value) = value else { return Ok(None) };
        let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        checked_key(unquoted).map(Some)
    }

    /// Whether a page sent it, according to the browser. Cross-site requests without a preflight are restricted: a
    /// page cannot declare a type such as JSON, but can declare none or an unreadable one.
    pub(crate) fn is_from_a_page(&self) -> bool {
        let site = self.headers.get(SEC_FETCH_SITE);
        self.headers.contains_key(header::ORIGIN)
            || site.is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
    }

    /// Whether the body may be read as JSON: its type says so, or it has no type and did not come from a page. A
    /// cross-site request without a preflight never has the JSON type. An empty body is safe.
    ///
    /// # Errors
    ///
    /// Why it may not be read.
    pub fn takes_json(&self) -> Result<(), Unfit> {
        match media::said_json(self.headers) {
            Ok(true) => Ok(()),
            Ok(false) if self.framed.is_some() || !self.is_from_a_page() => Ok(()),
            Ok(false) | Err(Unfit::NotJson) if self.body.is_empty() => Ok(()),
            Ok(false) => Err(Unfit::NotJson),
            Err(unfit) => Err(unfit),
        }
    }

    /// The client's `Accept`.
    pub fn accept(&self) -> Option<Cow<'_, str>> {
        accept::of(self.headers)
    }
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const NO_KEY: &str = "Idempotency-Key has to be there once, as text of 1 to 255 bytes.";

/// Checks an idempotency key.
///
/// # Errors
///
/// It is empty, or longer than 255 bytes.
pub fn checked_key(key: &str) -> Result<&str, Refusal> {
    let fits = (1..=255).contains(&key.len());
    if fits { Ok(key) } else { Err(Refusal::from(Fault::BadRequest).saying(NO_KEY)) }
}

/// The handler of an endpoint, prepared by its dialect.
#[async_trait]
pub trait Serve: Send + Sync + Debug {
    /// Answers a request. `places` are the values of the path's placeholders.
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served;

    /// Maximum bytes of a body.
    fn most(&self, settings: &Settings) -> usize {
        settings.protection.max_input
    }

    /// Words a refusal that came before the handler, where the handler knows more; `None`: it does not.
    fn refused(&self, compiled: &Compiled, refusal: &Refusal, accept: Option<&str>) -> Option<Reply> {
        let _ = (compiled, refusal, accept);
        None
    }

    /// Completes the reply to a request that was refused before the handler.
    async fn finished(&self, desk: &Desk<'_>, request: &Incoming<'_>, reply: Reply) -> Reply {
        let _ = (desk, request);
        reply
    }

    /// Whether each message is counted by itself, once its body is read, and nothing before.
    fn counts_messages(&self) -> bool {
        false
    }

    /// Whether the reply to this request may leave in parts.
    fn streams(&self, headers: &HeaderMap) -> bool {
        let _ = headers;
        false
    }

    /// The capability that is called here, and in whose words; `None` where none is.
    fn about(&self) -> Option<About> {
        None
    }
}

/// The subject of a call, known before its body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The capability's index in the declaration.
    pub capability: usize,
    pub dialect: &'static str,
}

/// The handler's answer.
#[derive(Debug)]
pub struct Served {
    pub reply: Reply,
    /// Why it was refused, if it was.
    pub reason: Option<&'static str>,
    /// The account of the called capability, if any.
    pub account: Option<Box<Account>>,
    /// A key is unknown but may have been published since; the key sets are worth another fetch.
    pub wants_keys: bool,
    /// The firewall's findings, where no account has them.
    pub flags: Flags,
    /// A limit that is almost used up, where the handler counted it. For the operator's eyes.
    pub near: Option<Near>,
    /// What became of a link between a person and an agent, for the metrics.
    pub link_event: Option<&'static str>,
}

impl From<Reply> for Served {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            reason: None,
            account: None,
            wants_keys: false,
            flags: Flags::default(),
            near: None,
            link_event: None,
        }
    }
}

/// A call that waits for its body.
#[derive(Debug)]
pub struct Serving {
    pub serve: Arc<dyn Serve>,
    pub explain: Explain,
    pub places: Vec<(String, String)>,
    /// Where the limits stand.
    pub standing: Vec<(HeaderName, HeaderValue)>,
}

impl Serving {
    /// Answers the call.
    pub async fn serve(self, desk: &Desk<'_>, request: &Incoming<'_>) -> Served {
        let mut served = self.serve.serve(desk, request, &self.places).await;
        // A caller authenticated by the body has rate-limit headers of its own. They are set together, or none is.
        let own = self.standing.first().map(|(name, _)| name);
        if !served.reply.headers.iter().any(|(name, _)| Some(name) == own) {
            served.reply.headers.extend(self.standing);
        }
        if let Some(account) = &served.account {
            served.reply.headers.extend(frontdesk_firewall::header(&account.flagged));
        }
        served
    }

    /// Maximum bytes of a body.
    pub fn most(&self, settings: &Settings) -> usize {
        self.serve.most(settings)
    }

    /// The subject of the call.
    pub fn about(&self) -> Option<About> {
        self.serve.about()
    }

    /// Counts a request whose body could not be had, where nothing was counted before. Gives what it is refused with in place
    /// of that, if it is over a limit, and a limit that is almost used up.
    pub async fn count_unread(
        &mut self,
        compiled: &Compiled,
        counters: &dyn Counters,
        caller: &Caller,
    ) -> (Option<Refusal>, Option<Near>) {
        if !self.serve.counts_messages() {
            return (None, None);
        }
        let (over, standing) = match count_unread(compiled, counters, caller).await {
            Ok(standing) => (None, standing),
            Err((refusal, standing)) => (Some(*refusal), standing),
        };
        self.standing.extend(standing.fields);
        (over, standing.near)
    }

    /// The reply where its body could not be had.
    pub fn refused(&self, compiled: &Compiled, refusal: &Refusal, accept: Option<&str>) -> Reply {
        let insertion = compiled.insertion.as_ref().map(|(insertion, _)| insertion.as_ref());
        let mut reply = (self.explain)(refusal, accept, insertion);
        reply.headers.extend(self.standing.iter().cloned());
        reply
    }
}
