//! Text cut into what is compared: words, identifiers whole and in parts, pairs of characters where a script writes no
//! spaces.
//!
//! `--amend`, `os.remove` and `server_name` count as they are written and by their parts, so that a manual can be asked
//! by the exact name or by half of it.

use std::ops::Range;

/// Longer words, in bytes, are no words: keys, hashes, encoded data.
const LONGEST: usize = 48;
/// The mark before an identifier that counts as it is written; no word begins with it.
pub(super) const WHOLE: char = '=';

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A word as it is written, to be stemmed.
    Word(&'a str),
    /// An identifier with its punctuation.
    Identifier(&'a str),
    /// Here a sentence or a table cell ends.
    Break,
}

/// Calls `each` with every piece and where it stands. An identifier comes before its parts.
pub(super) fn cut<'a>(text: &'a str, mut each: impl FnMut(Piece<'a>, Range<usize>)) {
    let mut at = 0;
    for chunk in text.split_inclusive(char::is_whitespace) {
        let word = chunk.trim_end();
        if !word.is_empty() {
            match plain_word(word) {
                Some(plain) => each(Piece::Word(plain), at..at + plain.len()),
                None => {
                    if let Some(range) = identifier(word) {
                        each(Piece::Identifier(&word[range.clone()]), at + range.start..at + range.end);
                    }
                    words(word, at, &mut each);
                }
            }
        }
        at += chunk.len();
        if chunk.ends_with('\n') || word.ends_with(['.', '!', '?', '。', '！', '？', '|']) {
            each(Piece::Break, at..at);
        }
    }
}

/// The word that a chunk between spaces is, where it has only small ASCII letters and one mark behind them at most: most
/// chunks are such, and need no closer look.
fn plain_word(chunk: &str) -> Option<&str> {
    let word = chunk.strip_suffix([',', '.', ';', ':', '!', '?', ')']).unwrap_or(chunk);
    ((1..=LONGEST).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(word)
}

/// The identifier that a chunk between spaces is, if it is one: without the brackets, quotation marks and stops around it.
fn identifier(chunk: &str) -> Option<Range<usize>> {
    if chunk.len() > 2 * LONGEST || !chunk.is_ascii() {
        return None;
    }
    let begin = chunk.len() - chunk.trim_start_matches(['(', '[', '{', '"', '\'', '<', '|', '`', '*', ',']).len();
    let mut end = begin;
    // A call's arguments are no part of its name.
    let rest = &chunk[begin..];
    let bare = rest.find(['(', '<', '[']).filter(|at| *at > 1).map_or(rest, |at| &rest[..at]);
    end += bare.trim_end_matches([')', ']', '}', '"', '\'', '>', ',', '.', ';', '!', '?', '|', '`', '*']).len();
    if chunk[begin..end].ends_with(':') && chunk[begin..end].bytes().any(|b| b.is_ascii_alphanumeric()) {
        end -= 1;
    }
    let name = chunk.get(begin..end)?;
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric).count();
    let fits = match letters {
        0 => (2..=3).contains(&name.len()) && !name.bytes().all(|b| matches!(b, b'-' | b'=' | b'.' | b'_')),
        // An apostrophe is no punctuation of a name.
        _ => letters + name.matches('\'').count() < name.len() && (2..=2 * LONGEST).contains(&name.len()),
    };
    fits.then_some(begin..end)
}

fn words<'a>(chunk: &'a str, offset: usize, each: &mut impl FnMut(Piece<'a>, Range<usize>)) {
    let say = |range: Range<usize>, each: &mut dyn FnMut(Piece<'a>, Range<usize>)| {
        if (1..=LONGEST).contains(&range.len()) {
            each(Piece::Word(&chunk[range.clone()]), offset + range.start..offset + range.end);
        }
    };
    let mut chars = chunk.char_indices().peekable();
    let mut before = None;
    while let Some((start, first)) = chars.next() {
        if !first.is_alphanumeric() {
            before = Some(first);
            // Where no spaces are written, a sentence ends within what stands between two.
            if matches!(first, '。' | '！' | '？') && chars.peek().is_some() {
                each(Piece::Break, offset + start..offset + start);
            }
            continue;
        }
        let mut end = start + first.len_utf8();
        if is_unspaced(first) {
            let (mut last, mut alone) = (start..end, true);
            while let Some((at, next)) = chars.next_if(|(_, c)| is_unspaced(*c)) {
                end = at + next.len_utf8();
                say(last.start..end, each);
                (last, alone) = (at..end, false);
            }
            if alone {
                say(last, each);
            }
            before = None;
            continue;
        }
        // Where an uppercase letter follows a small one, a part begins: `ArgumentParser`.
        let (mut bends, mut previous) = (Vec::new(), first);
        while let Some((at, next)) = chars.next_if(|(_, c)| (c.is_alphanumeric() || is_mark(*c)) && !is_unspaced(*c)) {
            if previous.is_ascii_lowercase() && next.is_ascii_uppercase() {
                bends.push(at);
            }
            previous = next;
            end = at + next.len_utf8();
        }
        let word = &chunk[start..end];
        let apostrophe = |c: Option<char>| matches!(c, Some('\'' | '’'));
        // What follows an apostrophe in English, and what comes before one in French and Italian, says nothing.
        let follows = apostrophe(before.take()) && matches!(word, "s" | "t" | "re" | "ll" | "ve" | "d" | "m");
        let precedes = apostrophe(chars.peek().map(|(_, c)| *c)) && (word.chars().count() == 1 || word == "qu");
        if follows || precedes {
            continue;
        }
        say(start..end, each);
        if !bends.is_empty() && bends.len() < 6 {
            let ends = bends.iter().copied().chain([end]);
            let begins = [start].into_iter().chain(bends.iter().copied());
            begins.zip(ends).filter(|(begin, end)| end - begin > 1).for_each(|(begin, end)| say(begin..end, each));
        }
    }
}

/// A mark that belongs to the letter before it, as vowels do in India's scripts and points in Arabic.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{b82}' | '\u{bbe}'..='\u{bcd}')
}

/// Scripts that write no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese; and Korean, whose particles
/// cling to words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        cut(text, |piece, range| match piece {
            Piece::Word(word) => {
                assert_eq!(word, &text[range]);
                found.push(word.to_owned());
            }
            Piece::Identifier(name) => {
                assert_eq!(name, &text[range]);
                found.push(format!("={name}"));
            }
            Piece::Break => {}
        });
        found
    }

    #[test]
    fn identifiers_count_whole_and_by_their_parts() {
        assert_eq!(all("(`--amend`),"), ["=--amend", "amend"]);
        assert_eq!(all("call os.remove(path)."), ["call", "=os.remove", "os", "remove", "path"]);
        assert_eq!(
            all("server_name: ArgumentParser"),
            ["=server_name", "server", "name", "ArgumentParser", "Argument", "Parser"]
        );
        assert_eq!(all("f'{x:.2f}' :.2f := -u"), ["=f'{x:.2f", "x", "2f", "=:.2f", "2f", "=:=", "=-u", "u"]);
    }

    #[test]
    fn words_have_no_apostrophes() {
        assert_eq!(all("don't l’option qu'un Debian's"), ["don", "option", "un", "Debian"]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_pairs() {
        assert_eq!(all("東京都 a京"), ["東京", "京都", "a", "京"]);
        assert_eq!(all("การ"), ["กา", "าร"]);
    }

    #[test]
    fn sentences_without_spaces_end_too() {
        let mut breaks = 0;
        cut("東京です。大阪です。", |piece, _| breaks += usize::from(piece == Piece::Break));
        assert_eq!(breaks, 2);
    }

    #[test]
    fn endless_words_are_none() {
        for text in ["x", "_", "'s", "aB", "-", "東"] {
            let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
            all(&text.repeat(500_000));
            assert!(!limit.is_over(), "{text}");
        }
        assert!(all(&"x".repeat(1_000_000)).is_empty());
    }
}
