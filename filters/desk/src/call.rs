//! How the site is called for a capability: its input in the places that were declared, and nothing of the agent's own.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value};
use url::Url;

use super::{
    composition::way,
    schema::Violation,
    target::{Target, escaped, pairs, write_pairs},
};
use frontdesk_caller::{
    Caller,
    forwarded::{self, Meaning},
};
use frontdesk_config::{Capability, ResponseKind, Settings};

/// One request to the site.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// Another service, where it is not the site.
    pub elsewhere: Option<&'a Url>,
    pub method: &'a Method,
    /// A path and a query.
    pub target: String,
    /// Besides those that every request of a client's gets.
    pub headers: &'a [(HeaderName, HeaderValue)],
    pub body: Bytes,
    /// For all of it.
    pub limit: Duration,
    /// After this moment, by [`Holders::clock`](super::Holders::clock), no byte of it may leave: others may believe that
    /// whoever carries it is gone.
    pub send_by: Option<Duration>,
    /// Bytes of an answer.
    pub most: usize,
    /// Who asks, whatever proved it; `None`: the answer is told to others too, and the site hears nothing of who asked.
    pub caller: Option<&'a Caller>,
    /// The site is told who.
    pub named: bool,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    /// Those of [`READ`] at least.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The headers that an answer to a call is read by.
pub const READ: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CACHE_CONTROL,
    header::AGE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
];

/// Why nothing whole came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// No connection: nothing was sent.
    NotSent,
    /// The site has as many requests as it is given at a time: nothing was sent.
    Busy,
    /// The client's address has its share of them: nothing was sent.
    ClientShare,
    /// No answer in time. It may have been carried out.
    TimedOut,
    /// The connection broke, or what came is no HTTP. It may have been carried out.
    Broken,
    /// It answered with this status, and more bytes than are taken.
    TooLong(StatusCode),
}

/// Who carries requests to the site.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Sends one request and waits for the whole answer. Nothing is sent twice.
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed>;
}

/// A call prepared at load.
#[derive(Debug)]
pub(super) struct CallPlan {
    elsewhere: Option<Url>,
    method: Method,
    target: Target,
    /// Input must not lead to what is hidden.
    hides: bool,
    /// Ours, and the site's name for it.
    renamed: HashMap<String, String>,
    /// The site's names that only a renamed input may have, or none: the operator gave them a value.
    taken: HashSet<String>,
    leftover: Leftover,
    headers: Vec<(HeaderName, HeaderValue)>,
    limit: Duration,
    most: usize,
    pub(super) idempotent: bool,
    pub(super) response: ResponseKind,
    /// Ours, and the way to the site's.
    pub(super) output: Vec<(String, Vec<String>)>,
    pub(super) errors: HashMap<u16, Arc<str>>,
}

/// Where inputs go that have no place in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftover {
    Query,
    Json,
    Form,
}

impl CallPlan {
    /// Whether the request is one that changes something at the site, by its method.
    pub(super) fn acts(&self) -> bool {
        !self.method.is_safe()
    }

    /// `None` where the capability has no address on the site.
    pub(super) fn new(capability: &Capability, settings: &Settings) -> Option<Self> {
        let own = frontdesk_config::Call::default();
        let call = capability.upstream.as_ref().unwrap_or(&own);
        let method = call.method.as_deref().unwrap_or(capability.method());
        let method: Method = method.parse().ok()?;
        let address = call.url.as_ref().or(call.path.as_ref()).or(capability.endpoint.as_ref())?;
        let (elsewhere, target) = match &call.url {
            Some(url) => {
                let parsed = Url::parse(&url.replace(['{', '}'], "_")).ok()?;
                let after_host = url.split_once("://")?.1;
                let path = after_host.find(['/', '?']).map_or("/", |at| &after_host[at..]);
                (Some(parsed), if path.starts_with('?') { format!("/{path}") } else { path.to_owned() })
            }
            None => (None, address.clone()),
        };
        let leftover = match method {
            Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS => Leftover::Query,
            _ if call.form => Leftover::Form,
            _ => Leftover::Json,
        };
        let mut headers = vec![(header::USER_AGENT, HeaderValue::from_static("frontdesk"))];
        let accept = if call.response == ResponseKind::Json { "application/json, */*;q=0.1" } else { "*/*" };
        headers.push((header::ACCEPT, HeaderValue::from_static(accept)));
        for (name, value) in &call.headers {
            let (name, value) = static_header(name, value).ok()?;
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value));
        }
        match leftover {
            Leftover::Query => {}
            Leftover::Json => headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json"))),
            Leftover::Form => {
                let form = HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.push((header::CONTENT_TYPE, form));
            }
        }
        let renamed: HashMap<String, String> = call.rename_input.iter().cloned().collect();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let fixed = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned());
        // What some frameworks take for the method, wherever it stands (Rack, Symfony, Express).
        let known = |name: &str| capability.input_schema.as_ref().is_some_and(|s| s["properties"].get(name).is_some());
        let method_override = (!known("_method")).then(|| "_method".to_owned());
        let taken = renamed
            .values()
            .cloned()
            .chain(fixed)
            .chain(method_override)
            .map(|name| folded(&name).into_owned())
            .collect();
        let target = Target::parse(&target).ok()?;
        Some(Self {
            elsewhere,
            method,
            // What the operator wrote out is meant.
            hides: settings.firewall.hide && call.url.is_none() && target.names().next().is_some(),
            target,
            renamed,
            taken,
            leftover,
            headers,
            limit: call.timeout.unwrap_or(settings.upstream.read_timeout),
            most: settings.protection.max_answer,
            idempotent: call.idempotent,
            response: call.response,
            output: call.rename_output.iter().map(|(ours, theirs)| (ours.clone(), way(theirs))).collect(),
            errors: call.errors.iter().map(|(status, name)| (*status, name.as_str().into())).collect(),
        })
    }

    /// How long the site may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// The request for one input, which is an object.
    pub(super) fn call(&self, input: &Value) -> Result<Call<'_>, Violation> {
        let nothing = Map::new();
        let input = input.as_object().unwrap_or(&nothing);
        let mut placed: Vec<&str> = Vec::new();
        for name in self.target.names() {
            placed.push(self.ours(input, name));
        }
        let mut target = self.target.fill(|name| input.get(self.ours(input, name)))?;
        if self.hides && frontdesk_firewall::is_hidden(&target) {
            return Err(Violation::new("", "This leads to something that is not to be had here."));
        }
        let mut left = BTreeMap::new();
        for (name, value) in input.iter().filter(|(name, _)| !placed.contains(&name.as_str())) {
            let theirs = match self.renamed.get(name) {
                Some(theirs) => theirs,
                // It would stand beside a value that was checked under another name, or that the operator gave.
                None if self.taken.contains(&*folded(name)) => {
                    let message = "There is no such input; the site uses this name for something else.".to_owned();
                    return Err(Violation::new(&format!("/{}", escaped(name)), &message));
                }
                None => name,
            };
            left.insert(theirs.as_str(), value);
        }
        let body = match self.leftover {
            Leftover::Query => {
                let path = target.len();
                target.push(if target.contains('?') { '&' } else { '?' });
                write_pairs(&mut target, left);
                if target.len() == path + 1 {
                    target.truncate(path);
                }
                Bytes::new()
            }
            Leftover::Json => Bytes::from(serde_json::to_vec(&left).unwrap_or_default()),
            Leftover::Form => Bytes::from(pairs(left)),
        };
        Ok(Call {
            elsewhere: self.elsewhere.as_ref(),
            method: &self.method,
            target,
            headers: &self.headers,
            body,
            limit: self.limit,
            send_by: None,
            most: self.most,
            caller: None,
            named: true,
        })
    }

    /// The input behind a place: by its own name, or by what the site calls it.
    fn ours<'n>(&'n self, input: &Map<String, Value>, name: &'n str) -> &'n str {
        if input.contains_key(name) && !self.taken.contains(&*folded(name)) {
            return name;
        }
        self.renamed.iter().find(|(_, theirs)| *theirs == name).map_or(name, |(ours, _)| ours)
    }
}

/// A name as those sites read it that fold most: case, blanks and dots, `a[]` for `a`, and nothing after a NUL.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')) {
        return name.into();
    }
    let name = name.split(['[', '\0']).next().unwrap_or_default().trim();
    name.to_lowercase().replace(['.', ' '], "_").into()
}

/// A header that the operator adds to every call.
///
/// # Errors
///
/// Why it cannot be one: those that say where a request goes or how long it is are not the operator's to choose.
pub fn static_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    const OURS: [HeaderName; 13] = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::CONTENT_TYPE,
        header::UPGRADE,
        header::TE,
        header::TRAILER,
        header::EXPECT,
        header::VIA,
        header::ACCEPT_ENCODING,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ];
    let name: HeaderName = name.parse().map_err(|_| "is not the name of a header".to_owned())?;
    if OURS.contains(&name) || !matches!(forwarded::meaning(name.as_str().as_bytes()), Meaning::Plain) {
        return Err("is set by Frontdesk itself".into());
    }
    let value = HeaderValue::from_str(value).map_err(|_| "is not the value of a header".to_owned())?;
    Ok((name, value))
}
