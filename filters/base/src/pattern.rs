//! Values with references such as `{data.results.0.id}`, from which the inputs of actions are built.
//!
//! A string that is a single reference becomes its target, with its type. A reference within other text becomes text.
//! Other text in braces stays as written.

use serde_json::{Map, Value};

/// Resolves a reference.
type Find<'f> = &'f dyn Fn(&Reference) -> Option<Value>;

/// The possible roots of a reference.
const ROOTS: [&str; 3] = ["data", "input", "steps"];

/// Whether a word is a root.
pub fn is_root(word: &str) -> bool {
    ROOTS.contains(&word)
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    Value(Value),
    Reference(Reference),
    Text(Vec<Piece>),
    List(Vec<Pattern>),
    Table(Vec<(String, Pattern)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Literal(String),
    Reference(Reference),
}

/// The path to a value: a root, then members and indices.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference(Vec<String>);

impl Pattern {
    /// Compiles a declared value.
    pub fn compile(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::List(items.iter().map(Self::compile).collect()),
            Value::Object(members) => {
                Self::Table(members.iter().map(|(key, value)| (key.clone(), Self::compile(value))).collect())
            }
            other => Self::Value(other.clone()),
        }
    }

    fn text(text: &str) -> Self {
        let mut pieces = Vec::new();
        let (mut rest, mut literal) = (text, String::new());
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            match after.split_once('}').and_then(|(inside, tail)| Some((Reference::parse(inside)?, tail))) {
                Some((reference, tail)) => {
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(Piece::Reference(reference));
                    rest = tail;
                }
                None => {
                    literal.push('{');
                    rest = after;
                }
            }
        }
        literal.push_str(rest);
        if pieces.is_empty() {
            return Self::Value(Value::String(literal));
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        match <[Piece; 1]>::try_from(pieces) {
            Ok([Piece::Reference(reference)]) => Self::Reference(reference),
            Ok(pieces) => Self::Text(pieces.into()),
            Err(pieces) => Self::Text(pieces),
        }
    }

    /// Whether any of its references has this root.
    pub fn begins_with(&self, root: &str) -> bool {
        self.references().into_iter().any(|reference| reference.root() == root)
    }

    /// The value; `None` where a target is missing or null.
    pub fn resolve(&self, roots: &[(&str, &Value)]) -> Option<Value> {
        self.made(&|reference| reference.find(roots).cloned(), false)
    }

    /// The value without the members whose references have no target; `None` where the value itself is such a
    /// reference.
    pub fn fill(&self, find: Find<'_>) -> Option<Value> {
        self.made(find, true)
    }

    fn made(&self, find: Find<'_>, leaves_out: bool) -> Option<Value> {
        Some(match self {
            Self::Value(value) => value.clone(),
            Self::Reference(reference) => find(reference)?,
            Self::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Literal(literal) => text.push_str(literal),
                        Piece::Reference(reference) => match find(reference)? {
                            Value::String(value) => text.push_str(&value),
                            Value::Array(_) | Value::Object(_) => return None,
                            other => text.push_str(&other.to_string()),
                        },
                    }
                }
                Value::String(text)
            }
            // List items are identified by position, so a list is complete or absent.
            Self::List(items) => items.iter().map(|item| item.made(find, leaves_out)).collect::<Option<_>>()?,
            Self::Table(members) => {
                let mut made = Map::new();
                for (key, pattern) in members {
                    match pattern.made(find, leaves_out) {
                        Some(value) => drop(made.insert(key.clone(), value)),
                        None if leaves_out => {}
                        None => return None,
                    }
                }
                Value::Object(made)
            }
        })
    }

    /// All references in it.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Reference(reference) => vec![reference],
            Self::Text(pieces) => pieces.iter().filter_map(Piece::reference).collect(),
            Self::List(items) => items.iter().flat_map(Self::references).collect(),
            Self::Table(members) => members.iter().flat_map(|(_, pattern)| pattern.references()).collect(),
        }
    }
}

impl Piece {
    fn reference(&self) -> Option<&Reference> {
        match self {
            Self::Literal(_) => None,
            Self::Reference(reference) => Some(reference),
        }
    }
}

impl Reference {
    fn parse(text: &str) -> Option<Self> {
        let steps: Vec<String> = text.trim().split('.').map(str::to_owned).collect();
        let begins = steps.first().is_some_and(|root| is_root(root));
        (begins && steps.iter().all(|step| !step.is_empty())).then_some(Self(steps))
    }

    /// Its root.
    pub fn root(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// The members and indices after the root.
    pub fn way(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }

    pub fn find<'v>(&self, roots: &[(&str, &'v Value)]) -> Option<&'v Value> {
        let (root, steps) = self.0.split_first()?;
        let (_, root) = roots.iter().find(|(name, _)| name == root)?;
        follow(root, steps.iter().map(String::as_str))
    }
}

/// The value at a path of members and indices; `None` where it is null.
pub fn follow<'v, 's>(value: &'v Value, steps: impl Iterator<Item = &'s str>) -> Option<&'v Value> {
    let mut value = value;
    for step in steps {
        value = match value {
            Value::Object(members) => members.get(step)?,
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    (!value.is_null()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resolved(pattern: Value, data: Value) -> Option<Value> {
        Pattern::compile(&pattern).resolve(&[("data", &data), ("input", &json!({ "to": "NRT" }))])
    }

    #[test]
    fn references_keep_their_type_and_texts_are_joined() {
        let data = json!({ "results": [{ "id": "fare_1", "price": { "amount": 682 }, "none": null }], "n": 3 });
        assert_eq!(resolved(json!("{data.results.0.id}"), data.clone()), Some(json!("fare_1")));
        assert_eq!(resolved(json!("{ data.results.0.price }"), data.clone()), Some(json!({ "amount": 682 })));
        assert_eq!(resolved(json!("{data.n} to {input.to}!"), data.clone()), Some(json!("3 to NRT!")));
        assert_eq!(resolved(json!({ "a": ["{data.n}", 1, true] }), data.clone()), Some(json!({ "a": [3, 1, true] })));
        for missing in ["{data.results.1.id}", "{data.results.0.none}", "{data.n.x}", "x {data.results}", "{steps.0}"] {
            assert_eq!(resolved(json!({ "fine": 1, "x": missing }), data.clone()), None, "{missing}");
        }
    }

    #[test]
    fn it_is_known_what_is_referred_to() {
        for (pattern, data, input) in [
            (json!({ "a": ["{data.n}"] }), true, false),
            (json!("to {input.to}"), false, true),
            (json!({ "a": "{data.n} {input.to}" }), true, true),
            (json!(["data", "{datum.x}", 1]), false, false),
        ] {
            let pattern = Pattern::compile(&pattern);
            assert_eq!((pattern.begins_with("data"), pattern.begins_with("input")), (data, input));
        }
    }

    #[test]
    fn what_leads_nowhere_is_left_out() {
        let filled = |pattern: Value| {
            let input = json!({ "a": 1, "none": null });
            Pattern::compile(&pattern).fill(&|reference| reference.find(&[("input", &input)]).cloned())
        };
        let pattern = json!({ "a": "{input.a}", "b": "{input.b}", "c": "to {input.b}", "d": { "e": "{input.none}" },
            "f": ["{input.a}", "{input.b}"], "g": ["{input.a}"], "h": "{steps.0.data}" });
        assert_eq!(filled(pattern), Some(json!({ "a": 1, "d": {}, "g": [1] })));
        assert_eq!(filled(json!("{input}")), Some(json!({ "a": 1, "none": null })));
        assert_eq!(filled(json!("{input.b}")), None);
    }

    #[test]
    fn other_braces_are_text() {
        for text in ["{}", "{ x }", "{data", "data}", "{datum.x}", "{data..x}", "{{data}"] {
            let expected = if text == "{{data}" { json!("{5") } else { json!(text) };
            assert_eq!(resolved(json!(text), json!(5)).unwrap_or(json!(null)), expected, "{text}");
        }
    }
}
