//! The JSON Schemas the declaration knows by name, inline and from a file.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::{
    check::Files,
    mistake::Findings,
    raw::{Item, Value},
};

/// Every named schema.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    pub(super) named: Map<String, Json>,
    /// An OpenAPI document is referenced: names we do not know may be its.
    pub(super) elsewhere: bool,
}

/// What a capability says about one of its schemas.
pub(super) enum Pointed<'a> {
    Inline(&'a Item<'a>),
    Named(&'a Json),
    /// A URL, or a name in a document that is read elsewhere.
    Elsewhere,
    Nowhere,
}

impl Schemas {
    /// Collects them; a file that is not an object of schemas is a mistake.
    pub(super) fn collect(root: &Item, base: &Path, files: &Files, found: &mut Findings) -> Self {
        let mut schemas = Self::default();
        for entry in root.get("schemas").map(Item::entries).unwrap_or_default() {
            match (&entry.item.value, &*entry.key) {
                (Value::Table(_), name) => drop(schemas.named.insert(name.into(), entry.item.json())),
                (Value::String(_), "openapi") => schemas.elsewhere = true,
                (Value::String(name), "file") => {
                    // A file that could not be read has been complained about.
                    let Some(bytes) = files.get(&base.join(&**name)) else { continue };
                    match serde_json::from_slice(bytes) {
                        Ok(Json::Object(map)) => schemas.add(map),
                        Ok(_) => {
                            found.mistake(entry.line, "schemas.file", "is not a JSON object of schemas by name");
                        }
                        Err(error) => drop(found.mistake(entry.line, "schemas.file", format!("is not JSON: {error}"))),
                    }
                }
                _ => {}
            }
        }
        schemas
    }

    /// Where `input_schema` or `output_schema` leads.
    pub(super) fn pointed<'a>(&'a self, item: &'a Item<'a>) -> Pointed<'a> {
        let Some(reference) = item.str() else { return Pointed::Inline(item) };
        match reference.strip_prefix("#/schemas/") {
            Some(name) => match self.named.get(name) {
                Some(schema) => Pointed::Named(schema),
                None if self.elsewhere => Pointed::Elsewhere,
                None => Pointed::Nowhere,
            },
            None if reference.contains("://") || (self.elsewhere && reference.starts_with('#')) => Pointed::Elsewhere,
            None => Pointed::Nowhere,
        }
    }

    /// What is written inline wins over the file.
    fn add(&mut self, map: Map<String, Json>) {
        for (name, schema) in map {
            self.named.entry(name).or_insert(schema);
        }
    }
}
