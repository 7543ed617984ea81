//! The representation in which a body is sent: the one that the document declares and that can be made of an input.

use serde_json::{Map, Value, json};

use super::{
    name,
    style::{self, Styled},
};
use frontdesk_base::media::{essence, is_json};
use frontdesk_filters::site::forms::media_type;

/// A body as it is sent.
pub(super) struct Media {
    /// `body` of the call: json, form or multipart.
    pub(super) form: Option<&'static str>,
    /// The declared type, where it is not the usual one of that form.
    pub(super) content_type: Option<String>,
    /// The schema of the whole body.
    pub(super) value: Value,
    /// The body is a text, and not JSON.
    pub(super) is_text: bool,
    pub(super) required: bool,
    /// Why it cannot be sent.
    pub(super) unfit: Option<String>,
    pub(super) note: Option<String>,
    encoding: Value,
}

/// What JSON is sent as, if the document has several types: its own, a merge patch, another one, and last a list of
/// patches.
fn rank(kind: &str) -> u32 {
    match essence(kind).to_ascii_lowercase().as_str() {
        "application/json" => 0,
        "application/merge-patch+json" => 2,
        "application/json-patch+json" => 4,
        kind if is_json(kind) => 3,
        "*/*" | "application/*" => 1,
        "application/x-www-form-urlencoded" => 5,
        "multipart/form-data" => 6,
        kind if kind.starts_with("text/") => 7,
        _ => 8,
    }
}

/// The representation to send. `content` is not empty.
pub(super) fn preferred(content: &Map<String, Value>) -> (&str, &Value) {
    static NOTHING: Value = Value::Null;
    let best = content.iter().min_by_key(|(kind, _)| rank(kind));
    best.map_or(("application/json", &NOTHING), |(kind, media)| (kind.as_str(), media))
}

impl Media {
    pub(super) fn of(key: &str, own: &Value, value: Value, required: bool, content: &Map<String, Value>) -> Self {
        let rank = rank(key);
        let declared = key.trim();
        let mut media = Self {
            form: Some("json"),
            content_type: None,
            value,
            is_text: false,
            required,
            unfit: None,
            note: None,
            encoding: own.get("encoding").cloned().unwrap_or_default(),
        };
        match rank {
            0 | 1 => {}
            2..=4 => media.content_type = Some(declared.to_owned()),
            5 => media.form = Some("form"),
            6 => media.form = Some("multipart"),
            _ => media.text(declared, rank),
        }
        let can_be_written = |kind: &String| !kind.contains("${") && media_type(kind).is_ok();
        if media.content_type.as_ref().is_some_and(|kind| !can_be_written(kind)) {
            media.unfit = Some("the media type of the body cannot be written".into());
            media.content_type = None;
        }
        if media.unfit.is_none() && rank > 0 && content.len() > 1 {
            let others: Vec<&str> = content.keys().map(String::as_str).filter(|other| *other != key).collect();
            let what = format!("the body is sent as {declared}; the document takes {} too", others.join(", "));
            media.note = Some(name::one_line(&what, 300));
        }
        media
    }

    /// A body that is a text, or nothing that can be sent.
    fn text(&mut self, declared: &str, rank: u32) {
        let is_string = self.value["type"] == "string" || self.value["type"] == json!(["string", "null"]);
        let open = self.value.as_object().is_some_and(Map::is_empty);
        let of_text = rank == 7 && (is_string || open) || is_string && essence(declared).ends_with("xml");
        if !of_text || is_binary(&self.value) || declared.contains('*') {
            self.unfit = Some(name::one_line(&format!("the body is {declared}, which cannot be sent yet"), 200));
            return;
        }
        if open {
            self.value = json!({"type": "string"});
        }
        self.is_text = true;
        self.content_type = Some(declared.to_owned());
    }

    pub(super) fn is_multipart(&self) -> bool {
        self.form == Some("multipart")
    }

    /// The style of a field, and a note.
    pub(super) fn style(&self, name: &str, value: &Value) -> (Styled, Option<String>) {
        if self.form != Some("form") {
            return (Styled::default(), None);
        }
        match style::of_field(&self.encoding[name], value) {
            Ok((styled, note)) => (styled, note.map(str::to_owned)),
            Err(why) => (Styled::default(), Some(name::one_line(&format!("{name}: {why}"), 200))),
        }
    }
}

/// Whether a value is a file and not text.
pub(super) fn is_binary(schema: &Value) -> bool {
    let items = schema.get("items").unwrap_or(&Value::Null);
    [schema, items].into_iter().any(|schema| {
        matches!(schema["format"].as_str(), Some("binary"))
            || schema.get("contentMediaType").is_some()
            || schema.get("contentEncoding").is_some()
    })
}
