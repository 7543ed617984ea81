//! Forms are marked on pages of every kind, and what is inserted besides stands where it would without that.

use super::*;
use crate::{FormMark, FormMarker};

const FORM: &str = "<form action=/send><input name=a></form>";
const MARKED: &str = "<form action=/send toolname=\"t\" tooldescription=\"\"><input name=a></form>";

fn marked(position: Position, page: &str, size: usize) -> (String, Outcome) {
    let mark = FormMark { page: "/".into(), action: "/send".into(), name: "t".into(), ..FormMark::default() };
    let mut inserter = Inserter::new(marks(position)).marking(FormMarker::new(vec![mark], Some("utf-8")));
    let mut out = Vec::new();
    for piece in page.as_bytes().chunks(size) {
        out.extend_from_slice(&inserter.feed(Bytes::copy_from_slice(piece)).joined());
    }
    out.extend_from_slice(&inserter.finish());
    (String::from_utf8(out).unwrap(), inserter.outcome())
}

#[test]
fn a_page_of_every_kind_leaves_with_its_form_marked() {
    let pages = [
        format!("<!DOCTYPE html><html><head><title>T</title></head><body><p>x{FORM}</body></html>"),
        format!("<!DOCTYPE html><title>T</title><p>x{FORM}"),
        format!("<p>x</p>{FORM}"),
        format!("<tr><td>{FORM}"),
        format!("<html><head></head><frameset><frame src=a><noframes>{FORM}</noframes></frameset></html>"),
        format!("<html><body><div class=ahp-notice></div>{FORM}</body></html>"),
        format!("<html><head><div class=ahp-notice hidden></div></head><body>{FORM}</body></html>"),
        format!("<html><head><meta charset=iso-2022-jp></head><body>{FORM}</body></html>"),
        format!("<html><body>{FORM}<!-- "),
        format!("<html><head><template><svg><style>{FORM}"),
        format!("<html><head><script>{}</script></head><body>{FORM}", "x".repeat(2000)),
    ];
    for position in [Position::Start, Position::End] {
        for page in &pages {
            for size in [1, 7, page.len()] {
                let without = run(&marks(position), page.as_bytes().chunks(size));
                let (left, outcome) = marked(position, page, size);
                let plain = String::from_utf8(without.0).unwrap();
                let expected = if left.contains("toolname") { plain.replace(FORM, MARKED) } else { plain };
                assert_eq!((&left, outcome), (&expected, without.1), "{page} in pieces of {size}");
            }
        }
    }
}
