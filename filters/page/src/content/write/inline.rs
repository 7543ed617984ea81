//! What stands in one line: text with its marks, code, links and images. Marks are written so that a parser takes them as
//! marks, and text so that none takes it for marks.

use std::rc::Rc;

use super::escape::{self, Escaping, is_mark_like};

/// What a text is marked as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Strong,
    Em,
    Del,
    /// To this address.
    Link(Rc<str>),
}

impl Mark {
    /// Its sign, and the element where a sign would not be understood.
    fn signs(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Mark::Strong => ("**", "<strong>", "</strong>"),
            Mark::Em => ("*", "<em>", "</em>"),
            Mark::Del => ("~~", "<del>", "</del>"),
            Mark::Link(_) => ("[", "", ""),
        }
    }
}

/// A part of a line, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Code(String),
    /// Markdown already.
    Raw(String),
    /// An element that Markdown has no sign for.
    Tag(&'static str),
    Break,
    Open(Mark),
    /// Ends what was opened last.
    Close,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Paragraph,
    Heading,
    Cell,
}

/// A part of a line whose white space is in order.
#[derive(Debug)]
enum Token {
    Text(String),
    Code(String),
    Raw(String),
    Tag(&'static str),
    Break,
    Open(Mark),
    Close(Mark),
}

/// The pieces as Markdown.
pub(super) fn written(pieces: &[Piece], line: Line) -> String {
    let tokens = in_order(pieces, line);
    let elements = elements(&tokens);
    let escaping = Escaping::of(&tokens_text(&tokens, &elements), line == Line::Cell);
    let mut out = String::new();
    let mut link_from = None;
    for (nth, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(text) => {
                let after = tokens.get(nth + 1..).and_then(|rest| rest.first());
                let before_link = matches!(after, Some(Token::Open(Mark::Link(_))));
                let (previous, next) = (before(&tokens, nth), after_char(&tokens, nth));
                escaping.push(&mut out, text, previous, next, before_link);
            }
            Token::Code(code) => out.push_str(&escape::code(code, line == Line::Cell)),
            Token::Raw(raw) if line == Line::Cell => out.push_str(&raw.replace('|', "\\|")),
            Token::Raw(raw) => out.push_str(raw),
            Token::Tag(tag) => out.push_str(tag),
            Token::Break if line == Line::Cell => out.push_str("<br>"),
            Token::Break => out.push_str("  \n"),
            Token::Open(Mark::Link(_)) => {
                link_from = Some(out.len());
                out.push('[');
            }
            Token::Close(Mark::Link(address)) => close_link(&mut out, link_from.take().unwrap_or(0), address, line),
            Token::Open(mark) => out.push_str(if elements[nth] { mark.signs().1 } else { mark.signs().0 }),
            Token::Close(mark) => out.push_str(if elements[nth] { mark.signs().2 } else { mark.signs().0 }),
        }
    }
    match line {
        Line::Paragraph => out.split('\n').map(escape::at_line_start).collect::<Vec<_>>().join("\n"),
        Line::Heading => escape::at_heading_end(&out),
        Line::Cell => out,
    }
}

fn close_link(out: &mut String, from: usize, address: &str, line: Line) {
    let text = &out[from + 1..];
    if text == address && (text.starts_with("https://") || text.starts_with("http://")) {
        out.replace_range(from..=from, "<");
        out.push('>');
        return;
    }
    if !escape::is_balanced(text) {
        let escaped = escape::brackets(text);
        out.truncate(from + 1);
        out.push_str(&escaped);
    }
    let address = escape::address(address);
    let address = if line == Line::Cell { address.replace('|', "%7C") } else { address };
    out.push_str("](");
    out.push_str(&address);
    out.push(')');
}

/// White space once, never at the edge of a line or within the edge of a mark; no mark around nothing.
fn in_order(pieces: &[Piece], line: Line) -> Vec<Token> {
    let mut order = Order { tokens: Vec::new(), space: false, waiting: Vec::new(), open: Vec::new() };
    for piece in pieces {
        match piece {
            Piece::Text(text) => order.text(text),
            Piece::Code(written) => {
                order.space |= written.starts_with(|c: char| c.is_ascii_whitespace());
                let code = written.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
                // Two codes side by side are one: a mark that ends the first would not begin the second.
                match order.tokens.last_mut() {
                    Some(Token::Code(before)) if !order.space && order.waiting.is_empty() => before.push_str(&code),
                    _ if code.is_empty() => {}
                    _ => order.content(Token::Code(code)),
                }
                order.space |= written.ends_with(|c: char| c.is_ascii_whitespace());
            }
            Piece::Raw(raw) => {
                order.content(Token::Raw(raw.trim_end().to_owned()));
                order.space |= raw.ends_with(' ');
            }
            Piece::Tag(tag) if tag.starts_with("</") => order.tokens.push(Token::Tag(tag)),
            Piece::Tag(tag) => order.content(Token::Tag(tag)),
            Piece::Break => order.line_ends(),
            Piece::Open(mark) => order.waiting.push(mark.clone()),
            Piece::Close => order.close(),
        }
    }
    let mut tokens = order.tokens;
    // No break at an edge, and in a cell never two.
    while matches!(tokens.last(), Some(Token::Break)) {
        tokens.pop();
    }
    if line == Line::Cell {
        let mut after_break = true;
        tokens.retain(|token| {
            let is_break = matches!(token, Token::Break);
            let kept = !(is_break && after_break);
            after_break = is_break;
            kept
        });
    }
    tokens
}

struct Order {
    tokens: Vec<Token>,
    /// White space is to be written before the next word.
    space: bool,
    /// Marks that are opened with the next word.
    waiting: Vec<Mark>,
    /// Those that are open; not the ones that say what one around them says.
    open: Vec<Option<Mark>>,
}

impl Order {
    fn text(&mut self, text: &str) {
        let hard = |c: char| c.is_whitespace() && !c.is_ascii_whitespace();
        for (nth, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.space |= nth > 0;
            if word.is_empty() {
                continue;
            }
            let inner = word.trim_start_matches(hard);
            if inner.len() < word.len() && !self.waiting.is_empty() {
                // A no-break space does not begin a mark either.
                let waiting = std::mem::take(&mut self.waiting);
                self.push_text(&word[..word.len() - inner.len()]);
                self.waiting = waiting;
                if !inner.is_empty() {
                    self.push_text(inner);
                }
            } else {
                self.push_text(word);
            }
        }
    }

    fn push_text(&mut self, word: &str) {
        self.begin();
        match self.tokens.last_mut() {
            Some(Token::Text(text)) => text.push_str(word),
            _ => self.tokens.push(Token::Text(word.to_owned())),
        }
    }

    fn content(&mut self, token: Token) {
        self.begin();
        self.tokens.push(token);
    }

    /// Writes what waits for the next word.
    fn begin(&mut self) {
        if std::mem::take(&mut self.space) && !matches!(self.tokens.last(), None | Some(Token::Break)) {
            match self.tokens.last_mut() {
                Some(Token::Text(text)) => text.push(' '),
                _ => self.tokens.push(Token::Text(" ".to_owned())),
            }
        }
        for mark in std::mem::take(&mut self.waiting) {
            let is_link = matches!(mark, Mark::Link(_));
            let is_open =
                self.open.iter().flatten().any(|open| *open == mark || is_link && matches!(open, Mark::Link(_)));
            if is_open {
                self.open.push(None);
                continue;
            }
            match self.tokens.last() {
                // The mark goes on.
                Some(Token::Close(closed)) if *closed == mark && !is_link => {
                    self.tokens.pop();
                }
                _ => self.tokens.push(Token::Open(mark.clone())),
            }
            self.open.push(Some(mark));
        }
    }

    fn close(&mut self) {
        if self.waiting.pop().is_some() {
            return;
        }
        let Some(Some(mark)) = self.open.pop() else { return };
        let mut hard = String::new();
        let is_link = matches!(mark, Mark::Link(_));
        if let Some(Token::Text(text)) = self.tokens.last_mut().filter(|_| !is_link) {
            let kept = text.trim_end_matches(|c: char| c.is_whitespace() && !c.is_ascii_whitespace()).len();
            hard = text.split_off(kept);
        }
        let mut ends = vec![Token::Close(mark)];
        // A break ends before the mark does.
        while matches!(self.tokens.last(), Some(Token::Break)) {
            self.tokens.pop();
            ends.push(Token::Break);
        }
        self.tokens.append(&mut ends);
        if !hard.is_empty() {
            self.tokens.push(Token::Text(hard));
        }
    }

    fn line_ends(&mut self) {
        self.space = false;
        if !self.tokens.is_empty() {
            self.tokens.push(Token::Break);
        }
    }
}

/// Which marks have to be elements, because a parser would not take their signs for marks.
fn elements(tokens: &[Token]) -> Vec<bool> {
    let mut elements = vec![false; tokens.len()];
    let mut open = Vec::new();
    for (nth, token) in tokens.iter().enumerate() {
        match token {
            Token::Open(mark) if !matches!(mark, Mark::Link(_)) => open.push(nth),
            Token::Close(mark) if !matches!(mark, Mark::Link(_)) => {
                let Some(from) = open.pop() else { continue };
                let opens = opens(before(tokens, from), inner(tokens, from, 1));
                let closes = opens_backwards(inner(tokens, nth, -1), after_char(tokens, nth));
                let is_after_mark =
                    from > 0 && matches!(tokens[from - 1], Token::Close(_)) && !is_link(&tokens[from - 1]);
                let spans_lines = tokens[from..nth].iter().any(|token| matches!(token, Token::Break));
                if !opens || !closes || is_after_mark || spans_lines && *mark == Mark::Del {
                    elements[from] = true;
                    elements[nth] = true;
                }
            }
            _ => {}
        }
    }
    elements
}

fn is_link(token: &Token) -> bool {
    matches!(token, Token::Open(Mark::Link(_)) | Token::Close(Mark::Link(_)))
}

/// A sign opens a mark between these two letters (CommonMark's left-flanking).
fn opens(outside: Option<char>, inside: Option<char>) -> bool {
    match inside {
        None => false,
        Some(inside) if inside.is_whitespace() => false,
        Some(inside) if inside.is_alphanumeric() => true,
        Some(_) => outside.is_none_or(|outside| outside.is_whitespace() || is_mark_like(outside)),
    }
}

fn opens_backwards(inside: Option<char>, outside: Option<char>) -> bool {
    opens(outside, inside)
}

/// The letter beside a mark on its inner side, past other marks.
fn inner(tokens: &[Token], nth: usize, step: isize) -> Option<char> {
    let mut at = nth.checked_add_signed(step)?;
    while matches!(tokens.get(at)?, Token::Open(_) | Token::Close(_)) && !is_link(&tokens[at]) {
        at = at.checked_add_signed(step)?;
    }
    if step > 0 { first(&tokens[at]) } else { last(&tokens[at]) }
}

fn before(tokens: &[Token], nth: usize) -> Option<char> {
    nth.checked_sub(1).and_then(|at| last(&tokens[at]))
}

fn after_char(tokens: &[Token], nth: usize) -> Option<char> {
    tokens.get(nth + 1).and_then(first)
}

fn first(token: &Token) -> Option<char> {
    match token {
        Token::Text(text) | Token::Raw(text) => text.chars().next(),
        Token::Code(_) => Some('`'),
        Token::Tag(_) => Some('<'),
        Token::Break => None,
        Token::Open(mark) => mark.signs().0.chars().next(),
        Token::Close(Mark::Link(_)) => Some(']'),
        Token::Close(mark) => mark.signs().0.chars().next(),
    }
}

fn last(token: &Token) -> Option<char> {
    match token {
        Token::Text(text) | Token::Raw(text) => text.chars().next_back(),
        Token::Code(_) => Some('`'),
        Token::Tag(_) => Some('>'),
        Token::Break => None,
        Token::Open(mark) => mark.signs().0.chars().next_back(),
        Token::Close(Mark::Link(_)) => Some(')'),
        Token::Close(mark) => mark.signs().0.chars().next_back(),
    }
}

/// The text of a line, and of its marks their signs: what might be taken for marks shows in it.
fn tokens_text(tokens: &[Token], elements: &[bool]) -> String {
    let mut text = String::new();
    for (token, element) in tokens.iter().zip(elements) {
        match token {
            Token::Text(words) => text.push_str(words),
            Token::Code(_) | Token::Raw(_) | Token::Tag(_) => text.push('\u{fffc}'),
            Token::Break => text.push(' '),
            Token::Open(mark) | Token::Close(mark) if !element && !is_link(token) => text.push_str(mark.signs().0),
            Token::Open(_) | Token::Close(_) => text.push('\u{fffc}'),
        }
    }
    text
}
