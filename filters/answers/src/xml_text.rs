//! XML as a tree, within bounds: without document types, and without entities that a document declares itself.

use encoding_rs::Encoding;
use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
    page_type,
};
use quick_xml::{Reader, XmlVersion, events::BytesStart, events::Event};

use crate::answered::{too_large, unknown_encoding};

/// How deep elements may lie in each other, and how many there may be.
const MAX_DEPTH: usize = 64;
const MAX_ELEMENTS: usize = 100_000;

/// An element. Names are local: without the prefix of their namespace.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Element>,
    /// Its own text, without that of its children.
    pub(crate) text: String,
}

impl Element {
    /// The first child with this name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The trimmed text of the first child with one of these names that has some.
    pub(crate) fn said(&self, names: &[&str]) -> Option<&str> {
        names.iter().filter_map(|name| self.child(name)).map(|child| child.text.trim()).find(|text| !text.is_empty())
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The text of an XML document: by its byte order mark, the Content-Type, or its declaration; else UTF-8.
pub(crate) fn decoded(body: &[u8], content_type: &str) -> Result<String, Refusal> {
    let top = String::from_utf8_lossy(&body[..body.len().min(256)]);
    let declared =
        top.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")).and_then(|(head, _)| {
            let value = head.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            value[1..].split_once(quote).map(|(name, _)| name.to_owned())
        });
    let has_charset =
        page_type::charset(content_type).is_some_and(|name| Encoding::for_label(name.as_bytes()).is_some());
    let kind = match declared {
        // UTF-16 would not have been readable as ASCII.
        Some(name) if !has_charset && !name.to_ascii_lowercase().starts_with("utf-16") => {
            format!("x/x; charset={name}")
        }
        _ if has_charset => content_type.to_owned(),
        _ => "x/x; charset=utf-8".to_owned(),
    };
    Ok(charset::text(body, &kind).ok_or_else(unknown_encoding)?.into_owned())
}

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Element, Refusal> {
    let unreadable = || Refusal::from(Fault::Malformed).saying("The site's answer is not well-formed XML.");
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    reader.config_mut().expand_empty_elements = true;
    reader.config_mut().allow_dangling_amp = true;
    let (mut open, mut root, mut count) = (Vec::<Element>::new(), None, 0);
    loop {
        match reader.read_event().map_err(|_| unreadable())? {
            Event::Start(start) => {
                count += 1;
                if count > MAX_ELEMENTS || open.len() >= MAX_DEPTH {
                    return Err(too_large("The site's XML has more or deeper elements than are passed on."));
                }
                if root.is_some() {
                    return Err(unreadable());
                }
                open.push(element(&start));
            }
            Event::End(_) => {
                let done = open.pop().ok_or_else(unreadable)?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => root = Some(done),
                }
            }
            Event::Text(text) => add(&mut open, &text),
            Event::CData(text) => add(&mut open, &text),
            Event::GeneralRef(name) => match character(&name) {
                Some(c) => add(&mut open, c.encode_utf8(&mut [0; 4])),
                // An entity of the document's own stays as it is written.
                None => add(&mut open, &format!("&{};", &*name)),
            },
            Event::Eof => break,
            _ => {}
        }
    }
    root.filter(|_| open.is_empty()).ok_or_else(unreadable)
}

fn element(start: &BytesStart<'_>) -> Element {
    let attributes = start
        .attributes()
        .flatten()
        .filter(|attribute| {
            let key: &str = attribute.key.as_ref();
            key != "xmlns" && !key.starts_with("xmlns:")
        })
        .filter_map(|attribute| {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
            Some((attribute.key.local_name().as_ref().to_owned(), value))
        })
        .collect();
    Element { name: start.local_name().as_ref().to_owned(), attributes, ..Element::default() }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// The character of a reference that XML itself knows.
fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| *c != '\0')
        }
    }
}
