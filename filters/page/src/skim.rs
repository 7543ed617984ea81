//! The quick way through a head: most of it is `<meta>` and `<link>` elements that tell nothing.
//!
//! A shortcut, not a second reader: it passes over what is written plainly and leaves everything else to the scan.

use memchr::{memchr2, memchr3};

use super::{
    insertion::Link,
    tag::{begins_as_generator, is_space},
};

/// How much of `text`, from data in a head on, is such elements and the white space between them.
///
/// The first `>` ends a tag if no `'` comes before it and a `"` just before it closes a value, which it does unless a
/// `=` and white space come before that.
pub(super) fn skim(text: &[u8], links: &[Link]) -> usize {
    // A relation shorter than all of ours is none of them.
    let foreign = links.iter().map(|link| link.rel.len()).min().unwrap_or(usize::MAX);
    let mut rest = text;
    loop {
        let tag = rest.trim_ascii_start();
        let end = if tag.starts_with(b"<meta ") && !begins_as_generator(tag) {
            meta_end(tag)
        } else if tag.starts_with(b"<link rel=\"") && is_short(&tag[11..], foreign) {
            memchr2(b'>', b'\'', tag)
        } else {
            None
        };
        match end.map(|end| (value_end(&tag[..end]), &tag[end..])) {
            Some(([.., before, b'"'], [b'>', after @ ..])) if *before != b'=' && !is_space(*before) => rest = after,
            _ => return text.len() - rest.len(),
        }
    }
}

/// The first `>` or `'`, if no `2022` comes before it: see `Tag::names_shifting_charset`.
#[inline]
fn meta_end(tag: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr3(b'>', b'\'', b'2', &tag[at..])?;
        match tag[at..] {
            [b'2', b'0', b'2', b'2', ..] => return None,
            [b'2', ..] => at += 1,
            _ => return Some(at),
        }
    }
}

/// Does a `"` surely end this value before `len` bytes? Looked for in the first eight of them and the last.
#[inline]
fn is_short(value: &[u8], len: usize) -> bool {
    let ends = |eight: &[u8; 8]| eight.iter().fold(false, |ends, &b| ends | (b == b'"'));
    value.get(..len).is_some_and(|value| value.first_chunk().is_some_and(ends) || value.last_chunk().is_some_and(ends))
}

/// Without the `/` that XHTML has at the end of a tag.
#[inline]
fn value_end(tag: &[u8]) -> &[u8] {
    match tag {
        [tag @ .., b' ', b'/'] | [tag @ .., b'/'] => tag,
        _ => tag,
    }
}
