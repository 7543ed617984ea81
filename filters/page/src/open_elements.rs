//! The elements open in a body that decide what the bytes after a tag mean, and whether `</body>` ends the body.
//!
//! A parser ignores `</body>` while a table, a select, a template or the like is open (in the standard: while `body` is
//! not "in scope"): a page that quotes a whole other page in a table's cell goes on behind it. In SVG and MathML the
//! names of HTML mean nothing, until a tag ends them or an element begins whose content is HTML again.

use super::{
    names::Name,
    tag::Tag,
    template::{breaks_out, holds_html, is_of_html_alone},
};

/// Open elements that are followed. A page with more is in doubt.
const DEPTH_MAX: usize = 256;

/// What a tag means for the text after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    Nothing,
    /// The raw text of this element follows.
    Raw(Name),
    /// What the page is from here on would take a parser to tell.
    Doubt,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    /// A table, select, template, object, applet or marquee.
    Html(Name),
    /// An `<svg>` or a `<math>`, and whatever of their own is in it.
    Foreign(Name),
    /// An element of SVG or MathML whose content is HTML.
    Mixed(&'static [u8]),
}

/// Elements of HTML that have no content, and so are never open.
const VOID: [&[u8]; 19] = [
    b"area",
    b"base",
    b"basefont",
    b"bgsound",
    b"br",
    b"col",
    b"embed",
    b"frame",
    b"hr",
    b"image",
    b"img",
    b"input",
    b"keygen",
    b"link",
    b"meta",
    b"param",
    b"source",
    b"track",
    b"wbr",
];
/// Elements that the end tag of an element around them ends too (HTML §13.2.6.3).
const ENDS_BY_ITSELF: [&[u8]; 10] = [b"dd", b"dt", b"li", b"optgroup", b"option", b"p", b"rb", b"rp", b"rt", b"rtc"];

/// Those of them that are open, the outermost first.
#[derive(Debug)]
pub(super) struct OpenElements {
    open: Vec<Element>,
    /// Names of the elements of HTML that are open in a `Mixed`, and where in `open` that is. While there is one, a parser
    /// ignores the end tags of the `Mixed` and of the SVG or MathML around it.
    within: Vec<(usize, Vec<u8>)>,
    /// The body has a tag of its own: a `<frameset>` in it is none.
    explicit: bool,
}

impl OpenElements {
    pub fn new(explicit: bool) -> OpenElements {
        OpenElements { open: Vec::new(), within: Vec::new(), explicit }
    }

    /// Is what follows SVG or MathML?
    pub fn in_foreign(&self) -> bool {
        matches!(self.open.last(), Some(Element::Foreign(_)))
    }

    /// Is what follows HTML in SVG or MathML, or CDATA of theirs? It depends on what else is open.
    pub fn in_mixed(&self) -> bool {
        matches!(self.open.last(), Some(Element::Mixed(_)))
    }

    /// Would `</body>` end the body here?
    pub fn body_may_end(&self) -> bool {
        self.open.iter().all(|element| matches!(element, Element::Foreign(_)))
    }

    /// Is what is written here an element of the page, outside of templates and lists of options?
    pub fn shows(&self) -> bool {
        let hides = |element: &Element| matches!(element, Element::Html(Name::Template | Name::Select));
        !self.open.iter().any(hides)
    }

    /// A start tag.
    pub fn start(&mut self, tag: &Tag<'_>) -> Meaning {
        if self.in_foreign() {
            if !breaks_out(tag) {
                return self.foreign_start(tag);
            }
            self.leave_foreign();
        }
        match tag.name {
            Name::Svg | Name::Math if tag.self_closing() => Meaning::Nothing,
            Name::Svg | Name::Math => self.push(Element::Foreign(tag.name)),
            // Within another one it ends that.
            Name::Select if self.innermost() == Some(Name::Select) => self.end_of(Name::Select),
            Name::Table | Name::Template | Name::Object | Name::Applet | Name::Marquee | Name::Select => {
                self.push(Element::Html(tag.name))
            }
            Name::Plaintext => Meaning::Doubt,
            Name::Frameset if !self.explicit => Meaning::Doubt,
            Name::Script | Name::Textarea => Meaning::Raw(tag.name),
            // Parsers differ: those before the standard's change of 2025 skip the tag and read on.
            name if name.is_raw() && self.innermost() == Some(Name::Select) => Meaning::Doubt,
            name if name.is_raw() => Meaning::Raw(name),
            _ if self.in_mixed() => self.start_within(tag),
            _ => Meaning::Nothing,
        }
    }

    /// A start tag of HTML in SVG or MathML.
    fn start_within(&mut self, tag: &Tag<'_>) -> Meaning {
        let name = tag.written.to_ascii_lowercase();
        if VOID.contains(&name.as_slice()) {
            return Meaning::Nothing;
        }
        let mixed = self.open.len() - 1;
        // A paragraph ends the one before.
        if name == b"p" && self.within.last().is_some_and(|(at, last)| *at == mixed && *last == name) {
            return Meaning::Nothing;
        }
        if self.within.len() == DEPTH_MAX {
            return Meaning::Doubt;
        }
        self.within.push((mixed, name));
        Meaning::Nothing
    }

    /// An end tag of HTML in SVG or MathML.
    fn end_within(&mut self, tag: &Tag<'_>) -> Meaning {
        let (mixed, name) = (self.open.len() - 1, tag.written.to_ascii_lowercase());
        let Some(at) = self.within.iter().rposition(|(at, open)| *at == mixed && *open == name) else {
            return Meaning::Nothing;
        };
        if self.within[at + 1..].iter().any(|(_, open)| !ENDS_BY_ITSELF.contains(&open.as_slice())) {
            return Meaning::Doubt;
        }
        self.within.truncate(at);
        Meaning::Nothing
    }

    /// Is an element of HTML open in the SVG or MathML that is?
    fn is_open_within(&self) -> bool {
        self.within.last().is_some_and(|(at, _)| *at + 1 == self.open.len())
    }

    fn foreign_start(&mut self, tag: &Tag<'_>) -> Meaning {
        if tag.self_closing() {
            return Meaning::Nothing;
        }
        match (tag.name, holds_html(tag)) {
            // An `<svg>` in MathML is an element of MathML, but for one in an `<annotation-xml>`; the other way round likewise.
            (Name::Svg | Name::Math, _) if self.open.last() != Some(&Element::Foreign(tag.name)) => Meaning::Doubt,
            (Name::Svg | Name::Math, _) => self.push(Element::Foreign(tag.name)),
            (_, Some(name)) if self.is_mixed(name, tag) => self.push(Element::Mixed(name)),
            _ => Meaning::Nothing,
        }
    }

    /// Does this element hold HTML in the SVG or MathML that is open?
    fn is_mixed(&self, name: &[u8], tag: &Tag<'_>) -> bool {
        let svg = matches!(self.open.last(), Some(Element::Foreign(Name::Svg)));
        match name {
            b"foreignobject" | b"desc" | b"title" => svg,
            b"annotation-xml" => !svg && tag.encodes_html(),
            _ => !svg,
        }
    }

    /// An end tag.
    pub fn end(&mut self, tag: &Tag<'_>) -> Meaning {
        if self.in_foreign() {
            if breaks_out(tag) {
                self.leave_foreign();
            } else if is_of_html_alone(tag) {
                // It ends the SVG too if such an element of HTML is open around it. Those are not followed.
                return Meaning::Doubt;
            }
        }
        match tag.name {
            Name::Svg | Name::Math if self.is_open_within() => Meaning::Doubt,
            Name::Svg | Name::Math => self.end_of_foreign(tag.name),
            Name::Table | Name::Template | Name::Object | Name::Applet | Name::Marquee | Name::Select => {
                self.end_of(tag.name)
            }
            _ => match (self.open.last(), holds_html(tag)) {
                (Some(Element::Mixed(open)), Some(name)) if *open == name => {
                    if self.is_open_within() {
                        return Meaning::Doubt;
                    }
                    self.truncate(self.open.len() - 1);
                    Meaning::Nothing
                }
                // It ends an element of SVG or MathML around this one, if no HTML is open between.
                (Some(Element::Foreign(_)), Some(name)) if self.open.contains(&Element::Mixed(name)) => Meaning::Doubt,
                (Some(Element::Mixed(_)), _) => self.end_within(tag),
                _ => Meaning::Nothing,
            },
        }
    }

    fn truncate(&mut self, len: usize) {
        self.open.truncate(len);
        let kept = self.within.iter().take_while(|(at, _)| *at < len).count();
        self.within.truncate(kept);
    }

    fn push(&mut self, element: Element) -> Meaning {
        if self.open.len() == DEPTH_MAX {
            return Meaning::Doubt;
        }
        self.open.push(element);
        Meaning::Nothing
    }

    /// A tag of HTML ends the SVG or MathML that it stands in.
    fn leave_foreign(&mut self) {
        while self.in_foreign() {
            self.truncate(self.open.len() - 1);
        }
    }

    /// The innermost element of HTML, if no content of SVG or MathML lies between.
    fn innermost(&self) -> Option<Name> {
        match self.open.iter().rev().find(|element| !matches!(element, Element::Foreign(_))) {
            Some(Element::Html(name)) => Some(*name),
            _ => None,
        }
    }

    /// The end tag of an element of HTML ends whatever is open in it, as far as a parser lets it.
    fn end_of(&mut self, name: Name) -> Meaning {
        let same = |element: &Element| *element == Element::Html(name);
        let ends = match name {
            Name::Template => self.open.iter().rposition(same),
            // Only a template keeps it from its table.
            Name::Table => {
                let template = |element: &Element| *element == Element::Html(Name::Template);
                self.open.iter().rposition(same).filter(|&at| !self.open[at..].iter().any(template))
            }
            _ => self.open.iter().rposition(same).filter(|_| self.innermost() == Some(name)),
        };
        if let Some(at) = ends {
            self.truncate(at);
        }
        Meaning::Nothing
    }

    fn end_of_foreign(&mut self, name: Name) -> Meaning {
        let of_html = |element: &Element| matches!(element, Element::Html(_));
        let from = self.open.iter().rposition(of_html).map_or(0, |at| at + 1);
        if let Some(n) = self.open[from..].iter().rposition(|element| *element == Element::Foreign(name)) {
            self.truncate(from + n);
        }
        Meaning::Nothing
    }
}
