//! The style in which a parameter is written, as the document declares it.

use serde_json::{Map, Value, json};

use frontdesk_base::media::is_json;

/// One entry of `upstream.parameters`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Styled {
    /// `in`: `query`, `header` or `body`, where it is not the usual place.
    pub(super) place: Option<&'static str>,
    pub(super) style: Option<&'static str>,
    pub(super) explode: Option<bool>,
    /// The document's name, where the style writes it and the input has another.
    pub(super) name: Option<String>,
}

impl Styled {
    /// Whether there is nothing to declare.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The entry as it is written.
    pub(super) fn to_json(&self) -> Value {
        let mut entry = Map::new();
        entry.extend(self.place.map(|place| ("in".to_owned(), json!(place))));
        entry.extend(self.style.map(|style| ("style".to_owned(), json!(style))));
        entry.extend(self.explode.map(|explode| ("explode".to_owned(), json!(explode))));
        entry.extend(self.name.as_ref().map(|name| ("name".to_owned(), json!(name))));
        Value::Object(entry)
    }
}

/// A style that can be written, and a note on what the standard leaves open.
pub(super) type Found = Result<(Styled, Option<&'static str>), String>;

/// The style of a parameter by its declaration and its schema.
///
/// # Errors
///
/// Why it cannot be written.
pub(super) fn of(place: &str, parameter: &Value, schema: &Value) -> Found {
    if let Some(content) = parameter["content"].as_object() {
        return match content.keys().next() {
            Some(kind) if is_json(kind) => Ok((Styled { style: Some("json"), ..Styled::default() }, None)),
            _ => Err("it is written in a media type that Frontdesk does not write".into()),
        };
    }
    let usual = if matches!(place, "path" | "header") { "simple" } else { "form" };
    let style = parameter["style"].as_str().unwrap_or(usual);
    let explode = parameter["explode"].as_bool();
    let reserved = (parameter["allowReserved"] == true)
        .then_some("reserved characters are percent-encoded, though the document allows them as they are");
    styled(place, style, explode, schema).map(|(styled, note)| (styled, note.or(reserved)))
}

/// The style of a field of a form.
pub(super) fn of_field(encoding: &Value, schema: &Value) -> Found {
    if encoding.get("style").is_none() && encoding.get("explode").is_none() {
        let json = encoding["contentType"].as_str().is_some_and(is_json);
        return Ok((Styled { style: json.then_some("json"), ..Styled::default() }, None));
    }
    styled("query", encoding["style"].as_str().unwrap_or("form"), encoding["explode"].as_bool(), schema)
}

fn styled(place: &str, style: &str, explode: Option<bool>, schema: &Value) -> Found {
    const NESTED: &str = "the standard does not say how lists in deepObject are written; here with numbers, name[0]=";
    let kinds = Kinds::of(schema, 0);
    let known = match place {
        "path" => ["simple", "label", "matrix"].iter().find(|known| **known == style),
        "header" => ["simple"].iter().find(|known| **known == style),
        _ => ["form", "spaceDelimited", "pipeDelimited", "deepObject"].iter().find(|known| **known == style),
    };
    let Some(&style) = known else { return Err(format!("the style {style:?} is not one that Frontdesk writes there")) };
    let explodes = explode.unwrap_or(style == "form");
    let entry = |style| Styled { style: Some(style), explode: Some(explodes), ..Styled::default() };
    let compound = kinds.list || kinds.object;
    Ok(match style {
        // One value of these is written as it is.
        "form" | "spaceDelimited" | "pipeDelimited" | "simple" if !compound => (Styled::default(), None),
        // Lists repeat their name anyway.
        "form" if explodes && !kinds.object => (Styled::default(), None),
        "deepObject" if !compound => (Styled::default(), None),
        "deepObject" => {
            let styled = Styled { style: Some("deepObject"), ..Styled::default() };
            (styled, kinds.nested.then_some(NESTED))
        }
        style => (entry(style), None),
    })
}

/// The kinds of values that a schema takes.
#[derive(Debug, Default, Clone, Copy)]
struct Kinds {
    list: bool,
    object: bool,
    /// There are lists in it, or it is one.
    nested: bool,
}

impl Kinds {
    fn of(schema: &Value, depth: usize) -> Self {
        let Some(map) = schema.as_object() else { return Self { list: true, object: true, nested: true } };
        let named = |kind: &str| match &map.get("type") {
            Some(Value::String(one)) => one == kind,
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            _ => false,
        };
        let mut kinds = Self {
            list: named("array") || map.contains_key("items"),
            object: named("object") || map.contains_key("properties"),
            nested: false,
        };
        let alternatives = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
        let mut untyped = !map.contains_key("type") && !map.contains_key("enum") && !map.contains_key("const");
        for part in alternatives.filter(|_| depth < 6) {
            untyped = false;
            let part = Self::of(part, depth + 1);
            kinds = Self {
                list: kinds.list || part.list,
                object: kinds.object || part.object,
                nested: kinds.nested || part.nested,
            };
        }
        if untyped && !kinds.list && !kinds.object {
            return Self { list: true, object: true, nested: false };
        }
        let members = map.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(_, member)| member);
        kinds.nested |= kinds.list || depth < 6 && members.into_iter().any(|member| Self::of(member, depth + 1).nested);
        kinds
    }
}
