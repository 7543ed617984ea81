//! The element names that decide where a head ends and a body begins.

/// An element, as far as the scan must tell them apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Name {
    Html,
    Head,
    Body,
    Frameset,
    /// base, basefont, bgsound: nothing but a place in the head.
    Base,
    Link,
    Meta,
    Title,
    Style,
    Noframes,
    Noscript,
    Script,
    Template,
    Br,
    Textarea,
    Xmp,
    Iframe,
    Noembed,
    Plaintext,
    Svg,
    Math,
    Select,
    Table,
    Object,
    Applet,
    Marquee,
    /// col, colgroup
    Column,
    Other,
}

impl Name {
    /// The name as written in a tag, in any case.
    #[inline]
    pub fn of(written: &[u8]) -> Name {
        match written.len() {
            2 => match &lower(written) {
                b"br" => Name::Br,
                _ => Name::Other,
            },
            3 => match &lower(written) {
                b"svg" => Name::Svg,
                b"col" => Name::Column,
                b"xmp" => Name::Xmp,
                _ => Name::Other,
            },
            4 => match &lower(written) {
                b"html" => Name::Html,
                b"head" => Name::Head,
                b"body" => Name::Body,
                b"base" => Name::Base,
                b"link" => Name::Link,
                b"meta" => Name::Meta,
                b"math" => Name::Math,
                _ => Name::Other,
            },
            5 => match &lower(written) {
                b"title" => Name::Title,
                b"style" => Name::Style,
                b"table" => Name::Table,
                _ => Name::Other,
            },
            6 => match &lower(written) {
                b"script" => Name::Script,
                b"iframe" => Name::Iframe,
                b"select" => Name::Select,
                b"object" => Name::Object,
                b"applet" => Name::Applet,
                _ => Name::Other,
            },
            7 => match &lower(written) {
                b"bgsound" => Name::Base,
                b"noembed" => Name::Noembed,
                b"marquee" => Name::Marquee,
                _ => Name::Other,
            },
            8 => match &lower(written) {
                b"basefont" => Name::Base,
                b"colgroup" => Name::Column,
                b"frameset" => Name::Frameset,
                b"noframes" => Name::Noframes,
                b"noscript" => Name::Noscript,
                b"template" => Name::Template,
                b"textarea" => Name::Textarea,
                _ => Name::Other,
            },
            9 => match &lower(written) {
                b"plaintext" => Name::Plaintext,
                _ => Name::Other,
            },
            _ => Name::Other,
        }
    }

    /// Does it hold raw text, up to the end tag of the same name?
    ///
    /// `noscript` is one of them: a browser that runs scripts reads it so, and so does html5ever.
    #[inline]
    pub fn is_raw(self) -> bool {
        self.raw().is_some()
    }

    /// Does its start tag in a body matter for where the body ends, other than by raw text?
    pub fn matters_at_start(self) -> bool {
        matches!(self, Name::Svg | Name::Math | Name::Plaintext | Name::Frameset) || self.hides_end_of_body()
    }

    /// The same of its end tag.
    pub fn matters_at_end(self) -> bool {
        matches!(self, Name::Body | Name::Html) || self.hides_end_of_body()
    }

    /// Does a parser ignore `</body>` while this element is open?
    fn hides_end_of_body(self) -> bool {
        matches!(self, Name::Table | Name::Select | Name::Template | Name::Object | Name::Applet | Name::Marquee)
    }

    /// The name of the end tag that ends this element's raw text.
    pub fn raw(self) -> Option<&'static str> {
        Some(match self {
            Name::Title => "title",
            Name::Style => "style",
            Name::Noframes => "noframes",
            Name::Noscript => "noscript",
            Name::Script => "script",
            Name::Textarea => "textarea",
            Name::Xmp => "xmp",
            Name::Iframe => "iframe",
            Name::Noembed => "noembed",
            _ => return None,
        })
    }
}

/// The first letters of a name in lower case; what is no letter becomes none.
#[inline]
fn lower<const N: usize>(written: &[u8]) -> [u8; N] {
    written.first_chunk().map_or([0; N], |letters| letters.map(|letter| letter | 0x20))
}
