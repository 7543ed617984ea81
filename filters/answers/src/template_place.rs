//! Where in a template a value would stand: only where it is a value to every reader, and never where it would be syntax.

use super::template::Media;

/// A template, read up to a value.
#[derive(Debug, Default)]
pub(super) struct Place {
    json: Json,
    xml: Xml,
}

#[derive(Debug, Default)]
struct Json {
    in_string: bool,
    escaped: bool,
}

/// What surrounds a place in XML.
#[derive(Debug, Default)]
struct Xml {
    before: String,
}

/// The parts of a document of XML in which a value would be syntax, and its plain ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    Tag,
    Attribute,
    /// A comment, a CDATA section or an instruction.
    Apart,
    /// `<!DOCTYPE` with all that is declared in it.
    Doctype,
}

impl Place {
    /// Reads on.
    pub(super) fn pass(&mut self, literal: &str, media: Media) {
        match media {
            Media::Json => self.json.pass(literal),
            Media::Xml => self.xml.before.push_str(literal),
            Media::Form => {}
        }
    }

    /// Whether it is within a string of JSON.
    pub(super) fn is_quoted(&self) -> bool {
        self.json.in_string
    }

    /// Whether a value may stand here.
    ///
    /// # Errors
    ///
    /// Why not, and what to write.
    pub(super) fn may_hold_a_value(&mut self, media: Media) -> Result<(), String> {
        match media {
            Media::Json if self.json.escaped => Err("has a value behind a backslash".to_owned()),
            Media::Json | Media::Form => Ok(()),
            Media::Xml => {
                let why = match self.xml.within() {
                    Within::Text | Within::Attribute => {
                        // For what comes after it, the value is text.
                        self.xml.before.push('x');
                        return Ok(());
                    }
                    Within::Tag => "has a value in a tag, outside an attribute's quotes, where it would be syntax",
                    Within::Apart => {
                        "has a value in a comment, a CDATA section or an instruction, where it would be syntax"
                    }
                    Within::Doctype => {
                        "has a value in the DOCTYPE, where it would be syntax: readers expand an ENTITY. Leave the \
                         DOCTYPE out, and write {{ input.name }} where the text stands, as in <name>{{ input.name }}</name>"
                    }
                };
                Err(why.to_owned())
            }
        }
    }
}

impl Json {
    fn pass(&mut self, literal: &str) {
        for c in literal.chars() {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' if self.in_string => self.escaped = true,
                '"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
    }
}

impl Xml {
    fn within(&self) -> Within {
        let mut rest = self.before.as_str();
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            let apart = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
            if let Some((start, end)) = apart.iter().find(|(start, _)| rest.starts_with(start)) {
                match rest[start.len()..].find(end) {
                    Some(over) => rest = &rest[start.len() + over + end.len()..],
                    None => return Within::Apart,
                }
                continue;
            }
            let is_declaration = rest.starts_with("<!");
            match (tag_end(rest, is_declaration), is_declaration) {
                (Ok(end), _) => rest = &rest[end..],
                (Err(_), true) => return Within::Doctype,
                (Err(true), false) => return Within::Attribute,
                (Err(false), false) => return Within::Tag,
            }
        }
        Within::Text
    }
}

/// Where a tag is over; of a declaration, with what is declared in its brackets.
///
/// # Errors
///
/// It is not: whether the text ends within quotes.
fn tag_end(tag: &str, is_declaration: bool) -> Result<usize, bool> {
    let (mut quote, mut depth) = (None, 0_usize);
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') if is_declaration => depth += 1,
            (None, ']') if is_declaration => depth = depth.saturating_sub(1),
            (None, '>') if depth == 0 => return Ok(at + 1),
            (None, _) => {}
        }
    }
    Err(quote.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_xml_are_told_apart() {
        let within = |text: &str| Xml { before: text.to_owned() }.within();
        for (text, expected) in [
            ("<a>", Within::Text),
            ("<a x=\">\">", Within::Text),
            ("<a x=\"it's", Within::Attribute),
            ("<a x='", Within::Attribute),
            ("<a x=\"it's\" ", Within::Tag),
            ("<a x=\">\" ", Within::Tag),
            ("<a><!-- > ", Within::Apart),
            ("<a><!-- ' --><b>", Within::Text),
            ("<?xml version='1.0'?><a>", Within::Text),
            ("<?xml ", Within::Apart),
            ("<a><![CDATA[ <b> ", Within::Apart),
            ("<!DOCTYPE a [<!ENTITY b \"", Within::Doctype),
            ("<!DOCTYPE a [<!ENTITY b \"x\"> ", Within::Doctype),
            ("<!doctype a ", Within::Doctype),
            ("<!DOCTYPE a [<!ENTITY b \"x]>\">]><a>", Within::Text),
        ] {
            assert_eq!(within(text), expected, "{text}");
        }
    }
}
