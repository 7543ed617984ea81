//! WebMCP: a script that registers what can be called here with `document.modelContext`, for an agent in the browser of
//! a person. It calls the operations of the OpenAPI document, in the person's own session.

use frontdesk_config::Settings;
use frontdesk_desk::{Document, Variant};

use crate::{Occupied, card_cache_control};

/// Its path.
pub const PATH: &str = "/.well-known/webmcp.js";
const SCRIPT: &str = include_str!("webmcp.js");
/// Maximum bytes of the script.
pub const MOST_BYTES: usize = 4096;

/// The script, for the OpenAPI document at this path. `None`: it is off (`discovery.webmcp`), or the site has something
/// there.
pub fn document(settings: &Settings, occupied: &Occupied, openapi: Option<&str>) -> Option<Document> {
    if !settings.discovery.webmcp || occupied.contains(PATH) {
        return None;
    }
    let script = script(openapi?)?;
    let variant = Variant::new("text/javascript; charset=utf-8", script, &card_cache_control()).generated();
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

/// The script within its bound. The path stands in it as a string of JavaScript.
fn script(openapi: &str) -> Option<String> {
    let path = serde_json::Value::from(openapi).to_string();
    let script = SCRIPT.replace("\"OPENAPI\"", &path);
    (script.len() < MOST_BYTES).then_some(script)
}

/// The element that loads it.
pub fn element() -> String {
    format!("<script src=\"{PATH}\" async></script>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_short_and_knows_where_the_document_is() {
        let script = script("/openapi.json").unwrap();
        assert!(script.len() < MOST_BYTES, "{} bytes", script.len());
        assert!(script.contains("fetch(\"/openapi.json\"") && script.is_ascii() && !script.contains("OPENAPI"));
        assert!(super::script("/\"x").unwrap().contains("fetch(\"/\\\"x\""), "a path ends no string");
    }
}
