//! Files in an answer as MCP content: pictures and sound as they are, short texts as a resource, anything else as a link.

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_desk::GivenFile;
use serde_json::{Value, json};

/// The largest picture or sound that is sent along, and the longest text.
const MOST_MEDIA: usize = 1024 * 1024;
const MOST_TEXT: usize = 64 * 1024;

/// The content for a file. `given`: the file itself, where it is at hand.
pub(super) fn content(told: &Value, given: Option<&GivenFile>, base: &str) -> Vec<Value> {
    let kind = told["media_type"].as_str().unwrap_or("application/octet-stream");
    let url = told["url"].as_str().unwrap_or_default();
    let uri = if url.starts_with('/') { format!("{base}{url}") } else { url.to_owned() };
    let link = json!({
        "type": "resource_link", "uri": uri, "name": told["name"], "mimeType": kind, "size": told["size"],
    });
    let Some(GivenFile { file, .. }) = given else { return vec![link] };
    let media = match kind.split('/').next().unwrap_or_default() {
        "image" if kind != "image/svg+xml" => "image",
        "audio" => "audio",
        _ => "",
    };
    if !media.is_empty() && file.body.len() <= MOST_MEDIA {
        return vec![json!({ "type": media, "data": STANDARD.encode(&file.body), "mimeType": kind }), link];
    }
    let is_text = kind.starts_with("text/") || kind.ends_with("xml") || kind.ends_with("json");
    let text = std::str::from_utf8(&file.body).ok().filter(|text| is_text && text.len() <= MOST_TEXT);
    match text {
        Some(text) => vec![json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })],
        None => vec![link],
    }
}

#[cfg(test)]
mod tests {
    use frontdesk_desk::GivenFile;

    use super::*;

    #[test]
    fn a_file_is_sent_as_what_it_is() {
        let types = |kind: &str, body: &[u8], at_hand: bool| {
            let url = "/agent/files/x";
            let told = json!({ "url": url, "media_type": kind, "size": body.len(), "name": "n" });
            let file = frontdesk_desk::File { media_type: kind.into(), name: "n".into(), body: body.to_vec().into() };
            let given = GivenFile { file, url: Some(url.into()) };
            content(&told, at_hand.then_some(&given), "https://site.test")
        };
        let of = |content: &[Value]| content.iter().map(|c| c["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let picture = types("image/png", b"abc", true);
        assert_eq!(of(&picture), ["image", "resource_link"]);
        assert_eq!((&picture[0]["data"], &picture[0]["mimeType"]), (&json!("YWJj"), &json!("image/png")));
        assert_eq!(picture[1]["uri"], "https://site.test/agent/files/x");
        assert_eq!(of(&types("audio/mpeg", b"abc", true))[0], "audio");
        assert_eq!(of(&types("image/svg+xml", b"<svg/>", true)), ["resource"]);
        assert_eq!(types("text/calendar", b"BEGIN", true)[0]["resource"]["text"], "BEGIN");
        assert_eq!(of(&types("application/pdf", b"%PDF", true)), ["resource_link"]);
        assert_eq!(of(&types("image/png", b"abc", false)), ["resource_link"]);
        assert_eq!(of(&types("image/png", &vec![0; MOST_MEDIA + 1], true)), ["resource_link"]);
    }
}
