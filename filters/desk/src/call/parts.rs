//! The parts of a request to the site: what goes into the query, the headers and the body, and the body's form.

use std::collections::BTreeMap;

use bytes::Bytes;
use frontdesk_config::{BodyForm, Parameter, ParameterPlace};
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;

use super::static_header;
use crate::target::{pairs, plain};
use frontdesk_base::{media::is_json, parameter::Style};

/// Where inputs go that have no place in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Query,
    Json,
    Urlencoded,
    Multipart,
}

impl Form {
    /// The form of a request by its method and the declaration. A GET never has a body, a DELETE only a declared one.
    pub(super) fn of(method: &Method, declared: Option<BodyForm>) -> Self {
        match (method, declared) {
            (&Method::GET | &Method::HEAD | &Method::OPTIONS, _) | (_, Some(BodyForm::None)) => Self::Query,
            (&Method::DELETE, None) => Self::Query,
            (_, None | Some(BodyForm::Json)) => Self::Json,
            (_, Some(BodyForm::Form)) => Self::Urlencoded,
            (_, Some(BodyForm::Multipart)) => Self::Multipart,
        }
    }

    /// The media type; `None`: there is no body.
    pub(super) fn usual_type(self) -> Option<&'static str> {
        match self {
            Self::Query => None,
            Self::Json => Some("application/json"),
            Self::Urlencoded => Some("application/x-www-form-urlencoded"),
            Self::Multipart => Some("multipart/form-data"),
        }
    }
}

/// The inputs of one call, by their place in the request.
#[derive(Default)]
pub(super) struct Parts<'v> {
    query: BTreeMap<&'v str, &'v Value>,
    fields: BTreeMap<&'v str, &'v Value>,
    /// Already encoded.
    styled_query: String,
    styled_fields: String,
    /// The value that is the whole body.
    whole: Option<&'v Value>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl<'v> Parts<'v> {
    /// Adds an input by the site's name for it.
    ///
    /// # Errors
    ///
    /// A sentence: the value cannot be written where it belongs.
    pub(super) fn add(&mut self, form: Form, name: &'v str, value: &'v Value, how: &Parameter) -> Result<(), String> {
        let in_query = form == Form::Query || matches!(how.place, Some(ParameterPlace::Query | ParameterPlace::Path));
        match (how.place, how.style) {
            (Some(ParameterPlace::Header), style) => return self.add_header(name, value, style),
            (Some(ParameterPlace::Body), _) => self.whole = Some(value),
            (_, Some(style)) if in_query => style.write_pairs(&mut self.styled_query, name, value)?,
            (_, Some(style)) if form == Form::Urlencoded => style.write_pairs(&mut self.styled_fields, name, value)?,
            _ if in_query => drop(self.query.insert(name, value)),
            _ => drop(self.fields.insert(name, value)),
        }
        Ok(())
    }

    fn add_header(&mut self, name: &str, value: &Value, style: Option<Style>) -> Result<(), String> {
        let Some(style) = style.or_else(|| Style::named("simple", None)) else { return Ok(()) };
        let Some(text) = style.in_header(value) else { return Ok(()) };
        let header = static_header(name, &text).map_err(|_| {
            "This value cannot be sent: it has a character that no \
            header has, or its name is taken."
        })?;
        self.headers.push(header);
        Ok(())
    }

    /// Whether no input was for the body.
    pub(super) fn has_no_body(&self) -> bool {
        self.whole.is_none() && self.fields.is_empty() && self.styled_fields.is_empty()
    }

    /// Appends the query.
    pub(super) fn write_query(&self, target: &mut String) {
        let query = joined(pairs(self.query.iter().map(|(name, value)| (*name, *value))), &self.styled_query);
        if !query.is_empty() {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(&query);
        }
    }

    /// The body and its media type.
    ///
    /// # Errors
    ///
    /// A sentence: the body cannot be written in this form.
    pub(super) fn body(&self, form: Form, kind: Option<&HeaderValue>) -> Result<(Bytes, Option<HeaderValue>), String> {
        let json = |value: &Value| Bytes::from(serde_json::to_vec(value).unwrap_or_default());
        let is_json = kind.and_then(|kind| kind.to_str().ok()).is_some_and(is_json);
        let body = match (form, self.whole) {
            (Form::Query, _) => return Ok((Bytes::new(), None)),
            (Form::Json, Some(Value::String(text))) if !is_json => Bytes::from(text.clone().into_bytes()),
            (Form::Json, Some(value)) => json(value),
            (Form::Json, None) => Bytes::from(serde_json::to_vec(&self.fields).unwrap_or_default()),
            (Form::Urlencoded, whole) => Bytes::from(self.urlencoded(whole)),
            (Form::Multipart, whole) => {
                let members = whole.and_then(Value::as_object).into_iter().flatten();
                let fields = self.fields.iter().map(|(name, value)| (*name, *value));
                let all: Vec<_> = fields.chain(members.map(|(name, value)| (name.as_str(), value))).collect();
                let (body, boundary) = multipart(&all);
                let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("multipart/form-data");
                let kind = HeaderValue::from_str(&format!("{kind}; boundary={boundary}"));
                return Ok((body.into(), kind.ok()));
            }
        };
        Ok((body, kind.cloned()))
    }

    fn urlencoded(&self, whole: Option<&Value>) -> String {
        let members = whole.and_then(Value::as_object).into_iter().flatten();
        let fields = self.fields.iter().map(|(name, value)| (*name, *value));
        joined(pairs(fields.chain(members.map(|(name, value)| (name.as_str(), value)))), &self.styled_fields)
    }
}

/// Two lists of pairs as one.
fn joined(mut pairs: String, more: &str) -> String {
    if !pairs.is_empty() && !more.is_empty() {
        pairs.push('&');
    }
    pairs + more
}

/// Fields as `multipart/form-data` (RFC 7578), and the boundary. Each item of a list is a part of its own.
fn multipart(fields: &[(&str, &Value)]) -> (String, String) {
    let mut parts = Vec::new();
    for (name, value) in fields {
        let each = match value {
            Value::Array(items) => items.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(*other),
        };
        // As browsers escape a name.
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        for value in each {
            let kind = if value.is_object() || value.is_array() { "Content-Type: application/json\r\n" } else { "" };
            parts.push(format!("Content-Disposition: form-data; name=\"{name}\"\r\n{kind}\r\n{}\r\n", plain(value)));
        }
    }
    let numbered = |number: u32| format!("frontdesk-part-{number}");
    let is_free = |boundary: &String| !parts.iter().any(|part| part.contains(boundary.as_str()));
    let boundary = (0..).map(numbered).find(is_free).unwrap_or_default();
    let mut body: String = parts.iter().map(|part| format!("--{boundary}\r\n{part}")).collect();
    body.push_str(&format!("--{boundary}--\r\n"));
    (body, boundary)
}
