//! The books as other replicas, and the next start, can have them: in pieces that a store takes, and within a bound.
//!
//! A page is a line of JSON; lines are compressed together. A reader skips what it does not understand.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Books, Kept, Rules, acts};
use crate::content::Page;

/// Bytes of a piece before it is compressed; one page may be more.
const PIECE: usize = 512 * 1024;
/// The most that a piece may grow to again.
const MOST_OF_PIECE: u64 = 16 * 1024 * 1024;
const LEVEL: i32 = 3;

/// The pages in pieces of no more than `most` bytes together; pages that do not fit are left out.
pub fn pieces(books: &Books, most: usize) -> Vec<Bytes> {
    let (mut pieces, mut lines, mut room) = (Vec::new(), Vec::new(), most);
    let mut each = books.iter().peekable();
    while let Some((target, kept)) = each.next() {
        // Writing to memory does not fail.
        let _ = writeln!(lines, "{}", line(target, kept));
        if lines.len() >= PIECE || each.peek().is_none() {
            let Ok(piece) = zstd::bulk::compress(&lines, LEVEL) else { break };
            lines.clear();
            match room.checked_sub(piece.len()) {
                Some(left) => room = left,
                None => break,
            }
            pieces.push(piece.into());
        }
    }
    pieces
}

/// The books that the pieces are of, as far as the rules let them be read.
pub fn books(pieces: &[Bytes], rules: &Rules) -> Option<Books> {
    let mut books = Books::default();
    for piece in pieces {
        let mut text = String::new();
        let decoder = zstd::stream::read::Decoder::new(&piece[..]).ok()?;
        decoder.take(MOST_OF_PIECE).read_to_string(&mut text).ok()?;
        for line in text.lines() {
            let (target, kept) = read(&serde_json::from_str(line).ok()?)?;
            let may_act = acts::acts(&target) && !rules.start.iter().any(|start| **start == *target);
            if !rules.excludes(&target) && !may_act {
                books.put(&target, kept, rules.max_pages);
            }
        }
    }
    Some(books)
}

fn line(target: &str, kept: &Kept) -> Value {
    let Kept { page, links, lists, etag, last_modified, listed_modified, guessed, checked } = kept;
    let texts = |all: &[Arc<str>]| all.iter().map(|text| Value::from(&**text)).collect::<Value>();
    let (links, lists) = (texts(links), texts(lists));
    json!({
        "path": target, "title": page.title, "description": page.description, "language": page.language,
        "markdown": page.markdown, "links": links, "lists": lists, "etag": etag, "modified": last_modified,
        "listed": listed_modified, "updated": page.modified, "guessed": guessed, "checked": checked,
        "canonical": page.canonical, "anchors": page.anchors,
    })
}

fn read(line: &Value) -> Option<(Arc<str>, Kept)> {
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = text("path")?;
    let texts = |key: &str| -> Option<Vec<Arc<str>>> {
        let texts = line.get(key)?.as_array()?;
        Some(texts.iter().filter_map(|text| text.as_str().map(Arc::from)).collect())
    };
    let kept = Kept {
        links: texts("links")?,
        lists: texts("lists").unwrap_or_default(),
        etag: text("etag"),
        last_modified: text("modified"),
        listed_modified: text("listed"),
        guessed: line.get("guessed").and_then(Value::as_bool).unwrap_or(false),
        checked: line.get("checked")?.as_u64()?,
        page: Arc::new(Page {
            title: text("title")?,
            description: text("description"),
            language: text("language"),
            markdown: text("markdown")?,
            path: path.clone(),
            links: Vec::new(),
            canonical: text("canonical"),
            noindex: false,
            nofollow: false,
            alternate_markdown: None,
            modified: text("updated"),
            anchors: anchors(line),
        }),
    };
    Some((path.into(), kept))
}

/// Headings and their fragments; none where an earlier version wrote the line.
fn anchors(line: &Value) -> Vec<(String, String)> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    line.get("anchors").and_then(Value::as_array).map(|all| all.iter().filter_map(pair).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};
    use crate::content::testing::page;

    fn rules(max_pages: usize) -> Rules {
        let text =
            format!("[upstream]\nurl = 'http://site.test'\n[content]\nmax_pages = {max_pages}\nexclude = ['/no/*']\n");
        testing::rules(&text)
    }

    fn shelf(count: usize, words: &str) -> Books {
        let mut books = Books::default();
        for n in 0..count {
            let target: Arc<str> = format!("/{n}").into();
            let kept = Kept {
                page: Arc::new(page(&target, "T", &format!("{n} {words}"))),
                links: vec!["/a".into(), "/b".into()],
                lists: vec!["/feed".into()],
                etag: Some("\"x\"".into()),
                last_modified: None,
                listed_modified: Some("2026".into()),
                guessed: n == 1,
                checked: 7,
            };
            books.put(&target, kept, usize::MAX);
        }
        books
    }

    #[test]
    fn what_was_shared_is_what_was_known() {
        for count in [0, 1, 300] {
            let known = shelf(count, &"words ".repeat(2_000));
            let pieces = pieces(&known, 1 << 24);
            assert!(count < 300 || pieces.len() > 3);
            let read = books(&pieces, &rules(1_000)).unwrap();
            assert!(read.iter().eq(known.iter()), "{count}");
        }
    }

    #[test]
    fn what_is_excluded_here_is_not_taken() {
        let mut known = shelf(1, "x");
        let kept = Kept { page: Arc::new(page("/no/1", "T", "secret")), ..known.get("/0").unwrap().clone() };
        known.put(&"/no/1".into(), kept, 10);
        assert_eq!(books(&pieces(&known, 1 << 20), &rules(10)).unwrap().len(), 1);
    }

    #[test]
    fn what_acts_is_not_taken() {
        let mut known = shelf(1, "x");
        for target in ["/?action=stop", "/posts/2/delete", "/?page=2"] {
            let kept = Kept { page: Arc::new(page(target, "T", target)), ..known.get("/0").unwrap().clone() };
            known.put(&target.into(), kept, 10);
        }
        let read = books(&pieces(&known, 1 << 20), &rules(10)).unwrap();
        assert!(read.get("/0").is_some() && read.get("/?page=2").is_some() && read.len() == 2);
    }

    #[test]
    fn no_more_is_shared_than_there_is_room_for() {
        // Words that cannot be compressed away.
        let noise: String = (0..100_000u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
        let known = shelf(50, &noise);
        let all: usize = pieces(&known, usize::MAX).iter().map(Bytes::len).sum();
        let some = pieces(&known, all / 2);
        assert!(!some.is_empty() && some.iter().map(Bytes::len).sum::<usize>() <= all / 2);
        let read = books(&some, &rules(1_000)).unwrap();
        assert!(!read.is_empty() && read.len() < 50);
        assert_eq!(books(&pieces(&known, usize::MAX), &rules(10)).unwrap().len(), 10, "the bound on pages holds");
    }

    #[test]
    fn what_makes_no_sense_is_not_taken() {
        let piece = |text: &str| Bytes::from(zstd::bulk::compress(text.as_bytes(), LEVEL).unwrap());
        assert!(books(&[Bytes::from_static(b"x")], &rules(9)).is_none());
        assert!(books(&[piece("{")], &rules(9)).is_none() && books(&[piece("{\"path\": 1}")], &rules(9)).is_none());
        let bomb = zstd::bulk::compress(&vec![b' '; MOST_OF_PIECE as usize + 1], LEVEL).unwrap();
        assert!(books(&[bomb.into()], &rules(9)).is_none());
    }
}
