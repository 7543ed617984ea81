//! Inside a `<template>` in the head: only as much as is needed to know where it ends.
//!
//! What a template holds is not the page, so no position is found in it. But its markup decides what the bytes after
//! a tag mean: a `<style>` in it is raw text, unless it is in an `<svg>`. The few constructions whose effect would take
//! a whole parser to tell (HTML inside of SVG, raw text in a `<select>`) are a doubt: the page passes as it is.

use super::{names::Name, tag::Tag};

/// What a tag in a template means for the reader.
#[derive(Debug, PartialEq)]
pub(super) enum Inside {
    Nothing,
    /// The raw text of this element follows.
    Raw(Name),
    /// The outermost template ended.
    Left,
    /// It takes a parser to tell.
    Doubt,
}

/// Foreign elements within each other that are still followed.
const DEPTH_MAX: usize = 64;

/// SVG and MathML elements whose children may be HTML.
const INTEGRATION: [&[u8]; 9] =
    [b"foreignobject", b"desc", b"title", b"mi", b"mo", b"mn", b"ms", b"mtext", b"annotation-xml"];

/// HTML elements that end SVG and MathML where they stand (`font` only does with some attributes).
const BREAKOUT: [&[u8]; 45] = [
    b"b",
    b"big",
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"code",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"em",
    b"embed",
    b"font",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"i",
    b"img",
    b"li",
    b"listing",
    b"menu",
    b"meta",
    b"nobr",
    b"ol",
    b"p",
    b"pre",
    b"ruby",
    b"s",
    b"small",
    b"span",
    b"strong",
    b"strike",
    b"sub",
    b"sup",
    b"table",
    b"tt",
    b"u",
    b"ul",
    b"var",
];

/// The name of an element of SVG or MathML within which there may be HTML; `None`: the tag is another's.
pub(super) fn holds_html(tag: &Tag<'_>) -> Option<&'static [u8]> {
    INTEGRATION.iter().find(|name| tag.written.eq_ignore_ascii_case(name)).copied()
}

/// Whether this tag ends SVG and MathML where it stands.
pub(super) fn breaks_out(tag: &Tag<'_>) -> bool {
    match tag.end {
        true => [&b"p"[..], b"br"].iter().any(|name| tag.written.eq_ignore_ascii_case(name)),
        false if tag.written.eq_ignore_ascii_case(b"font") => tag.styles_font(),
        false => BREAKOUT.iter().any(|name| tag.written.eq_ignore_ascii_case(name)),
    }
}

/// Whether an end tag is that of an element of HTML, which is never one of SVG or MathML, and which only the open elements
/// know the effect of.
pub(super) fn is_of_html_alone(tag: &Tag<'_>) -> bool {
    const PARTS_OF_TABLES: [&[u8]; 8] = [b"caption", b"colgroup", b"tbody", b"td", b"tfoot", b"th", b"thead", b"tr"];
    const KNOWN: [&[u8]; 4] = [b"body", b"head", b"table", b"font"];
    let is = |names: &[&[u8]]| names.iter().any(|name| tag.written.eq_ignore_ascii_case(name));
    (is(&BREAKOUT) && !is(&KNOWN)) || is(&PARTS_OF_TABLES)
}

/// The templates open at this point of the head.
#[derive(Debug, Default)]
pub(super) struct Templates {
    depth: u32,
    /// A `<select>` or a column was opened: what is allowed from here on is the parser's to know.
    odd: bool,
    /// The SVG or MathML elements open at this point, outermost first.
    foreign: Vec<Vec<u8>>,
}

impl Templates {
    /// Is a template open?
    pub fn open(&self) -> bool {
        self.depth > 0
    }

    /// May CDATA stand here?
    pub fn foreign(&self) -> bool {
        !self.foreign.is_empty()
    }

    /// A `<template>` begins in the head.
    pub fn enter(&mut self) {
        *self = Templates { depth: 1, ..Templates::default() };
    }

    /// A start tag.
    pub fn start(&mut self, tag: &Tag<'_>) -> Inside {
        let written = tag.written.to_ascii_lowercase();
        if let Some(top) = self.foreign.last() {
            let html = INTEGRATION.contains(&top.as_slice()) || BREAKOUT.contains(&written.as_slice());
            if html || self.foreign.len() >= DEPTH_MAX {
                return Inside::Doubt;
            }
            if !tag.self_closing() {
                self.foreign.push(written);
            }
            return Inside::Nothing;
        }
        match tag.name {
            Name::Template => self.depth += 1,
            Name::Select | Name::Column => self.odd = true,
            Name::Plaintext => return Inside::Doubt,
            Name::Svg | Name::Math if self.odd => return Inside::Doubt,
            Name::Svg | Name::Math if !tag.self_closing() => self.foreign.push(written),
            name if name.is_raw() => return if self.odd { Inside::Doubt } else { Inside::Raw(name) },
            _ => {}
        }
        Inside::Nothing
    }

    /// An end tag.
    pub fn end(&mut self, tag: &Tag<'_>) -> Inside {
        if !self.foreign.is_empty() {
            let written = tag.written.to_ascii_lowercase();
            if matches!(written.as_slice(), b"p" | b"br") {
                return Inside::Doubt;
            }
            if let Some(n) = self.foreign.iter().rposition(|open| *open == written) {
                self.foreign.truncate(n);
                return Inside::Nothing;
            }
            if tag.name != Name::Template {
                return Inside::Doubt;
            }
            self.foreign.clear();
        }
        if tag.name != Name::Template {
            return Inside::Nothing;
        }
        self.depth -= 1;
        if self.depth == 0 { Inside::Left } else { Inside::Nothing }
    }
}
