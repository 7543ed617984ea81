//! Backslashes where a parser would take text for something else, and only there.

/// What has to be escaped in one line, by all of its text.
#[derive(Debug)]
pub(super) struct Escaping {
    star: bool,
    underscore: bool,
    tilde: bool,
    bracket: bool,
    pipe: bool,
}

impl Escaping {
    /// For a line with this text; `pipe`: it stands in a table.
    pub(super) fn of(text: &str, pipe: bool) -> Escaping {
        Escaping {
            star: pairs(text, '*'),
            underscore: pairs(text, '_'),
            tilde: pairs(text, '~'),
            bracket: text.contains("](") || text.contains("][") || text.starts_with('[') && text.contains("]:"),
            pipe,
        }
    }

    /// Writes a part of the line, between these letters; `before_link`: a link follows.
    pub(super) fn push(
        &self,
        out: &mut String,
        text: &str,
        previous: Option<char>,
        next: Option<char>,
        before_link: bool,
    ) {
        let mut before = previous;
        for (at, letter) in text.char_indices() {
            let rest = &text[at + letter.len_utf8()..];
            let after = rest.chars().next().or(next);
            let escaped = match letter {
                '\\' => after.is_none_or(|after| after.is_ascii_punctuation()),
                '`' => true,
                '*' => self.star && is_flanking(before, after, '*'),
                '_' => self.underscore && is_flanking(before, after, '_'),
                '~' => self.tilde && is_flanking(before, after, '~'),
                '[' | ']' => self.bracket,
                '<' => after.is_some_and(|after| after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?')),
                '&' => is_reference(rest),
                '|' => self.pipe,
                '!' => rest.is_empty() && before_link,
                _ => false,
            };
            if escaped {
                out.push('\\');
            }
            out.push(letter);
            before = Some(letter);
        }
    }
}

/// Text without marks, for a line of its own.
pub(in super::super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Escaping::of(text, false).push(&mut out, text, None, None, false);
    out
}

/// Is it punctuation for every parser? Letters beside a mark count only then.
pub(super) fn is_mark_like(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || matches!(letter, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
            | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5b}' | '\u{ff5d}'..='\u{ff65}')
}

fn is_space(letter: Option<char>) -> bool {
    letter.is_none_or(char::is_whitespace)
}

/// Could a run of signs here open or close a mark?
fn is_flanking(before: Option<char>, after: Option<char>, sign: char) -> bool {
    let alone = is_space(before) && is_space(after);
    let within = before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
    !(alone || sign == '_' && within)
}

/// Is there a run of these signs that could open a mark, and one after it that could close it?
fn pairs(text: &str, sign: char) -> bool {
    let mut opened = false;
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == sign {
            while letters.peek() == Some(&sign) {
                letters.next();
            }
            let after = letters.peek().copied();
            let within =
                sign == '_' && before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
            if !within {
                if opened && !is_space(before) {
                    return true;
                }
                opened |= !is_space(after);
            }
        }
        before = Some(letter);
    }
    false
}

/// Does a character reference follow an ampersand: `amp;`, `#38;`?
fn is_reference(rest: &str) -> bool {
    let name = rest.strip_prefix('#').unwrap_or(rest);
    let length = name.bytes().take(33).take_while(u8::is_ascii_alphanumeric).count();
    length > 0 && name.as_bytes().get(length) == Some(&b';')
}

/// A line whose beginning is not taken for a heading, a list, a quote, a rule or a fence.
pub(super) fn at_line_start(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    let rule = |sign: char| {
        let kept: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        kept.len() >= 3 && kept.chars().all(|c| c == sign)
    };
    let first = line.chars().next().unwrap_or_default();
    let hashes = line.len() - line.trim_start_matches('#').len();
    let escaped = match first {
        '#' => hashes <= 6 && ends(&line[hashes..]),
        '>' => true,
        '-' => ends(&line[1..]) || line.trim_end().bytes().all(|b| b == b'-') || rule('-'),
        '+' | '*' => ends(&line[1..]) || rule(first),
        '=' => line.trim_end().bytes().all(|b| b == b'='),
        '_' => rule('_'),
        '~' => line.starts_with("~~~"),
        '|' => true,
        '0'..='9' if digits <= 9 && (line[digits..].starts_with(['.', ')'])) && ends(&line[digits + 1..]) => {
            return format!("{}\\{}", &line[..digits], &line[digits..]);
        }
        _ => false,
    };
    if escaped { format!("\\{line}") } else { line.to_owned() }
}

/// A heading whose last number sign is its own.
pub(super) fn at_heading_end(line: &str) -> String {
    let kept = line.trim_end_matches('#');
    let is_mark = kept.len() < line.len() && (kept.is_empty() || kept.ends_with(' '));
    if is_mark { format!("{kept}\\{}", &line[kept.len()..]) } else { line.to_owned() }
}

/// Code between as many backticks as it takes.
pub(super) fn code(code: &str, in_cell: bool) -> String {
    let fence = "`".repeat(longest_run(code, '`') + 1);
    let padded = code.starts_with('`') || code.ends_with('`');
    let code = if in_cell { code.replace('|', "\\|") } else { code.to_owned() };
    if padded { format!("{fence} {code} {fence}") } else { format!("{fence}{code}{fence}") }
}

/// How many of a sign stand beside each other at most.
pub(super) fn longest_run(text: &str, sign: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for letter in text.chars() {
        run = if letter == sign { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The text of an image.
pub(super) fn in_brackets(text: &str) -> String {
    let escaped = plain(text);
    if is_balanced(&escaped) { escaped } else { brackets(&escaped) }
}

/// Do brackets pair up in the text of a link?
pub(super) fn is_balanced(text: &str) -> bool {
    let mut depth = 0usize;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' => depth += 1,
            ']' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

/// The same text with each bracket escaped.
pub(super) fn brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            out.push(letter);
            out.extend(letters.next());
            continue;
        }
        if matches!(letter, '[' | ']') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// An address as it stands in parentheses.
pub(super) fn address(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut depth = 0usize;
    let mut balanced = true;
    for letter in url.chars() {
        match letter {
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => balanced = false,
            },
            _ => {}
        }
    }
    balanced &= depth == 0;
    for (at, letter) in url.char_indices() {
        match letter {
            '(' if !balanced => out.push_str("%28"),
            ')' if !balanced => out.push_str("%29"),
            '&' if is_reference(&url[at + 1..]) => out.push_str("&amp;"),
            ' ' => out.push_str("%20"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '\\' => out.push_str("%5C"),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}
