//! Chooses the response type (AHP §6.6) and builds its payload (appendix C).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::listed::{DATA, FEED, Listed, RESULT, TEXT};
use frontdesk_desk::Pattern;

/// The type of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) kind: String,
    /// The richer type that was not accepted.
    pub(super) fallback_from: Option<String>,
}

impl Chosen {
    /// The fallback from this type to words.
    pub(super) fn in_words(&self) -> Self {
        Self { kind: TEXT.to_owned(), fallback_from: Some(self.kind.clone()) }
    }
}

/// The client's most preferred type that the capability has; `None`: there is none and no fallback.
pub(super) fn choose(listed: &Listed, accepted: Option<&[String]>) -> Option<Chosen> {
    let own = |kind: &str| listed.response_types.iter().find(|own| own.eq_ignore_ascii_case(kind));
    // Words are the fallback, so only a richer type is named.
    let richer = || listed.response_types.iter().find(|kind| *kind != TEXT).cloned();
    let Some(accepted) = accepted else {
        // A client that names no types gets words (§6.6).
        let fallback_from = if own(TEXT).is_some() { None } else { richer() };
        return Some(Chosen { kind: TEXT.to_owned(), fallback_from });
    };
    if let Some(kind) = accepted.iter().find_map(|kind| own(kind)) {
        return Some(Chosen { kind: kind.clone(), fallback_from: None });
    }
    let fallback_from = richer();
    listed.accept_fallback.then(|| Chosen { kind: TEXT.to_owned(), fallback_from })
}

/// The payload of an answer in a type, from the declared mapping. `None`: this answer lacks the data, and is given in
/// words.
pub(super) fn payload(
    listed: &Listed,
    kind: &str,
    declared: &[(String, Pattern)],
    input: &Value,
    data: &Value,
) -> Option<Value> {
    match kind {
        TEXT => None,
        _ if !declared.is_empty() => filled(kind, declared, input, data),
        DATA => Some(json!({ "schema": schema(listed), "data": data })),
        RESULT => {
            let result = if data.is_object() { data.clone() } else { json!({ "value": data }) };
            Some(json!({ "action": listed.name, "success": true, "result": result, "side_effects": [] }))
        }
        FEED => feed(data),
        _ if kind.starts_with("x-") => Some(data.clone()),
        _ => None,
    }
}

/// Data that is a list already: our own, or one in the registry's shape.
fn feed(data: &Value) -> Option<Value> {
    let items = data["items"].as_array()?;
    let total = data["total"].as_u64().unwrap_or(items.len() as u64);
    Some(json!({ "total": total, "items": items, "next_cursor": data.get("next_cursor") }))
}

/// The declared members, as far as the data has them.
fn filled(kind: &str, declared: &[(String, Pattern)], input: &Value, data: &Value) -> Option<Value> {
    let roots = [("data", data), ("input", input)];
    let members = declared.iter().filter_map(|(name, pattern)| Some((name.clone(), pattern.resolve(&roots)?)));
    let mut payload: Map<String, Value> = members.collect();
    let needed = match kind {
        FEED => "items",
        "media/video" | "media/audio" => "stream_url",
        "media/image" => "images",
        "file/download" => "url",
        _ => return (!payload.is_empty()).then_some(Value::Object(payload)),
    };
    payload.get(needed)?;
    if kind == FEED {
        let count = payload[needed].as_array()?.len();
        payload.entry("total").or_insert_with(|| count.into());
        payload.entry("next_cursor").or_insert(Value::Null);
    }
    Some(Value::Object(payload))
}

/// Whether a payload embeds media that it should reference by URL (§6.6).
pub(super) fn embeds(kind: &str, payload: &Value) -> bool {
    let names = kind.starts_with("media/") || kind.starts_with("file/");
    names && !payload.as_object().is_some_and(only_addresses)
}

/// The data for an answer in words, without embedded media.
pub(super) fn named(data: &Value) -> Cow<'_, Value> {
    fn sent_along(value: &Value) -> bool {
        match value {
            Value::Object(inner) => inner.values().any(sent_along),
            Value::Array(items) => items.iter().any(sent_along),
            Value::String(text) => is_data(text),
            _ => false,
        }
    }
    fn left_out(value: &mut Value) {
        match value {
            Value::Object(inner) => inner.values_mut().for_each(left_out),
            Value::Array(items) => items.iter_mut().for_each(left_out),
            Value::String(text) if is_data(text) => *text = "(left out)".to_owned(),
            _ => {}
        }
    }
    if !sent_along(data) {
        return Cow::Borrowed(data);
    }
    let mut named = data.clone();
    left_out(&mut named);
    Cow::Owned(named)
}

/// Whether a text is a data URL (RFC 2397), and not a sentence.
fn is_data(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    let head = text.get(5..).filter(|_| begins(text, "data:")).and_then(|rest| rest.split_once(','));
    head.is_some_and(|(kind, _)| kind.is_empty() || kind.starts_with(';') || kind.contains('/') && !kind.contains(' '))
}

/// Whether every member that should be a URL can be fetched, and nothing is embedded.
fn only_addresses(payload: &Map<String, Value>) -> bool {
    payload.iter().all(|(name, value)| {
        let named = matches!(name.as_str(), "url" | "src" | "href") || name.ends_with("_url");
        nothing_embedded(value, named || name == "images")
            && (!named || value.is_null() || value.as_str().is_some_and(is_address))
    })
}

/// The same for a value and its parts. With `address`, texts must be URLs.
fn nothing_embedded(value: &Value, address: bool) -> bool {
    match value {
        Value::Object(inner) => only_addresses(inner),
        Value::Array(items) => items.iter().all(|item| nothing_embedded(item, address)),
        Value::String(text) if address => is_address(text),
        // Clients strip blanks from a URL before they parse it.
        Value::String(text) => !begins(text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control()), "data:"),
        _ => true,
    }
}

fn is_address(text: &str) -> bool {
    begins(text, "https://") || begins(text, "http://") || text.starts_with('/')
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The identifier of the data's shape.
fn schema(listed: &Listed) -> Value {
    let named = |name: &str| listed.output_schema.as_ref().and_then(|schema| schema.get(name)?.as_str());
    named("$id").or_else(|| named("title")).unwrap_or(&listed.name).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahp::listed::{ActionType, Mode};

    fn listed(types: &[&str], accept_fallback: bool) -> Listed {
        Listed {
            index: 0,
            name: "get_video".into(),
            description: String::new(),
            mode: Mode::Three,
            action_type: ActionType::Query,
            input_schema: None,
            extracted: Vec::new(),
            output_schema: None,
            response_types: types.iter().map(|kind| (*kind).to_owned()).collect(),
            accept_fallback,
            needs_auth: false,
            is_action: false,
            is_concierge: false,
        }
    }

    #[test]
    fn the_most_preferred_type_of_both_is_chosen() {
        let chosen = |types: &[&str], fallback, accepted: Option<&[&str]>| {
            let accepted = accepted.map(|list| list.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>());
            choose(&listed(types, fallback), accepted.as_deref()).map(|c| (c.kind, c.fallback_from))
        };
        let video = ["media/video", "text/answer"];
        let told = |kind: &str| Some((kind.to_owned(), None));
        assert_eq!(chosen(&video, false, None), told("text/answer"));
        assert_eq!(chosen(&video, false, Some(&["x-a/b", "media/video", "text/answer"])), told("media/video"));
        assert_eq!(chosen(&video, false, Some(&["text/answer", "media/video"])), told("text/answer"));
        assert_eq!(chosen(&video, false, Some(&["application/feed"])), None);
        let fallen = Some(("text/answer".to_owned(), Some("media/video".to_owned())));
        assert_eq!(chosen(&["media/video"], true, Some(&["application/feed"])), fallen);
        assert_eq!(chosen(&["media/video"], false, None), fallen);
        assert_eq!(chosen(&["text/answer", "media/video"], true, Some(&["application/feed"])), fallen);
        assert_eq!(chosen(&["text/answer"], true, Some(&["application/feed"])), told("text/answer"));
        assert_eq!(chosen(&video, false, Some(&["Media/Video"])), told("media/video"));
    }

    #[test]
    fn media_are_named_and_never_sent_along() {
        let mapping = |value: Value| -> Vec<(String, Pattern)> {
            let Value::Object(members) = value else { panic!() };
            members.iter().map(|(name, value)| (name.clone(), Pattern::compile(value))).collect()
        };
        let declared = mapping(json!({ "stream_url": "{data.u}", "title": "{data.t}", "thumbnail_url": "{data.x}" }));
        let told = |url: &str| {
            payload(
                &listed(&["media/video"], true),
                "media/video",
                &declared,
                &json!({}),
                &json!({ "u": url, "t": "T" }),
            )
            .filter(|payload| !embeds("media/video", payload))
        };
        assert_eq!(told("https://c/v.mp4"), Some(json!({ "stream_url": "https://c/v.mp4", "title": "T" })));
        assert!(told("/v.mp4").is_some());
        assert_eq!(told("data:video/mp4;base64,AAAA"), None);
        let images = |value: Value| {
            let declared = mapping(json!({ "images": "{data.i}", "more": "{data.m}" }));
            let data = json!({ "i": value["i"], "m": value["m"] });
            let told = payload(&listed(&["media/image"], true), "media/image", &declared, &json!({}), &data);
            told.filter(|payload| !embeds("media/image", payload))
        };
        for fetched in [
            json!({ "i": ["https://c/1.png", "/2.png"], "m": "Data, and more: a caption" }),
            json!({ "i": [{ "url": "https://c/1.png", "alt": "x" }], "m": [["y"]] }),
        ] {
            assert!(images(fetched.clone()).is_some(), "{fetched}");
        }
        let sent = "data:image/png;base64,AAAA";
        for embedded in [
            json!({ "i": [sent] }),
            json!({ "i": ["AAAA"] }),
            json!({ "i": [[sent]] }),
            json!({ "i": [{ "src": sent }] }),
            json!({ "i": [{ "href": "AAAA" }] }),
            json!({ "i": [{ "url": [sent] }] }),
            json!({ "i": [{ "any": { "thing": [" DATA:image/png;base64,AAAA"] } }] }),
            json!({ "i": ["https://c/1.png"], "m": [[sent]] }),
        ] {
            assert_eq!(images(embedded.clone()), None, "{embedded}");
        }
        assert!(embeds("media/image", &json!(sent)) && !embeds(DATA, &json!({ "url": sent })));
        let data = json!({ "i": [sent, { "t": "data: all of it, at /x" }], "u": "/a" });
        let expected = json!({ "i": ["(left out)", { "t": "data: all of it, at /x" }], "u": "/a" });
        assert_eq!(named(&data).into_owned(), expected);
        let declared = mapping(json!({ "items": "{data.results}" }));
        let data = json!({ "results": [{ "title": "a" }] });
        let feed = payload(&listed(&[FEED], true), FEED, &declared, &json!({}), &data).unwrap();
        assert_eq!(feed, json!({ "total": 1, "items": [{ "title": "a" }], "next_cursor": null }));
        assert_eq!(payload(&listed(&[FEED], true), FEED, &declared, &json!({}), &json!({})), None);
    }
}
