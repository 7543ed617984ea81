//! XML as an object, by the mapping in `docs/sites-without-an-api.md`: an element without attributes and children is its
//! text; any other is an object with `@name` for an attribute, the child's name for a child (a list where it comes more
//! than once), and `#text` for text of its own. Feeds are read as feeds.

use frontdesk_base::fault::Refusal;
use serde_json::{Map, Value, json};

pub(crate) use crate::xml_text::decoded;
use crate::{
    feed,
    xml_text::{Element, parse},
};

/// Reads a document.
///
/// # Errors
///
/// It is not well-formed, or larger than is passed on.
pub(crate) fn read(text: &str) -> Result<Value, Refusal> {
    let root = parse(text)?;
    Ok(feed::read(&root).unwrap_or_else(|| json!({ root.name.as_str(): value(&root) })))
}

fn value(element: &Element) -> Value {
    let text = element.text.trim();
    if element.attributes.is_empty() && element.children.is_empty() {
        return text.into();
    }
    let mut members = Map::new();
    for (name, value) in &element.attributes {
        members.insert(format!("@{name}"), value.as_str().into());
    }
    for child in &element.children {
        let value = value(child);
        match members.get_mut(&child.name) {
            Some(Value::Array(all)) => all.push(value),
            Some(first) => *first = json!([first.take(), value]),
            None => drop(members.insert(child.name.clone(), value)),
        }
    }
    if !text.is_empty() {
        members.insert("#text".to_owned(), text.into());
    }
    members.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_members() {
        let text = "<?xml version='1.0'?><s:Envelope xmlns:s='urn:x'><s:Body><r id='1'>a &amp; b<i>1</i><i>2</i>\
                    <e/></r></s:Body></s:Envelope>";
        assert_eq!(
            read(text).unwrap(),
            json!({ "Envelope": { "Body": { "r": { "@id": "1", "i": ["1", "2"], "e": "", "#text": "a & b" } } } })
        );
        assert_eq!(read("<a><![CDATA[<x>]]>&#x41;&own;</a>").unwrap(), json!({ "a": "<x>A&own;" }));
    }

    #[test]
    fn a_list_of_lists_stays_one() {
        assert_eq!(
            read("<a><b><c>1</c><c>2</c></b><b>x</b></a>").unwrap(),
            json!({ "a": { "b": [{ "c": ["1", "2"] }, "x"] } })
        );
    }

    #[test]
    fn what_is_no_xml_or_too_much_is_refused() {
        assert_eq!(read("<a><b></a>").unwrap_err().reason, "upstream_malformed_response");
        assert_eq!(read("words").unwrap_err().reason, "upstream_malformed_response");
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert_eq!(read(&deep).unwrap_err().reason, "response_too_large");
        assert_eq!(read(&format!("<a>{}</a>", "<b/>".repeat(200_000))).unwrap_err().reason, "response_too_large");
        let bomb = "<!DOCTYPE a [<!ENTITY x \"yyyy\"><!ENTITY z \"&x;&x;\">]><a>&z;</a>";
        assert_eq!(read(bomb).unwrap(), json!({ "a": "&z;" }));
    }

    #[test]
    fn every_encoding_that_a_document_declares_is_read() {
        let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe9</a>";
        assert_eq!(read(&decoded(latin, "text/xml").unwrap()).unwrap(), json!({ "a": "é" }));
        assert_eq!(read(&decoded(latin, "text/xml; charset=klingon").unwrap()).unwrap(), json!({ "a": "é" }));
        let utf16: Vec<u8> = "\u{feff}<a>é</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&decoded(&utf16, "application/xml").unwrap()).unwrap(), json!({ "a": "é" }));
        assert_eq!(read(&decoded("<a>é</a>".as_bytes(), "text/xml").unwrap()).unwrap(), json!({ "a": "é" }));
    }
}
