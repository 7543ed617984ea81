//! Builds the request to the site for a capability: the input in its declared places, and none of the agent's own
//! headers.

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
    form_plan::{FormCall, FormPlan},
    schema::{Referred, Schema, Violation},
    target::{Target, escaped, pairs, write_pairs},
};
use frontdesk_answers::{Extract, Failed as SaysFailed, LARGEST_FILE, Plan as Reading, Says, Template, form::Form};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::{
    Caller,
    forwarded::{self, Meaning},
};
use frontdesk_config::{Capability, ResponseKind, Settings};

/// One request to the site.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The URL of another service, where the capability does not call the site.
    pub elsewhere: Option<&'a Url>,
    pub method: &'a Method,
    /// A path and a query.
    pub target: String,
    /// Headers besides those that every request of a client gets.
    pub headers: &'a [(HeaderName, HeaderValue)],
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
    /// The caller's own credential, where the capability is called in the caller's name.
    pub credential: Cow<'a, [(HeaderName, HeaderValue)]>,
    /// A form that is filled in first; then `target` is its action.
    pub form: Option<Box<FormCall>>,
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
pub const READ: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CACHE_CONTROL,
    header::AGE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::CONTENT_DISPOSITION,
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
    leftover: Leftover,
    headers: Vec<(HeaderName, HeaderValue)>,
    limit: Duration,
    most: usize,
    pub(super) idempotent: bool,
    /// The caller's own credential goes on to the site.
    pub(super) in_their_name: bool,
    pub(super) response: ResponseKind,
    /// The declared output names, and the path to each in the site's answer.
    pub(super) output: Vec<(String, Vec<String>)>,
    pub(super) errors: HashMap<u16, Arc<str>>,
    /// How the answer is read.
    pub(super) reader: Reading,
    /// Names of failures by what the answer says.
    pub(super) says: Vec<(Says, Arc<str>)>,
    /// What in a 2xx says that it failed.
    failed: Option<SaysFailed>,
    /// What extracted data has to be like.
    pub(super) promised: Option<Arc<Schema>>,
    /// The body, written out.
    template: Option<Template>,
    pub(super) form: Option<Arc<FormPlan>>,
    /// The site's cookies live with the caller's conversation.
    pub(super) keeps_cookies: bool,
    /// The authorities of the upstreams.
    pub(super) own_hosts: Vec<String>,
}

/// Where inputs go that have no place in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftover {
    /// In a body that is written out.
    Template,
    /// In the fields of a form.
    Fields,
    Query,
    Json,
    Form,
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
        let template = call
            .body_template
            .as_deref()
            .and_then(|text| Template::parse(text, call.content_type.as_deref().unwrap_or("application/json")).ok());
        let leftover = match method {
            _ if template.is_some() => Leftover::Template,
            _ if call.form_of_page.is_some() => Leftover::Fields,
            Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS => Leftover::Query,
            _ if call.form => Leftover::Form,
            _ => Leftover::Json,
        };
        let mut headers = vec![(header::USER_AGENT, HeaderValue::from_static("frontdesk"))];
        let accept = match call.response {
            ResponseKind::Json => "application/json, */*;q=0.1",
            // Some sites answer a program with something else than a page.
            ResponseKind::Page | ResponseKind::Extract => "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
            _ if call.form_of_page.is_some() => "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
            _ => "*/*",
        };
        headers.push((header::ACCEPT, HeaderValue::from_static(accept)));
        for (name, value) in &call.headers {
            let (name, value) = static_header(name, value).ok()?;
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value));
        }
        match leftover {
            Leftover::Query | Leftover::Fields => {}
            Leftover::Template => {
                let kind = call.content_type.as_deref().unwrap_or("application/json");
                headers.push((header::CONTENT_TYPE, HeaderValue::from_str(kind).ok()?));
            }
            Leftover::Json => headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json"))),
            Leftover::Form => {
                let form = HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.push((header::CONTENT_TYPE, form));
            }
        }
        let renamed: HashMap<String, String> = call.rename_input.iter().cloned().collect();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let fixed = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned());
        // Names that some frameworks (Rack, Symfony, Express) read as the method, wherever they stand.
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
        let form = match &call.form_of_page {
            Some(declared) => Some(Arc::new(form_plan(declared, capability, &renamed)?)),
            None => None,
        };
        let extract = call.extract.as_ref().and_then(|declared| Extract::new(declared).ok()).map(Arc::new);
        let promised = capability.output_schema.as_ref().filter(|_| extract.is_some());
        let referred = Referred::new(Map::new(), None);
        Some(Self {
            reader: extract.map_or(Reading::As(call.response), Reading::Extract),
            says: call.says.iter().filter_map(|(key, name)| Some((Says::parse(key)?, name.as_str().into()))).collect(),
            failed: call.failed.as_deref().and_then(|text| SaysFailed::parse(text).ok()),
            promised: promised.and_then(|schema| Schema::compile(schema, &referred).ok()).map(Arc::new),
            template,
            form,
            keeps_cookies: call.keeps_cookies,
            own_hosts: settings.upstream.urls.iter().map(authority).collect(),
            elsewhere,
            method,
            // A path that the operator wrote out is intended, hidden or not.
            hides: settings.firewall.hide && call.url.is_none() && target.names().next().is_some(),
            target,
            renamed,
            taken,
            leftover,
            headers,
            limit: call.timeout.unwrap_or(settings.upstream.read_timeout),
            most: match call.response {
                // A file may be larger than an answer that is read.
                ResponseKind::File | ResponseKind::Auto => settings.protection.max_answer.max(LARGEST_FILE),
                _ => settings.protection.max_answer,
            },
            idempotent: call.idempotent,
            in_their_name: capability.is_in_their_name(),
            response: call.response,
            output: call.rename_output.iter().map(|(ours, theirs)| (ours.clone(), way(theirs))).collect(),
            errors: call.errors.iter().map(|(status, name)| (*status, name.as_str().into())).collect(),
        })
    }

    /// The URL of another service, where the capability does not call the site.
    pub(super) fn elsewhere(&self) -> Option<&Url> {
        self.elsewhere.as_ref()
    }

    /// Whether it is a GET without headers of the operator's own, as anybody can send.
    pub(super) fn is_plain_read(&self) -> bool {
        self.method == Method::GET
            && self.headers.iter().all(|(name, _)| [header::USER_AGENT, header::ACCEPT].contains(name))
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
        let page = self.form.iter().flat_map(|form| form.page.names());
        for name in self.target.names().chain(page) {
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
                // The name would duplicate a value that was checked under another name, or that the operator set.
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
            Leftover::Template => match &self.template {
                Some(template) => {
                    let all = left.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect();
                    Bytes::from(template.fill(input, &Value::Object(all)))
                }
                None => Bytes::new(),
            },
            Leftover::Fields => Bytes::new(),
            Leftover::Json => Bytes::from(serde_json::to_vec(&left).unwrap_or_default()),
            Leftover::Form => Bytes::from(pairs(left)),
        };
        let form = match &self.form {
            Some(plan) => {
                let page = plan.page.fill(|name| input.get(self.ours(input, name)))?;
                let inputs = input.iter().filter(|(name, _)| !placed.contains(&name.as_str()));
                let inputs = inputs.map(|(name, value)| (name.clone(), value.clone())).collect();
                Some(Box::new(FormCall { page, inputs }))
            }
            None => None,
        };
        Ok(Call {
            form,
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
            credential: Cow::Borrowed(&[]),
        })
    }

    /// The site's names that stand in an address.
    pub(super) fn placed_names(&self) -> impl Iterator<Item = &str> {
        self.target.names().chain(self.form.iter().flat_map(|form| form.page.names()))
    }

    /// The site's name for an input.
    pub(super) fn theirs<'n>(&'n self, name: &'n str) -> &'n str {
        self.renamed.get(name).map_or(name, String::as_str)
    }

    /// Checks that an answer does not say that it failed, where the operator declared how it would.
    ///
    /// # Errors
    ///
    /// It failed, by the operator's name for that if there is one.
    pub(super) fn says_done(&self, data: &Value) -> Result<(), Refusal> {
        if let Some(name) = self.named_by(data) {
            return Err(Refusal { name: Some(name), ..Fault::Named(StatusCode::UNPROCESSABLE_ENTITY).into() });
        }
        match &self.failed {
            Some(failed) if failed.holds(data) => {
                Err(Refusal::from(Fault::SiteFailed).saying("The site answered that it did not do this."))
            }
            _ => Ok(()),
        }
    }

    /// The operator's name for what an answer says.
    pub(super) fn named_by(&self, data: &Value) -> Option<Arc<str>> {
        self.says.iter().find(|(says, _)| says.holds(data)).map(|(_, name)| name.clone())
    }

    /// Whether the data of an answer says whether it failed.
    pub(super) fn looks_for_failures(&self) -> bool {
        self.failed.is_some() || !self.says.is_empty()
    }

    /// The input for a placeholder: the input of the same name, or the one that is renamed to it.
    fn ours<'n>(&'n self, input: &Map<String, Value>, name: &'n str) -> &'n str {
        if input.contains_key(name) && !self.taken.contains(&*folded(name)) {
            return name;
        }
        self.renamed.iter().find(|(_, theirs)| *theirs == name).map_or(name, |(ours, _)| ours)
    }
}

/// The path segments of a dotted name.
pub(super) fn way(theirs: &str) -> Vec<String> {
    theirs.split('.').map(str::to_owned).collect()
}

/// The form of a capability, with the names that its inputs have at the site.
fn form_plan(
    declared: &frontdesk_config::Form,
    capability: &Capability,
    renamed: &HashMap<String, String>,
) -> Option<FormPlan> {
    let known = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
    let theirs = |name: &String| renamed.get(name).unwrap_or(name).clone();
    let names = known.into_iter().flatten().map(|(name, _)| theirs(name)).chain(renamed.values().cloned()).collect();
    let page = Target::parse(&declared.page).ok()?;
    let ours = renamed.iter().map(|(ours, theirs)| (theirs.clone(), ours.clone())).collect();
    Some(FormPlan { form: Form::new(declared).ok()?, page, declared: names, ours })
}

/// A host with its port, where that is not the usual one.
fn authority(url: &frontdesk_config::UpstreamUrl) -> String {
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let usual = if url.tls { 443 } else { 80 };
    if url.port == usual { host } else { format!("{host}:{}", url.port) }
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
