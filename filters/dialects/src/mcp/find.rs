//! The tools that stand for those that are not in `tools/list`: one finds a capability, the other calls it by its name.
//!
//! A client shows a model all tools at once. A site with a thousand capabilities would fill its context with them, so
//! what is beyond a bound is found by words, as pages are.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::{
    super::ahp::listed::Listed,
    envelope::{INVALID_PARAMS, Problem},
};
use frontdesk_base::text::fitted;
use frontdesk_config::{Capability, Declaration};

/// The tool that finds capabilities, and the one that calls one by its name, unless a capability is called so.
const FIND: &str = "find_capability";
const CALL: &str = "call_capability";

/// Capabilities in one result, and the most that a caller can ask for.
const USUAL: usize = 8;
const MOST: usize = 20;
/// Maximum bytes of a schema among others in a result; a single capability comes with its whole schema.
const SCHEMA: usize = 2 << 10;
/// Groups that the tool's description names.
const GROUPS: usize = 40;
/// Maximum bytes of the words of a search.
const LONGEST: usize = 1000;
/// Weights of a word by the place where it stands.
const WEIGHTS: [f64; 4] = [4.0, 2.0, 1.5, 1.0];

/// An index of all capabilities.
#[derive(Debug)]
pub(super) struct Finder {
    /// The names of the two tools: the one that finds, and the one that calls.
    pub(super) find: String,
    pub(super) call: String,
    entries: Vec<Entry>,
    /// In how many entries a word stands.
    spread: HashMap<String, usize>,
    /// The groups, with the number of capabilities in each.
    groups: Vec<(String, usize)>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    group: Option<String>,
    description: String,
    schema: Value,
    /// What else a caller has to know.
    notes: Vec<&'static str>,
    /// Each word, and the weight of the best place where it stands.
    words: HashMap<String, f64>,
}

impl Finder {
    pub(super) fn new(listed: &[&Listed], declaration: &Declaration) -> Self {
        let settings = &declaration.settings;
        let entries: Vec<Entry> =
            listed.iter().map(|listed| Entry::of(listed, settings.capability(listed.index))).collect();
        let (mut spread, mut groups) = (HashMap::new(), BTreeMap::new());
        for entry in &entries {
            entry.words.keys().for_each(|word| *spread.entry(word.clone()).or_default() += 1);
            if let Some(group) = &entry.group {
                *groups.entry(group.clone()).or_default() += 1;
            }
        }
        let is_taken = |name: &str| listed.iter().any(|listed| listed.name == name);
        let free = |name: &str| {
            let mut names = (2..).map(|number| format!("{name}_{number}"));
            if is_taken(name) { names.find(|name| !is_taken(name)) } else { None }.unwrap_or_else(|| name.to_owned())
        };
        Self { find: free(FIND), call: free(CALL), entries, spread, groups: groups.into_iter().collect() }
    }

    /// What `initialize` says about the two tools.
    pub(super) fn instructions(&self) -> String {
        let Self { find, call, .. } = self;
        format!("Not every capability of this site is a tool: {find} finds the others, {call} calls them.")
    }

    /// The two tools, as in `tools/list`.
    pub(super) fn tools(&self, listed: usize) -> [Value; 2] {
        let named: Vec<String> =
            self.groups.iter().take(GROUPS).map(|(group, count)| format!("{group} ({count})")).collect();
        let more = if self.groups.len() > GROUPS { ", …" } else { "" };
        let groups = if named.is_empty() { String::new() } else { format!(" Groups: {}{more}.", named.join(", ")) };
        let all = self.entries.len();
        let (name, caller) = (&self.find, &self.call);
        let find = json!({
            "name": name,
            "description": format!(
                "This site has {all} capabilities, of which {listed} are tools here. Finds the others, by words or in a \
                 group, with the schema of their input; then call one with {caller}.{groups}"
            ),
            "inputSchema": { "type": "object", "properties": {
                "query": { "type": "string", "description": "What it should do, in a few words." },
                "group": { "type": "string", "description": "Only in this group." },
                "name": { "type": "string", "description": "This one, with the whole schema of its input." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL },
                "offset": { "type": "integer", "minimum": 0, "default": 0 },
            } },
            "annotations": { "readOnlyHint": true },
        });
        let call = json!({
            "name": caller,
            "description": format!("Calls a capability by the name that {name} told. Acts as that capability does."),
            "inputSchema": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" },
                "input": { "type": "object", "description": format!("As its schema in {name} says.") },
                "confirmation": { "type": "string", "description": "The token that came back, once a person has confirmed it." },
                "idempotency_key": { "type": "string", "description": "Of your choice, where the capability needs one: a retry with it acts once." },
            } },
            "annotations": { "readOnlyHint": false, "destructiveHint": true },
        });
        [find, call]
    }

    /// The members of a result of `find_capability`.
    ///
    /// # Errors
    ///
    /// What is wrong with the arguments.
    pub(super) fn found(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>, Problem> {
        let text = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text.as_str())),
            Some(_) => Err(Problem::new(INVALID_PARAMS, format!("`{name}` has to be a short string."))),
        };
        let number = |name: &str, usual: usize| match arguments.get(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(value) => {
                let wrong = || Problem::new(INVALID_PARAMS, format!("`{name}` has to be a whole number."));
                value.as_u64().and_then(|number| usize::try_from(number).ok()).ok_or_else(wrong)
            }
        };
        let (query, group, name) = (text("query")?, text("group")?, text("name")?);
        let (limit, offset) = (number("limit", USUAL)?.clamp(1, MOST), number("offset", 0)?);
        if let Some(name) = name {
            let entry = self.entries.iter().find(|entry| entry.name == name);
            let found: Vec<Value> = entry.into_iter().map(|entry| entry.told(usize::MAX)).collect();
            return Ok(result(json!({ "total": found.len(), "capabilities": found })));
        }
        let in_group = |entry: &&Entry| {
            group.is_none_or(|group| entry.group.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(group)))
        };
        let entries = self.entries.iter().filter(in_group);
        let ranked: Vec<&Entry> = match query.map(words).filter(|words| !words.is_empty()) {
            None => entries.collect(),
            Some(words) => {
                let mut ranked: Vec<(f64, &Entry)> =
                    entries.map(|entry| (self.score(entry, &words), entry)).filter(|(score, _)| *score > 0.0).collect();
                ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
                ranked.into_iter().map(|(_, entry)| entry).collect()
            }
        };
        let page: Vec<Value> = ranked.iter().skip(offset).take(limit).map(|entry| entry.told(SCHEMA)).collect();
        let mut told = json!({ "total": ranked.len(), "capabilities": page });
        let next = offset.saturating_add(limit);
        if next < ranked.len() {
            told["next_offset"] = next.into();
        }
        if ranked.is_empty() {
            let groups: Vec<&str> = self.groups.iter().take(GROUPS).map(|(group, _)| group.as_str()).collect();
            told["groups"] = json!(groups);
        }
        Ok(result(told))
    }

    fn score(&self, entry: &Entry, words: &[String]) -> f64 {
        let all = self.entries.len() as f64;
        let of = |word: &String| {
            let weight = entry.words.get(word)?;
            let spread = *self.spread.get(word)? as f64;
            Some(weight * (1.0 + (all / spread).ln()))
        };
        let found: Vec<f64> = words.iter().filter_map(of).collect();
        // Several of the words together say more than one rare word; of two with the same words the shorter is meant.
        found.iter().sum::<f64>() * found.len() as f64 - entry.words.len() as f64 * 0.01
    }
}

impl Entry {
    fn of(listed: &Listed, capability: Option<&Capability>) -> Self {
        let schema = listed.input_schema.clone().unwrap_or_else(|| json!({ "type": "object" }));
        let group = capability.and_then(|capability| capability.group.clone());
        let inputs = schema["properties"].as_object().into_iter().flatten();
        let inputs: String = inputs.flat_map(|(name, _)| [name.as_str(), " "]).collect();
        let endpoint = capability.and_then(|capability| capability.endpoint.as_deref()).unwrap_or_default();
        let group_words = group.as_deref().unwrap_or_default();
        let more = format!("{endpoint} {inputs}");
        let places = [listed.name.as_str(), listed.description.as_str(), group_words, more.as_str()];
        let mut weighed: HashMap<String, f64> = HashMap::new();
        for (text, weight) in places.into_iter().zip(WEIGHTS) {
            for word in words(text) {
                let best = weighed.entry(word).or_default();
                *best = best.max(weight);
            }
        }
        let mut notes = Vec::new();
        if capability.is_some_and(Capability::is_confirmed) {
            notes.push("A person confirms it: the first call returns a token for `confirmation`.");
        }
        if capability.is_some_and(|capability| capability.idempotency_required) {
            notes.push("Needs an `idempotency_key`.");
        }
        if listed.needs_auth {
            notes.push("Needs a credential.");
        }
        Self {
            name: listed.name.clone(),
            group,
            description: listed.description.clone(),
            schema,
            notes,
            words: weighed,
        }
    }

    /// The capability as it is told, with a schema of at most that many bytes.
    fn told(&self, most: usize) -> Value {
        let mut told = json!({ "name": self.name, "description": self.description });
        if let Some(group) = &self.group {
            told["group"] = group.as_str().into();
        }
        if !self.notes.is_empty() {
            told["notes"] = self.notes.join(" ").into();
        }
        told["inputSchema"] = match self.schema.to_string().len() <= most {
            true => self.schema.clone(),
            false => {
                told["shortened"] = "Search with this `name` for the whole schema.".into();
                outlined(&self.schema)
            }
        };
        told
    }
}

/// A schema by its first level: names, types and what is required.
fn outlined(schema: &Value) -> Value {
    let outline = |member: &Value| {
        let mut kept = Map::new();
        for key in ["type", "format", "default"] {
            kept.extend(
                member.get(key).filter(|value| !value.is_object()).map(|value| (key.to_owned(), value.clone())),
            );
        }
        kept.extend(
            member.get("enum").filter(|all| all.to_string().len() < 200).map(|all| ("enum".into(), all.clone())),
        );
        if let Some(text) = member.get("description").and_then(Value::as_str) {
            kept.insert("description".into(), fitted(text, 80).into());
        }
        Value::Object(kept)
    };
    let members = schema["properties"].as_object().into_iter().flatten().take(MOST);
    let members: Map<String, Value> = members.map(|(name, member)| (name.clone(), outline(member))).collect();
    let mut short = json!({ "type": "object", "properties": members });
    if let Some(required) = schema.get("required") {
        short["required"] = required.clone();
    }
    short
}

/// A result with the same content as text, for clients that read only that.
fn result(told: Value) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("content".into(), json!([{ "type": "text", "text": told.to_string() }]));
    members.insert("structuredContent".into(), told);
    members.insert("isError".into(), false.into());
    members
}

/// The words of a text, without their usual endings and without those that say nothing.
fn words(text: &str) -> Vec<String> {
    const IDLE: [&str; 18] = [
        "a", "an", "the", "of", "for", "to", "in", "on", "by", "with", "and", "or", "is", "it", "this", "that", "all",
        "agent",
    ];
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let mut words: Vec<String> =
        parts.map(str::to_lowercase).filter(|word| !IDLE.contains(&word.as_str())).map(|word| stem(&word)).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// A word without the endings of plurals and forms of verbs.
fn stem(word: &str) -> String {
    let cut = |end: &str, least: usize| word.strip_suffix(end).filter(|stem| stem.len() >= least);
    if let Some(stem) = cut("ies", 3) {
        return format!("{stem}y");
    }
    let stem = cut("ing", 4).or_else(|| cut("sses", 2).map(|_| &word[..word.len() - 2])).or_else(|| cut("ed", 4));
    let plural = || cut("s", 3).filter(|stem| !stem.ends_with(['s', 'u', 'i']));
    let stem = stem.or_else(plural).unwrap_or(word);
    stem.strip_suffix('e').filter(|stem| stem.len() >= 4).unwrap_or(stem).to_owned()
}
