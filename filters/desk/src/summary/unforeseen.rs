//! Finds the inputs that neither the template shows nor the schema names, so that a person confirms nothing unseen.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value;

/// Maximum depth in schema and input. What is deeper is shown with its parent.
const DEEPEST: usize = 16;

/// A value in the input, and the path to it.
pub(super) type Sent<'v> = (Vec<Cow<'v, str>>, &'v Value);

/// The members that a schema names, in all its parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    members: BTreeMap<String, Known>,
    /// The members of list items.
    items: Option<Box<Known>>,
}

/// A leaf: a name without known members.
static BARE: Known = Known { members: BTreeMap::new(), items: None };

impl Known {
    /// The members that a schema names.
    pub(super) fn by(schema: &Value) -> Self {
        let mut known = Self::default();
        known.add(schema, 0);
        known
    }

    /// Whether a path in an input starts with a known name.
    pub(super) fn begins(&self, way: &[Cow<'_, str>]) -> bool {
        way.first().is_some_and(|name| self.members.contains_key(&**name))
    }

    fn add(&mut self, schema: &Value, deep: usize) {
        if deep > DEEPEST {
            return;
        }
        for (name, member) in schema.get("properties").into_iter().flat_map(members) {
            self.members.entry(name.clone()).or_default().add(member, deep + 1);
        }
        for items in ["items", "prefixItems"].into_iter().filter_map(|key| schema.get(key)) {
            let known = self.items.get_or_insert_default();
            each(items).for_each(|item| known.add(item, deep + 1));
        }
        for part in ["allOf", "anyOf", "oneOf", "then", "else"].into_iter().filter_map(|key| schema.get(key)) {
            each(part).for_each(|part| self.add(part, deep + 1));
        }
    }

    fn items(&self) -> &Self {
        self.items.as_deref().unwrap_or(&BARE)
    }
}

/// The schemas in a list, or the single one in its place.
fn each(schemas: &Value) -> impl Iterator<Item = &Value> {
    schemas.as_array().map_or(std::slice::from_ref(schemas), Vec::as_slice).iter()
}

pub(super) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The parts of an input that are neither known nor shown. Of a partly known list or object, the rest.
pub(super) fn unforeseen<'v>(input: &'v Value, known: &Known, shown: &[&[String]]) -> Vec<Sent<'v>> {
    let mut found = Vec::new();
    Look { shown, found: &mut found }.look(input, &mut Vec::new(), Some(known));
    found
}

struct Look<'s, 'v> {
    shown: &'s [&'s [String]],
    found: &'s mut Vec<Sent<'v>>,
}

impl<'v> Look<'_, 'v> {
    fn look(&mut self, value: &'v Value, way: &mut Vec<Cow<'v, str>>, known: Option<&Known>) {
        if self.shown.iter().any(|shown| shown.iter().eq(way.iter())) {
            return;
        }
        let within = |shown: &&[String]| shown.len() > way.len() && shown.iter().zip(way.iter()).all(|(a, b)| a == b);
        let goes_on = way.len() < DEEPEST && (known.is_some() || self.shown.iter().any(within));
        match value {
            Value::Object(members) if goes_on => {
                for (name, member) in members {
                    way.push(name.into());
                    self.look(member, way, known.and_then(|known| known.members.get(name)));
                    way.pop();
                }
            }
            Value::Array(items) if goes_on => {
                for (at, item) in items.iter().enumerate() {
                    way.push(at.to_string().into());
                    self.look(item, way, known.map(Known::items));
                    way.pop();
                }
            }
            // The schema names this scalar, so it is known in full.
            value if known.is_some() && !value.is_object() && !value.is_array() => {}
            value => self.found.push((way.clone(), value)),
        }
    }
}
