//! The schemas of a document without its references: small ones are inlined where they are used, large ones are
//! written once in `[schemas]`.
//!
//! An inlined schema may take 64 KB (`Schemas::limit`), so a thousand operations that share a large schema do not
//! repeat it. A cycle is cut with `{}`, which accepts everything.

use serde_json::{Value, json};

use super::{
    name,
    pointer::{self, At},
    schemas::{ALL, Schemas},
    walk::{Mode, Stop, Walk},
};

/// A schema of `[schemas]`.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) notes: Vec<String>,
}

impl<'d> Schemas<'d> {
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

    /// All named schemas.
    pub(super) fn named(&mut self) -> Vec<Named> {
        let mut named = Vec::new();
        while let Some((pointer, name)) = self.next_named() {
            let Some(there) = self.document.pointer(&pointer) else { continue };
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
}
