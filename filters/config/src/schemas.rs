//! The named JSON Schemas of the declaration: inline, from a file, or from an OpenAPI document.

use std::{cell::RefCell, collections::HashMap, path::Path, sync::Arc};

use frontdesk_base::{
    openapi_schema::normalised,
    schema::{Referred, Schema},
};
use serde_json::{Map, Value as Json, json};

use super::{
    mistake::Findings,
    raw::{Files, Item, Value},
};

/// Every named schema.
pub struct Schemas {
    pub(super) named: Map<String, Json>,
    /// An OpenAPI document whose components are converted to JSON Schemas.
    openapi: Option<Json>,
    referred: Referred,
    /// The compiled schemas, by reference.
    compiled: RefCell<HashMap<String, Result<Arc<Schema>, String>>>,
}

/// The target of a capability's schema.
pub enum Pointed<'a> {
    Inline(&'a Item<'a>),
    Named(&'a Json),
    Nowhere,
}

impl Schemas {
    /// Collects the schemas. A file that is not an object of schemas is a mistake.
    pub(super) fn collect(root: &Item, base: &Path, files: &Files, found: &mut Findings) -> Self {
        let (mut named, mut openapi) = (Map::new(), None);
        for entry in root.get("schemas").map(Item::entries).unwrap_or_default() {
            match (&entry.item.value, &*entry.key) {
                (Value::Table(_), name) => drop(named.insert(name.into(), entry.item.json())),
                (Value::String(name), key @ ("file" | "openapi")) => {
                    // An unreadable file was reported before.
                    let Some(bytes) = files.get(&base.join(&**name)) else { continue };
                    let trail = format!("schemas.{key}");
                    match serde_json::from_slice(bytes) {
                        Ok(document @ Json::Object(_)) if key == "openapi" => {
                            openapi = Some(json!({ "components": { "schemas": normalised(&document) } }));
                        }
                        // Inline schemas take precedence over the file.
                        Ok(Json::Object(map)) => {
                            for (name, schema) in map {
                                named.entry(name).or_insert(schema);
                            }
                        }
                        Ok(_) => drop(found.mistake(entry.line, trail, "is not a JSON object of schemas by name")),
                        Err(error) => drop(found.mistake(entry.line, trail, format!("is not JSON: {error}"))),
                    }
                }
                _ => {}
            }
        }
        let mut referred = Referred::new(named.clone(), openapi.clone());
        if let Some(openapi) = &openapi {
            // Published under that name, it must be self-contained, because its document is not published.
            let told = of_openapi(root, openapi).map(|(name, schema)| (name, referred.alone(schema)));
            let told: Vec<_> = told.filter(|(name, _)| !named.contains_key(name)).collect();
            if !told.is_empty() {
                named.extend(told);
                referred = Referred::new(named.clone(), Some(openapi.clone()));
            }
        }
        Self { named, openapi, referred, compiled: RefCell::default() }
    }

    /// The target of `input_schema` or `output_schema`. A URL with a fragment refers to the OpenAPI document, if there
    /// is one: contracts publish schemas by URL, and Frontdesk reads them from the file.
    pub fn pointed<'a>(&'a self, item: &'a Item<'a>) -> Pointed<'a> {
        let Some(reference) = item.str() else { return Pointed::Inline(item) };
        let fragment = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        let own = reference.strip_prefix("#/schemas/").and_then(|name| self.named.get(name));
        let found = own.or_else(|| self.openapi.as_ref()?.pointer(fragment).filter(|_| !fragment.is_empty()));
        found.map_or(Pointed::Nowhere, Pointed::Named)
    }

    /// A schema in self-contained form.
    pub fn alone(&self, schema: Json) -> Json {
        self.referred.alone(schema)
    }

    /// The bytes of a schema in self-contained form; `None` where the reference has no target.
    pub(super) fn length(&self, item: &Item) -> Option<usize> {
        let schema = match self.pointed(item) {
            Pointed::Inline(item) => item.json(),
            Pointed::Named(schema) => schema.clone(),
            Pointed::Nowhere => return None,
        };
        Some(self.alone(schema).to_string().len())
    }

    /// The compiled schema; `None` where the reference has no target.
    pub(super) fn compiled(&self, item: &Item) -> Result<Option<Arc<Schema>>, String> {
        let referred = &self.referred;
        let mut compiled = self.compiled.borrow_mut();
        match (self.pointed(item), item.str()) {
            (Pointed::Inline(item), _) => {
                // An inline schema has no name; its address identifies it while the tree exists.
                let place = format!("{:p}", std::ptr::from_ref(item));
                let compile = || Schema::compile(&item.json(), referred).map(Arc::new);
                compiled.entry(place).or_insert_with(compile).clone().map(Some)
            }
            (Pointed::Named(schema), Some(reference)) => {
                let compile = || Schema::compile(schema, referred).map(Arc::new);
                compiled.entry(reference.to_owned()).or_insert_with(compile).clone().map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The OpenAPI schemas that capabilities name as `#/schemas/NAME`.
fn of_openapi<'a>(root: &'a Item, openapi: &'a Json) -> impl Iterator<Item = (String, Json)> + 'a {
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    let named = capabilities.iter().flat_map(|capability| {
        ["input_schema", "output_schema"].into_iter().filter_map(|key| capability.get(key)?.str())
    });
    named.filter_map(|reference| {
        let name = reference.strip_prefix("#/schemas/")?;
        Some((name.to_owned(), openapi["components"]["schemas"].get(name)?.clone()))
    })
}
