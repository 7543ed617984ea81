//! The capabilities as tools, serialised once per snapshot (AHP §D.3).

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    super::{
        ahp::listed::{Listed, Mode},
        arguments::Function,
    },
    envelope::{INVALID_PARAMS, Problem},
    find::Finder,
    protocol::Era,
};
use frontdesk_config::{CapabilityKind, Declaration};
use frontdesk_desk::unnamed;

/// Tools per page.
const PAGE: usize = 50;
/// Maximum bytes of all listed tools: less than 20,000 tokens.
const LISTED: usize = 60_000;
/// Of these for the tools that find and call the others.
const FINDERS: usize = 6_000;
/// Maximum bytes of a listed tool, where not all are listed.
const LARGE: usize = 4_000;
/// Maximum bytes of a schema of answers.
const OUTPUT: usize = 4_000;
/// Maximum bytes of a cursor.
const LONGEST_CURSOR: usize = 64;

/// All tools.
#[derive(Debug)]
pub(super) struct Tools {
    functions: HashMap<String, Function>,
    /// The serialised members of each result page.
    pages: Vec<String>,
    /// The same with alternatives at the top of schemas; `None`: no schema has any.
    composed: Option<Vec<String>>,
    /// Distinguishes cursors of this declaration from those of another.
    mark: String,
    /// Finds what is not listed; `None`: everything is.
    finder: Option<Finder>,
}

impl Tools {
    pub(super) fn new(listed: &[Listed], declaration: &Declaration) -> Self {
        let mark: String = declaration.hash.chars().take(8).collect();
        let (mut functions, mut tools, mut composed) = (HashMap::new(), Vec::new(), Vec::new());
        let callable: Vec<&Listed> = listed.iter().filter(|listed| is_tool(listed)).collect();
        for listed in &callable {
            let capability = declaration.settings.capability(listed.index);
            let written = capability.and_then(|capability| capability.written_input_schema.as_ref());
            let own = written.or(listed.input_schema.as_ref());
            let (mut function, mut schema) = Function::with(listed, own);
            if capability.is_some_and(|capability| capability.idempotency_required) {
                function.take_key(&mut schema);
            }
            own.into_iter().for_each(|own| carry_over(own, &mut schema));
            let composition = own.map(composition).unwrap_or_default();
            composed.extend((!composition.is_empty()).then_some((tools.len(), composition)));
            tools.push(tool(listed, declaration, schema));
            functions.insert(listed.name.clone(), function);
        }
        let length: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
        let finder = (length > LISTED).then(|| Finder::new(&callable, declaration));
        let is_built_in = |at: usize| {
            let capability = callable.get(at).and_then(|listed| declaration.settings.capability(listed.index));
            capability.is_some_and(|capability| capability.built_in.is_some())
        };
        let lists = |tools: &[Value]| {
            let mut texts: Vec<(bool, String)> =
                tools.iter().enumerate().map(|(at, tool)| (is_built_in(at), tool.to_string())).collect();
            if let Some(finder) = &finder {
                // Answers from the pages come first.
                texts.sort_by_key(|(is_built_in, _)| !is_built_in);
                return pages(few(texts.into_iter().map(|(_, tool)| tool).collect(), finder), &mark);
            }
            pages(texts.into_iter().map(|(_, tool)| tool).collect(), &mark)
        };
        let plain = lists(&tools);
        // Since 2026-07-28 a schema may have alternatives at its top.
        let composed = (!composed.is_empty()).then(|| {
            for (at, keywords) in composed {
                if let Some(schema) = tools.get_mut(at).and_then(|tool| tool["inputSchema"].as_object_mut()) {
                    schema.extend(keywords);
                }
            }
            lists(&tools)
        });
        Self { functions, pages: plain, composed, mark, finder }
    }

    /// A tool by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    /// What finds the tools that are not listed.
    pub(super) fn finder(&self) -> Option<&Finder> {
        self.finder.as_ref()
    }

    /// The members of a result page.
    pub(super) fn page(&self, cursor: Option<&Value>, era: Era) -> Result<&str, Problem> {
        let composed = self.composed.as_ref().filter(|_| era == Era::Stateless);
        let pages = composed.unwrap_or(&self.pages);
        let number = match cursor {
            None | Some(Value::Null) => 0,
            Some(cursor) => numbered(cursor, &self.mark).ok_or_else(no_page)?,
        };
        pages.get(number).map(String::as_str).ok_or_else(no_page)
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

/// The serialised members of each result page.
fn pages(tools: Vec<String>, mark: &str) -> Vec<String> {
    let count = tools.len().div_ceil(PAGE).max(1);
    let page = |number: usize| {
        let tools = tools.iter().skip(number * PAGE).take(PAGE).map(String::as_str).collect::<Vec<_>>().join(",");
        let next =
            if number + 1 < count { format!(",\"nextCursor\":\"{}.{mark}\"", number + 1) } else { String::new() };
        format!("\"tools\":[{tools}]{next}")
    };
    (0..count).map(page).collect()
}

/// Keywords that language-model APIs refuse at the top of a schema.
const ALTERNATIVES: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// Carries over what else a schema says: definitions, conditions, texts.
fn carry_over(own: &Value, schema: &mut Value) {
    // A bound on the number or the names of members would concern those of a question too.
    const MADE: [&str; 9] = [
        "type",
        "properties",
        "required",
        "enum",
        "const",
        "$ref",
        "maxProperties",
        "propertyNames",
        "unevaluatedProperties",
    ];
    for (key, value) in own.as_object().into_iter().flatten() {
        if !MADE.contains(&key.as_str()) && !ALTERNATIVES.contains(&key.as_str()) {
            schema[key] = value.clone();
        }
    }
}

/// The alternatives at the top of a schema.
fn composition(own: &Value) -> Map<String, Value> {
    let members = own.as_object().into_iter().flatten();
    let composed = members.filter(|(key, _)| ALTERNATIVES.contains(&key.as_str()));
    composed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The tools that are listed where not all can be: those that find and call the others, then as many as fit.
fn few(tools: Vec<String>, finder: &Finder) -> Vec<String> {
    let mut room = LISTED - FINDERS;
    let fits = |tool: &String| {
        let fits = tool.len() <= LARGE && tool.len() <= room;
        room -= if fits { tool.len() } else { 0 };
        fits
    };
    let kept: Vec<String> = tools.into_iter().filter(fits).collect();
    finder.tools(kept.len()).iter().map(Value::to_string).chain(kept).collect()
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

fn tool(listed: &Listed, declaration: &Declaration, schema: Value) -> Value {
    let mut tool = json!({
        "name": listed.name,
        "title": title(&listed.name),
        "description": listed.description,
        "inputSchema": schema,
        "annotations": hints(listed, declaration),
    });
    if let Some(output) = listed.output_schema.as_ref().filter(|output| output.to_string().len() <= OUTPUT) {
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

/// Whether a capability is a tool: one that only reads published text is a resource (AHP §D.2).
fn is_tool(listed: &Listed) -> bool {
    listed.mode != Mode::One
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
