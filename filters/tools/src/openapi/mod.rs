//! Converts an OpenAPI 3.0 or 3.1 document, or a Swagger 2.0 one, to a first declaration.
//!
//! read (JSON or YAML) → operations → for each its type, its input, its output → TOML with a comment at every guess. A
//! document is untrusted: its text must not leave its string, be replaced from the environment, or make the file
//! larger than its content.

mod capability;
mod choose;
mod expand;
mod fields;
mod graph;
mod guess;
mod input;
mod input_name;
mod keywords;
mod media;
mod name;
mod operation;
mod page;
mod pointer;
mod schemas;
mod security;
mod server;
mod style;
mod swagger;
#[cfg(feature = "agtp")]
mod verbs;
mod walk;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use frontdesk_base::openapi_schema as dialect;
use serde_json::Value;
use url::Url;

use self::{
    capability::{Capability, Maker},
    choose::Chosen,
    page::Page,
    pointer::At,
    schemas::Schemas,
    server::Server,
};
use crate::import::{Asked, Imported, Unusable};

/// Converts a document, in JSON or YAML, to a declaration.
pub(crate) fn import(
    bytes: &[u8],
    asked: &Asked,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, Unusable> {
    let document = read(bytes).map_err(Unusable::Unreadable)?;
    // If the inlined schemas are too large in total, the larger ones are written once by name.
    match declare(&document, asked, schemas::LARGE, progress) {
        Err(Given::Up) => declare(&document, asked, schemas::LESS, progress),
        declared => declared,
    }
    .map_err(|given| match given {
        Given::Up => Unusable::Mistakes(vec!["the schemas are too large".into()]),
        Given::Mistakes(mistakes) => Unusable::Mistakes(mistakes),
    })
}

/// Why there is no declaration.
enum Given {
    Mistakes(Vec<String>),
    /// The schemas are too large in total.
    Up,
}

/// The declaration; schemas of at most `limit` bytes are inlined.
fn declare(
    document: &Value,
    asked: &Asked,
    limit: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, Given> {
    let server = Server::of(document, asked.from);
    let mut schemas = Schemas::new(document, dialect::is_3_0(document), limit);
    let chosen = Chosen::new(&asked.only, &asked.tags);
    let (operations, left_out) = operation::all(&mut schemas, asked.deprecated, &chosen);
    if operations.is_empty() && schemas.mistakes.is_empty() {
        let why = if left_out.not_chosen > 0 && !chosen.is_all() {
            format!("has no operation that --only and --tag name; it has {}", choose::some(document))
        } else if left_out.all() > 0 {
            "has only deprecated operations; take them with --deprecated".to_owned()
        } else {
            "is missing or empty".to_owned()
        };
        schemas.mistake(&At::Pointer("/paths"), &why);
    }
    let mut maker = Maker::new(&server, asked.from);
    let mut capabilities: Vec<Capability> = Vec::with_capacity(operations.len());
    for (done, operation) in operations.iter().enumerate() {
        progress(done, operations.len());
        capabilities.push(maker.make(operation, &mut schemas));
        if limit > schemas::LESS && schemas.total > schemas::MANY {
            return Err(Given::Up);
        }
    }
    in_groups(&mut capabilities);
    let named = schemas.named();
    if !schemas.mistakes.is_empty() {
        return Err(Given::Mistakes(schemas.mistakes));
    }
    let mut page = Page::default();
    write::head(&mut page, document, asked, &left_out);
    write::site(&mut page, document, &server);
    write::auth(&mut page, &security::auth(document, server.url.as_ref()));
    write::schemas(&mut page, &named);
    let mut group = None;
    for capability in &capabilities {
        if capability.group != group {
            group.clone_from(&capability.group);
            page.blank();
            page.comment(&format!("── {} ──", group.as_deref().unwrap_or("without a tag")));
        }
        write::capability(&mut page, capability);
    }
    let probe = probe(&server, asked.from, &capabilities);
    Ok(Imported {
        text: page.text,
        capabilities: capabilities.len(),
        left_out: left_out.all(),
        reviews: page.reviews,
        probe,
    })
}

/// The URL of a read that needs no input, if the site is where the document came from.
fn probe(server: &Server, from: &str, capabilities: &[Capability]) -> Option<String> {
    let location = Url::parse(from).ok().filter(|url| url.origin().ascii_serialization() == server.origin)?;
    let is_read = |capability: &&Capability| {
        let (key, path) = &capability.target;
        capability.site_method == "GET"
            && !guess::is_action(capability.guess.kind)
            && *key == "path"
            && !path.contains('{')
            && capability.input_schema.get("required").is_none()
    };
    let path = &capabilities.iter().find(is_read)?.target.1;
    // A path that begins with `//` names another host.
    location.join(path).ok().filter(|url| url.origin() == location.origin()).map(String::from)
}

/// Orders capabilities by their groups, the groups in the order in which they come first.
fn in_groups(capabilities: &mut [Capability]) {
    let mut order: HashMap<Option<String>, usize> = HashMap::new();
    for capability in capabilities.iter() {
        let next = order.len();
        order.entry(capability.group.clone()).or_insert(next);
    }
    capabilities.sort_by_key(|capability| order.get(&capability.group).copied());
}

/// Parses an OpenAPI 3 or Swagger 2 document in JSON or YAML. An error is a sentence.
fn read(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('<') {
        return Err("is a page of HTML or XML, not an OpenAPI document in JSON or YAML".into());
    }
    let document: Value = match text.trim_start().starts_with('{') {
        // YAML may begin so too, but hardly ever does.
        true => serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?,
        false => yaml::read(text).map_err(|error| format!("is neither JSON nor YAML: {error}"))?,
    };
    if swagger::is_one(&document) {
        return Ok(swagger::converted(document));
    }
    version(&document)?;
    Ok(document)
}

fn version(document: &Value) -> Result<(), String> {
    if !document["swagger"].is_null() {
        return Err("is a Swagger document of another version than 2.0".into());
    }
    let version = match &document["openapi"] {
        Value::String(version) => version.clone(),
        Value::Number(version) => version.to_string(),
        _ => return Err("is not an OpenAPI document: it has no \"openapi\" with a version in it".into()),
    };
    let known = ["3.0", "3.1", "3.2"].iter().any(|known| {
        let rest = version.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    if known {
        return Ok(());
    }
    Err(format!("is OpenAPI {}, and 3.0 or 3.1 is needed", pointer::shown(&version)))
}
