//! One tag, from its `<` to its `>`, exactly as an HTML tokenizer reads it.
//!
//! A `>` inside a quoted value does not end a tag, a `"` inside an unquoted one does not begin a string: a search
//! for tags with a plain search finds them where there are none. [`Tag::plain`] finds the end of nearly every tag with
//! a few searches and knows when it cannot; [`Walk`] finds all of them, can stop at any byte and go on when more came,
//! and tells the attributes of the few tags whose attributes matter.

use memchr::{memchr, memchr_iter, memchr2, memmem, memrchr};

use super::names::Name;

/// Where a walk stands, named as in the HTML standard's tokenizer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Name,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
    SelfClosing,
}

/// What a parser makes no element of, unless it stands where it belongs.
const IGNORED: [&[u8]; 14] = [
    b"form",
    b"select",
    b"head",
    b"frameset",
    b"frame",
    b"caption",
    b"col",
    b"colgroup",
    b"tbody",
    b"td",
    b"tfoot",
    b"th",
    b"thead",
    b"tr",
];

type Span = (usize, usize);

/// A tag being walked. All positions count from its `<`.
#[derive(Debug)]
pub(super) struct Walk {
    step: Step,
    at: usize,
    /// The attribute's name, or where it begins.
    name: Span,
    value_from: usize,
}

/// What a walk came to.
#[derive(Debug, PartialEq)]
enum Seen {
    Attribute { name: Span, value: Span },
    End { self_closing: bool },
    More,
}

const SPACE: u8 = 1;
const NAME_END: u8 = 2;
const ATTRIBUTE_END: u8 = 4;
const VALUE_END: u8 = 8;

/// What each byte ends: one look instead of seven comparisons.
static ENDS: [u8; 256] = {
    let mut ends = [0; 256];
    let (spaces, mut n) = (b"\t\n\x0c\r ", 0);
    while n < spaces.len() {
        ends[spaces[n] as usize] = SPACE | NAME_END | ATTRIBUTE_END | VALUE_END;
        n += 1;
    }
    ends[b'/' as usize] = NAME_END | ATTRIBUTE_END;
    ends[b'>' as usize] = NAME_END | ATTRIBUTE_END | VALUE_END;
    ends[b'=' as usize] = ATTRIBUTE_END;
    ends
};

#[inline]
fn find_end(text: &[u8], what: u8) -> Option<usize> {
    text.iter().position(|&byte| ENDS[byte as usize] & what != 0)
}

/// What HTML calls white space.
#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    ENDS[byte as usize] & SPACE != 0
}

impl Walk {
    /// A walk that begins at `<` (or `</` when `end`), the next byte being a letter.
    pub fn new(end: bool) -> Walk {
        Walk { step: Step::Name, at: if end { 2 } else { 1 }, name: (0, 0), value_from: 0 }
    }

    /// Walk on through `tag` (which begins at the `<`): the length of the whole tag once its `>` is there.
    pub fn end(&mut self, tag: &[u8]) -> Option<usize> {
        self.finish(tag).map(|(len, _)| len)
    }

    /// The same, with whether it ended in `/>`.
    pub fn finish(&mut self, tag: &[u8]) -> Option<(usize, bool)> {
        loop {
            match self.next(tag) {
                Seen::Attribute { .. } => {}
                Seen::End { self_closing } => return Some((self.at + 1, self_closing)),
                Seen::More => return None,
            }
        }
    }

    /// Goes on without the first `read` bytes, all of which it has walked through; attributes are not known any more.
    pub fn forget(&mut self, read: usize) {
        self.at -= read;
        (self.name, self.value_from) = ((0, 0), 0);
    }

    fn next(&mut self, tag: &[u8]) -> Seen {
        while let Some(&byte) = tag.get(self.at) {
            match self.step {
                Step::Name => self.find(tag, NAME_END, Step::BeforeAttribute),
                Step::BeforeAttribute => match byte {
                    b'>' => return Seen::End { self_closing: false },
                    b'/' => self.go(Step::SelfClosing),
                    b if is_space(b) => self.at += 1,
                    _ => {
                        // A name may begin with `=`.
                        self.name.0 = self.at;
                        self.go(Step::AttributeName);
                    }
                },
                Step::AttributeName => {
                    self.find(tag, ATTRIBUTE_END, Step::AfterAttributeName);
                    self.name.1 = self.at;
                    // What nearly every attribute looks like, without the steps in between.
                    if let Some(&[b'=', quote @ (b'"' | b'\'')]) = tag.get(self.at..self.at + 2) {
                        self.at += 2;
                        self.value_from = self.at;
                        self.step = Step::Quoted(quote);
                    }
                }
                Step::AfterAttributeName => match byte {
                    b'=' => self.go(Step::BeforeValue),
                    b if is_space(b) => self.at += 1,
                    _ => return self.attribute(0, 0),
                },
                Step::BeforeValue => match byte {
                    b'"' | b'\'' => {
                        self.go(Step::Quoted(byte));
                        self.value_from = self.at;
                    }
                    b'>' => return self.attribute(0, 0),
                    b if is_space(b) => self.at += 1,
                    _ => {
                        self.value_from = self.at;
                        self.step = Step::Unquoted;
                    }
                },
                Step::Quoted(quote) => match memchr(quote, &tag[self.at..]) {
                    None => self.at = tag.len(),
                    Some(n) => {
                        let to = self.at + n;
                        self.at = to + 1;
                        // A missing space after a quoted value is an error that changes nothing.
                        return self.attribute(self.value_from, to);
                    }
                },
                Step::Unquoted => match find_end(&tag[self.at..], VALUE_END) {
                    None => self.at = tag.len(),
                    Some(n) => {
                        self.at += n;
                        return self.attribute(self.value_from, self.at);
                    }
                },
                Step::SelfClosing if byte == b'>' => return Seen::End { self_closing: true },
                Step::SelfClosing => self.step = Step::BeforeAttribute,
            }
        }
        Seen::More
    }

    fn go(&mut self, step: Step) {
        self.at += 1;
        self.step = step;
    }

    fn find(&mut self, tag: &[u8], what: u8, step: Step) {
        match find_end(&tag[self.at..], what) {
            None => self.at = tag.len(),
            Some(n) => {
                self.at += n;
                self.step = step;
            }
        }
    }

    fn attribute(&mut self, from: usize, to: usize) -> Seen {
        self.step = Step::BeforeAttribute;
        Seen::Attribute { name: self.name, value: (from, to) }
    }
}

/// A whole tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'a> {
    pub bytes: &'a [u8],
    /// Its name as written.
    pub written: &'a [u8],
    pub name: Name,
    /// Is this an end tag?
    pub end: bool,
}

impl<'a> Tag<'a> {
    /// The tag at the beginning of `text`, if all of it is there and its first `>` surely ends it.
    #[inline]
    pub fn plain(text: &'a [u8]) -> Option<Tag<'a>> {
        let from = if text[1] == b'/' { 2 } else { 1 };
        let to = from + find_end(&text[from..], NAME_END)?;
        let len = if text[to] == b'>' { to + 1 } else { to + plain_end(&text[to..])? };
        Some(Tag::named(&text[..len], from, to))
    }

    /// From the `<` to the `>`.
    pub fn new(bytes: &'a [u8]) -> Tag<'a> {
        let from = if bytes[1] == b'/' { 2 } else { 1 };
        let len = find_end(&bytes[from..], NAME_END).unwrap_or_default();
        Tag::named(bytes, from, from + len)
    }

    #[inline(always)]
    fn named(bytes: &'a [u8], from: usize, to: usize) -> Tag<'a> {
        let written = &bytes[from..to];
        Tag { bytes, written, name: Name::of(written), end: from == 2 }
    }

    /// A walk that begins after the name.
    fn attributes(&self) -> Walk {
        let at = 1 + usize::from(self.end) + self.written.len();
        Walk { step: Step::BeforeAttribute, at, name: (0, 0), value_from: 0 }
    }

    /// Did it end in `/>`?
    pub fn self_closing(&self) -> bool {
        let mut walk = Walk::new(self.end);
        loop {
            match walk.next(self.bytes) {
                Seen::Attribute { .. } => {}
                Seen::End { self_closing } => return self_closing,
                Seen::More => return false,
            }
        }
    }

    /// The values of these attributes. Of one given twice the first counts.
    fn values<const N: usize>(&self, wanted: [&[u8]; N]) -> [Option<&'a [u8]>; N] {
        let mut values = [None; N];
        let mut walk = self.attributes();
        while let Seen::Attribute { name: (from, to), value } = walk.next(self.bytes) {
            let name = &self.bytes[from..to];
            if let Some(n) = wanted.iter().position(|wanted| name.eq_ignore_ascii_case(wanted)) {
                values[n].get_or_insert(&self.bytes[value.0..value.1]);
                if values.iter().all(Option::is_some) {
                    break;
                }
            }
        }
        values
    }

    /// Is this the site's own notice?
    pub fn is_notice(&self) -> bool {
        let [label, class] = self.values([b"aria-label", b"class"]);
        let said = label.is_some_and(|label| label.trim_ascii() == b"AI Agent Notice")
            || class.is_some_and(|class| words(class).any(|word| word == b"ahp-notice"));
        said && !IGNORED.iter().any(|name| self.written.eq_ignore_ascii_case(name))
    }

    /// What relations does a link state?
    pub fn rel(&self) -> &'a [u8] {
        let [rel] = self.values([b"rel"]);
        rel.unwrap_or_default()
    }

    /// Does this `<meta>` say that mkdocs-material made the page?
    pub fn names_mkdocs_material(&self) -> bool {
        let [content] = self.values([b"content"]);
        begins_as_generator(self.bytes)
            && content.is_some_and(|content| memmem::find(content, b"mkdocs-material").is_some())
    }

    /// What media type does a link state?
    pub fn kind(&self) -> &'a [u8] {
        let [kind] = self.values([b"type"]);
        kind.unwrap_or_default().trim_ascii()
    }

    /// Does an `annotation-xml` say that its content is HTML?
    pub fn encodes_html(&self) -> bool {
        let [encoding] = self.values([b"encoding"]);
        encoding.is_some_and(|encoding| {
            encoding.eq_ignore_ascii_case(b"text/html") || encoding.eq_ignore_ascii_case(b"application/xhtml+xml")
        })
    }

    /// Has it a color, a face or a size? A `<font>` with one ends the SVG or MathML that it stands in.
    pub fn styles_font(&self) -> bool {
        self.values([b"color", b"face", b"size"]).iter().any(Option::is_some)
    }

    /// Does this tag switch the page to an encoding whose text can hold bytes that look like markup?
    ///
    /// Read only for `<meta>`; a page that says so is left alone, because its `<` may be half of a letter.
    pub fn names_shifting_charset(&self) -> bool {
        let iso = |n: usize| self.bytes[..n].last_chunk().is_some_and(|b: &[u8; 4]| b.eq_ignore_ascii_case(b"iso-"));
        memchr_iter(b'2', self.bytes).any(|n| self.bytes[n..].starts_with(b"2022") && iso(n))
    }
}

/// Does a tag begin as that of `<meta name="generator">` does, as it is usually written?
#[inline]
pub(super) fn begins_as_generator(tag: &[u8]) -> bool {
    tag.strip_prefix(b"<meta name=")
        .is_some_and(|rest| rest.strip_prefix(b"\"").unwrap_or(rest).starts_with(b"generator"))
}

/// The length of `text` up to its first `>`, if that is surely not within a value. `text` begins in a tag.
///
/// It is within one only if the last `"` or the last `'` before it opened that value, and a quote opens a value nowhere
/// but after a `=` and white space.
#[inline]
fn plain_end(text: &[u8]) -> Option<usize> {
    let may_open = |quote: usize| text[..quote].iter().rev().find(|&&b| !is_space(b)) == Some(&b'=');
    let mut end = memchr2(b'>', b'\'', text)?;
    if text[end] == b'\'' {
        end += memchr(b'>', &text[end..])?;
        if memrchr(b'\'', &text[..end]).is_some_and(may_open) {
            return None;
        }
    }
    // Most tags end in a quote.
    let quoted = end > 0 && text[end - 1] == b'"';
    let last = if quoted { Some(end - 1) } else { memrchr(b'"', &text[..end]) };
    if last.is_some_and(may_open) { None } else { Some(end + 1) }
}

/// Is this one of the words of `list`, whatever the case?
pub(super) fn has_word(list: &[u8], wanted: &[u8]) -> bool {
    list.len() >= wanted.len() && words(list).any(|word| word.eq_ignore_ascii_case(wanted))
}

fn words(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&b| is_space(b)).filter(|word| !word.is_empty())
}
