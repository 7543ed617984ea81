//! /.well-known/ai-catalog.json: one list of what agents find here, with the media type of each document.

use frontdesk_config::Settings;
use frontdesk_desk::{Document, Variant};
use http::HeaderValue;
use serde_json::{Value, json};

use crate::{Entry, Occupied, card_cache_control, cors, host_of};

/// Its path.
pub const PATH: &str = "/.well-known/ai-catalog.json";
const MEDIA_TYPE: &str = "application/ai-catalog+json";
const VERSION: &str = "1.0";

/// The list, unless the site has one of its own, or there is nothing to list.
pub fn document(settings: &Settings, occupied: &Occupied, entries: &[Entry]) -> Option<Document> {
    if !settings.discovery.server_card || occupied.contains(PATH) || entries.is_empty() {
        return None;
    }
    let name = settings.site.name.clone();
    let listed: Vec<Entry> = entries.to_vec();
    let cache: HeaderValue = card_cache_control();
    let render = move |origin: &str| render(origin, name.as_deref(), &listed).to_string();
    let variant = cors(Variant::of_origin(settings, MEDIA_TYPE, &cache, render));
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

fn render(origin: &str, name: Option<&str>, entries: &[Entry]) -> Value {
    let host = host_of(origin);
    let entries = entries.iter().map(|entry| {
        json!({
            "identifier": format!("urn:air:{host}:{}:site", entry.name),
            "displayName": entry.title,
            "type": entry.media_type,
            "url": format!("{origin}{}", entry.path),
        })
    });
    json!({
        "specVersion": VERSION,
        "host": { "displayName": name.unwrap_or(host) },
        "entries": entries.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_name_of_its_own_and_a_whole_address() {
        let entry =
            |name, path: &str, media_type| Entry { name, rel: None, path: path.into(), media_type, title: "A title" };
        let entries = [
            entry("mcp", "/mcp/server-card", "application/mcp-server-card+json"),
            entry("llms", "/llms.txt", "text/plain"),
        ];
        let catalog = render("https://a.test", Some("Acme"), &entries);
        assert_eq!((&catalog["specVersion"], &catalog["host"]["displayName"]), (&json!("1.0"), &json!("Acme")));
        assert_eq!(
            catalog["entries"][0],
            json!({ "identifier": "urn:air:a.test:mcp:site", "displayName": "A title",
                    "type": "application/mcp-server-card+json", "url": "https://a.test/mcp/server-card" })
        );
        assert_eq!(catalog["entries"][1]["identifier"], "urn:air:a.test:llms:site");
        assert_eq!(render("http://b.test:8", None, &entries)["host"]["displayName"], "b.test");
    }
}
