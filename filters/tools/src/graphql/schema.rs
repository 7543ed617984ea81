//! A GraphQL schema as an introspection query tells it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// How deep input objects are described.
const DEEPEST_INPUT: usize = 3;
/// The most fields that a query selects on one level.
const MOST_FIELDS: usize = 40;

/// A query, a mutation, or a field of a type.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_deprecated: bool,
    args: Vec<Argument>,
    kind: Type,
}

#[derive(Debug, Clone)]
struct Argument {
    name: String,
    description: String,
    kind: Type,
    has_default: bool,
}

/// A reference to a type.
#[derive(Debug, Clone, PartialEq)]
enum Type {
    Named(String),
    List(Box<Type>),
    NonNull(Box<Type>),
}

/// The parts that are imported.
pub(super) struct Schema {
    types: HashMap<String, Value>,
    query: Option<String>,
    mutation: Option<String>,
}

impl Schema {
    /// Reads the answer to an introspection query.
    pub(super) fn read(answer: &Value) -> Option<Self> {
        let schema = answer.pointer("/data/__schema").or_else(|| answer.get("__schema"))?;
        let root = |key: &str| schema[key]["name"].as_str().map(str::to_owned);
        let types = schema["types"].as_array()?.iter();
        let types = types.filter_map(|kind| Some((kind["name"].as_str()?.to_owned(), kind.clone()))).collect();
        Some(Self { types, query: root("queryType"), mutation: root("mutationType") })
    }

    pub(super) fn queries(&self) -> Vec<Field> {
        self.query.as_deref().map(|name| self.fields(name)).unwrap_or_default()
    }

    pub(super) fn mutations(&self) -> Vec<Field> {
        self.mutation.as_deref().map(|name| self.fields(name)).unwrap_or_default()
    }

    fn fields(&self, name: &str) -> Vec<Field> {
        let fields = self.types.get(name).and_then(|kind| kind["fields"].as_array());
        fields.into_iter().flatten().filter_map(field).collect()
    }

    fn kind(&self, name: &str) -> &str {
        self.types.get(name).and_then(|kind| kind["kind"].as_str()).unwrap_or("SCALAR")
    }

    /// The query that asks for a field: with its arguments as variables, and what is a scalar within two levels.
    pub(super) fn query(&self, field: &Field, is_mutation: bool) -> Option<String> {
        let selection = self.selection(field.kind.name(), 2)?;
        let declared: Vec<String> =
            field.args.iter().map(|arg| format!("${}: {}", arg.name, arg.kind.written())).collect();
        let given: Vec<String> = field.args.iter().map(|arg| format!("{0}: ${0}", arg.name)).collect();
        let round =
            |parts: Vec<String>| if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) };
        let operation = if is_mutation { "mutation" } else { "query" };
        Some(format!("{operation}{} {{ {}{}{selection} }}", round(declared), field.name, round(given)))
    }

    /// ` { a b c { d } }`, or nothing for a scalar; `None`: nothing could be selected.
    fn selection(&self, name: &str, levels: usize) -> Option<String> {
        match self.kind(name) {
            "SCALAR" | "ENUM" => return Some(String::new()),
            "UNION" => return Some(" { __typename }".to_owned()),
            _ if levels == 0 => return None,
            _ => {}
        }
        let fields = self.fields(name);
        let needs_nothing = |field: &&Field| {
            !field.is_deprecated
                && field.args.iter().all(|arg| arg.has_default || !matches!(arg.kind, Type::NonNull(_)))
        };
        let parts: Vec<String> = fields
            .iter()
            .filter(needs_nothing)
            .filter_map(|field| Some(format!("{}{}", field.name, self.selection(field.kind.name(), levels - 1)?)))
            .take(MOST_FIELDS)
            .collect();
        (!parts.is_empty()).then(|| format!(" {{ {} }}", parts.join(" ")))
    }

    /// The JSON Schema of a field's arguments.
    pub(super) fn input(&self, field: &Field) -> Value {
        self.object(&field.args, DEEPEST_INPUT)
    }

    fn object(&self, args: &[Argument], levels: usize) -> Value {
        let mut members = Map::new();
        let mut required = Vec::new();
        for arg in args {
            let mut schema = self.json_schema(&arg.kind, levels);
            if let Some(schema) = schema.as_object_mut().filter(|_| !arg.description.is_empty()) {
                schema.insert("description".into(), arg.description.chars().take(160).collect::<String>().into());
            }
            if matches!(arg.kind, Type::NonNull(_)) && !arg.has_default {
                required.push(arg.name.clone());
            }
            members.insert(arg.name.clone(), schema);
        }
        let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": members });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    fn json_schema(&self, kind: &Type, levels: usize) -> Value {
        let name = match kind {
            Type::NonNull(inner) => return self.json_schema(inner, levels),
            Type::List(inner) => return json!({ "type": "array", "items": self.json_schema(inner, levels) }),
            Type::Named(name) => name,
        };
        match (name.as_str(), self.kind(name)) {
            ("Int", _) => json!({ "type": "integer" }),
            ("Float", _) => json!({ "type": "number" }),
            ("Boolean", _) => json!({ "type": "boolean" }),
            ("String" | "ID", _) => json!({ "type": "string" }),
            (_, "ENUM") => {
                let values = self.types[name]["enumValues"].as_array();
                let names: Vec<&Value> = values.into_iter().flatten().map(|value| &value["name"]).collect();
                json!({ "type": "string", "enum": names })
            }
            (_, "INPUT_OBJECT") if levels > 0 => {
                let fields = self.types[name]["inputFields"].as_array();
                let args: Vec<Argument> = fields.into_iter().flatten().filter_map(argument).collect();
                self.object(&args, levels - 1)
            }
            (_, "INPUT_OBJECT") => json!({ "type": "object" }),
            // A scalar of the server's own.
            _ => json!({}),
        }
    }
}

impl Type {
    fn read(value: &Value) -> Option<Self> {
        let inner = || Self::read(&value["ofType"]).map(Box::new);
        match value["kind"].as_str()? {
            "NON_NULL" => inner().map(Self::NonNull),
            "LIST" => inner().map(Self::List),
            _ => value["name"].as_str().map(|name| Self::Named(name.to_owned())),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::List(inner) | Self::NonNull(inner) => inner.name(),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Named(name) => name.clone(),
            Self::List(inner) => format!("[{}]", inner.written()),
            Self::NonNull(inner) => format!("{}!", inner.written()),
        }
    }
}

/// Names go into a query as they are, so they have to be names (GraphQL, 2.1.9).
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn field(value: &Value) -> Option<Field> {
    let name = value["name"].as_str().filter(|name| is_name(name))?.to_owned();
    Some(Field {
        name,
        description: value["description"].as_str().unwrap_or_default().to_owned(),
        is_deprecated: value["isDeprecated"].as_bool().unwrap_or(false),
        args: value["args"].as_array().into_iter().flatten().filter_map(argument).collect(),
        kind: Type::read(&value["type"])?,
    })
}

fn argument(value: &Value) -> Option<Argument> {
    Some(Argument {
        name: value["name"].as_str().filter(|name| is_name(name))?.to_owned(),
        description: value["description"].as_str().unwrap_or_default().to_owned(),
        kind: Type::read(&value["type"]).filter(|kind| is_name(kind.name()))?,
        has_default: value["defaultValue"].is_string(),
    })
}
