//! JSON with its members in a chosen order, for human readers.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// A value, or an object whose members have an order.
pub(super) enum Node {
    Value(Value),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn text(text: &str) -> Self {
        Self::Value(text.into())
    }

    pub(super) fn of(members: Vec<(&str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, node)| (name.to_owned(), node)).collect())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(out),
            Self::Object(members) => {
                let mut map = out.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, node)| map.serialize_entry(name, node))?;
                map.end()
            }
        }
    }
}

/// A whole document.
pub(super) struct Members<'a>(pub(super) &'a [(&'static str, Node)]);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, node)| map.serialize_entry(name, node))?;
        map.end()
    }
}
