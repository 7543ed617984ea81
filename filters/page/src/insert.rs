//! Puts the links and the notice into a page that streams by.
//!
//! Infallible by design: an error in a body filter tears the connection, so every doubt ends in passing the page as it
//! is. In the head what was scanned leaves at once and at most one unfinished piece of markup waits. In the body, where
//! the notice goes to its end, at most six bytes wait, and nothing is copied but what stands around the notice.
//! Afterwards a chunk is handed back without a look at it.

use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;

use super::{
    form_marks::FormMarker,
    insertion::{Insertion, Outcome, Position, Why},
    notice,
    parts::Parts,
    scan::{Event, Scanner},
    tail::{Found, Tail},
};

/// How much of a page is scanned at most before it is left as it is.
pub const SCAN_MAX_BYTES: usize = 1024 * 1024;
/// How far into the body the chunk at hand is searched for the site's own notice, by its class, where ours goes to the
/// body's start.
pub const REST_MAX_BYTES: usize = 4 * 1024;

/// The mark of a notice. Where it stands nowhere no tag has to be looked at.
static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("ahp-notice"));

/// The insertion into one page.
#[derive(Debug)]
pub struct Inserter {
    insertion: Arc<Insertion>,
    /// An element for this page alone, or nothing.
    of_page: Bytes,
    /// Marks forms, on a page that has one to mark, before anything else happens to it.
    forms: Option<Box<FormMarker>>,
    scanner: Scanner,
    /// The rest of the page, once the body has opened, while its end is looked for.
    tail: Option<Tail>,
    outcome: Outcome,
    /// Input that waits.
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
    /// The notice, at the start of the body.
    notice: Option<usize>,
    /// The notice, at its end.
    end: Option<usize>,
    /// All before this leaves.
    until: usize,
}

impl Inserter {
    /// For one page.
    pub fn new(insertion: Arc<Insertion>) -> Inserter {
        Inserter {
            insertion,
            of_page: Bytes::new(),
            forms: None,
            scanner: Scanner::new(),
            tail: None,
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

    /// The same, with the site's own forms marked on the way.
    pub fn marking(self, forms: FormMarker) -> Inserter {
        Inserter { forms: Some(Box::new(forms)), ..self }
    }

    /// What became of the page so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Is all decided, so that the rest passes untouched?
    pub fn done(&self) -> bool {
        self.is_settled() && self.forms.is_none()
    }

    /// Is the insertion decided?
    fn is_settled(&self) -> bool {
        self.outcome != Outcome::Pending
    }

    /// The next piece of the page in, what may leave now out.
    pub fn feed(&mut self, chunk: Bytes) -> Parts {
        match &mut self.forms {
            Some(forms) => {
                let marked = forms.feed(chunk);
                self.insert(marked)
            }
            None => self.insert(chunk),
        }
    }

    fn insert(&mut self, chunk: Bytes) -> Parts {
        match &self.tail {
            _ if self.is_settled() || chunk.is_empty() => chunk.into(),
            Some(_) => self.tail_step(chunk),
            None => self.step(chunk, false),
        }
    }

    /// The page has ended: what was held back, and the notice if it goes to the end of the page.
    pub fn finish(&mut self) -> Bytes {
        let last = self.marked_last();
        let rest = self.finish_insertion();
        if last.is_empty() { rest } else { [last, rest].concat().into() }
    }

    /// What the marking of forms still held.
    fn marked_last(&mut self) -> Bytes {
        match self.forms.take() {
            Some(mut forms) => {
                let last = forms.finish();
                self.insert(last).joined()
            }
            None => Bytes::new(),
        }
    }

    fn finish_insertion(&mut self) -> Bytes {
        match &self.tail {
            _ if self.is_settled() => Bytes::new(),
            Some(tail) => {
                let may_end = tail.may_end();
                let held = self.held();
                match self.at_end_of_page(may_end) {
                    true => [&self.insertion.notice, &held[..]].concat().into(),
                    false => held,
                }
            }
            None => self.step(Bytes::new(), true).joined(),
        }
    }

    /// The page was cut off: what was held back, and nothing of ours.
    pub fn cut(&mut self) -> Bytes {
        let last = self.marked_last();
        let held = self.held();
        if last.is_empty() { held } else { [last, held].concat().into() }
    }

    fn held(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
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

    /// The next piece after the body has opened.
    fn tail_step(&mut self, chunk: Bytes) -> Parts {
        let Some(tail) = &mut self.tail else { return chunk.into() };
        let held = std::mem::take(&mut self.held).freeze();
        let all = held.len() + chunk.len();
        let found = tail.feed(&chunk);
        let (until, end) = self.found(found, all);
        let split = |at: usize| {
            let of_held = at.min(held.len());
            (held.slice(..of_held), chunk.slice(..at - of_held))
        };
        let (made, rest) = split(end.unwrap_or(until));
        let Some(end) = end else {
            self.held.extend_from_slice(&held[made.len()..]);
            self.held.extend_from_slice(&chunk[rest.len()..]);
            return Parts { made, rest, after: Bytes::new() };
        };
        debug_assert_eq!(made.len() + rest.len(), end);
        let after = [&self.insertion.notice, &held[made.len()..], &chunk[rest.len()..]].concat();
        Parts { made, rest, after: after.into() }
    }

    /// What was found in `all` bytes that have not left: how many of them leave, and where the notice goes.
    fn found(&mut self, found: Found, all: usize) -> (usize, Option<usize>) {
        match found {
            Found::Nothing { held } => return (all - held, None),
            Found::End { at } => {
                self.outcome = Outcome::Inserted;
                return (all, Some(at));
            }
            Found::OwnNotice => self.outcome = Outcome::OwnNotice,
            Found::Doubt => self.outcome = Outcome::GaveUp(Why::Doubt),
        }
        (all, None)
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
                Event::Body { at } if self.insertion.position == Position::End => {
                    if self.scanner.head.own_notice {
                        self.outcome = Outcome::OwnNotice;
                    } else {
                        self.look_for_end(buf, at, eof, &mut plan);
                    }
                    return plan;
                }
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
            if self.is_settled() {
                return plan;
            }
            event = self.scanner.run(view, &self.insertion.links, eof);
        }
    }

    /// The body opens at `at`: where does it end?
    fn look_for_end(&mut self, buf: &[u8], at: usize, eof: bool, plan: &mut Plan) {
        let mut tail = Tail::new(self.scanner.head.awaits_first());
        let found = tail.feed(&buf[at..]);
        let (until, end) = self.found(found, buf.len() - at);
        (plan.until, plan.end) = (at + until, end.map(|end| at + end));
        if eof && !self.is_settled() {
            plan.end = self.at_end_of_page(tail.may_end()).then_some(plan.until);
            plan.until = buf.len();
        }
        self.tail = (!self.is_settled()).then_some(tail);
    }

    /// The page ends, and its body with it: does the notice go there?
    fn at_end_of_page(&mut self, may_end: bool) -> bool {
        self.outcome = if may_end { Outcome::Inserted } else { Outcome::GaveUp(Why::Unfinished) };
        may_end
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
        let mut made = Vec::new();
        let mut from = 0;
        if let Some(last) = plan.notice.or(plan.links) {
            let links = || self.wanted_links();
            let links_len: usize = links().map(<[u8]>::len).sum();
            made.reserve_exact(last + links_len + self.insertion.notice.len());
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
        }
        let to = plan.end.unwrap_or(plan.until);
        let after = match plan.end {
            Some(end) => [&self.insertion.notice, &buf[end..plan.until]].concat().into(),
            None => Bytes::new(),
        };
        match made.is_empty() {
            true => Parts { made: buf.slice(..to), rest: Bytes::new(), after },
            false => Parts { made: made.into(), rest: buf.slice(from..to), after },
        }
    }

    /// The links that the page does not have.
    fn wanted_links(&self) -> impl Iterator<Item = &[u8]> {
        let wanted = |n: usize| n >= 64 || self.scanner.head.own_links & (1 << n) == 0;
        let head = &self.scanner.head;
        let of_page = Some(notice::link_for(&self.of_page, head.follows_alternates)).filter(|_| !head.own_markdown);
        let links = self.insertion.links.iter().enumerate();
        links.filter(move |(n, _)| wanted(*n)).map(|(_, link)| &link.html[..]).chain(of_page.into_iter().flatten())
    }
}
