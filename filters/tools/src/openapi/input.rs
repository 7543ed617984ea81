//! The input of an operation as one object: its parameters and the fields of its body side by side.
//!
//! Agents give it in this form. A body whose fields cannot stand beside the parameters is one input, `body`. Where each
//! part goes in the request, and in which style, is written to `upstream.parameters`.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::{
    fields::{self, Fields},
    input_name::{InputNames, can_be_renamed},
    media::{self, Media},
    name,
    operation::Operation,
    pointer::{At, shown},
    schemas::Schemas,
    style::{self, Styled},
};
use frontdesk_filters::desk::header_of_input;

/// The input of an operation.
#[derive(Default)]
pub(super) struct Input {
    properties: Map<String, Value>,
    required: Vec<String>,
    /// Other keywords of the body's schema.
    more: Map<String, Value>,
    /// The names that an input of the agent has, and the document's name for it.
    pub(super) renamed: Vec<(String, String)>,
    /// How single inputs are written.
    pub(super) parameters: Vec<(String, Styled)>,
    /// `body` of the call; `None`: as the method has it.
    pub(super) form: Option<&'static str>,
    pub(super) content_type: Option<String>,
    pub(super) body_optional: bool,
    /// The path with the names of inputs as placeholders.
    pub(super) path: String,
    /// Why it cannot be called as it is.
    pub(super) unfit: Option<String>,
    pub(super) notes: Vec<String>,
    names: InputNames,
}

/// Headers that are not the caller's to set.
const OURS: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter of the document.
struct Parameter<'d> {
    name: &'d str,
    place: &'d str,
    required: bool,
    own: &'d Value,
    at: String,
}

impl Input {
    pub(super) fn of<'d>(operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> Self {
        let mut input = Self::default();
        let parameters = parameters(operation, schemas);
        let (media, fields) = input.media(operation, schemas);
        let method_has_body = !matches!(operation.method, "GET" | "HEAD" | "DELETE");
        let has_body = media.is_some();
        let taken = parameters.iter().filter(|parameter| parameter.place != "path").map(|parameter| parameter.name);
        let taken: BTreeSet<&str> = taken.collect();
        // Names that can stay as they are come first, so that no other one takes them.
        let fit = fields.iter().flat_map(Fields::names).chain(parameters.iter().map(|parameter| parameter.name));
        input.names = InputNames::with(fit);
        input.path(operation, &parameters, &taken, schemas);
        for parameter in parameters.iter().filter(|parameter| parameter.place != "path") {
            input.parameter(parameter, has_body || method_has_body, schemas);
        }
        match (media, fields) {
            (Some(media), fields) => input.body(operation, media, fields),
            (None, _) if method_has_body => input.form = Some("none"),
            (None, _) => {}
        }
        if input.form == Some("none") || !has_body && !method_has_body {
            // Everything goes to the query anyway.
            for (_, styled) in &mut input.parameters {
                styled.place = styled.place.filter(|place| *place != "query");
            }
            input.parameters.retain(|(_, styled)| !styled.is_usual());
        }
        input
    }

    /// The input as a schema.
    pub(super) fn schema(&mut self) -> Value {
        let mut schema = std::mem::take(&mut self.more);
        schema.insert("type".into(), "object".into());
        let properties = std::mem::take(&mut self.properties);
        let required: Vec<Value> = std::mem::take(&mut self.required)
            .into_iter()
            .filter(|name| properties.contains_key(name))
            .map(Value::from)
            .collect();
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        // An empty one says that there is nothing to send.
        schema.insert("properties".into(), properties.into());
        Value::Object(schema)
    }

    /// The schema of a parameter with its description.
    fn schema_of<'d>(&mut self, parameter: &Parameter<'d>, schemas: &mut Schemas<'d>) -> Value {
        let at = At::Pointer(&parameter.at);
        let (schema, at_schema) = match parameter.own.get("schema") {
            Some(schema) => (Some(schema), at.key("schema")),
            None => {
                let content = parameter.own["content"].as_object().and_then(|content| content.values().next());
                (content.and_then(|media| media.get("schema")), at.key("content"))
            }
        };
        let mut value = schema.map_or(json!({}), |schema| schemas.expand(schema, &at_schema, &mut self.notes));
        if let (Value::Object(map), Some(text)) = (&mut value, parameter.own["description"].as_str()) {
            let text = name::sentence(text, name::DESCRIPTION);
            if !text.is_empty() {
                map.insert("description".into(), text.into());
            }
        }
        value
    }

    /// Adds an input under its name for agents.
    fn add(&mut self, name: &str, value: Value, required: bool, styled: Styled) -> String {
        let ours = self.names.of(name);
        self.add_as(&ours, name, value, required, styled);
        ours
    }

    fn add_as(&mut self, ours: &str, name: &str, value: Value, required: bool, styled: Styled) {
        if ours != name {
            self.renamed.push((ours.to_owned(), name.to_owned()));
        }
        if !styled.is_usual() {
            self.parameters.push((ours.to_owned(), styled));
        }
        if required {
            self.required.push(ours.to_owned());
        }
        self.properties.insert(ours.to_owned(), value);
    }

    /// Whether an input is this header. The case of a header's name does not count.
    fn has_header(&self, name: &str) -> bool {
        let theirs =
            |ours: &String| self.renamed.iter().find(|(own, _)| own == ours).map_or(ours.clone(), |(_, of)| of.clone());
        let headers = self.parameters.iter().filter(|(_, styled)| styled.place == Some("header"));
        headers.into_iter().any(|(ours, _)| theirs(ours).eq_ignore_ascii_case(name))
    }

    fn parameter<'d>(&mut self, parameter: &Parameter<'d>, beside_body: bool, schemas: &mut Schemas<'d>) {
        let Parameter { name, place, required, own, .. } = *parameter;
        let must = if required { ", which the site requires," } else { "" };
        let leave_out =
            |why: &str| name::one_line(&format!("the {place} {}{must} is left out: {why}", shown(name)), 300);
        if place == "header" && OURS.contains(&name.to_ascii_lowercase().as_str()) {
            return;
        }
        if !can_be_renamed(name) {
            return self.notes.push(leave_out("its name cannot be written here"));
        }
        let has_header = place == "header" && self.has_header(name);
        if has_header || self.renamed.iter().any(|(_, theirs)| theirs == name) || self.properties.contains_key(name) {
            return self.notes.push(leave_out("another parameter has its name"));
        }
        let fixed = self.path.split_once('?').map_or("", |(_, query)| query);
        let is_fixed = |(fixed, _): (std::borrow::Cow<'_, str>, _)| fixed == name;
        if place == "query" && url::form_urlencoded::parse(fixed.as_bytes()).any(is_fixed) {
            return self.notes.push(leave_out("the path has it already"));
        }
        let place = match place {
            "query" => "query",
            "header" if !name.eq_ignore_ascii_case("cookie") && header_of_input(name, "").is_ok() => "header",
            "header" => {
                return self
                    .notes
                    .push(leave_out("Frontdesk sets it itself, a caller must not, or it is no header's name"));
            }
            _ => return self.notes.push(leave_out("see upstream.headers")),
        };
        let value = self.schema_of(parameter, schemas);
        match style::of(place, own, &value) {
            Ok((mut styled, note)) => {
                self.notes.extend(note.map(|note| name::one_line(&format!("{}: {note}", shown(name)), 300)));
                if place == "header" || beside_body {
                    styled.place = Some(place);
                }
                self.note_nested(&value, name);
                self.add(name, value, required, styled);
            }
            Err(why) => self.notes.push(leave_out(&why)),
        }
    }

    /// Makes every placeholder of the path an input, and every path parameter a placeholder.
    fn path<'d>(
        &mut self,
        operation: &Operation<'d>,
        parameters: &[Parameter<'d>],
        taken: &BTreeSet<&str>,
        schemas: &mut Schemas<'d>,
    ) {
        let mut inputs: HashMap<&str, String> = HashMap::new();
        for name in name::pieces(operation.path).into_iter().filter_map(Result::err) {
            if inputs.contains_key(name) {
                continue;
            }
            let found = parameters.iter().find(|parameter| parameter.place == "path" && parameter.name == name);
            // A name that the query or the body has too is another input.
            let wanted = if taken.contains(name) { format!("path_{name}") } else { name.to_owned() };
            let ours = self.names.of(&name::of_placeholder(&wanted));
            let value = match found {
                Some(parameter) => self.schema_of(parameter, schemas),
                None => {
                    self.notes.push(name::one_line(&format!("the document does not describe {{{name}}}"), 200));
                    json!({"type": "string"})
                }
            };
            match style::of("path", found.map_or(&Value::Null, |parameter| parameter.own), &value) {
                Ok((mut styled, _)) if !styled.is_usual() => {
                    let is_named = styled.style == Some("matrix") && ours != name;
                    styled.name = is_named.then(|| name.to_owned());
                    if is_named && !can_be_renamed(name) {
                        self.unfit = Some("its path has a name that cannot be written here".into());
                        styled.name = None;
                    }
                    self.parameters.push((ours.clone(), styled));
                }
                Ok(_) => {}
                Err(why) => self.unfit = Some(name::one_line(&format!("{}: {why}", shown(name)), 200)),
            }
            self.required.push(ours.clone());
            self.properties.insert(ours.clone(), value);
            inputs.insert(name, ours);
        }
        for parameter in parameters.iter().filter(|parameter| parameter.place == "path") {
            if !inputs.contains_key(parameter.name) {
                let what = format!("{} is left out: the path has no {{{0}}}", shown(parameter.name));
                self.notes.push(name::one_line(&what.replace("{0}", parameter.name), 200));
            }
        }
        let pieces = name::pieces(operation.path).into_iter().map(|piece| match piece {
            Ok(text) => text.to_owned(),
            Err(name) => format!("{{{}}}", inputs.get(name).map_or(name, String::as_str)),
        });
        self.path = pieces.collect();
    }

    /// The representation of the body that is sent, and its fields, if they can stand beside the parameters.
    fn media<'d>(&mut self, operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> (Option<Media>, Option<Fields>) {
        let Some(body) = operation.own.get("requestBody") else { return (None, None) };
        let at = At::Pointer(&operation.place);
        let (body, place) = schemas.resolved(body, &at.key("requestBody"));
        let Some(content) = body["content"].as_object().filter(|content| !content.is_empty()) else {
            return (None, None);
        };
        let (key, own) = media::preferred(content);
        let at = At::Pointer(&place);
        let (at, schema_key) = (at.key("content"), "schema");
        let (at_media, mut notes) = (at.key(key), Vec::new());
        let at = at_media.key(schema_key);
        let value = own.get("schema").map(|schema| {
            // The fields are needed, not a name for all of them.
            let only_reference =
                schema.as_object().is_some_and(|map| map.contains_key("$ref") && (schemas.old || map.len() == 1));
            let (schema, place) = if only_reference { schemas.resolved(schema, &at) } else { (schema, at.to_string()) };
            schemas.expand(schema, &At::Pointer(&place), &mut notes)
        });
        let value = value.unwrap_or_else(|| json!({}));
        let fields = Fields::of(&value);
        if fields.as_ref().is_some_and(Fields::is_empty) && body["required"] != true {
            return (None, None);
        }
        if matches!(operation.method, "GET" | "HEAD") {
            self.notes.push("the body is left out: a GET has none".into());
            return (None, None);
        }
        self.notes.append(&mut notes);
        let media = Media::of(key, own, value, body["required"] == true, content);
        (Some(media), fields)
    }

    fn body(&mut self, operation: &Operation, media: Media, fields: Option<Fields>) {
        self.notes.extend(media.note.clone());
        self.form = media.form.filter(|form| *form != "json" || operation.method == "DELETE");
        self.content_type = media.content_type.clone();
        if let Some(why) = &media.unfit {
            self.unfit = Some(why.clone());
            return;
        }
        let is_apart = |fields: &Fields| {
            let renamed: BTreeSet<&str> = self.renamed.iter().map(|(_, theirs)| theirs.as_str()).collect();
            let plain: BTreeSet<&str> = self.properties.keys().map(String::as_str).collect();
            fields.is_apart_from(&plain, &renamed)
        };
        match fields.filter(|_| !media.is_text).filter(is_apart) {
            Some(fields) => self.fields(fields, &media),
            None => self.whole(media),
        }
    }

    /// The fields of the body as inputs of their own.
    fn fields(&mut self, fields: Fields, media: &Media) {
        let Fields { properties, required, more } = fields;
        self.body_optional = !media.required && required.is_empty();
        for (name, value) in properties {
            let must = required.contains(&name);
            if !can_be_renamed(&name) {
                let left_out = format!("{} is left out: its name cannot be written here", shown(&name));
                self.notes.push(name::one_line(&left_out, 200));
                continue;
            }
            if media.is_multipart() && media::is_binary(&value) {
                let what = format!("{} is a file, which cannot be sent yet", shown(&name));
                match must {
                    true => self.unfit = Some(name::one_line(&what, 200)),
                    false => self.notes.push(name::one_line(&format!("{what}; it is left out"), 200)),
                }
                continue;
            }
            self.note_nested(&value, &name);
            let (styled, note) = media.style(&name, &value);
            self.notes.extend(note);
            // A parameter may have that name too.
            let ours = match self.properties.contains_key(&name) {
                true => self.names.of(&format!("body_{name}")),
                false => self.names.of(&name),
            };
            self.add_as(&ours, &name, value, must, styled);
        }
        self.more = more;
    }

    /// The whole body as one input.
    fn whole(&mut self, media: Media) {
        let Media { form, value, required, .. } = &media;
        self.body_optional = !required;
        if *form != Some("json") && form.is_some() {
            let told = "its fields go by the names and in the simple style that they have in `body`";
            self.notes.push(told.into());
            if !fields::is_object(value) {
                self.unfit = Some("the body is a form, and its schema is no object".into());
                return;
            }
            let fields = value["properties"].as_object().into_iter().flatten();
            if media.is_multipart() && fields.into_iter().any(|(_, field)| media::is_binary(field)) {
                self.unfit = Some("the body has a file, which cannot be sent yet".into());
                return;
            }
        }
        let ours = self.names.of("body");
        let styled = Styled { place: Some("body"), ..Styled::default() };
        self.note_nested(value, "body");
        self.parameters.push((ours.clone(), styled));
        if *required {
            self.required.push(ours.clone());
        }
        self.properties.insert(ours, media.value);
    }

    /// Notes names inside of a value that some clients refuse and that cannot be renamed.
    fn note_nested(&mut self, value: &Value, of: &str) {
        if let Some(name) = fields::refused_name(value, 0) {
            let what = format!("{} in {} is a name that some clients of MCP refuse", shown(&name), shown(of));
            self.notes.push(name::one_line(&what, 200));
        }
    }
}

/// The parameters of an operation and of its path, the operation's own first.
fn parameters<'d>(operation: &Operation<'d>, schemas: &mut Schemas<'d>) -> Vec<Parameter<'d>> {
    let mut found: Vec<Parameter> = Vec::new();
    for (table, place) in [(operation.own, &operation.place), (operation.item, &operation.item_place)] {
        let place = At::Pointer(place);
        let place = place.key("parameters");
        for (index, parameter) in table.get("parameters").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (own, at) = schemas.resolved(parameter, &place.index(index));
            if own.is_null() {
                continue;
            }
            let (Some(name), Some(place)) = (own["name"].as_str(), own["in"].as_str()) else {
                schemas.mistake(&At::Pointer(&at), "is a parameter without name or in");
                continue;
            };
            if !found.iter().any(|other| other.name == name && other.place == place) {
                found.push(Parameter { name, place, required: own["required"] == true, own, at });
            }
        }
    }
    found
}
