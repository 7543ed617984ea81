//! Builds the request to the site for a capability: the input in its declared places, and none of the agent's own
//! headers.

mod body_form;
mod failures;
mod headers;
mod multipart;
mod names;
mod parts;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value};
use url::Url;

use self::{body_form::Form, failures::Failures, names::Names, parts::Parts};
pub use self::{
    headers::{header_of_input, static_header},
    wire::{Answer, Call, Failed, READ, Upstream},
};
use super::{
    form_plan::{FormCall, FormPlan},
    schema::{Referred, Schema, Violation},
    target::Target,
};
use frontdesk_answers::{Extract, LARGEST_FILE, Plan as Reading};
use frontdesk_config::{Capability, Parameter, ParameterPlace, ResponseKind, Settings};

/// The call of one capability, prepared when the configuration is loaded.
#[derive(Debug)]
pub(super) struct CallPlan {
    elsewhere: Option<Url>,
    method: Method,
    target: Target,
    /// Input must not lead to hidden paths.
    hides: bool,
    names: Names,
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
    /// The caller's own credential goes on to the site.
    pub(super) in_their_name: bool,
    pub(super) response: ResponseKind,
    /// The declared output names, and the path to each in the site's answer.
    pub(super) output: Vec<(String, Vec<String>)>,
    pub(super) errors: HashMap<u16, Arc<str>>,
    /// How the answer is read.
    pub(super) reader: Reading,
    /// What in an answer says that it failed.
    pub(super) failures: Failures,
    /// What extracted data has to be like.
    pub(super) promised: Option<Arc<Schema>>,
    pub(super) form: Option<Arc<FormPlan>>,
    /// The site's cookies live with the caller's conversation.
    pub(super) keeps_cookies: bool,
    /// The authorities of the upstreams.
    pub(super) own_hosts: Vec<String>,
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
        let body = Form::of(&method, call);
        let usual = body.usual_type();
        let content_type = call.content_type.as_deref().filter(|_| usual.is_some()).or(usual);
        let content_type = content_type.map(HeaderValue::from_str).transpose().ok()?;
        let body_optional = call.body_optional && !body.is_always_sent();
        let is_typed = !body_optional && body.has_one_type();
        let mut headers = headers::of_every_call(call)?;
        headers.extend(content_type.iter().filter(|_| is_typed).map(|kind| (header::CONTENT_TYPE, kind.clone())));
        let query = target.split_once('?').map_or("", |(_, query)| query).to_owned();
        let target = Target::parse(&target).ok()?;
        let form = match &call.form_of_page {
            Some(declared) => Some(Arc::new(form_plan(declared, capability, call)?)),
            None => None,
        };
        let page = form.iter().flat_map(|form| form.page.names());
        let in_path: HashSet<String> = target.names().chain(page).map(str::to_owned).collect();
        let is_form = matches!(body, Form::Urlencoded | Form::Multipart);
        let usual = if matches!(body, Form::Query) { ParameterPlace::Query } else { ParameterPlace::Body };
        let extract = call.extract.as_ref().and_then(|declared| Extract::new(declared).ok()).map(Arc::new);
        let promised = capability.output_schema.as_ref().filter(|_| extract.is_some());
        let referred = Referred::new(Map::new(), None);
        Some(Self {
            reader: extract.map_or(Reading::As(call.response), Reading::Extract),
            failures: Failures::of(call),
            promised: promised.and_then(|schema| Schema::compile(schema, &referred).ok()).map(Arc::new),
            form,
            keeps_cookies: call.keeps_cookies,
            own_hosts: settings.upstream.urls.iter().map(authority).collect(),
            elsewhere,
            method,
            // A path that the operator wrote out is intended, hidden or not.
            hides: settings.firewall.hide && call.url.is_none() && target.names().next().is_some(),
            target,
            names: Names::new(capability, call, &query, in_path, (usual, is_form)),
            body,
            body_optional,
            content_type,
            is_typed,
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

    /// Whether it is a GET without headers of the operator's own or of the input, as anybody can send.
    pub(super) fn is_plain_read(&self) -> bool {
        self.method == Method::GET
            // What a form leads to was asked for with the cookies of its page.
            && self.form.is_none()
            && !self.names.have_headers()
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
        let placed: Vec<&str> = self.placed_names().map(|name| self.names.ours(input, name)).collect();
        let mut target = self.filled(input)?;
        if self.hides && frontdesk_firewall::is_hidden(&target) {
            return Err(Violation::new("", "This leads to something that is not to be had here."));
        }
        let (mut parts, usual) = (Parts::default(), Parameter::default());
        for (name, value) in input.iter().filter(|(name, _)| !placed.contains(&name.as_str())) {
            let theirs = self.names.checked(input, name)?;
            let how = self.names.written(name).unwrap_or(&usual);
            parts.add(&self.body, theirs, value, how).map_err(|what| Violation::of(name, &what))?;
        }
        parts.write_query(&mut target);
        let (body, content_type) = match self.body_optional && parts.has_no_body() {
            true => (Bytes::new(), None),
            false => parts.body(&self.body, self.content_type.as_ref(), input),
        };
        let form = match &self.form {
            Some(plan) => {
                let page = plan.page.fill(|name| input.get(self.names.ours(input, name)))?;
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
            headers: self.headers_with(parts.headers, content_type.filter(|_| !self.is_typed)),
            body,
            limit: self.limit,
            send_by: None,
            most: self.most,
            caller: None,
            named: true,
            credential: Cow::Borrowed(&[]),
        })
    }

    /// The path and query of the target, with the inputs that have a place there.
    fn filled(&self, input: &Map<String, Value>) -> Result<String, Violation> {
        let written = |name: &str| {
            let ours = self.names.ours(input, name);
            let parameter = self.names.written(ours)?;
            let theirs = parameter.name.as_deref().unwrap_or(name);
            Some(parameter.style?.in_path(theirs, input.get(ours).unwrap_or(&Value::Null)))
        };
        self.target.fill_written(|name| input.get(self.names.ours(input, name)), written)
    }

    /// The headers of every call, and those of this one.
    fn headers_with(
        &self,
        own: Vec<(HeaderName, HeaderValue)>,
        content_type: Option<HeaderValue>,
    ) -> Cow<'_, [(HeaderName, HeaderValue)]> {
        if content_type.is_none() && own.is_empty() {
            return Cow::Borrowed(&self.headers);
        }
        let mut all = self.headers.clone();
        all.retain(|(name, _)| own.iter().all(|(other, _)| other != name));
        all.extend(own);
        all.extend(content_type.map(|kind| (header::CONTENT_TYPE, kind)));
        Cow::Owned(all)
    }

    /// The site's names that stand in an address.
    pub(super) fn placed_names(&self) -> impl Iterator<Item = &str> {
        self.target.names().chain(self.form.iter().flat_map(|form| form.page.names()))
    }

    /// The site's name for an input.
    pub(super) fn theirs<'n>(&'n self, name: &'n str) -> &'n str {
        self.names.theirs(name)
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
    call: &frontdesk_config::Call,
) -> Option<FormPlan> {
    let known = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
    let renamed = |name: &String| call.rename_input.iter().find(|(ours, _)| ours == name);
    let theirs = |name: &String| renamed(name).map_or(name, |(_, theirs)| theirs).clone();
    let names = known.into_iter().flatten().map(|(name, _)| theirs(name));
    let names = names.chain(call.rename_input.iter().map(|(_, theirs)| theirs.clone())).collect();
    let page = Target::parse(&declared.page).ok()?;
    let ours = call.rename_input.iter().map(|(ours, theirs)| (theirs.clone(), ours.clone())).collect();
    Some(FormPlan { form: frontdesk_answers::form::Form::new(declared).ok()?, page, declared: names, ours })
}

/// A host with its port, where that is not the usual one.
fn authority(url: &frontdesk_config::UpstreamUrl) -> String {
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let usual = if url.tls { 443 } else { 80 };
    if url.port == usual { host } else { format!("{host}:{}", url.port) }
}
