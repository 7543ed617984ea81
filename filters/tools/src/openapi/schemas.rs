//! The schemas of a document without its references: small ones are inlined where they are used, large ones are
//! written once in `[schemas]`.
//!
//! An inlined schema may take 64 KB (`Schemas::limit`), so a thousand operations that share a large schema do not
//! repeat it. A cycle is cut with `{}`, which accepts everything.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::{
    graph::Graph,
    name,
    pointer::{self, At},
    walk::{Mode, Stop, Walk},
};

/// Maximum bytes of an inlined schema.
pub(super) const LARGE: usize = 64 << 10;
/// The same, once all of them together exceed `MANY`.
pub(super) const LESS: usize = 4 << 10;
/// Total bytes of all schemas above which the smaller limit applies.
pub(super) const MANY: usize = 8 << 20;
/// Maximum bytes of all schemas.
const ALL: usize = 64 << 20;
/// In a large schema, parts above this size get a name of their own.
const TINY: usize = 256;

/// The schemas of a document.
pub(super) struct Schemas<'d> {
    pub(super) document: &'d Value,
    /// The document is OpenAPI 3.0.
    pub(super) old: bool,
    /// Mistakes in the document.
    pub(super) mistakes: Vec<String>,
    /// Total bytes of all schemas so far.
    pub(super) total: usize,
    limit: usize,
    told: HashSet<String>,
    /// Pointers to schemas that are known to be too large.
    large: HashSet<String>,
    names: HashMap<String, String>,
    taken: name::Taken,
    waiting: VecDeque<String>,
    graph: Graph,
}

/// A schema of `[schemas]`.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) notes: Vec<String>,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(document: &'d Value, old: bool, limit: usize) -> Self {
        Self {
            document,
            old,
            mistakes: Vec::new(),
            total: 0,
            limit,
            told: HashSet::new(),
            large: HashSet::new(),
            names: HashMap::new(),
            taken: name::Taken::default(),
            waiting: VecDeque::new(),
            graph: Graph::default(),
        }
    }

    /// Records a mistake of the document, once.
    pub(super) fn mistake(&mut self, at: &At, what: impl AsRef<str>) {
        let mistake = format!("{at}: {}", what.as_ref());
        if self.told.insert(mistake.clone()) {
            self.mistakes.push(mistake);
        }
    }

    /// The target of a reference object (a parameter, body or answer), across any number of references.
    pub(super) fn resolved(&mut self, value: &'d Value, at: &At) -> (&'d Value, String) {
        let (mut value, mut place) = (value, at.to_string());
        for _ in 0..16 {
            let Some(reference) = value.get("$ref") else { return (value, place) };
            let there = reference.as_str().ok_or_else(|| "$ref is not a string".to_owned());
            match there.and_then(|reference| pointer::follow(self.document, reference)) {
                Ok((pointer, there)) => (value, place) = (there, pointer),
                Err(what) => {
                    self.mistake(&At::Pointer(&place), what);
                    return (&Value::Null, place);
                }
            }
        }
        self.mistake(&At::Pointer(&place), "$ref leads to a $ref again and again");
        (&Value::Null, place)
    }

    /// A schema without references, except those to `[schemas]`.
    pub(super) fn expand(&mut self, schema: &'d Value, at: &At, notes: &mut Vec<String>) -> Value {
        let reference = schema.as_object().filter(|map| map.len() == 1).and_then(|map| map.get("$ref")?.as_str());
        let whole = reference.and_then(|reference| pointer::follow(self.document, reference).ok());
        if !whole.as_ref().is_some_and(|(pointer, _)| self.large.contains(pointer)) {
            let mut found = Vec::new();
            let limit = self.limit;
            if let Ok(value) = Walk::new(self, Mode::Inline, limit, Vec::new(), &mut found).schema(schema, at, 0) {
                notes.append(&mut found);
                return self.counted(value);
            }
            self.large.extend(whole.map(|(pointer, _)| pointer));
        }
        let walked = Walk::new(self, Mode::Named, ALL, Vec::new(), notes).schema(schema, at, 0);
        self.whole(walked, at)
    }

    /// A schema without references; `None`: it takes more bytes than that.
    pub(super) fn expand_within(
        &mut self,
        most: usize,
        schema: &'d Value,
        at: &At,
        notes: &mut Vec<String>,
    ) -> Option<Value> {
        let mut found = Vec::new();
        let value = Walk::new(self, Mode::Inline, most, Vec::new(), &mut found).schema(schema, at, 0).ok()?;
        notes.append(&mut found);
        Some(self.counted(value))
    }

    /// The replacement of a reference in a schema that is too large to inline.
    pub(super) fn by_name(
        &mut self,
        (pointer, there): (String, &'d Value),
        within: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Value {
        self.graph.visit(self.document, self.old, &pointer);
        if within.is_some_and(|within| self.graph.is_cut(within, &pointer)) {
            notes.push(cut(&pointer));
            return json!({});
        }
        let stack: Vec<String> = within.map(str::to_owned).into_iter().collect();
        let mut found = Vec::new();
        let walked = Walk::new(self, Mode::Inline, TINY, stack, &mut found).follow(&pointer, there, 0);
        if let Ok(value) = walked {
            notes.append(&mut found);
            return value;
        }
        let name = match self.names.get(&pointer) {
            Some(name) => name.clone(),
            None => {
                let name = self.taken.unique(name::of_schema(&pointer::last(&pointer)), "_");
                self.names.insert(pointer.clone(), name.clone());
                self.waiting.push_back(pointer);
                name
            }
        };
        json!({"$ref": format!("{PREFIX}{name}")})
    }

    /// All named schemas.
    pub(super) fn named(&mut self) -> Vec<Named> {
        let mut named = Vec::new();
        while let Some(pointer) = self.waiting.pop_front() {
            let (Some(there), Some(name)) = (self.document.pointer(&pointer), self.names.get(&pointer).cloned()) else {
                continue;
            };
            let mut notes = Vec::new();
            let at = At::Pointer(&pointer);
            let walked = Walk::new(self, Mode::Named, ALL, vec![pointer.clone()], &mut notes).schema(there, &at, 0);
            let schema = self.whole(walked, &at);
            named.push(Named { name, schema, notes: name::few(notes) });
        }
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named
    }

    fn whole(&mut self, walked: Result<Value, Stop>, at: &At) -> Value {
        match walked {
            Ok(value) => self.counted(value),
            Err(Stop) => {
                self.mistake(at, "the schema is too large, or nests too deep to be written down");
                json!({})
            }
        }
    }

    fn counted(&mut self, value: Value) -> Value {
        self.total += size(&value);
        if self.total > ALL {
            self.mistake(&At::Pointer("/components/schemas"), "all schemas together come to more than 64 MB");
            self.total = 0;
            self.waiting.clear();
        }
        value
    }
}

/// The prefix of a reference to a named schema.
pub(super) const PREFIX: &str = "#/schemas/";

/// The note where a cycle is cut.
pub(super) fn cut(pointer: &str) -> String {
    format!("{} contains itself; it is cut short with {{}} there", name::one_line(&pointer::last(pointer), 80))
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 4,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 4,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + 5 + size(value)).sum::<usize>() + 4,
        _ => 6,
    }
}
