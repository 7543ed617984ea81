//! A chat request in OpenAI's form, and what its answer says.

use bytes::Bytes;
use frontdesk_filters::{concierge::Draft, site::ChatModel};
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::super::Whole;

/// What a model answered.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    /// `None`: it refused, or had nothing to say.
    pub(super) text: Option<String>,
    /// The tokens that it read and wrote, if it says so.
    pub(super) used: Option<u64>,
}

pub(super) fn request(model: &ChatModel, draft: &Draft) -> Result<Request<Bytes>, String> {
    let messages = json!([{ "role": "system", "content": draft.system }, { "role": "user", "content": draft.user }]);
    let body = json!({
        "model": model.name, "messages": messages, "temperature": 0, "max_tokens": draft.most, "stream": false,
    });
    super::post(&model.url, "/chat/completions", &model.key, &body)
}

pub(super) fn read(whole: &Whole) -> Result<Reply, String> {
    if whole.status != StatusCode::OK {
        return Err(format!("the answer is {}", whole.status));
    }
    if whole.cut {
        return Err("the answer is too long".into());
    }
    let body: Value = serde_json::from_slice(&whole.body).map_err(|_| "the answer is no JSON")?;
    let usage = &body["usage"];
    let parts = || Some(usage["prompt_tokens"].as_u64()?.saturating_add(usage["completion_tokens"].as_u64()?));
    let used = usage["total_tokens"].as_u64().or_else(parts);
    let choice = body["choices"].get(0).ok_or("the answer has no choices")?;
    let refuses = choice["finish_reason"] == "content_filter" || choice["message"]["refusal"].is_string();
    let text = choice["message"]["content"].as_str().map(str::trim).filter(|text| !text.is_empty() && !refuses);
    Ok(Reply { text: text.map(str::to_owned), used })
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn read_of(status: u16, body: &str) -> Result<Reply, String> {
        let (status, body) = (StatusCode::from_u16(status).unwrap(), Bytes::copy_from_slice(body.as_bytes()));
        read(&Whole { status, headers: HeaderMap::new(), body, cut: false })
    }

    #[test]
    fn a_reply_is_its_first_choice_and_what_it_cost() {
        let reply = |text: Option<&str>, used| Ok(Reply { text: text.map(str::to_owned), used });
        let body = r#"{"choices": [{"message": {"content": " Yes [1]. "}}], "usage": {"total_tokens": 7}}"#;
        assert_eq!(read_of(200, body), reply(Some("Yes [1]."), Some(7)));
        let body =
            r#"{"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}"#;
        assert_eq!(read_of(200, body), reply(None, Some(5)));
        for refusal in [
            r#"{"choices": [{"message": {"content": "x", "refusal": "I cannot."}}]}"#,
            r#"{"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}"#,
            r#"{"choices": [{"message": {"content": null}}]}"#,
        ] {
            assert_eq!(read_of(200, refusal), reply(None, None), "{refusal}");
        }
        for (status, body) in [(500, "{}"), (200, "no"), (200, "{}"), (200, r#"{"choices": []}"#), (302, "")] {
            assert!(read_of(status, body).is_err(), "{status} {body}");
        }
    }
}
