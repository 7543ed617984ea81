//! A schema without references: each is replaced by what it leads to, as far as there is room.
//!
//! The library that judges copies what is referred to at each place, and judges alternatives one after another. Schemas
//! that refer to each other round and round would so take any amount of memory when they are compiled, and any amount of
//! time over a small input that is nested in the right way. What is put in here is counted first: references are followed
//! as many steps deep as fit into a bound, and what lies deeper is not judged; the site itself still is there to do so.

#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::HashMap};

use serde_json::{Map, Value, json};

/// Parts of a schema beyond its own, at most, where it is judged by.
pub(super) const TO_JUDGE: usize = 1000;
/// The same where it is published: a declaration may have thousands, and somebody has to read them.
pub(super) const TO_READ: usize = 120;
/// Steps from reference to reference, at most.
const DEPTHS: [usize; 10] = [64, 24, 12, 8, 6, 5, 4, 3, 2, 1];

/// What a schema or a part of it is called, and the dialect that a document is in.
const NAMES: [&str; 4] = ["$id", "$anchor", "$dynamicAnchor", "$schema"];

/// What a member of a schema holds.
enum Part<'v> {
    Reference(&'v str),
    /// What references within the schema lead to.
    Definitions,
    /// Values and no schemas: whatever is in them is no reference.
    Values,
    /// Schemas under names of the declaration's own, which may be any.
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

/// Where references lead.
pub(super) trait Named {
    /// A schema by the reference to it, and the document that references within it are to.
    fn find(&self, reference: &str) -> Option<&Value>;
}

/// The schema without references, and with at most `room` parts more than its own.
///
/// # Errors
///
/// A reference that leads nowhere.
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

/// How many parts named schemas have with so many steps put in. A declaration has thousands of schemas that refer to the
/// same names, which are counted once.
#[derive(Debug, Default)]
pub(super) struct Counted(RefCell<HashMap<(String, usize), usize>>);

/// Counts the parts of one schema.
struct Sizes<'n, N> {
    named: &'n N,
    counted: &'n Counted,
    /// Of references within the schema itself.
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
        // Within a named document a reference means what it means there.
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
                    // What was put in from elsewhere has its own.
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
                // As it is, down to the draft that it is written in.
                Some(next) if whole.is_empty() && std::ptr::eq(schema, root) => next,
                Some(mut next) => {
                    if let Some(next) = next.as_object_mut() {
                        // It is a part now, and no document of its own.
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

/// A schema without the names that it gives itself and its parts, for where it stands more than once: a name may stand
/// once in a document (JSON Schema core, §8.2). No reference may be left in it. It names no draft then, so the tuples of
/// the one before are written as they are today (2020-12 core, §10.3.1).
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

/// What a reference leads to, and the document that it is in.
fn lead<'v>(reference: &str, root: &'v Value, named: &'v impl Named) -> Result<(&'v Value, &'v Value), String> {
    if let Some(pointer) = reference.strip_prefix('#') {
        if pointer.is_empty() {
            return Ok((root, root));
        }
        if let Some(found) = root.pointer(pointer) {
            return Ok((found, root));
        }
        if let Some(found) = named.find(reference) {
            // The references of an OpenAPI document are found by name as well; those within a schema are to itself.
            return Ok((found, found));
        }
    }
    Err(format!("the reference \"{}\" leads nowhere", reference.escape_debug()))
}
