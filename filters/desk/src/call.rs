//! Builds the request to the site for a capability: the input in its declared places, and none of the agent's own
//! headers.

mod parts;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value};
use url::Url;

use self::parts::{Form, Parts};
use super::{composition::way, schema::Violation, target::Target};
use frontdesk_caller::{
    Caller,
    forwarded::{self, Meaning},
};
use frontdesk_config::{Capability, Parameter, ParameterPlace, ResponseKind, Settings};

/// One request to the site.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The URL of another service, where the capability does not call the site.
    pub elsewhere: Option<&'a Url>,
    pub method: &'a Method,
    /// A path and a query.
    pub target: String,
    /// Headers besides those that every request of a client gets.
    pub headers: Cow<'a, [(HeaderName, HeaderValue)]>,
    pub body: Bytes,
    /// The time limit for the whole exchange.
    pub limit: Duration,
    /// The deadline, by [`Holders::clock`](super::Holders::clock), after which no byte may be sent: other processes
    /// may by then take this one for dead.
    pub send_by: Option<Duration>,
    /// Maximum bytes of the answer.
    pub most: usize,
    /// The caller; `None` where the answer is shared with others, so the site must not learn who asked.
    pub caller: Option<&'a Caller>,
    /// Whether the site gets the identity headers of the caller.
    pub named: bool,
}

/// The site's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    /// At least those of [`READ`].
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The response headers that the desk reads.
pub const READ: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CACHE_CONTROL,
    header::AGE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
];

/// Why there is no complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// No connection: nothing was sent.
    NotSent,
    /// The limit of concurrent requests to the site is reached: nothing was sent.
    Busy,
    /// The client address has used its share of that limit: nothing was sent.
    ClientShare,
    /// No answer in time. The site may have carried it out.
    TimedOut,
    /// The connection broke, or the answer is not HTTP. The site may have carried it out.
    Broken,
    /// The site answered with this status and more bytes than allowed.
    TooLong(StatusCode),
}

/// Sends requests to the site.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Sends one request and waits for the whole answer. Never retries.
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed>;
}

/// The call of one capability, prepared when the configuration is loaded.
#[derive(Debug)]
pub(super) struct CallPlan {
    elsewhere: Option<Url>,
    method: Method,
    target: Target,
    /// Input must not lead to hidden paths.
    hides: bool,
    /// The declared input names, and the site's name for each.
    renamed: HashMap<String, String>,
    /// The site's names that only a renamed input may use, or that no input may use because the operator set the
    /// value.
    taken: HashSet<String>,
    /// The names in the query that the operator wrote out.
    fixed: HashSet<String>,
    /// Names that the input schema declares, so that no spelling of another name can be meant.
    declared: HashSet<String>,
    /// How single inputs are written, by their declared names.
    parameters: HashMap<String, Parameter>,
    body: Form,
    /// Without any input for it there is no body.
    body_optional: bool,
    /// The media type of the body. A multipart type lacks its boundary.
    content_type: Option<HeaderValue>,
    /// Every request has it, so it is among the headers.
    is_typed: bool,
    headers: Vec<(HeaderName, HeaderValue)>,
    limit: Duration,
    most: usize,
    pub(super) idempotent: bool,
    pub(super) response: ResponseKind,
    /// The declared output names, and the path to each in the site's answer.
    pub(super) output: Vec<(String, Vec<String>)>,
    pub(super) errors: HashMap<u16, Arc<str>>,
}

impl CallPlan {
    /// Whether the method of the request changes something at the site.
    pub(super) fn acts(&self) -> bool {
        !self.method.is_safe()
    }

    /// Prepares the call. `None` where the capability has no address on the site.
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
        let body = Form::of(&method, call.body);
        let usual = body.usual_type();
        let content_type = call.content_type.as_deref().filter(|_| usual.is_some()).or(usual);
        let mut headers = vec![(header::USER_AGENT, HeaderValue::from_static("frontdesk"))];
        let accept = if call.response == ResponseKind::Json { "application/json, */*;q=0.1" } else { "*/*" };
        headers.push((header::ACCEPT, HeaderValue::from_static(accept)));
        for (name, value) in &call.headers {
            let (name, value) = static_header(name, value).ok()?;
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value));
        }
        let content_type = content_type.map(HeaderValue::from_str).transpose().ok()?;
        let is_typed = !call.body_optional && body != Form::Multipart;
        headers.extend(content_type.iter().filter(|_| is_typed).map(|kind| (header::CONTENT_TYPE, kind.clone())));
        let renamed: HashMap<String, String> = call.rename_input.iter().cloned().collect();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let fixed: HashSet<String> =
            url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect();
        let declared = declared(capability);
        // Names that some frameworks (Rack, Symfony, Express) read as the method, wherever they stand.
        let method_override = (!declared.contains("_method")).then(|| "_method".to_owned());
        let taken = renamed
            .values()
            .cloned()
            .chain(fixed.iter().cloned())
            .chain(method_override)
            .map(|name| folded(&name).into_owned())
            .collect();
        let target = Target::parse(&target).ok()?;
        Some(Self {
            elsewhere,
            method,
            // A path that the operator wrote out is intended, hidden or not.
            hides: settings.firewall.hide && call.url.is_none() && target.names().next().is_some(),
            target,
            renamed,
            taken,
            fixed,
            declared,
            parameters: call.parameters.iter().cloned().collect(),
            body,
            body_optional: call.body_optional,
            content_type,
            is_typed,
            headers,
            limit: call.timeout.unwrap_or(settings.upstream.read_timeout),
            most: settings.protection.max_answer,
            idempotent: call.idempotent,
            response: call.response,
            output: call.rename_output.iter().map(|(ours, theirs)| (ours.clone(), way(theirs))).collect(),
            errors: call.errors.iter().map(|(status, name)| (*status, name.as_str().into())).collect(),
        })
    }

    /// How long the site may take to answer.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// The request for one input object.
    pub(super) fn call(&self, input: &Value) -> Result<Call<'_>, Violation> {
        let nothing = Map::new();
        let input = input.as_object().unwrap_or(&nothing);
        let mut placed: Vec<&str> = Vec::new();
        for name in self.target.names() {
            placed.push(self.ours(input, name));
        }
        let written = |name: &str| {
            let ours = self.ours(input, name);
            let parameter = self.parameters.get(ours)?;
            let theirs = parameter.name.as_deref().unwrap_or(name);
            Some(parameter.style?.in_path(theirs, input.get(ours).unwrap_or(&Value::Null)))
        };
        let mut target = self.target.fill_written(|name| input.get(self.ours(input, name)), written)?;
        if self.hides && frontdesk_firewall::is_hidden(&target) {
            return Err(Violation::new("", "This leads to something that is not to be had here."));
        }
        let (mut parts, usual) = (Parts::default(), Parameter::default());
        for (name, value) in input.iter().filter(|(name, _)| !placed.contains(&name.as_str())) {
            let theirs = match self.renamed.get(name) {
                Some(theirs) => theirs,
                // The name would duplicate a value that was checked under another name, or that the operator set.
                None if self.is_taken(name) => return Err(foreign(name)),
                None => name,
            };
            let parameter = self.parameters.get(name).unwrap_or(&usual);
            if let Some(style) = parameter.style
                && style.spreads(value).any(|key| self.taken.contains(&*folded(key)) || self.is_sent(input, name, key))
            {
                return Err(foreign(name));
            }
            parts.add(self.body, theirs, value, parameter).map_err(|what| Violation::of(name, &what))?;
        }
        parts.write_query(&mut target);
        let (body, content_type) = match self.body {
            Form::Query => (Bytes::new(), None),
            _ if self.body_optional && parts.has_no_body() => (Bytes::new(), None),
            form => parts.body(form, self.content_type.as_ref()).map_err(|what| Violation::new("", &what))?,
        };
        let content_type = content_type.filter(|_| !self.is_typed);
        let mut headers = Cow::Borrowed(self.headers.as_slice());
        if content_type.is_some() || !parts.headers.is_empty() {
            let mut own: Vec<_> = headers.into_owned();
            own.retain(|(name, _)| parts.headers.iter().all(|(other, _)| other != name));
            own.extend(parts.headers);
            own.extend(content_type.map(|kind| (header::CONTENT_TYPE, kind)));
            headers = Cow::Owned(own);
        }
        Ok(Call {
            elsewhere: self.elsewhere.as_ref(),
            method: &self.method,
            target,
            headers,
            body,
            limit: self.limit,
            send_by: None,
            most: self.most,
            caller: None,
            named: true,
        })
    }

    /// Whether an input that is not renamed would be taken for another one at the site.
    fn is_taken(&self, name: &str) -> bool {
        if !self.declared.contains(name) {
            return self.taken.contains(&*folded(name));
        }
        // A declared name may stand in the query and in the body.
        let same = |(ours, theirs): (&String, &String)| theirs == name && self.place(ours) == self.place(name);
        self.fixed.contains(name) || self.renamed.iter().any(same)
    }

    /// Where an input goes.
    fn place(&self, name: &str) -> ParameterPlace {
        let declared = self.parameters.get(name).and_then(|parameter| parameter.place);
        let is_in_path = || self.target.names().any(|place| place == name).then_some(ParameterPlace::Path);
        let usual = if self.body == Form::Query { ParameterPlace::Query } else { ParameterPlace::Body };
        declared.or_else(is_in_path).unwrap_or(usual)
    }

    /// Whether another input has this name at the site.
    fn is_sent(&self, input: &Map<String, Value>, own: &str, key: &str) -> bool {
        let mut others = input.keys().filter(|name| *name != own);
        others.any(|name| self.renamed.get(name).unwrap_or(name) == key)
    }

    /// The input for a placeholder: the input of the same name, or the one that is renamed to it.
    fn ours<'n>(&'n self, input: &Map<String, Value>, name: &'n str) -> &'n str {
        if input.contains_key(name) && !self.is_taken(name) {
            return name;
        }
        self.renamed.iter().find(|(_, theirs)| *theirs == name).map_or(name, |(ours, _)| ours)
    }
}

/// The refusal of an input whose name the site uses for something else.
fn foreign(name: &str) -> Violation {
    Violation::of(name, "There is no such input; the site uses this name for something else.")
}

/// The names that a capability's input schema declares at its top level.
fn declared(capability: &Capability) -> HashSet<String> {
    let properties = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
    properties.into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// A name, folded as the most lenient sites do: case, blanks and dots, `a[]` for `a`, and nothing after a NUL.
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
/// The reason why it is not allowed. The operator may not set headers of routing, framing or length.
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
