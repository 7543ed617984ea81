//! Expands the references of a schema within a size limit.
//!
//! The validator copies the target of each reference and tries alternatives one after another. Schemas that refer to
//! each other in cycles could take any amount of memory to compile, and any amount of time for a small nested input.
//! So the size of the expansion is computed first. References are followed only as many steps as fit into the limit.
//! Deeper parts are not validated here; the site still validates them.

#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::HashMap};

use serde_json::{Map, Value, json};

/// Maximum added parts of a schema that validates.
pub(super) const TO_JUDGE: usize = 1000;
/// The same for a published schema. A declaration may have thousands, and agents have to read them.
pub(super) const TO_READ: usize = 120;
/// The depths to try, in steps from reference to reference.
const DEPTHS: [usize; 10] = [64, 24, 12, 8, 6, 5, 4, 3, 2, 1];

/// Keywords that name a schema or a part, and the one for a document's dialect.
const NAMES: [&str; 4] = ["$id", "$anchor", "$dynamicAnchor", "$schema"];

/// The contents of a schema's member.
enum Part<'v> {
    Reference(&'v str),
    /// Definitions that references within the schema lead to.
    Definitions,
    /// Values, not schemas; they contain no references.
    Values,
    /// Schemas under arbitrary names.
    Named(&'v Map<String, Value>),
    Schema,
}

impl<'v> Part<'v> {
    fn of(key: &str, value: &'v Value) -> Self {
        match (key, value) {
            ("$ref", Value::String(reference)) => Self::Reference(reference),
            ("$defs" | "definitions", _) => Self::Definitions,
            ("enum" | "const" | "default" | "examples" | "required", _) => Self::Values,
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => Self::Named(schemas),
            _ => Self::Schema,
        }
    }
}

/// Resolves references.
pub(super) trait Named {
    /// The schema of a reference, and the document for the references in it.
    fn find(&self, reference: &str) -> Option<&Value>;
}

/// The schema without references, with at most `room` more parts than its own.
///
/// # Errors
///
/// A reference has no target.
pub(super) fn expanded(schema: &Value, named: &impl Named, counted: &Counted, room: usize) -> Result<Value, String> {
    let mut sizes = Sizes { named, counted, own: HashMap::new() };
    let own = sizes.of(schema, (schema, None), 0)?;
    for depth in DEPTHS {
        if sizes.of(schema, (schema, None), depth)? <= own + room {
            return put_in(schema, schema, named, depth);
        }
    }
    put_in(schema, schema, named, 0)
}

/// The sizes of named schemas, by depth of expansion. A declaration has thousands of schemas that refer to the same
/// names, which are counted once.
#[derive(Debug, Default)]
pub(super) struct Counted(RefCell<HashMap<(String, usize), usize>>);

/// Computes the size of one schema.
struct Sizes<'n, N> {
    named: &'n N,
    counted: &'n Counted,
    /// The sizes of references within the schema itself.
    own: HashMap<(String, usize), usize>,
}

impl<N: Named> Sizes<'_, N> {
    /// `named`: the document is one that others refer to as well.
    fn of(&mut self, schema: &Value, root: (&Value, Option<&str>), depth: usize) -> Result<usize, String> {
        let mut size = 1usize;
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    size = size.saturating_add(match Part::of(key, value) {
                        Part::Reference(reference) => self.behind(reference, root, depth)?,
                        Part::Definitions => 0,
                        Part::Values => 1,
                        Part::Named(schemas) => schemas.values().try_fold(1usize, |sum, schema| {
                            self.of(schema, root, depth).map(|size| sum.saturating_add(size))
                        })?,
                        Part::Schema => self.of(value, root, depth)?,
                    });
                }
            }
            Value::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.of(item, root, depth)?);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn behind(&mut self, reference: &str, (root, name): (&Value, Option<&str>), depth: usize) -> Result<usize, String> {
        let (next, document) = lead(reference, root, self.named)?;
        let Some(depth) = depth.checked_sub(1) else { return Ok(0) };
        let is_own = std::ptr::eq(document, root);
        // Within a named document a reference is relative to that document.
        let key = match name {
            Some(name) if is_own => (format!("{name} {reference}"), depth),
            _ => (reference.to_owned(), depth),
        };
        let own = is_own && name.is_none();
        let known = if own { self.own.get(&key).copied() } else { self.counted.0.borrow().get(&key).copied() };
        if let Some(size) = known {
            return Ok(size);
        }
        let whole = if is_own { name.map(str::to_owned) } else { Some(reference.to_owned()) };
        let size = self.of(next, (document, whole.as_deref()), depth)?;
        if own {
            self.own.insert(key, size);
        } else {
            self.counted.0.borrow_mut().insert(key, size);
        }
        Ok(size)
    }
}

fn put_in(schema: &Value, root: &Value, named: &impl Named, depth: usize) -> Result<Value, String> {
    Ok(match schema {
        Value::Object(members) => {
            let mut whole = Map::new();
            let mut referred = None;
            for (key, value) in members {
                match Part::of(key, value) {
                    Part::Reference(_) if depth == 0 => {}
                    Part::Reference(reference) => {
                        let (next, document) = lead(reference, root, named)?;
                        referred = Some(put_in(next, document, named, depth - 1)?);
                    }
                    // An inserted schema brings its own definitions.
                    Part::Definitions => {}
                    Part::Values => drop(whole.insert(key.clone(), value.clone())),
                    Part::Named(schemas) => {
                        let put_in = |schema| put_in(schema, root, named, depth);
                        let each = schemas.iter().map(|(name, schema)| Ok((name.clone(), put_in(schema)?)));
                        whole.insert(key.clone(), Value::Object(each.collect::<Result<_, String>>()?));
                    }
                    Part::Schema => drop(whole.insert(key.clone(), put_in(value, root, named, depth)?)),
                }
            }
            match referred {
                None => Value::Object(whole),
                // Unchanged, with the draft that it names.
                Some(next) if whole.is_empty() && std::ptr::eq(schema, root) => next,
                Some(mut next) => {
                    if let Some(next) = next.as_object_mut() {
                        // It is now a part and no longer a document.
                        next.remove("$schema");
                        next.remove("$id");
                    }
                    if whole.is_empty() {
                        return Ok(next);
                    }
                    let mut all = vec![next];
                    if let Some(Value::Array(more)) = whole.remove("allOf") {
                        all.extend(more);
                    }
                    whole.insert("allOf".into(), json!(all));
                    Value::Object(whole)
                }
            }
        }
        Value::Array(items) => {
            items.iter().map(|item| put_in(item, root, named, depth)).collect::<Result<Vec<_>, _>>()?.into()
        }
        other => other.clone(),
    })
}

/// A schema without the names of itself and its parts, so that it can occur more than once in a document: a name may
/// occur once (JSON Schema core, §8.2). It must contain no reference. As it then names no draft, tuples of the older
/// draft are rewritten in today's form (2020-12 core, §10.3.1).
pub fn unnamed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut whole = Map::new();
            let is_tuple = members.get("items").is_some_and(Value::is_array);
            for (key, value) in members.iter().filter(|(key, _)| !NAMES.contains(&key.as_str())) {
                let key = match key.as_str() {
                    "items" if is_tuple => "prefixItems",
                    "additionalItems" if is_tuple => "items",
                    key => key,
                };
                if key == "prefixItems" && value.as_array().is_some_and(Vec::is_empty) {
                    continue;
                }
                let kept = match Part::of(key, value) {
                    Part::Definitions => continue,
                    Part::Named(schemas) => {
                        schemas.iter().map(|(name, schema)| (name.clone(), unnamed(schema))).collect()
                    }
                    Part::Values | Part::Reference(_) => value.clone(),
                    Part::Schema => unnamed(value),
                };
                whole.insert(key.to_owned(), kept);
            }
            Value::Object(whole)
        }
        Value::Array(items) => items.iter().map(unnamed).collect(),
        other => other.clone(),
    }
}

/// The target of a reference, and its document.
fn lead<'v>(reference: &str, root: &'v Value, named: &'v impl Named) -> Result<(&'v Value, &'v Value), String> {
    if let Some(pointer) = reference.strip_prefix('#') {
        if pointer.is_empty() {
            return Ok((root, root));
        }
        if let Some(found) = root.pointer(pointer) {
            return Ok((found, root));
        }
        if let Some(found) = named.find(reference) {
            // References in an OpenAPI document are resolved by name; those within a schema are relative to it.
            return Ok((found, found));
        }
    }
    Err(format!("the reference \"{}\" leads nowhere", reference.escape_debug()))
}
