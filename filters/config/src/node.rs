//! A declared value, in the order it was written.
//!
//! `serde_json::Map` sorts its keys in this build. Published documents keep the operator's order, so they have a tree
//! of their own.

/// A declared value; a table keeps its order. With `&str` for its text it is a view, to which entries can be added
/// without copying the rest.
#[derive(Debug, Clone, PartialEq)]
pub enum Node<Text = String> {
    String(Text),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A TOML date or time, in its own spelling.
    Datetime(Text),
    Array(Vec<Node<Text>>),
    Table(Vec<(Text, Node<Text>)>),
}

impl Node {
    /// The same value with borrowed text.
    pub fn view(&self) -> Node<&str> {
        match self {
            Self::String(text) => Node::String(text),
            Self::Integer(number) => Node::Integer(*number),
            Self::Float(number) => Node::Float(*number),
            Self::Boolean(yes) => Node::Boolean(*yes),
            Self::Datetime(text) => Node::Datetime(text),
            Self::Array(items) => Node::Array(items.iter().map(Self::view).collect()),
            Self::Table(entries) => Node::Table(entries.iter().map(|(key, value)| (&**key, value.view())).collect()),
        }
    }

    /// The same value as JSON. Dates become strings, and so do `inf` and `nan`, which JSON lacks.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::String(text) | Self::Datetime(text) => Value::String(text.clone()),
            Self::Integer(number) => (*number).into(),
            Self::Float(number) => {
                serde_json::Number::from_f64(*number).map_or_else(|| number.to_string().into(), Value::Number)
            }
            Self::Boolean(yes) => Value::Bool(*yes),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Self::Table(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }

    /// JSON as a declared value. TOML has no null, so null members are left out.
    pub fn from_json(value: &serde_json::Value) -> Option<Self> {
        use serde_json::Value;
        Some(match value {
            Value::Null => return None,
            Value::Bool(yes) => Self::Boolean(*yes),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Float(number.as_f64()?),
            },
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().filter_map(Self::from_json).collect()),
            Value::Object(map) => {
                Self::Table(map.iter().filter_map(|(k, v)| Some((k.clone(), Self::from_json(v)?))).collect())
            }
        })
    }

    /// The member with this key, in a table.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Self::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_back_without_null() {
        let json = serde_json::json!({"b": [1, 2.5, null, "x"], "a": null, "c": {"d": true}});
        let node = Node::from_json(&json).unwrap();
        assert_eq!(node.to_json(), serde_json::json!({"b": [1, 2.5, "x"], "c": {"d": true}}));
        assert_eq!(Node::Float(f64::NAN).to_json(), serde_json::json!("NaN"));
        assert_eq!(node.get("c").and_then(|c| c.get("d")), Some(&Node::Boolean(true)));
    }
}
