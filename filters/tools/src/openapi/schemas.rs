//! The schemas of a document without its references: what is small is written out where it is used, what is large
//! becomes a name of `[schemas]`, written once.
//!
//! Written out, a schema may come to 64 KB (`Schemas::limit`); a thousand operations that share a large schema
//! therefore do not write it a thousand times. A cycle is cut short with `{}`, which takes everything.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::{
    graph::Graph,
    name,
    pointer::{self, At},
    walk::{Mode, Stop, Walk},
};

/// The most that one schema may come to where it is used.
pub(super) const LARGE: usize = 64 << 10;
/// The same, once all of them together are more than `MANY`.
pub(super) const LESS: usize = 4 << 10;
/// What all schemas together may come to before they are written out more sparingly.
pub(super) const MANY: usize = 8 << 20;
/// What all schemas together may come to at all.
const ALL: usize = 64 << 20;
/// A large schema has everything but this much in a name of its own.
const TINY: usize = 256;

/// Everything known about the schemas of a document.
pub(super) struct Schemas<'d> {
    pub(super) document: &'d Value,
    /// They are those of OpenAPI 3.0.
    pub(super) old: bool,
    /// What is wrong with the document.
    pub(super) mistakes: Vec<String>,
    /// What all schemas come to so far.
    pub(super) total: usize,
    limit: usize,
    told: HashSet<String>,
    /// Pointers to what is known to be too large.
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

    /// Notes a mistake of the document, once.
    pub(super) fn mistake(&mut self, at: &At, what: impl AsRef<str>) {
        let mistake = format!("{at}: {}", what.as_ref());
        if self.told.insert(mistake.clone()) {
            self.mistakes.push(mistake);
        }
    }

    /// What a reference object (of a parameter, a body, an answer) stands for, after any number of hops.
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

    /// A schema without references, or with those to names of `[schemas]` only.
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

    /// What a reference becomes in a schema that is too large to be written out with all that is in it.
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

    /// Every schema that has become a name.
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

/// What a schema's name begins with where it is referred to.
pub(super) const PREFIX: &str = "#/schemas/";

/// What is said where a cycle is cut short.
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
