//! The capability made from each operation: its name, its target, its input and its output.

use serde_json::{Map, Value};

#[cfg(feature = "agtp")]
use super::verbs::{Spoken, Verbs};
use super::{
    choose,
    guess::{self, Guess},
    input::Input,
    name,
    operation::{METHODS, Operation},
    pointer::At,
    schemas::Schemas,
    security::{self, Needs},
    server::{Place, Server},
};
use frontdesk_base::media::essence;
use frontdesk_filters::site::{PATHS, names::DESCRIPTION};

/// Maximum bytes of an answer's schema.
const OUTPUT: usize = 8 << 10;

/// A capability to be written.
pub(super) struct Capability {
    pub(super) id: String,
    pub(super) guess: Guess,
    pub(super) description: String,
    pub(super) method: &'static str,
    pub(super) endpoint: String,
    pub(super) needs: Needs,
    pub(super) site_method: &'static str,
    /// `path` or `url`, and its value.
    pub(super) target: (&'static str, String),
    /// The suggested verb and path.
    #[cfg(feature = "agtp")]
    pub(super) spoken: Spoken,
    /// The input, without its schema.
    pub(super) input: Input,
    pub(super) input_schema: Value,
    /// The site's answer is not JSON.
    pub(super) wrap: bool,
    pub(super) output: Option<Value>,
    pub(super) notes: Vec<String>,
    /// Its name in the document.
    pub(super) from: String,
    /// The first tag.
    pub(super) group: Option<String>,
}

/// Converts operations to capabilities, with unique names.
pub(super) struct Maker<'s> {
    ids: name::Taken,
    addresses: name::Taken,
    #[cfg(feature = "agtp")]
    verbs: Verbs,
    server: &'s Server,
    from: &'s str,
}

impl<'s> Maker<'s> {
    /// `server`: where the site is; `from`: where the document is from.
    pub(super) fn new(server: &'s Server, from: &'s str) -> Self {
        let methods = METHODS.iter().flat_map(|(_, method)| PATHS.map(|(_, path)| format!("{method} {path}")));
        let taken: Vec<String> = methods.collect();
        let addresses = name::Taken::with(taken.iter().map(String::as_str));
        Self {
            ids: name::Taken::default(),
            addresses,
            #[cfg(feature = "agtp")]
            verbs: Verbs::new(),
            server,
            from,
        }
    }

    pub(super) fn make<'d>(&mut self, operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> Capability {
        let id = self.id(operation);
        let guess = guess::guess(operation.method, &id, operation.path);
        let mut input = Input::of(operation, schemas);
        let mut notes = std::mem::take(&mut input.notes);
        let (output, wrap) = output(operation, schemas, &mut notes);
        let needs = security::needs(operation, schemas.document, guess::is_action(guess.kind), &mut notes);
        let method = if operation.method == "HEAD" { "GET" } else { operation.method };
        let input_schema = input.schema();
        let target = self.target(operation, &mut input, &mut notes);
        let group = choose::tags(operation.own).next().map(|tag| name::one_line(tag, 60));
        Capability {
            #[cfg(feature = "agtp")]
            spoken: self.verbs.name(method, &id, &input.path, &input_schema, guess::is_action(guess.kind)),
            description: description(operation),
            method,
            endpoint: self.endpoint(method, &input.path),
            needs,
            site_method: operation.method,
            target,
            input,
            input_schema,
            wrap,
            output,
            notes: name::few(notes),
            from: name::one_line(&format!("{} {}", operation.method, operation.path), 200),
            group: group.filter(|group| !group.is_empty()),
            guess,
            id,
        }
    }

    /// Where the operation is: a path of the site, or the URL of another server.
    fn target(&self, operation: &Operation, input: &mut Input, notes: &mut Vec<String>) -> (&'static str, String) {
        let own = operation.own.get("servers").or(operation.item.get("servers"));
        let own = own.filter(|servers| servers[0]["url"].is_string());
        match own.map(|servers| self.server.place(servers, self.from)) {
            None => ("path", name::site_path(&self.server.path, &input.path)),
            Some(Place::Here(base)) => ("path", name::site_path(&base, &input.path)),
            Some(Place::Elsewhere(origin, base)) => {
                notes.push(name::one_line(&format!("the document has this on a server of its own: {origin}"), 300));
                ("url", origin + &name::site_path(&base, &input.path))
            }
            Some(Place::Nowhere(why)) => {
                input.unfit = Some(why);
                ("path", name::site_path(&self.server.path, &input.path))
            }
        }
    }

    /// AHP replaces dots by underscores, so ids must differ after that.
    fn id(&mut self, operation: &Operation) -> String {
        let own = operation.own.get("operationId").and_then(Value::as_str).map(name::of_operation);
        let id = own.filter(|id| !id.is_empty()).unwrap_or_else(|| name::of_place(operation.path, operation.method));
        let flat = name::flat(&id);
        let unique = self.ids.unique_within(flat.clone(), name::LONGEST);
        if unique == flat { id } else { unique }
    }

    fn endpoint(&mut self, method: &str, path: &str) -> String {
        let endpoint = name::endpoint(path);
        let address = format!("{method} {}", name::shape(&endpoint));
        let unique = self.addresses.unique(address.clone(), "-");
        endpoint + &unique[address.len()..]
    }
}

fn description(operation: &Operation) -> String {
    let texts = ["summary", "description"].into_iter().filter_map(|key| operation.own.get(key)?.as_str());
    let mut lines = texts.map(|text| name::sentence(text, DESCRIPTION - 1)).filter(|line| !line.is_empty());
    lines.next().unwrap_or_default()
}

/// The schema of the first successful answer, and whether it is other than JSON.
fn output<'d>(operation: &Operation<'d>, schemas: &mut Schemas<'d>, notes: &mut Vec<String>) -> (Option<Value>, bool) {
    let Some(responses) = operation.own.get("responses").and_then(Value::as_object) else { return (None, false) };
    let place = At::Pointer(&operation.place);
    let place = place.key("responses");
    let mut other = false;
    for (status, response) in responses.iter().filter(|(status, _)| status.starts_with('2')) {
        let (response, at) = schemas.resolved(response, &place.key(status));
        let Some(content) = response.get("content").and_then(Value::as_object) else { continue };
        let Some((key, media)) = in_json(content) else {
            other |= !content.is_empty();
            continue;
        };
        let at = At::Pointer(&at);
        let at = at.key("content");
        let Some(schema) = media.get("schema") else { return (None, false) };
        // An agent has to read it, so a large one is left out.
        let schema = schemas.expand_within(OUTPUT, schema, &at.key(key).key("schema"), notes);
        return (schema.filter(|schema| schema.as_object().is_some_and(|map| !map.is_empty())), false);
    }
    (None, other)
}

/// The JSON representation of an answer.
fn in_json(content: &Map<String, Value>) -> Option<(&str, &Value)> {
    media(content, |kind| kind == "application/json")
        .or_else(|| media(content, |kind| kind.ends_with("+json") || kind == "text/json"))
        .or_else(|| media(content, |kind| kind == "*/*" || kind == "application/*"))
}

fn media(content: &Map<String, Value>, fits: impl Fn(&str) -> bool) -> Option<(&str, &Value)> {
    let mut each = content.iter();
    let found = each.find(|(kind, _)| fits(&essence(kind).to_ascii_lowercase()));
    found.map(|(kind, media)| (kind.as_str(), media))
}
