//! Puts the links and the notice into a page that streams by.
//!
//! Infallible by design: an error in a body filter tears the connection, so every doubt ends in passing the page as it
//! is. Until the insertion is done, what was scanned leaves at once and at most one unfinished piece of markup waits;
//! afterwards a chunk is handed back without a look at it.

use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;

use super::scan::{Event, Scanner};

/// How much of a page is scanned at most before it is left as it is.
pub const SCAN_MAX_BYTES: usize = 1024 * 1024;
/// How far into the body the chunk at hand is searched for the site's own notice, by its class.
pub const REST_MAX_BYTES: usize = 4 * 1024;

/// The mark of a notice. Where it stands nowhere no tag has to be looked at.
static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("ahp-notice"));

/// A `<link>` element to be inserted, unless the head has one of that relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The relation, one word.
    pub rel: String,
    /// The whole element.
    pub html: Bytes,
}

/// What is inserted: prepared once, shared by all pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Insertion {
    /// The notice, one element that may be the first in a body.
    pub notice: Bytes,
    /// The links, in the order in which they are inserted.
    pub links: Vec<Link>,
    /// A page is told where its Markdown is too, by an element of its own ([`Inserter::of_page`]).
    pub markdown: bool,
}

/// What leaves of a page: one part that was put together, then one that is as it came, and was not copied.
#[derive(Debug, Default, PartialEq)]
pub struct Parts {
    /// With what was inserted.
    pub made: Bytes,
    /// What comes after it.
    pub rest: Bytes,
}

impl From<Bytes> for Parts {
    fn from(made: Bytes) -> Self {
        Self { made, rest: Bytes::new() }
    }
}

impl Parts {
    /// Both as one.
    pub fn joined(self) -> Bytes {
        match (self.made.is_empty(), self.rest.is_empty()) {
            (true, _) => self.rest,
            (_, true) => self.made,
            _ => [self.made, self.rest].concat().into(),
        }
    }
}

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not decided yet.
    Pending,
    /// The notice is in, and the links that the page did not have.
    Inserted,
    /// The page has a notice of its own; only the links it did not have are in.
    OwnNotice,
    /// A frameset has no body: only the links are in.
    Frameset,
    /// A piece of a page, passed as it is.
    Fragment,
    /// Passed as it is from some point on (links may be in already).
    GaveUp(Why),
}

/// Why a page was passed as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No body within [`SCAN_MAX_BYTES`].
    Limit,
    /// A tag longer than [`super::MARKUP_MAX_BYTES`].
    HugeMarkup,
    /// UTF-16 or UTF-32 by its byte order mark, or a `<meta>` that names an ISO-2022 encoding.
    WideEncoding,
    /// The page ends within a tag, a comment, a script or the like.
    Unfinished,
    /// Only a whole parser could tell where the body opens.
    Doubt,
    /// The body is not in the coding that it was declared to be in.
    NotAsDeclared,
}

/// The insertion into one page.
#[derive(Debug)]
pub struct Inserter {
    insertion: Arc<Insertion>,
    /// An element for this page alone, or nothing.
    of_page: Bytes,
    scanner: Scanner,
    outcome: Outcome,
    held: BytesMut,
    /// Input that has left; with what is held it makes all input so far.
    gone: usize,
    /// Where the body opened in the current buffer.
    body_at: usize,
}

/// What to do with one buffer.
#[derive(Default)]
struct Plan {
    links: Option<usize>,
    notice: Option<usize>,
    /// All before this leaves.
    until: usize,
}

impl Inserter {
    /// For one page.
    pub fn new(insertion: Arc<Insertion>) -> Inserter {
        Inserter {
            insertion,
            of_page: Bytes::new(),
            scanner: Scanner::new(),
            outcome: Outcome::Pending,
            held: BytesMut::new(),
            gone: 0,
            body_at: 0,
        }
    }

    /// The same, with a link to this page's Markdown, unless the page has one itself.
    pub fn of_page(self, element: Bytes) -> Inserter {
        Inserter { of_page: element, ..self }
    }

    /// What became of the page so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Is all decided, so that the rest passes untouched?
    pub fn done(&self) -> bool {
        self.outcome != Outcome::Pending
    }

    /// The next piece of the page in, what may leave now out.
    pub fn feed(&mut self, chunk: Bytes) -> Parts {
        if self.done() || chunk.is_empty() { chunk.into() } else { self.step(chunk, false) }
    }

    /// The page has ended: what was held back.
    pub fn finish(&mut self) -> Bytes {
        if self.done() { Bytes::new() } else { self.step(Bytes::new(), true).joined() }
    }

    fn step(&mut self, chunk: Bytes, eof: bool) -> Parts {
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            let plan = self.plan(&chunk, eof);
            self.held.extend_from_slice(&chunk[plan.until..]);
            return self.compose(&plan, chunk);
        }
        held.extend_from_slice(&chunk);
        let plan = self.plan(&held, eof);
        let leaving = held.split_to(plan.until).freeze();
        self.held = held;
        self.compose(&plan, leaving)
    }

    fn plan(&mut self, buf: &[u8], eof: bool) -> Plan {
        let mut plan = Plan { until: buf.len(), ..Plan::default() };
        let view = &buf[..buf.len().min(SCAN_MAX_BYTES - self.gone)];
        let over = view.len() < buf.len();
        let mut event = self.scanner.run(view, &self.insertion.links, eof);
        loop {
            match event {
                Event::More { .. } if over && self.scanner.head.awaits_first() => {
                    // Where the notice goes is known, and what follows is beyond the limit.
                    event = Event::First;
                    continue;
                }
                Event::More { .. } if over => self.outcome = Outcome::GaveUp(Why::Limit),
                Event::More { keep } => {
                    plan.until = keep;
                    self.gone += keep;
                    self.body_at = 0;
                    return plan;
                }
                Event::Links { at } => plan.links = Some(at),
                Event::Body { at } => {
                    self.body_at = at;
                    if self.scanner.head.own_notice || !self.scanner.head.awaits_first() {
                        self.decide(buf, &mut plan);
                    }
                }
                Event::First => self.decide(buf, &mut plan),
                Event::Frameset => self.outcome = Outcome::Frameset,
                Event::Fragment => self.outcome = Outcome::Fragment,
                Event::GaveUp(why) => self.outcome = Outcome::GaveUp(why),
            }
            if self.done() {
                return plan;
            }
            event = self.scanner.run(view, &self.insertion.links, eof);
        }
    }

    /// The body has opened: is the notice ours to give?
    fn decide(&mut self, buf: &[u8], plan: &mut Plan) {
        let rest = &buf[..buf.len().min(self.body_at + REST_MAX_BYTES)];
        if !self.scanner.head.own_notice && MARK.find(&rest[self.body_at..]).is_some() {
            self.scanner.head.look_in_body();
            self.scanner.run(rest, &self.insertion.links, false);
        }
        if self.scanner.head.own_notice {
            self.outcome = Outcome::OwnNotice;
        } else {
            self.outcome = Outcome::Inserted;
            plan.notice = Some(self.body_at);
        }
    }

    /// The leaving part of the buffer with what goes into it, if anything does.
    fn compose(&self, plan: &Plan, buf: Bytes) -> Parts {
        let Some(last) = plan.notice.or(plan.links) else { return buf.slice(..plan.until).into() };
        let wanted = |n: usize| n >= 64 || self.scanner.head.own_links & (1 << n) == 0;
        let of_page = Some(&self.of_page).filter(|_| !self.scanner.head.own_markdown);
        let of_all = || self.insertion.links.iter().enumerate().filter(|(n, _)| wanted(*n)).map(|(_, link)| &link.html);
        let links = || of_all().chain(of_page);
        let links_len: usize = links().map(Bytes::len).sum();
        let mut made = Vec::with_capacity(last + links_len + self.insertion.notice.len());
        let mut from = 0;
        if let Some(at) = plan.links {
            made.extend_from_slice(&buf[..at]);
            links().for_each(|html| made.extend_from_slice(html));
            from = at;
        }
        if let Some(at) = plan.notice {
            made.extend_from_slice(&buf[from..at]);
            made.extend_from_slice(&self.insertion.notice);
            from = at;
        }
        Parts { made: made.into(), rest: buf.slice(from..plan.until) }
    }
}
