//! A capability as a function with named arguments, for MCP tools and OpenAPI operations (AHP appendices D and E).
//!
//! The arguments are the capability's inputs and the members of a question (`query`, `session_id` …). Where both have
//! the same name, it belongs to the input. Published schemas suit language-model APIs, which accept no alternatives at
//! the top level; the full schema validates the call.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ahp::{
    listed::{BESIDE, Listed},
    question,
};

/// The members of a question besides inputs.
const ASKED: [(&str, &str); 4] = [
    ("query", "What is wanted, in plain words."),
    ("session_id", "Goes on with an earlier conversation: what an earlier answer had here."),
    ("clarification", "The answer to a question that came back."),
    ("confirmation", "The token that came back, once a person has confirmed it."),
];
/// Members that may surround a question and are ignored here (AHP §6.1, §14.3). In particular no credential goes to
/// the site.
const AROUND: [&str; 3] = ["ahp", "auth", "capability"];
/// The argument that makes a retry the same call.
const KEY: &str = "idempotency_key";
/// How deep nested schemas are looked into.
const DEPTH: usize = 4;

/// One capability as a function.
#[derive(Debug)]
pub(super) struct Function {
    /// The capability's index in the declaration.
    pub(super) index: usize,
    pub(super) name: String,
    /// The response types, in the site's order.
    types: Vec<String>,
    /// It has inputs of its own.
    structured: bool,
    /// The members of a question whose names are inputs here.
    taken: Vec<&'static str>,
    /// `context` is an input here.
    context_taken: bool,
    /// The surrounding members that are not inputs here.
    dropped: Vec<&'static str>,
    /// The idempotency key is an argument.
    takes_key: bool,
}

impl Function {
    /// The function and the schema of its arguments.
    pub(super) fn new(listed: &Listed) -> (Self, Value) {
        Self::with(listed, listed.input_schema.as_ref())
    }

    /// The same with this schema of the inputs.
    pub(super) fn with(listed: &Listed, input_schema: Option<&Value>) -> (Self, Value) {
        let own = input_schema.and_then(Value::as_object);
        let mut parts = Parts::default();
        own.into_iter().for_each(|own| parts.collect(own, true, 0));
        // A concierge gets the conversation's parameters, whatever names its schema uses.
        let told = |name: &str| listed.is_concierge && BESIDE.contains(&name);
        let taken: Vec<_> = ASKED
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| parts.properties.contains_key(*name) && !told(name))
            .collect();
        let context_taken = parts.properties.contains_key("context");
        let dropped = AROUND.into_iter().filter(|name| !parts.properties.contains_key(*name)).collect();
        let mut properties: Map<String, Value> = parts.properties.into_iter().collect();
        for (name, description) in ASKED.iter().filter(|(name, _)| !taken.contains(name)) {
            properties.insert((*name).to_owned(), question::member(name, description));
        }
        // The query is optional where the inputs are given; the specification requires it (§D.3, §E.2). Inputs that
        // can be extracted from the words are optional too.
        parts.required.retain(|name| properties.contains_key(name) && !listed.extracted.contains(name) && !told(name));
        if !taken.contains(&"query") {
            parts.required.push("query".to_owned());
        }
        parts.required.sort_unstable();
        parts.required.dedup();
        let mut schema = json!({ "type": "object", "properties": properties, "required": parts.required });
        let closed = own.and_then(|own| own.get("additionalProperties")).filter(|_| !parts.composed);
        if let Some(closed) = closed {
            schema["additionalProperties"] = closed.clone();
        }
        let function = Self {
            index: listed.index,
            name: listed.name.clone(),
            types: listed.response_types.clone(),
            structured: own.is_some(),
            taken,
            context_taken,
            dropped,
            takes_key: false,
        };
        (function, schema)
    }

    /// Whether `context` is an input of the capability.
    pub(super) fn has_context(&self) -> bool {
        self.context_taken
    }

    /// Adds the idempotency key to the arguments, unless an input has its name. The key may also come beside the
    /// arguments, so it is optional (AHP §D.3).
    pub(super) fn take_key(&mut self, schema: &mut Value) {
        if let Some(properties) = schema["properties"].as_object_mut().filter(|all| !all.contains_key(KEY)) {
            let description = "Has to be there: of your choice, for this one act; a retry with it acts once.";
            properties.insert(KEY.to_owned(), question::member(KEY, description));
            self.takes_key = true;
        }
    }

    /// Takes the idempotency key out of the arguments.
    pub(super) fn key(&self, given: &mut Map<String, Value>) -> Option<Value> {
        if self.takes_key { given.remove(KEY) } else { None }
    }

    /// Whether it has inputs of its own.
    pub(super) fn is_structured(&self) -> bool {
        self.structured
    }

    /// The argument that confirms a call; `None`: both possible names are inputs here.
    pub(super) fn confirmed_as(&self) -> Option<&'static str> {
        ["confirmation", "clarification"].into_iter().find(|name| !self.taken.contains(name))
    }

    /// The question that these arguments ask, as the members of AHP §6.1.
    pub(super) fn asked(&self, mut given: Map<String, Value>) -> Map<String, Value> {
        let mut asked = Map::new();
        for name in &self.dropped {
            given.remove(*name);
        }
        for (name, _) in ASKED {
            let is_taken = self.taken.contains(&name);
            // The words are asked all the same.
            let value =
                if !is_taken { given.remove(name) } else { given.get(name).filter(|_| name == "query").cloned() };
            if let Some(value) = value.filter(|value| !is_taken || value.is_string()) {
                asked.insert(name.to_owned(), value);
            }
        }
        // Without words and inputs, the inputs are what is missing.
        let in_words = asked.get("query").is_some_and(|query| !query.is_null()) || !self.structured;
        if !given.is_empty() || !in_words {
            asked.insert("input".to_owned(), given.into());
        }
        asked
    }

    /// The accepted types: a caller of a function takes every type that it returns.
    pub(super) fn types(&self) -> Value {
        self.types.clone().into()
    }
}

/// The inputs of a composed schema.
#[derive(Default)]
struct Parts {
    properties: BTreeMap<String, Value>,
    required: Vec<String>,
    /// The schema has conditions besides its own properties.
    composed: bool,
}

impl Parts {
    fn collect(&mut self, schema: &Map<String, Value>, always: bool, depth: usize) {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
        if always {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            self.required.extend(required.filter_map(Value::as_str).map(str::to_owned));
        }
        for (keyword, always) in [("allOf", always), ("anyOf", false), ("oneOf", false)] {
            let parts = schema.get(keyword).and_then(Value::as_array).filter(|_| depth < DEPTH);
            for part in parts.into_iter().flatten().filter_map(Value::as_object) {
                self.composed = true;
                self.collect(part, always, depth + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahp::listed::{ActionType, Mode};

    fn listed(input_schema: Option<Value>) -> Listed {
        Listed {
            index: 0,
            name: "x".into(),
            description: String::new(),
            mode: Mode::Three,
            action_type: ActionType::Query,
            input_schema,
            extracted: Vec::new(),
            output_schema: None,
            response_types: vec!["application/data".into()],
            accept_fallback: false,
            needs_auth: false,
            is_action: false,
            is_concierge: false,
        }
    }

    fn given(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn without_inputs_it_is_a_question() {
        let (function, schema) = Function::new(&listed(None));
        assert_eq!(schema["required"], json!(["query"]));
        assert_eq!(schema["properties"].as_object().unwrap().len(), 4);
        let asked = |arguments| Value::Object(function.asked(given(arguments)));
        let given = json!({ "query": "q", "session_id": "s", "clarification": null });
        assert_eq!(asked(given.clone()), given);
        assert_eq!(asked(json!({ "query": 1 })), json!({ "query": 1 }));
        assert_eq!(asked(json!({ "query": "q", "n": 1 })), json!({ "query": "q", "input": { "n": 1 } }));
        assert_eq!(function.types(), json!(["application/data"]));
    }

    #[test]
    fn inputs_stand_beside_the_question() {
        let own = json!({ "type": "object", "required": ["from"], "additionalProperties": false,
            "properties": { "from": { "type": "string" }, "n": { "type": "integer" } } });
        let (function, schema) = Function::new(&listed(Some(own)));
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["from", "query"]), &json!(false)));
        assert!(schema["properties"]["query"].is_object() && schema["properties"]["n"]["type"] == "integer");
        let asked = |arguments| Value::Object(function.asked(given(arguments)));
        let confirmed = asked(json!({ "from": "MAD", "confirmation": "t" }));
        assert_eq!(confirmed, json!({ "input": { "from": "MAD" }, "confirmation": "t" }));
        assert_eq!(asked(json!({})), json!({ "input": {} }));
        assert_eq!(asked(json!({ "query": "to Madrid" })), json!({ "query": "to Madrid" }));
    }

    #[test]
    fn a_name_of_the_sites_own_is_the_sites() {
        let own = json!({ "type": "object", "properties": { "query": { "type": "string" }, "session_id": { "type": "integer" } } });
        let (function, schema) = Function::new(&listed(Some(own)));
        assert_eq!(schema["properties"]["session_id"]["type"], "integer");
        assert_eq!(schema["required"], json!([]), "a query of the site's own is as it says");
        let given = given(json!({ "query": "q", "session_id": 7 }));
        let expected = json!({ "query": "q", "input": { "query": "q", "session_id": 7 } });
        assert_eq!(Value::Object(function.asked(given)), expected);
    }

    #[test]
    fn what_a_concierge_is_told_is_no_input_of_its_callers() {
        let own = json!({ "type": "object", "required": ["session_id", "query"], "properties": { "query": {},
            "session_id": { "type": "string" }, "clarification": {}, "confirmation": {} } });
        let (function, schema) = Function::new(&Listed { is_concierge: true, ..listed(Some(own)) });
        assert_eq!(schema["required"], json!(["query"]));
        let given = given(json!({ "query": "q", "session_id": "s", "clarification": "c", "confirmation": "n" }));
        let expected = json!({ "query": "q", "session_id": "s", "clarification": "c",
            "input": { "query": "q", "confirmation": "n" } });
        assert_eq!(Value::Object(function.asked(given)), expected);
    }

    #[test]
    fn nothing_but_an_object_stands_at_the_top() {
        let part = |name: &str| json!({ "required": [name], "properties": { name: { "type": "string" } } });
        let own = json!({ "allOf": [part("a"), { "anyOf": [part("b"), part("c")] }], "additionalProperties": false,
            "maxProperties": 2, "not": { "required": ["d"] } });
        let (_, schema) = Function::new(&listed(Some(own)));
        let mut keywords: Vec<_> = schema.as_object().unwrap().keys().cloned().collect();
        keywords.sort();
        assert_eq!(keywords, ["properties", "required", "type"]);
        assert_eq!(schema["required"], json!(["a", "query"]));
        assert!(["a", "b", "c", "query"].iter().all(|name| schema["properties"][name].is_object()), "{schema}");
        assert_eq!(Function::new(&listed(Some(json!(true)))).1["required"], json!(["query"]));
    }

    #[test]
    fn what_the_words_hold_is_not_required_besides() {
        let own = json!({ "type": "object", "required": ["to", "from"],
            "properties": { "from": { "type": "string" }, "to": { "type": "string" } } });
        let extracted = Listed { extracted: vec!["from".into()], ..listed(Some(own)) };
        assert_eq!(Function::new(&extracted).1["required"], json!(["query", "to"]));
    }

    #[test]
    fn a_credential_is_no_input() {
        let own =
            json!({ "type": "object", "properties": { "n": { "type": "integer" }, "auth": { "type": "string" } } });
        let around = json!({ "ahp": "0.1", "auth": "Bearer x", "capability": "y", "query": "q", "n": 1 });
        let asked =
            |schema: Option<Value>| Value::Object(Function::new(&listed(schema)).0.asked(given(around.clone())));
        assert_eq!(asked(None), json!({ "query": "q", "input": { "n": 1 } }));
        assert_eq!(asked(Some(own)), json!({ "query": "q", "input": { "auth": "Bearer x", "n": 1 } }));
    }
}
