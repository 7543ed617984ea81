//! The spans of one request and their attributes: names from OpenTelemetry's HTTP conventions, values as in the access
//! log. They hold no query, no header except the user agent, and no credentials.

use std::{borrow::Cow, sync::Arc};

use frontdesk_filters::desk::Account;
use http::{HeaderName, HeaderValue, Method};
use opentelemetry::{
    Context, KeyValue,
    trace::{Span as _, SpanContext, SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_sdk::trace::Span as Recorded;

use super::{
    Traces,
    context::{self, Ids, TRACEPARENT, TRACESTATE, is_context},
};
use crate::{
    access::{LONGEST, Line},
    label::Label,
    metrics::METHODS,
};

/// A position in a trace for child spans.
#[derive(Clone)]
pub struct Place {
    traces: Arc<Traces>,
    context: SpanContext,
}

impl Place {
    /// Starts a child span. If the parent is not sampled, the child only stands for the same position.
    fn child(&self, kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Span {
        if !self.context.is_sampled() {
            return Span { place: self.clone(), recorded: None };
        }
        Span::new(&self.traces, Some(self.context.clone()), kind, name)
    }

    /// A span for the desk's work.
    pub fn desk(&self) -> Span {
        self.child(SpanKind::Internal, "desk")
    }

    /// A span for a request to a server; `at`: its origin, if known. The path has no query.
    pub fn question(&self, method: &Method, at: Option<&str>, target: &str) -> Span {
        let (name, method, original) = named(method.as_str());
        let mut span = self.child(SpanKind::Client, name);
        if let Some(recorded) = &mut span.recorded {
            recorded.set_attribute(KeyValue::new("http.request.method", method));
            if let Some(original) = original {
                recorded.set_attribute(KeyValue::new("http.request.method_original", original));
            }
            span.asks(at, target);
        }
        span
    }

    /// The context headers for the next server. They replace those of the request. A header without a value is removed.
    pub fn headers(&self) -> [(HeaderName, Option<HeaderValue>); 2] {
        let (parent, state) = context::outgoing(&self.context);
        [(TRACEPARENT, parent), (TRACESTATE, state)]
    }

    /// Puts the context headers into an outgoing request, in place of the received ones.
    pub fn tell(&self, lines: &mut Vec<(Label, HeaderValue)>) {
        lines.retain(|(label, _)| !is_context(label.name().as_ref()));
        lines.extend(self.headers().into_iter().filter_map(|(name, value)| Some((Label::Other(name), value?))));
    }

    /// The same for a request of the library, which stores more than the headers.
    pub fn tell_request(&self, request: &mut pingora::http::RequestHeader) -> pingora::Result<()> {
        for (name, value) in self.headers() {
            match value {
                Some(value) => request.insert_header(name, value)?,
                None => drop(request.remove_header(&name)),
            }
        }
        Ok(())
    }
}

/// A running span, which ends when it is dropped.
pub struct Span {
    place: Place,
    /// `None`: it is not sampled.
    recorded: Option<Box<Recorded>>,
}

impl Span {
    fn new(
        traces: &Arc<Traces>,
        parent: Option<SpanContext>,
        kind: SpanKind,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        let below = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let span = traces.tracer.build_with_context(traces.tracer.span_builder(name).with_kind(kind), &below);
        let place = Place { traces: traces.clone(), context: span.span_context().clone() };
        Self { place, recorded: span.is_recording().then(|| Box::new(span)) }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    fn set(&mut self, key: &'static str, value: impl Into<opentelemetry::Value>) {
        if let Some(recorded) = &mut self.recorded {
            recorded.set_attribute(KeyValue::new(key, value));
        }
    }

    fn text(&mut self, key: &'static str, value: Option<&str>) {
        if let (Some(recorded), Some(value)) = (&mut self.recorded, value) {
            recorded.set_attribute(KeyValue::new(key, value[..value.floor_char_boundary(LONGEST)].to_owned()));
        }
    }

    fn asks(&mut self, at: Option<&str>, target: &str) {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let Some(at) = at else { return self.text("url.path", Some(path)) };
        self.text("url.full", Some(&format!("{at}{path}")));
        let (_, authority) = at.split_once("://").unwrap_or(("", at));
        self.serves(authority);
    }

    /// Records the server, by a name with or without a port.
    fn serves(&mut self, authority: &str) {
        let port = authority.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        self.text("server.address", Some(port.map_or(authority, |(host, _)| host)));
        if let Some((_, port)) = port {
            self.set("server.port", i64::from(port));
        }
    }

    /// Records the status, or why there is none. `failed_from`: the first status that counts as a failure.
    fn answered(&mut self, status: u16, error: Option<&str>, failed_from: u16) {
        if self.recorded.is_none() {
            return;
        }
        if status > 0 {
            self.set("http.response.status_code", i64::from(status));
        }
        let failed = status == 0 || status >= failed_from;
        if failed {
            self.text("error.type", Some(error.unwrap_or(&status.to_string())));
        }
        if let Some(recorded) = self.recorded.as_mut().filter(|_| failed) {
            recorded.set_status(Status::error(""));
        }
    }

    /// Ends a span of an upstream request with its outcome.
    pub fn got(mut self, answer: Result<u16, &str>) {
        match answer {
            Ok(status) => self.answered(status, None, 400),
            Err(why) => self.answered(0, Some(why), 400),
        }
    }

    /// Ends a span of the desk's work with its outcome and dialect.
    pub fn told(mut self, account: Option<&Account>, dialect: Option<&'static str>) {
        let Some(recorded) = &mut self.recorded else { return };
        if let Some(dialect) = dialect {
            recorded.set_attribute(KeyValue::new("frontdesk.dialect", dialect));
        }
        let Some(account) = account.filter(|account| !account.capability.is_empty()) else { return };
        recorded.update_name(format!("desk {}", account.capability));
        recorded.set_attribute(KeyValue::new("frontdesk.capability", account.capability.clone()));
        recorded.set_attribute(KeyValue::new("frontdesk.outcome", account.decision));
        if !account.supervision.is_empty() {
            recorded.set_attribute(KeyValue::new("frontdesk.supervision", account.supervision));
        }
    }
}

/// The spans of one request.
pub struct Trace {
    span: Span,
    /// The span of a proxied answer.
    site: Option<Span>,
}

impl Trace {
    pub(super) fn new(traces: &Arc<Traces>, parent: Option<SpanContext>, method: &Method) -> Self {
        let (name, ..) = named(method.as_str());
        Self { span: Span::new(traces, parent, SpanKind::Server, name), site: None }
    }

    /// The ids for the access log.
    pub fn ids(&self) -> Ids {
        let context = &self.span.place.context;
        (context.trace_id(), context.span_id())
    }

    /// The position of the request itself.
    pub fn place(&self) -> &Place {
        &self.span.place
    }

    /// The position for the proxied request.
    pub fn onward(&self) -> &Place {
        self.site.as_ref().map_or(&self.span.place, Span::place)
    }

    /// Starts the span of the proxied request, at this origin. A retry keeps the same span.
    pub fn passes(&mut self, method: &Method, at: &str, path: &str) {
        let Self { span, site } = self;
        match site {
            None => *site = Some(span.place.question(method, Some(at), path)),
            Some(site) => {
                site.set("http.request.resend_count", 1);
                site.asks(Some(at), path);
            }
        }
    }

    /// Ends the request with the values of its access line.
    pub fn over(&mut self, line: &Line<'_>) {
        if let Some(site) = self.site.take() {
            // Without a head from the site, the status is ours.
            let told = line.upstream_duration.is_some() || line.status == 101;
            site.got(if told { Ok(line.status) } else { Err(line.error.unwrap_or("none")) });
        }
        let span = &mut self.span;
        if span.recorded.is_none() {
            return;
        }
        let (_, method, original) = named(line.method.unwrap_or_default());
        span.set("http.request.method", method);
        span.text("http.request.method_original", original.as_deref());
        span.text("url.path", line.path);
        if let Some(host) = line.host {
            span.serves(host);
        }
        span.text("network.protocol.name", line.protocol);
        span.text("network.protocol.version", Some(line.version));
        if let Some(client) = line.client {
            span.set("client.address", client.to_string());
        }
        span.text("user_agent.original", line.user_agent);
        let size = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        span.set("http.request.body.size", size(line.request_bytes));
        span.set("http.response.body.size", size(line.response_bytes));
        span.text("frontdesk.verified", line.proof);
        span.text("frontdesk.caller", line.caller);
        span.text("frontdesk.decision", Some(line.decision));
        span.text("frontdesk.page", line.page);
        span.text("frontdesk.config", Some(line.config));
        // A client's mistake is not our failure.
        span.answered(line.status, line.error, 500);
    }
}

/// The span's name, the method as one of a few known words, and the original method if it is none of those.
fn named(method: &str) -> (&'static str, &'static str, Option<String>) {
    match METHODS.iter().find(|known| **known == method) {
        Some(known) => (known, known, None),
        None => ("HTTP", "_OTHER", Some(method.to_owned())),
    }
}
