//! Reads one answer as its plan says.

use std::sync::Arc;

use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
};
use frontdesk_config::ResponseKind;
use serde_json::{Value, json};

use crate::{
    answered::{Answered, unknown_encoding},
    extract::Extract,
    file::File,
    kind::Kind,
    page, table, xml,
};

/// How an answer is read.
#[derive(Debug, Clone)]
pub enum Plan {
    As(ResponseKind),
    /// By selectors.
    Extract(Arc<Extract>),
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// JSON, which the caller reads itself: it has a fast path for it.
    Json,
    Value(Value),
    File(File),
}

/// An answer that is something else than declared.
#[derive(Debug, Clone)]
pub struct Unfit {
    pub refusal: Box<Refusal>,
    /// What it is.
    pub is: Option<Kind>,
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self { refusal: Box::new(refusal), is: None }
    }
}

/// Reads an answer.
///
/// # Errors
///
/// It is not what was declared, or more than is read.
pub fn read(plan: &Plan, answered: &Answered<'_>) -> Result<Data, Unfit> {
    let Answered { content_type, body, .. } = *answered;
    let response = match plan {
        Plan::As(response) => *response,
        Plan::Extract(extract) => {
            // Whatever a page is called: some sites say nothing, or the wrong thing.
            return match Kind::of(content_type, body) {
                Kind::Page | Kind::Xml | Kind::Text => Ok(Data::Value(extract.read(answered)?)),
                is => Err(Unfit { refusal: Box::new(Fault::Malformed.into()), is: Some(is) }),
            };
        }
    };
    if body.trim_ascii().is_empty() && response == ResponseKind::Auto {
        return Ok(Data::Value(json!({})));
    }
    let kind = Kind::declared(response, content_type, body)
        .map_err(|is| Unfit { refusal: Box::new(Fault::Malformed.into()), is: Some(is) })?;
    Ok(match kind {
        Kind::Json => Data::Json,
        Kind::Page => Data::Value(page::read(answered)?),
        Kind::Text => Data::Value(json!({ "text": text(answered)? })),
        Kind::Table => Data::Value(table::read(content_type, &text(answered)?)?),
        Kind::Xml => Data::Value(xml::read(&xml::decoded(body, content_type)?)?),
        Kind::File => Data::File(File::of(answered)?),
    })
}

/// The text of an answer, in whatever encoding of browsers it is.
pub(crate) fn text(answered: &Answered<'_>) -> Result<String, Refusal> {
    let text = charset::text(answered.body, answered.content_type).ok_or_else(unknown_encoding)?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}
