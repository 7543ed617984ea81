//! WebMCP: a script that registers what can be called here with `document.modelContext`, for an agent in the browser of
//! a person. It calls the operations of the OpenAPI document, in the person's own session. Forms of the site that are
//! declared are marked on its own pages.

use frontdesk_config::{Declaration, Settings};
use frontdesk_desk::{Document, Variant};
use frontdesk_page::FormMark;

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

/// The forms to mark on the site's pages: those of the exposed capabilities whose page has a fixed path.
pub fn forms(declaration: &Declaration) -> Vec<FormMark> {
    if !declaration.settings.discovery.webmcp {
        return Vec::new();
    }
    let path = |target: &str| target.split('?').next().unwrap_or(target).to_owned();
    let exposed = declaration.settings.capabilities.iter().filter(|capability| capability.exposed);
    exposed
        .filter_map(|capability| {
            let call = capability.upstream.as_ref()?;
            let form = call.form_of_page.as_ref().filter(|form| !form.page.contains('{'))?;
            let properties = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
            let theirs = |ours: &String| {
                let renamed = call.rename_input.iter().find(|(name, _)| name == ours);
                renamed.map_or_else(|| ours.clone(), |(_, theirs)| theirs.clone())
            };
            let fields = properties.into_iter().flatten();
            let fields =
                fields.filter_map(|(name, schema)| Some((theirs(name), schema["description"].as_str()?.to_owned())));
            Some(FormMark {
                page: path(&form.page),
                select: form.select.clone(),
                action: path(call.path.as_deref()?),
                name: capability.id.replace('.', "_"),
                description: capability.description.clone().unwrap_or_else(|| capability.id.clone()),
                fields: fields.collect(),
            })
        })
        .collect()
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
