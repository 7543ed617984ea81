//! The capabilities as tools, serialised once per snapshot (AHP §D.3).

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    super::{ahp::listed::Listed, arguments::Function},
    envelope::{INVALID_PARAMS, Problem},
    is_tool,
};
use frontdesk_config::{CapabilityKind, Declaration};
use frontdesk_desk::unnamed;

/// Tools per page.
const PAGE: usize = 100;
/// Maximum bytes of a cursor.
const LONGEST_CURSOR: usize = 64;

/// All tools.
#[derive(Debug)]
pub(super) struct Tools {
    functions: HashMap<String, Function>,
    /// The serialised members of each result page.
    pages: Vec<String>,
    /// Distinguishes cursors of this declaration from those of another.
    mark: String,
}

impl Tools {
    pub(super) fn new(listed: &[Listed], declaration: &Declaration) -> Self {
        let mark: String = declaration.hash.chars().take(8).collect();
        let (mut functions, mut tools) = (HashMap::new(), Vec::new());
        for listed in listed.iter().filter(|listed| is_tool(listed)) {
            let (mut function, mut schema) = Function::new(listed);
            let capability = declaration.settings.capability(listed.index);
            if capability.is_some_and(|capability| capability.idempotency_required) {
                function.take_key(&mut schema);
            }
            tools.push(tool(listed, declaration, schema).to_string());
            functions.insert(listed.name.clone(), function);
        }
        let count = tools.len().div_ceil(PAGE).max(1);
        let page = |number: usize| {
            let tools = tools.iter().skip(number * PAGE).take(PAGE).map(String::as_str).collect::<Vec<_>>().join(",");
            let next =
                if number + 1 < count { format!(",\"nextCursor\":\"{}.{mark}\"", number + 1) } else { String::new() };
            format!("\"tools\":[{tools}]{next}")
        };
        let pages = (0..count).map(page).collect();
        Self { functions, pages, mark }
    }

    /// A tool by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    /// The members of a result page.
    pub(super) fn page(&self, cursor: Option<&Value>) -> Result<&str, Problem> {
        let number = match cursor {
            None | Some(Value::Null) => 0,
            Some(cursor) => numbered(cursor, &self.mark).ok_or_else(no_page)?,
        };
        self.pages.get(number).map(String::as_str).ok_or_else(no_page)
    }

    /// All tools, as `tools/list` would answer in one page.
    pub(super) fn whole(&self) -> String {
        let tools = |page: &String| {
            let list = page.strip_prefix("\"tools\":[").unwrap_or_default();
            list.rsplit_once(']').map_or_else(String::new, |(list, _)| list.to_owned())
        };
        let all: Vec<String> = self.pages.iter().map(tools).collect();
        format!("{{\"tools\":[{}]}}\n", all.join(","))
    }
}

/// The number in a cursor with this mark.
fn numbered(cursor: &Value, mark: &str) -> Option<usize> {
    let cursor = cursor.as_str().filter(|cursor| cursor.len() <= LONGEST_CURSOR)?;
    let (number, of) = cursor.split_once('.')?;
    (of == mark).then(|| number.parse().ok())?
}

pub(super) fn no_page() -> Problem {
    Problem::new(INVALID_PARAMS, "There is no such page; begin again without a cursor.".into())
}

fn tool(listed: &Listed, declaration: &Declaration, mut schema: Value) -> Value {
    // Without `$schema` a client assumes 2020-12, whatever draft the schema uses.
    if let Some(draft) = listed.input_schema.as_ref().and_then(|own| own.get("$schema")).filter(|d| d.is_string()) {
        schema["$schema"] = draft.clone();
    }
    let mut tool = json!({
        "name": listed.name,
        "title": title(&listed.name),
        "description": listed.description,
        "inputSchema": schema,
        "annotations": hints(listed, declaration),
    });
    if let Some(output) = &listed.output_schema {
        tool["outputSchema"] = answer(output);
    }
    tool
}

/// A name for people: its words, as a sentence begins.
fn title(name: &str) -> String {
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    let words = words.join(" ");
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The tool's annotations, from the declaration.
fn hints(listed: &Listed, declaration: &Declaration) -> Value {
    let capability = declaration.settings.capability(listed.index);
    let kind = capability.map_or(CapabilityKind::Query, |capability| capability.kind);
    if kind.is_read() && !listed.is_action {
        return json!({ "readOnlyHint": true });
    }
    let repeatable = capability.and_then(|c| c.upstream.as_ref()).is_some_and(|call| call.idempotent);
    let lasting = matches!(kind, CapabilityKind::CommitAction | CapabilityKind::DestructiveAction);
    json!({ "readOnlyHint": false, "destructiveHint": lasting, "idempotentHint": repeatable })
}

/// The output schema. It describes the site's part and does not require it: Frontdesk does not validate that part, and
/// a client that did would discard a correct answer whenever the declaration is out of date.
fn answer(output: &Value) -> Value {
    let output = unnamed(output);
    let said = json!({ "description": "What the site says.", "anyOf": [output, {}] });
    // For a type of the site's own the data can be any JSON, for example a list.
    let payload = json!({ "properties": { "data": said, "result": said } });
    json!({
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": { "type": "string" },
            "response": { "type": "object", "properties": { "answer": { "type": "string" }, "payload": payload } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_for_people() {
        assert_eq!(["flights_search", "a", "überall-x", "__"].map(title), ["Flights search", "A", "Überall x", ""]);
    }

    #[test]
    fn whatever_the_site_says_is_as_the_schema_has_it() {
        let schema = answer(&json!({ "type": "object", "required": ["a"] }));
        let validator = jsonschema::validator_for(&schema).unwrap();
        for payload in [json!([{ "a": 1 }]), json!({ "data": [] }), json!({ "items": [], "total": 0 }), json!("x")] {
            let said = json!({ "status": "success", "response": { "answer": "x", "payload": payload } });
            assert!(validator.is_valid(&said), "{said}");
        }
    }
}
