//! Bodies written out by the operator (`body_template`): values go in as JSON, as XML text or percent-encoded, never as
//! syntax.

use frontdesk_base::media::{essence, is_json};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::{template_place::Place, template_syntax, xml};

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Xml,
    Form,
}

/// A compiled template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    media: Media,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `{{ input }}` or `{{ input.a.b }}`.
    Value {
        path: Vec<String>,
        /// It stands within a string of JSON.
        quoted: bool,
    },
}

/// Stands for a value where a template is checked.
const MARK: &str = "frontdesk-value";

impl Template {
    /// Compiles a template for this Content-Type.
    ///
    /// # Errors
    ///
    /// Why it is none, as a phrase.
    pub fn parse(text: &str, content_type: &str) -> Result<Self, String> {
        let kind = essence(content_type).to_ascii_lowercase();
        let media = if is_json(&kind) {
            Media::Json
        } else if kind.ends_with("/xml") || kind.ends_with("+xml") {
            Media::Xml
        } else if kind == "application/x-www-form-urlencoded" {
            Media::Form
        } else {
            return Err(format!("cannot be filled in safely as {kind}; write a content_type of JSON, XML or a form"));
        };
        let (mut parts, mut rest, mut place) = (Vec::new(), text, Place::default());
        while let Some((literal, after)) = rest.split_once("{{") {
            let (inside, after) = after.split_once("}}").ok_or("has a {{ without its }}")?;
            let path = path(inside.trim())?;
            place.pass(literal, media);
            place.may_hold_a_value(media)?;
            parts.push(Part::Literal(literal.to_owned()));
            parts.push(Part::Value { path, quoted: place.is_quoted() });
            rest = after;
        }
        parts.push(Part::Literal(rest.to_owned()));
        let template = Self { parts, media };
        template.check()?;
        Ok(template)
    }

    /// Whether it makes a body that can be read, and no value stands in a query language.
    fn check(&self) -> Result<(), String> {
        let mark = Value::from(MARK);
        let sample = self.written(&|_| Some(&mark));
        let value = match self.media {
            Media::Json => serde_json::from_str(&sample).map_err(|why| format!("makes no JSON: {why}"))?,
            Media::Xml => xml::read(&sample).map_err(|_| "makes no well-formed XML".to_owned())?,
            Media::Form => {
                let fields = form_urlencoded::parse(sample.as_bytes());
                fields.map(|(name, value)| (name.into_owned(), value.into())).collect::<Map<_, Value>>().into()
            }
        };
        template_syntax::check(&value, MARK)
    }

    /// The body for an input. `all`: what `{{ input }}` is.
    pub fn fill(&self, input: &Map<String, Value>, all: &Value) -> String {
        self.written(&|path| match path {
            [] => Some(all),
            [first, rest @ ..] => rest.iter().try_fold(input.get(first)?, |value, name| match value {
                Value::Object(members) => members.get(name),
                Value::Array(items) => items.get(name.parse::<usize>().ok()?),
                _ => None,
            }),
        })
    }

    /// The names of the inputs that it uses one by one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value { path, .. } => path.first().map(String::as_str),
            Part::Literal(_) => None,
        })
    }

    fn written<'v>(&self, find: &dyn Fn(&[String]) -> Option<&'v Value>) -> String {
        let mut body = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => body.push_str(text),
                Part::Value { path, quoted } => {
                    let value = find(path);
                    match self.media {
                        Media::Json if *quoted => {
                            // Without the quotes that the template has.
                            let text = Value::from(as_text(value)).to_string();
                            body.push_str(&text[1..text.len() - 1]);
                        }
                        Media::Json => body.push_str(&value.unwrap_or(&Value::Null).to_string()),
                        Media::Xml => xml_escaped(&as_text(value), &mut body),
                        Media::Form => {
                            body.extend(form_urlencoded::byte_serialize(as_text(value).as_bytes()));
                        }
                    }
                }
            }
        }
        body
    }
}

/// `input`, `input.a`, `input.a.b`.
fn path(inside: &str) -> Result<Vec<String>, String> {
    let mut names = inside.split('.');
    let is_name =
        |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if names.next() != Some("input") || !names.clone().all(|name| is_name(&name)) {
        return Err(format!("has {{{{ {inside} }}}}; write {{{{ input }}}} or {{{{ input.name }}}}"));
    }
    Ok(names.map(str::to_owned).collect())
}

fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Text that is text in XML, in an element and in an attribute.
fn xml_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", u32::from(c))),
            // No document of XML 1.0 can have these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(template: &str, kind: &str, input: Value) -> String {
        let all = input.clone();
        Template::parse(template, kind).unwrap().fill(input.as_object().unwrap(), &all)
    }

    #[test]
    fn values_are_json_and_never_syntax() {
        let hostile = json!({ "id": "1\", \"admin\": true, \"x\": \"", "n": 5, "list": [1, "a"] });
        let body = filled(
            "{\"id\": {{ input.id }}, \"n\": {{input.n}}, \"l\": {{ input.list }}, \"no\": {{ input.no }}}",
            "application/json",
            hostile.clone(),
        );
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read, json!({ "id": hostile["id"], "n": 5, "l": [1, "a"], "no": null }));
        let body = filled("{\"text\": \"Order {{ input.id }}, {{ input.n }}\"}", "application/json", hostile.clone());
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read, json!({ "text": format!("Order {}, 5", hostile["id"].as_str().unwrap()) }));
        let graphql = "{\"query\": \"query($id: ID!) { user(id: $id) { name } }\", \"variables\": {{ input }}}";
        assert_eq!(
            serde_json::from_str::<Value>(&filled(graphql, "application/json", hostile.clone())).unwrap()["variables"],
            hostile
        );
    }

    #[test]
    fn values_are_text_in_xml() {
        let body = filled(
            "<a x=\"{{ input.a }}\"><b>{{ input.b }}</b></a>",
            "text/xml",
            json!({ "a": "\"><c>\u{0}", "b": "</b><![CDATA[ & '" }),
        );
        assert_eq!(body, "<a x=\"&quot;&gt;&lt;c&gt;\"><b>&lt;/b&gt;&lt;![CDATA[ &amp; &apos;</b></a>");
        let form = filled("a={{ input.a }}&b=1", "application/x-www-form-urlencoded", json!({ "a": "x&c=2 é" }));
        assert_eq!(form, "a=x%26c%3D2+%C3%A9&b=1");
    }

    #[test]
    fn places_where_a_value_would_be_syntax_are_mistakes() {
        for (template, kind) in [
            ("{\"query\": \"{ user(id: {{ input.id }}) }\"}", "application/json"),
            ("{\"a\": {{ input.a }}", "application/json"),
            ("{\"a\": {{ data.a }}}", "application/json"),
            ("{\"a\": {{ input.a | safe }}}", "application/json"),
            ("{\"a\": {{ input.a }", "application/json"),
            ("<a {{ input.a }}=\"x\"/>", "text/xml"),
            ("<a><!-- {{ input.a }} --></a>", "application/soap+xml"),
            ("<a><![CDATA[{{ input.a }}]]></a>", "text/xml"),
            ("<a>{{ input.a }}</b>", "text/xml"),
            ("<!DOCTYPE a [<!ENTITY b \"{{ input.a }}\">]><a>&b;</a>", "text/xml"),
            ("<a x=\"it's\" {{ input.a }}=\"x\"/>", "text/xml"),
            ("<a x=\">\" {{ input.a }}=\"x\"/>", "text/xml"),
            ("<a><sql>SELECT {{ input.a }}</sql></a>", "text/xml"),
            ("query={ a(b: {{ input.a }}) }", "application/x-www-form-urlencoded"),
            ("{\"query\": {{ input.a }}, \"variables\": {}}", "application/json"),
            ("a {{ input.a }}", "text/plain"),
        ] {
            assert!(Template::parse(template, kind).is_err(), "{template}");
        }
    }
}
