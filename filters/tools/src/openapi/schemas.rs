//! What is known of a document's schemas while they are written down: mistakes, sizes, and the names of the large ones,
//! which are written once in `[schemas]`.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::{
    graph::Graph,
    name,
    pointer::{self, At},
};

/// Maximum bytes of an inlined schema.
pub(super) const LARGE: usize = 64 << 10;
/// The same, once all of them together exceed `MANY`.
pub(super) const LESS: usize = 4 << 10;
/// Total bytes of all schemas above which the smaller limit applies.
pub(super) const MANY: usize = 8 << 20;
/// Maximum bytes of all schemas.
pub(super) const ALL: usize = 64 << 20;
/// The schemas of a document.
pub(super) struct Schemas<'d> {
    pub(super) document: &'d Value,
    /// The document is OpenAPI 3.0.
    pub(super) old: bool,
    /// Mistakes in the document.
    pub(super) mistakes: Vec<String>,
    /// Total bytes of all schemas so far.
    pub(super) total: usize,
    /// Maximum bytes of an inlined schema.
    pub(super) limit: usize,
    told: HashSet<String>,
    /// Pointers to schemas that are known to be too large.
    pub(super) large: HashSet<String>,
    names: HashMap<String, String>,
    taken: name::Taken,
    waiting: VecDeque<String>,
    graph: Graph,
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

    /// Whether the reference to a schema from within another one closes a cycle.
    pub(super) fn is_cycle(&mut self, within: Option<&str>, pointer: &str) -> bool {
        self.graph.visit(self.document, self.old, pointer);
        within.is_some_and(|within| self.graph.is_cut(within, pointer))
    }

    /// A reference to the schema by its name in `[schemas]`, where it is then written.
    pub(super) fn by_name(&mut self, pointer: String) -> Value {
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

    /// The next schema that has a name and is not written yet: its pointer and its name.
    pub(super) fn next_named(&mut self) -> Option<(String, String)> {
        let pointer = self.waiting.pop_front()?;
        let name = self.names.get(&pointer)?.clone();
        Some((pointer, name))
    }

    /// Adds a finished schema to the total.
    pub(super) fn counted(&mut self, value: Value) -> Value {
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
const PREFIX: &str = "#/schemas/";

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 4,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 4,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + 5 + size(value)).sum::<usize>() + 4,
        _ => 6,
    }
}
