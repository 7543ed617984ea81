//! Where the links and the notice go, found in a stream of bytes by the rules of an HTML tokenizer; what the tokens
//! mean is `head`'s to say.
//!
//! The scan never looks back: what it has passed may leave at once, and only a piece of markup whose end has not come
//! is asked for again. It reads bytes, not characters, which is right for every encoding that `kind` lets through.

use memchr::memchr;

use super::{
    head::{Head, Means},
    insertion::{Link, Why},
    names::Name,
    raw::{self, Cdata, Comment, Read, Script},
    skim::skim,
    tag::{Tag, Walk, is_space},
};

/// A tag longer than this is not waited for.
pub const MARKUP_MAX_BYTES: usize = 16 * 1024;
/// How much after `<body>` is held back to see whether the first element is the site's own notice.
pub const FIRST_MAX_BYTES: usize = 2 * 1024;

/// What the scan found. Positions count from the first byte of the buffer it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// All before `keep` may leave; what follows is wanted again, with more behind it.
    More { keep: usize },
    /// The links go here.
    Links { at: usize },
    /// The body opens: the notice goes here, unless the site has its own.
    Body { at: usize },
    /// After an explicit `<body>`: what comes first in it is known now.
    First,
    /// A frameset document: it has no body.
    Frameset,
    /// A piece of a page, to be left alone.
    Fragment,
    /// In doubt, or beyond a limit.
    GaveUp(Why),
}

#[derive(Debug)]
enum State {
    Bom,
    Data,
    /// In a tag whose end was not found at once.
    Tag(Walk),
    Comment(Comment),
    /// Up to the next `>`: a bogus comment or a doctype.
    ToGt,
    Cdata(Cdata),
    Raw(&'static str),
    Script(Script),
}

/// The scan of one page.
#[derive(Debug)]
pub(super) struct Scanner {
    state: State,
    /// What is known of the page.
    pub head: Head,
    /// Where to go on. In `Tag` the tag's `<`.
    pos: usize,
    /// Where the body opened, while its first element is awaited.
    body_at: usize,
    links_done: bool,
    next: Option<Event>,
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner { state: State::Bom, head: Head::new(), pos: 0, body_at: 0, links_done: false, next: None }
    }

    /// Go on until something is found. After `More { keep }` the next buffer must begin with the bytes from `keep`.
    ///
    /// `links` are those whose relations are looked for.
    pub fn run(&mut self, buf: &[u8], links: &[Link], eof: bool) -> Event {
        if let Some(event) = self.next.take() {
            return event;
        }
        loop {
            if self.head.awaits_first() && self.pos - self.body_at > FIRST_MAX_BYTES {
                return Event::First;
            }
            let rest = &buf[self.pos..];
            let step = match &mut self.state {
                State::Data => self.data(buf, links, eof),
                State::Bom => self.bom(buf, eof),
                State::Tag(walk) => match walk.end(rest) {
                    Some(len) => self.tag(Tag::new(&rest[..len]), links),
                    None => Step::More,
                },
                State::Comment(comment) => {
                    let read = comment.read(rest);
                    self.passed(read)
                }
                State::Cdata(cdata) => {
                    let read = cdata.read(rest);
                    self.passed(read)
                }
                State::ToGt => self.passed(match memchr(b'>', rest) {
                    Some(n) => Read::End(n + 1),
                    None => Read::More(rest.len()),
                }),
                State::Raw(name) => {
                    let (name, read) = (*name, raw::element(name, rest));
                    self.ended(read, name, rest)
                }
                State::Script(script) => {
                    let read = script.read(rest);
                    self.ended(read, "script", rest)
                }
            };
            match step {
                Step::On => {}
                Step::Found(event) => return event,
                Step::More => return self.more(buf, eof),
            }
        }
    }

    /// All of the buffer was read, or the rest of it is a piece of something.
    fn more(&mut self, buf: &[u8], eof: bool) -> Event {
        if self.head.before_body() {
            if eof {
                let whole = matches!(self.state, State::Data) && self.pos == buf.len() && !self.head.in_template();
                // Where a whole head ends, a body opens.
                let means = if whole { self.head.text() } else { Means::GaveUp(Why::Unfinished) };
                if let Step::Found(event) = self.found(means, buf.len()) {
                    return event;
                }
            }
            if buf.len() - self.pos > MARKUP_MAX_BYTES {
                return Event::GaveUp(Why::HugeMarkup);
            }
        }
        let mut keep = self.pos;
        if self.head.awaits_first() {
            if eof || buf.len() - self.body_at > FIRST_MAX_BYTES {
                return Event::First;
            }
            keep = self.body_at;
        }
        self.pos -= keep;
        self.body_at = 0;
        Event::More { keep }
    }

    /// A byte order mark: UTF-8's is passed over, of the others the page is left alone.
    fn bom(&mut self, buf: &[u8], eof: bool) -> Step {
        const WIDE: [&[u8]; 3] = [b"\xfe\xff", b"\xff\xfe", b"\x00\x00\xfe\xff"];
        const UTF8: &[u8] = b"\xef\xbb\xbf";
        if buf.first().is_some_and(u8::is_ascii_graphic) {
            return self.become_state(State::Data, 0);
        }
        if WIDE.iter().any(|mark| buf.starts_with(mark)) {
            return Step::Found(Event::GaveUp(Why::WideEncoding));
        }
        let may = |mark: &[u8]| mark.starts_with(buf) && buf.len() < mark.len();
        if !eof && (may(UTF8) || WIDE.iter().any(|mark| may(mark))) {
            return Step::More;
        }
        self.become_state(State::Data, if buf.starts_with(UTF8) { 3 } else { 0 })
    }

    fn passed(&mut self, read: Read) -> Step {
        match read {
            Read::More(n) => {
                self.pos += n;
                Step::More
            }
            Read::End(n) => self.become_state(State::Data, n),
        }
    }

    /// Raw text ends at the `<` of its end tag, which is of no meaning itself.
    fn ended(&mut self, read: Read, name: &str, rest: &[u8]) -> Step {
        match read {
            Read::End(n) if rest.get(n + 2 + name.len()) == Some(&b'>') => self.passed(Read::End(n + 3 + name.len())),
            read => self.passed(read),
        }
    }

    fn data(&mut self, buf: &[u8], links: &[Link], eof: bool) -> Step {
        if self.head.skips_text() {
            match memchr(b'<', &buf[self.pos..]) {
                Some(n) => self.pos += n,
                None => self.pos = buf.len(),
            }
        }
        if self.head.skims() {
            self.pos += skim(&buf[self.pos..], links);
        }
        while buf.get(self.pos).is_some_and(|&b| is_space(b)) {
            self.pos += 1;
        }
        let rest = &buf[self.pos..];
        match rest {
            [] => Step::More,
            [b'<', ..] => self.markup(rest, links, eof),
            [b'&', ..] => match space_reference(rest, eof) {
                Some(0) => self.text(),
                Some(n) => self.become_state(State::Data, n),
                None => Step::More,
            },
            _ => self.text(),
        }
    }

    /// Text that is not white space. Where text is skipped that is a `<` that begins no markup.
    fn text(&mut self) -> Step {
        let from = self.pos;
        match self.head.text() {
            Means::Nothing => self.become_state(State::Data, 1),
            means => self.found(means, from),
        }
    }

    /// At a `<` in text.
    fn markup(&mut self, rest: &[u8], links: &[Link], eof: bool) -> Step {
        match rest {
            [_] | [_, b'/'] if eof => self.text(),
            [_] | [_, b'/'] => Step::More,
            [_, b'/', b, ..] | [_, b, ..] if b.is_ascii_alphabetic() => match Tag::plain(rest) {
                Some(tag) => self.tag(tag, links),
                None => self.become_state(State::Tag(Walk::new(rest[1] == b'/')), 0),
            },
            [_, b'/', b'>', ..] => self.become_state(State::Data, 3),
            [_, b'/', ..] | [_, b'?', ..] => self.become_state(State::ToGt, 2),
            [_, b'!', ..] => self.declaration(rest),
            _ => self.text(),
        }
    }

    fn become_state(&mut self, state: State, passed: usize) -> Step {
        self.state = state;
        self.pos += passed;
        Step::On
    }

    /// At `<!`.
    fn declaration(&mut self, rest: &[u8]) -> Step {
        let same = |wanted: &[u8]| {
            let len = rest.len().min(wanted.len());
            rest[..len].eq_ignore_ascii_case(&wanted[..len])
        };
        if same(b"<!--") {
            return if rest.len() < 4 { Step::More } else { self.become_state(State::Comment(Comment::Start), 4) };
        }
        if same(b"<!doctype") {
            if rest.len() < 9 {
                return Step::More;
            }
            self.head.doctype();
            return self.become_state(State::ToGt, 9);
        }
        // CDATA is the one of them whose case counts.
        if self.head.foreign() && rest.iter().zip(b"<![CDATA[").all(|(a, b)| a == b) {
            return if rest.len() < 9 { Step::More } else { self.become_state(State::Cdata(Cdata(0)), 9) };
        }
        self.become_state(State::ToGt, 2)
    }

    /// A whole tag stands at `pos`.
    fn tag(&mut self, tag: Tag<'_>, links: &[Link]) -> Step {
        let to = self.pos + tag.bytes.len();
        self.state = State::Data;
        if self.head.awaits_first() && to - self.body_at > FIRST_MAX_BYTES {
            return Step::Found(Event::First);
        }
        if tag.bytes.len() > MARKUP_MAX_BYTES && self.head.before_body() {
            return Step::Found(Event::GaveUp(Why::HugeMarkup));
        }
        let means = self.head.tag(&tag, links);
        self.found(means, to)
    }

    /// What stands from `pos` up to `to` means this.
    fn found(&mut self, means: Means, to: usize) -> Step {
        let from = self.pos;
        let event = match means {
            Means::Nothing => return self.become_state(State::Data, to - from),
            Means::Raw(Name::Script) => return self.become_state(State::Script(Script::Plain), to - from),
            Means::Raw(name) => return self.become_state(name.raw().map_or(State::Data, State::Raw), to - from),
            Means::First => Event::First,
            Means::Fragment => Event::Fragment,
            Means::GaveUp(why) => Event::GaveUp(why),
            Means::HeadEnd => {
                self.pos = to;
                self.links_done = true;
                return Step::Found(Event::Links { at: from });
            }
            Means::Body { explicit: true } => {
                (self.pos, self.body_at) = (to, to);
                self.after_links(from, Event::Body { at: to })
            }
            Means::Body { explicit: false } => self.after_links(from, Event::Body { at: from }),
            Means::Frameset => self.after_links(from, Event::Frameset),
        };
        Step::Found(event)
    }

    fn after_links(&mut self, at: usize, event: Event) -> Event {
        if self.links_done {
            return event;
        }
        self.links_done = true;
        self.next = Some(event);
        Event::Links { at }
    }
}

enum Step {
    On,
    Found(Event),
    More,
}

/// A number written longer than this is taken for text: nobody writes a space so.
const REFERENCE_MAX_BYTES: usize = 64;

/// At a `&`: the length of a reference to white space, 0 if it is anything else, `None` if more is needed.
///
/// `&#32;` before the body is white space to a parser, so it opens none.
fn space_reference(rest: &[u8], eof: bool) -> Option<usize> {
    for name in [&b"&Tab;"[..], b"&NewLine;"] {
        if rest.starts_with(name) {
            return Some(name.len());
        }
        if !eof && name.starts_with(rest) {
            return None;
        }
    }
    let more = || if eof { Some(0) } else { None };
    if rest.len() < 2 {
        return more();
    }
    if rest[1] != b'#' {
        return Some(0);
    }
    let hex = matches!(rest.get(2), Some(b'x' | b'X'));
    let from = if hex { 3 } else { 2 };
    let radix = if hex { 16 } else { 10 };
    let mut code = 0u32;
    let mut at = from;
    while let Some(digit) = rest.get(at).and_then(|&b| char::from(b).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        at += 1;
        if at == REFERENCE_MAX_BYTES {
            return Some(0);
        }
    }
    if at == rest.len() && !eof {
        return None;
    }
    let space = at > from && matches!(code, 0x09 | 0x0a | 0x0c | 0x0d | 0x20);
    let semicolon = usize::from(rest.get(at) == Some(&b';'));
    Some(if space { at + semicolon } else { 0 })
}
