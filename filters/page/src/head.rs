//! What a tag or a text means before the body: the insertion modes of the HTML standard, as far as they differ here.

use super::{
    insertion::{Link, Why},
    markdown_path::MEDIA_TYPE,
    names::Name,
    tag::{Tag, has_word},
    template::{self, Inside, Templates},
};

/// What something that was read means for the scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Means {
    Nothing,
    /// The raw text of this element follows.
    Raw(Name),
    /// The head ends with this tag.
    HeadEnd,
    /// The body opens here; with a tag of its own it opens after it.
    Body {
        explicit: bool,
    },
    /// The body's first element, or text in its place.
    First,
    Frameset,
    Fragment,
    GaveUp(Why),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// "initial", "before html" and "before head" treat every token alike for our purpose.
    BeforeHead,
    InHead,
    AfterHead,
    /// Right after an explicit `<body>`: looking at the first element.
    First,
    /// In the body: only looking for the site's own notice.
    Body,
}

/// Whether an element of SVG or MathML that is open holds what may be HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mixed {
    No,
    /// Text so far: with the end of this element it is over.
    Text(&'static [u8]),
    /// Where it ends would take a parser.
    Yes,
}

impl Mixed {
    /// With one tag more of those elements.
    fn after(self, tag: &Tag<'_>) -> Self {
        match (self, template::holds_html(tag)) {
            (Self::No, Some(name)) if !tag.end && !tag.self_closing() => Self::Text(name),
            (Self::No, _) => Self::No,
            (Self::Text(open), Some(name)) if tag.end && name == open => Self::No,
            _ => Self::Yes,
        }
    }
}

/// The page as far as it was read.
#[derive(Debug)]
pub(super) struct Head {
    mode: Mode,
    templates: Templates,
    /// SVG and MathML elements open in the body.
    foreign: u32,
    mixed: Mixed,
    /// Templates open in the body: what is in them is on no page.
    shelved: u32,
    /// It would take a parser to tell what is markup from here on: a notice that is seen may be none.
    lost: bool,
    /// A doctype, `<html>`, `<head>`, `</head>` or `<body>` was seen.
    document: bool,
    /// The site's own notice was seen.
    pub own_notice: bool,
    /// Bit n: the site has a link of the insertion's n-th relation.
    pub own_links: u64,
    /// The site has a link to its own Markdown.
    pub own_markdown: bool,
    /// A script of the page asks for a sitemap beside whatever `link[rel=alternate]` leads to.
    pub follows_alternates: bool,
}

impl Head {
    pub fn new() -> Head {
        Head {
            mode: Mode::BeforeHead,
            templates: Templates::default(),
            foreign: 0,
            mixed: Mixed::No,
            shelved: 0,
            lost: false,
            document: false,
            own_notice: false,
            own_links: 0,
            own_markdown: false,
            follows_alternates: false,
        }
    }

    /// From here on only look for the site's own notice.
    pub fn look_in_body(&mut self) {
        self.mode = Mode::Body;
    }

    /// Is the body's first element still awaited?
    pub fn awaits_first(&self) -> bool {
        self.mode == Mode::First
    }

    /// Has no body been opened yet?
    pub fn before_body(&self) -> bool {
        !matches!(self.mode, Mode::First | Mode::Body)
    }

    /// Do elements that tell nothing change nothing here?
    pub fn skims(&self) -> bool {
        self.mode == Mode::InHead && !self.templates.open()
    }

    /// Is text of no meaning here?
    pub fn skips_text(&self) -> bool {
        self.mode == Mode::Body || self.templates.open()
    }

    /// Is a template open?
    pub fn in_template(&self) -> bool {
        self.templates.open()
    }

    /// May CDATA stand here?
    pub fn foreign(&self) -> bool {
        self.templates.foreign() || self.foreign > 0
    }

    /// A doctype.
    pub fn doctype(&mut self) {
        self.document = true;
    }

    /// Text that is not white space, or the end of the page.
    pub fn text(&mut self) -> Means {
        match self.mode {
            Mode::First => Means::First,
            _ if self.skips_text() => Means::Nothing,
            _ => self.open_body(false),
        }
    }

    /// A tag. The one that opens a body by standing there is read again, as the first in it.
    #[inline]
    pub fn tag(&mut self, tag: &Tag<'_>, links: &[Link]) -> Means {
        // One that comes late opens nothing: what it says is only that which the first did not say.
        let late = !self.before_body() && matches!(tag.name, Name::Body | Name::Html);
        let means = match self.mode {
            Mode::First => Means::First,
            Mode::Body => self.body_tag(tag),
            _ if self.templates.open() => self.template_tag(tag),
            _ if tag.end => self.head_end(tag),
            _ => self.head_start(tag, links),
        };
        let shown = !self.lost && self.shelved == 0;
        if !self.before_body() && !tag.end && !late && shown && tag.is_notice() {
            self.own_notice = true;
        }
        means
    }

    fn template_tag(&mut self, tag: &Tag<'_>) -> Means {
        let inside = if tag.end { self.templates.end(tag) } else { self.templates.start(tag) };
        match inside {
            Inside::Nothing | Inside::Left => Means::Nothing,
            Inside::Raw(name) => Means::Raw(name),
            Inside::Doubt => Means::GaveUp(Why::Doubt),
        }
    }

    fn body_tag(&mut self, tag: &Tag<'_>) -> Means {
        if self.foreign > 0 {
            if template::breaks_out(tag) {
                self.lost |= self.mixed != Mixed::No;
                self.foreign = 0;
            }
            self.mixed = self.mixed.after(tag);
        }
        if self.foreign == 0 {
            self.mixed = Mixed::No;
        }
        match (tag.name, tag.end) {
            // All that is to come is text; or what belongs to which template would take a parser to tell.
            (Name::Plaintext, false) => self.lost = true,
            (Name::Template, false) if self.foreign > 0 => self.lost = true,
            (Name::Template, false) => self.shelved += 1,
            (Name::Template, true) if self.shelved > 0 => {
                self.shelved -= 1;
                // It ends whatever was begun in it.
                (self.foreign, self.mixed) = (0, Mixed::No);
            }
            (Name::Svg | Name::Math, true) => self.foreign = self.foreign.saturating_sub(1),
            (Name::Svg | Name::Math, false) if !tag.self_closing() => self.foreign += 1,
            (Name::Svg | Name::Math, _) | (_, true) => {}
            _ if self.foreign > 0 && tag.self_closing() => {}
            (name, _) if name.is_raw() && self.foreign == 0 => return Means::Raw(name),
            // In SVG and MathML it is an element like any other; in HTML within them it is not.
            (name, _) if name.is_raw() => self.lost |= self.mixed == Mixed::Yes,
            _ => {}
        }
        Means::Nothing
    }

    fn head_start(&mut self, tag: &Tag<'_>, links: &[Link]) -> Means {
        match tag.name {
            Name::Html => {
                self.document = true;
                return Means::Nothing;
            }
            Name::Body => {
                self.document = true;
                return self.open_body(true);
            }
            Name::Frameset if self.document => return Means::Frameset,
            Name::Noscript if self.mode == Mode::AfterHead => return self.open_body(false),
            Name::Head => self.document = true,
            // Ours are on their way by then, if the page came in pieces; what a page gets does not hang on its pieces.
            Name::Link if self.mode == Mode::AfterHead => {}
            Name::Link => {
                let rel = tag.rel();
                for (n, link) in links.iter().enumerate().take(64) {
                    self.own_links |= u64::from(has_word(rel, link.rel.as_bytes())) << n;
                }
                self.own_markdown |=
                    has_word(rel, b"alternate") && tag.kind().eq_ignore_ascii_case(MEDIA_TYPE.as_bytes());
            }
            Name::Meta if tag.names_shifting_charset() => return Means::GaveUp(Why::WideEncoding),
            // What is said after the head comes too late for some pages, as with links.
            Name::Meta if self.mode != Mode::AfterHead => self.follows_alternates |= tag.names_mkdocs_material(),
            Name::Base | Name::Meta | Name::Script => {}
            Name::Title | Name::Style | Name::Noframes | Name::Noscript => {}
            Name::Template => self.templates.enter(),
            _ => return self.open_body(false),
        }
        if self.mode == Mode::BeforeHead {
            self.mode = Mode::InHead;
        }
        if tag.name.is_raw() { Means::Raw(tag.name) } else { Means::Nothing }
    }

    fn head_end(&mut self, tag: &Tag<'_>) -> Means {
        match tag.name {
            Name::Head if self.mode != Mode::AfterHead => {
                self.document = true;
                self.mode = Mode::AfterHead;
                Means::HeadEnd
            }
            Name::Body | Name::Html | Name::Br => self.open_body(false),
            _ => Means::Nothing,
        }
    }

    fn open_body(&mut self, explicit: bool) -> Means {
        if !self.document {
            return Means::Fragment;
        }
        self.mode = if explicit { Mode::First } else { Mode::Body };
        Means::Body { explicit }
    }
}
