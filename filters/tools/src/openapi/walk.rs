//! Copies one schema keyword by keyword: only the keywords of JSON Schema, only in their valid form, and only values
//! that TOML can express.
//!
//! TOML has no null and nests at most 80 levels, and a `${` in it would be replaced from the environment. No document
//! must lead to any of these.

use serde_json::{Map, Value, json};

use super::{
    dialect::{self, DEFINED, LIST, NAMED, ONE},
    keywords::{beside, each_once, is_type, looks_up, without_null},
    name,
    pointer::{self, At},
    schemas::Schemas,
};
use frontdesk_base::schema::{Referred, Schema};

/// Maximum depth of a schema. The tables around it add to that; TOML allows 80.
const DEEPEST: usize = 56;
/// Maximum chained references.
const HOPS: usize = 64;
/// In a large schema, parts above this size get a name of their own.
const TINY: usize = 256;

/// The schema is larger or deeper than allowed.
#[derive(Debug)]
pub(super) struct Stop;

/// The treatment of references.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// Replaced by their targets.
    Inline,
    /// Written as names of `[schemas]`.
    Named,
}

/// A walk through one schema.
pub(super) struct Walk<'w, 'd> {
    schemas: &'w mut Schemas<'d>,
    mode: Mode,
    left: usize,
    /// The references that led here.
    stack: Vec<String>,
    notes: &'w mut Vec<String>,
}

impl<'w, 'd> Walk<'w, 'd> {
    pub(super) fn new(
        schemas: &'w mut Schemas<'d>,
        mode: Mode,
        left: usize,
        stack: Vec<String>,
        notes: &'w mut Vec<String>,
    ) -> Self {
        Self { schemas, mode, left, stack, notes }
    }

    /// The target of a reference.
    fn follow(&mut self, pointer: &str, there: &'d Value, depth: usize) -> Result<Value, Stop> {
        if self.stack.iter().any(|above| above == pointer) {
            self.notes.push(cut(pointer));
            return Ok(json!({}));
        }
        if self.stack.len() >= HOPS {
            return Err(Stop);
        }
        self.stack.push(pointer.to_owned());
        let walked = self.schema(there, &At::Pointer(pointer), depth);
        self.stack.pop();
        walked
    }

    /// A schema with all sub-schemas.
    pub(super) fn schema(&mut self, schema: &Value, at: &At, depth: usize) -> Result<Value, Stop> {
        self.spend(8, depth)?;
        let map = match schema {
            Value::Bool(yes) => return Ok(Value::Bool(*yes)),
            Value::Object(map) => dialect::node(map, self.schemas.old),
            _ => {
                self.schemas.mistake(at, "is not a schema");
                return Ok(json!({}));
            }
        };
        let mut out = Map::new();
        for (key, value) in map.iter() {
            let place = at.key(key);
            if DEFINED.contains(&key.as_str()) || key == "$ref" {
                continue;
            }
            self.spend(key.len() + 4, depth)?;
            let kept = if key == "patternProperties" {
                self.named_by_pattern(value, &place, depth)?
            } else if NAMED.contains(&key.as_str()) {
                self.named(value, &place, depth)?
            } else if LIST.contains(&key.as_str()) {
                self.list(value, &place, depth)?
            } else if ONE.contains(&key.as_str()) {
                Some(self.one(value, &place, depth)?)
            } else {
                self.plain(key, value, &place, depth)?
            };
            out.extend(kept.map(|value| (key.clone(), value)));
        }
        without_null(&mut out);
        let Some(reference) = map.get("$ref") else { return Ok(Value::Object(out)) };
        let there = self.reference(reference, &at.key("$ref"), depth)?;
        Ok(beside(there, out))
    }

    fn reference(&mut self, reference: &Value, at: &At, depth: usize) -> Result<Value, Stop> {
        let followed = reference.as_str().ok_or_else(|| "is not a string".to_owned());
        match followed.and_then(|reference| pointer::follow(self.schemas.document, reference)) {
            Err(what) => {
                self.schemas.mistake(at, what);
                Ok(json!({}))
            }
            Ok((pointer, there)) if self.mode == Mode::Inline => self.follow(&pointer, there, depth),
            Ok((pointer, there)) => {
                let value = self.named_or_small(pointer, there);
                self.spend(value.to_string().len(), depth)?;
                Ok(value)
            }
        }
    }

    /// The replacement of a reference in a schema that is too large to inline: a small one stands there itself.
    fn named_or_small(&mut self, pointer: String, there: &'d Value) -> Value {
        let within = self.stack.last().cloned();
        if self.schemas.is_cycle(within.as_deref(), &pointer) {
            self.notes.push(cut(&pointer));
            return json!({});
        }
        let mut found = Vec::new();
        let stack = within.into_iter().collect();
        let walked = Walk::new(self.schemas, Mode::Inline, TINY, stack, &mut found).follow(&pointer, there, 0);
        if let Ok(value) = walked {
            self.notes.append(&mut found);
            return value;
        }
        self.schemas.by_name(pointer)
    }

    fn named(&mut self, value: &Value, at: &At, depth: usize) -> Result<Option<Value>, Stop> {
        let Value::Object(map) = value else { return Ok(self.misshapen(at)) };
        let mut out = Map::new();
        for (name, schema) in map {
            self.spend(name.len() + 4, depth)?;
            out.insert(name.clone(), self.schema(schema, &at.key(name), depth + 2)?);
        }
        Ok(Some(Value::Object(out)))
    }

    /// The same for names that are patterns.
    fn named_by_pattern(&mut self, value: &Value, at: &At, depth: usize) -> Result<Option<Value>, Stop> {
        let Some(Value::Object(map)) = self.named(value, at, depth)? else { return Ok(None) };
        let known = map.into_iter().filter_map(|(name, schema)| Some((self.pattern(&name)?, schema)));
        Ok(Some(Value::Object(known.collect())))
    }

    /// A pattern that can be checked, in a form for a declaration.
    fn pattern(&mut self, text: &str) -> Option<String> {
        // Equivalent for a regular expression, but not replaced from the environment.
        let pattern = text.replace("${", "$\\{");
        let schema = json!({ "pattern": pattern });
        if Schema::compile(&schema, &Referred::new(Map::new(), None)).is_err() {
            self.notes.push("a pattern that cannot be checked in linear time is left out".into());
            return None;
        }
        Some(pattern)
    }

    fn list(&mut self, value: &Value, at: &At, depth: usize) -> Result<Option<Value>, Stop> {
        let Value::Array(items) = value else { return Ok(self.misshapen(at)) };
        let each = items.iter().enumerate().map(|(n, item)| self.schema(item, &at.index(n), depth + 2));
        let items = each.collect::<Result<Vec<_>, _>>()?;
        // An empty choice is invalid in JSON Schema.
        Ok((!items.is_empty()).then_some(Value::Array(items)))
    }

    fn one(&mut self, value: &Value, at: &At, depth: usize) -> Result<Value, Stop> {
        match value {
            // `items` of an early JSON Schema was a list; any of its schemas is close enough.
            Value::Array(_) => Ok(self.list(value, at, depth + 1)?.map_or(json!({}), |list| json!({"anyOf": list}))),
            value => self.schema(value, at, depth + 1),
        }
    }

    /// A keyword without sub-schemas.
    fn plain(&mut self, key: &str, value: &Value, at: &At, depth: usize) -> Result<Option<Value>, Stop> {
        let names = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        let fits = match key {
            "title" | "description" => {
                let text = name::sentence(value.as_str().unwrap_or_default(), name::DESCRIPTION);
                self.spend(text.len(), depth)?;
                return Ok((!text.is_empty()).then_some(text.into()));
            }
            "pattern" => {
                let Some(text) = value.as_str() else { return Ok(self.misshapen(at)) };
                self.spend(text.len(), depth)?;
                return Ok(self.pattern(text).map(Value::from));
            }
            "type" => {
                let fit = |kinds: &Vec<Value>| !kinds.is_empty() && kinds.iter().all(is_type);
                is_type(value) || value.as_array().is_some_and(fit)
            }
            "required" => names(value) || value.is_boolean(),
            "enum" => value.is_array(),
            "const" | "default" => true,
            "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
            "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => value.is_number(),
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains" | "maxProperties"
            | "minProperties" => value.is_u64(),
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "format" | "contentEncoding" | "contentMediaType" => value.is_string(),
            "dependentRequired" => value.as_object().is_some_and(|map| map.values().all(names)),
            "$dynamicRef" | "$recursiveRef" => {
                self.notes.push(format!("{key} is not followed: it takes everything"));
                return Ok(None);
            }
            _ => return Ok(None),
        };
        if !fits {
            return Ok(self.misshapen(at));
        }
        if key == "required" && value.is_boolean() {
            return Ok(None);
        }
        self.data(value, depth)?;
        if looks_up(value) {
            let what = format!("{key} is left out: a \"${{\" in it would be replaced from the environment");
            self.notes.push(what);
            return Ok(None);
        }
        Ok(Some(match key {
            "type" | "required" | "dependentRequired" => each_once(value),
            _ => value.clone(),
        }))
    }

    fn data(&mut self, value: &Value, depth: usize) -> Result<(), Stop> {
        match value {
            Value::Array(items) => {
                self.spend(4, depth)?;
                items.iter().try_for_each(|item| self.data(item, depth + 1))
            }
            Value::Object(map) => map.iter().try_for_each(|(key, value)| {
                self.spend(key.len() + 4, depth)?;
                self.data(value, depth + 1)
            }),
            Value::String(text) => self.spend(text.len() + 4, depth),
            _ => self.spend(8, depth),
        }
    }

    fn misshapen(&mut self, at: &At) -> Option<Value> {
        self.notes.push(format!(
            "{} is left out: it is not what JSON Schema has there",
            name::one_line(&at.to_string(), 300)
        ));
        None
    }

    fn spend(&mut self, bytes: usize, depth: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(bytes).ok_or(Stop)?;
        if depth > DEEPEST { Err(Stop) } else { Ok(()) }
    }
}

/// The note where a cycle is cut.
fn cut(pointer: &str) -> String {
    format!("{} contains itself; it is cut short with {{}} there", name::one_line(&pointer::last(pointer), 80))
}
