//! The parts of a request to the site: what goes into the query, the headers and the body.

use std::collections::BTreeMap;

use bytes::Bytes;
use frontdesk_base::{media::is_json, parameter::Style, target::pairs};
use frontdesk_config::{Parameter, ParameterPlace};
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::{body_form::Form, headers::header_of_input, multipart};

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
    pub(super) fn add(&mut self, form: &Form, name: &'v str, value: &'v Value, how: &Parameter) -> Result<(), String> {
        let in_query =
            matches!(form, Form::Query) || matches!(how.place, Some(ParameterPlace::Query | ParameterPlace::Path));
        match (how.place, how.style) {
            (Some(ParameterPlace::Header), style) => return self.add_header(name, value, style),
            (Some(ParameterPlace::Body), _) => self.whole = Some(value),
            (_, Some(style)) if in_query => style.write_pairs(&mut self.styled_query, name, value)?,
            (_, Some(style)) if matches!(form, Form::Urlencoded) => {
                style.write_pairs(&mut self.styled_fields, name, value)?
            }
            _ if in_query => drop(self.query.insert(name, value)),
            _ => drop(self.fields.insert(name, value)),
        }
        Ok(())
    }

    fn add_header(&mut self, name: &str, value: &Value, style: Option<Style>) -> Result<(), String> {
        let Some(style) = style.or_else(|| Style::named("simple", None)) else { return Ok(()) };
        let Some(text) = style.in_header(value) else { return Ok(()) };
        let unfit = "This value cannot be sent: it has a character that no header has, or its name is taken.";
        let header = header_of_input(name, &text).map_err(|_| unfit)?;
        if self.headers.iter().any(|(other, _)| *other == header.0) {
            return Err(unfit.into());
        }
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

    /// The body and its media type. `input`: all inputs, for a body that is written out.
    pub(super) fn body(
        &self,
        form: &Form,
        kind: Option<&HeaderValue>,
        input: &Map<String, Value>,
    ) -> (Bytes, Option<HeaderValue>) {
        let json = |value: &Value| Bytes::from(serde_json::to_vec(value).unwrap_or_default());
        let text = kind.and_then(|kind| kind.to_str().ok());
        let body = match (form, self.whole) {
            (Form::Query | Form::Fields, _) => return (Bytes::new(), None),
            (Form::Template(template), _) => {
                let all = self.fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect();
                Bytes::from(template.fill(input, &Value::Object(all)))
            }
            (Form::Json, Some(Value::String(whole))) if !text.is_some_and(is_json) => {
                Bytes::from(whole.clone().into_bytes())
            }
            (Form::Json, Some(value)) => json(value),
            (Form::Json, None) => Bytes::from(serde_json::to_vec(&self.fields).unwrap_or_default()),
            (Form::Urlencoded, whole) => {
                let fields = pairs(self.fields(whole));
                Bytes::from(joined(fields, &self.styled_fields))
            }
            (Form::Multipart, whole) => {
                let (body, boundary) = multipart::body(&self.fields(whole));
                let kind = format!("{}; boundary={boundary}", text.unwrap_or("multipart/form-data"));
                return (body.into(), HeaderValue::from_str(&kind).ok());
            }
        };
        (body, kind.cloned())
    }

    /// The fields of a form, and the members of the input that is the whole of it.
    fn fields(&self, whole: Option<&'v Value>) -> Vec<(&'v str, &'v Value)> {
        let members = whole.and_then(Value::as_object).into_iter().flatten();
        let fields = self.fields.iter().map(|(name, value)| (*name, *value));
        fields.chain(members.map(|(name, value)| (name.as_str(), value))).collect()
    }
}

/// Two lists of pairs as one.
fn joined(mut pairs: String, more: &str) -> String {
    if !pairs.is_empty() && !more.is_empty() {
        pairs.push('&');
    }
    pairs + more
}
