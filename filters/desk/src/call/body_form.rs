//! Where the inputs of a call go that have no place in its path, and the media type of the body.

use frontdesk_answers::Template;
use frontdesk_config::{BodyForm, Call};
use http::Method;

/// The media type of a body that says nothing else.
const JSON: &str = "application/json";

/// Where inputs go that have no place in the path.
#[derive(Debug)]
pub(super) enum Form {
    Query,
    Json,
    Urlencoded,
    Multipart,
    /// In a body that is written out.
    Template(Box<Template>),
    /// In the fields of a form of the site.
    Fields,
}

impl Form {
    /// The form of a request by its method and the declaration. Of all bodies only one that is written out goes with a
    /// GET, and only a declared one with a DELETE.
    pub(super) fn of(method: &Method, call: &Call) -> Self {
        let kind = call.content_type.as_deref().unwrap_or(JSON);
        if let Some(template) = call.body_template.as_deref().and_then(|text| Template::parse(text, kind).ok()) {
            return Self::Template(Box::new(template));
        }
        if call.form_of_page.is_some() {
            return Self::Fields;
        }
        match (method, call.body) {
            (&Method::GET | &Method::HEAD | &Method::OPTIONS, _) | (_, Some(BodyForm::None)) => Self::Query,
            (&Method::DELETE, None) => Self::Query,
            (_, None | Some(BodyForm::Json)) => Self::Json,
            (_, Some(BodyForm::Form)) => Self::Urlencoded,
            (_, Some(BodyForm::Multipart)) => Self::Multipart,
        }
    }

    /// The media type; `None`: there is no body, or the site's own form says how it is written.
    pub(super) fn usual_type(&self) -> Option<&'static str> {
        match self {
            Self::Query | Self::Fields => None,
            Self::Json | Self::Template(_) => Some(JSON),
            Self::Urlencoded => Some("application/x-www-form-urlencoded"),
            Self::Multipart => Some("multipart/form-data"),
        }
    }

    /// Whether the media type is the same for every input, so that it may stand among the headers of every call.
    pub(super) fn has_one_type(&self) -> bool {
        !matches!(self, Self::Multipart)
    }

    /// Whether there is a body even without any input for it.
    pub(super) fn is_always_sent(&self) -> bool {
        matches!(self, Self::Template(_))
    }
}
