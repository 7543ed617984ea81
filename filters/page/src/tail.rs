//! Where a body ends, found in a stream of bytes by the rules of an HTML tokenizer.
//!
//! What counts is the first `</body>` (or `</html>` without one) that a parser takes for the end of the body. More of
//! the page may follow it, which a parser adds to the body all the same; a stream cannot wait for a second one that may
//! never come. The scan looks at every byte once and lets all of them pass but those that may begin that end tag: at
//! most six. It copies only the beginning of markup that a piece of the page cuts through.

use std::sync::LazyLock;

use memchr::{memchr, memmem::Finder};

use super::{
    names::Name,
    open_elements::{Meaning, OpenElements},
    raw::{self, Cdata, Comment, Read, Script},
    tag::{Tag, Walk, is_space},
    tag_filter::{self, Place},
};

/// A tag that is cut is kept up to this length, for its attributes; of a longer one only the name is known.
const CUT_TAG_MAX_BYTES: usize = 2 * 1024;

/// What a piece of the page had in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// Nothing: all of it may leave but for the last `held` bytes, which may begin the end of the body.
    Nothing { held: usize },
    /// The body ends here, counted from the first byte that has not left.
    End { at: usize },
    /// The site's own notice.
    OwnNotice,
    /// What would take a parser to understand.
    Doubt,
}

#[derive(Debug)]
enum State {
    Text,
    /// In a tag of which only the beginning was kept.
    LongTag(Walk, Vec<u8>),
    Comment(Comment),
    /// Up to the next `>`: a doctype, or what is read as a comment.
    ToGt,
    Cdata(Cdata),
    Raw(&'static str),
    Script(Script),
}

/// How far a run came.
enum Step {
    /// All before this is understood; what follows is the beginning of something.
    Keep(usize),
    End(usize),
    OwnNotice,
    Doubt,
}

/// The scan of one page from where its body opens.
#[derive(Debug)]
pub(super) struct Tail {
    state: State,
    open: OpenElements,
    /// The beginning of markup whose end has not come.
    cut: Vec<u8>,
}

impl Tail {
    /// `explicit`: the body has a tag of its own.
    pub fn new(explicit: bool) -> Tail {
        Tail { state: State::Text, open: OpenElements::new(explicit), cut: Vec::new() }
    }

    /// The next piece of the page.
    pub fn feed(&mut self, piece: &[u8]) -> Found {
        let held = self.held();
        let mut from = 0;
        while !self.cut.is_empty() && from < piece.len() {
            let to = piece.len().min(from + CUT_TAG_MAX_BYTES);
            let mut joined = std::mem::take(&mut self.cut);
            let before = joined.len();
            joined.extend_from_slice(&piece[from..to]);
            match self.run(&joined) {
                Step::Keep(at) if at >= before => from += at - before,
                Step::Keep(at) => {
                    self.keep(&joined[at..]);
                    from = to;
                }
                Step::End(at) => return Found::End { at: held + from + at - before },
                Step::OwnNotice => return Found::OwnNotice,
                Step::Doubt => return Found::Doubt,
            }
        }
        if self.cut.is_empty() {
            let rest = &piece[from..];
            match self.run(rest) {
                Step::Keep(at) => self.keep(&rest[at..]),
                Step::End(at) => return Found::End { at: held + from + at },
                Step::OwnNotice => return Found::OwnNotice,
                Step::Doubt => return Found::Doubt,
            }
        }
        Found::Nothing { held: self.held() }
    }

    /// The page ends here: may the notice stand at its end, before what is held?
    pub fn may_end(&self) -> bool {
        matches!(self.state, State::Text) && matches!(*self.cut, [] | [b'<'] | [b'<', b'/']) && self.open.shows()
    }

    /// How many bytes have to wait, for they may be the beginning of the body's end.
    fn held(&self) -> usize {
        let begins = |tag: &[u8]| self.cut.len() <= tag.len() && self.cut.eq_ignore_ascii_case(&tag[..self.cut.len()]);
        let may_end = matches!(self.state, State::Text) && (begins(b"</body") || begins(b"</html"));
        if may_end { self.cut.len() } else { 0 }
    }

    fn keep(&mut self, rest: &[u8]) {
        if rest.len() > CUT_TAG_MAX_BYTES && matches!(self.state, State::Text) {
            let mut walk = Walk::new(rest[1] == b'/');
            if walk.end(rest).is_none() {
                walk.forget(rest.len());
                let name =
                    rest.iter().position(|&byte| is_space(byte) || byte == b'/' && rest[1] != b'/').unwrap_or(64);
                self.state = State::LongTag(walk, rest[..name].to_vec());
                return;
            }
        }
        self.cut = rest.to_vec();
    }

    fn run(&mut self, text: &[u8]) -> Step {
        let marked = is_marked(text);
        let mut at = 0;
        loop {
            let rest = &text[at..];
            let read = match &mut self.state {
                State::Text => match self.text(text, at, marked) {
                    Ok(to) => {
                        at = to;
                        continue;
                    }
                    Err(step) => return step,
                },
                State::LongTag(walk, name) => match walk.finish(rest) {
                    None => {
                        walk.forget(rest.len());
                        Read::More(rest.len())
                    }
                    Some((len, self_closing)) => {
                        let mut name = std::mem::take(name);
                        name.extend_from_slice(if self_closing { b"/>" } else { b">" });
                        self.state = State::Text;
                        if self.tag(&Tag::new(&name)) == Meaning::Doubt {
                            return Step::Doubt;
                        }
                        at += len;
                        continue;
                    }
                },
                State::Comment(comment) => comment.read(rest),
                State::Cdata(cdata) => cdata.read(rest),
                State::ToGt => match memchr(b'>', rest) {
                    Some(n) => Read::End(n + 1),
                    None => Read::More(rest.len()),
                },
                State::Raw(name) => raw::element(name, rest),
                State::Script(script) => script.read(rest),
            };
            match read {
                Read::More(n) => return Step::Keep(at + n),
                Read::End(n) => {
                    at += n;
                    self.state = State::Text;
                }
            }
        }
    }

    /// Reads text and tags from `at` on, up to where something else begins.
    fn text(&mut self, text: &[u8], mut at: usize, marked: bool) -> Result<usize, Step> {
        while matches!(self.state, State::Text) {
            // In SVG and MathML every tag may matter; so may it where the page seems to have a notice of its own.
            let each = marked || self.open.in_foreign() || self.open.in_mixed();
            let next = if each { memchr(b'<', &text[at..]).map(|n| at + n) } else { tag_filter::next(text, at) };
            let to = next.unwrap_or(text.len());
            if !each {
                match tag_filter::place(text, at, to) {
                    Place::Text => {}
                    Place::Tag { end: Some(end), .. } => {
                        at = end;
                        continue;
                    }
                    Place::Tag { from, end: None } => return Err(Step::Keep(from)),
                }
            }
            if next.is_none() {
                return Err(Step::Keep(to));
            }
            at = to + self.markup(&text[to..], marked).map_err(|stop| stop.at(to))?;
        }
        Ok(at)
    }

    /// At a `<` in text: how many bytes are read of what begins there.
    fn markup(&mut self, rest: &[u8], marked: bool) -> Result<usize, Stop> {
        match rest {
            [_] | [_, b'/'] => Err(Stop::Cut),
            [_, b'/', b, ..] | [_, b, ..] if b.is_ascii_alphabetic() => self.tag_at(rest, marked),
            [_, b'/', b'>', ..] => Ok(3),
            [_, b'/', ..] | [_, b'?', ..] => self.become_state(State::ToGt, 2),
            [_, b'!', ..] => self.declaration(rest),
            _ => Ok(1),
        }
    }

    fn become_state(&mut self, state: State, read: usize) -> Result<usize, Stop> {
        self.state = state;
        Ok(read)
    }

    /// At `<!`.
    fn declaration(&mut self, rest: &[u8]) -> Result<usize, Stop> {
        let same = |wanted: &[u8]| rest.iter().zip(wanted).all(|(a, b)| a == b);
        if same(b"<!--") {
            return if rest.len() < 4 { Err(Stop::Cut) } else { self.become_state(State::Comment(Comment::Start), 4) };
        }
        let foreign = self.open.in_foreign();
        if (foreign || self.open.in_mixed()) && same(b"<![CDATA[") {
            return match rest.len() {
                ..9 => Err(Stop::Cut),
                _ if foreign => self.become_state(State::Cdata(Cdata(0)), 9),
                _ => Err(Stop::Doubt),
            };
        }
        self.become_state(State::ToGt, 2)
    }

    fn tag_at(&mut self, rest: &[u8], marked: bool) -> Result<usize, Stop> {
        if self.open.body_may_end() && is_end(rest) {
            return Err(Stop::End);
        }
        let tag = match Tag::plain(rest) {
            Some(tag) => tag,
            None => Tag::new(&rest[..Walk::new(rest[1] == b'/').end(rest).ok_or(Stop::Cut)?]),
        };
        let late = matches!(tag.name, Name::Body | Name::Html | Name::Head);
        if marked && !tag.end && !late && self.open.shows() && tag.is_notice() {
            return Err(Stop::OwnNotice);
        }
        match self.tag(&tag) {
            Meaning::Doubt => Err(Stop::Doubt),
            _ => Ok(tag.bytes.len()),
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) -> Meaning {
        let means = if tag.end { self.open.end(tag) } else { self.open.start(tag) };
        if let Meaning::Raw(name) = means {
            self.state = match name.raw() {
                Some("script") => State::Script(Script::Plain),
                Some(name) => State::Raw(name),
                None => State::Text,
            };
        }
        means
    }
}

/// Why markup was not read.
enum Stop {
    /// Its end has not come.
    Cut,
    End,
    OwnNotice,
    Doubt,
}

impl Stop {
    fn at(self, at: usize) -> Step {
        match self {
            Stop::Cut => Step::Keep(at),
            Stop::End => Step::End(at),
            Stop::OwnNotice => Step::OwnNotice,
            Stop::Doubt => Step::Doubt,
        }
    }
}

/// Is this `</body` or `</html` with the end of its name? The rest of the tag does not matter.
fn is_end(tag: &[u8]) -> bool {
    match tag.split_at_checked(6) {
        Some((name, [byte, ..])) => {
            (name.eq_ignore_ascii_case(b"</body") || name.eq_ignore_ascii_case(b"</html"))
                && (is_space(*byte) || matches!(byte, b'/' | b'>'))
        }
        _ => false,
    }
}

/// May a notice of the site's own be in this? Its class and its label have five letters in common.
fn is_marked(text: &[u8]) -> bool {
    static COMMON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("otice"));
    COMMON.find_iter(text).any(|at| text[..at].ends_with(b"ahp-n") || text[..at].ends_with(b"AI Agent N"))
}
