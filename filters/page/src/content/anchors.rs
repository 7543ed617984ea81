//! Where the headings of a page can be reached: by the id of the heading, of an anchor in it or right before it, or of the
//! section that it begins.

use dom_query::NodeRef;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::walk::{attribute, collapsed, name};

/// Anchors kept of one page, and how long a heading and an id may be, in bytes.
const ANCHORS: usize = 2_000;
const HEADING: usize = 400;
const ID: usize = 120;
/// How many elements a heading may begin.
const AROUND: usize = 4;
/// Bytes that stand in a fragment as they are.
const FRAGMENT: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b'/').remove(b'%');

/// The headings below an element and their fragments, in the order of the page. A fragment is empty where there is none.
pub(super) fn of(root: &NodeRef<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for node in root.descendants_it().filter(is_heading) {
        if found.len() == ANCHORS {
            break;
        }
        let text = collapsed(&node.text());
        let text = text.trim_end_matches(['¶', '#', '§', ' ']);
        if !(1..=HEADING).contains(&text.len()) {
            continue;
        }
        match id_of(&node) {
            Some(id) => found.push((text.to_owned(), utf8_percent_encode(&id, &FRAGMENT).to_string())),
            // It counts among the headings with the same words.
            None if name(&node).starts_with('h') => found.push((text.to_owned(), String::new())),
            None => {}
        }
    }
    found
}

fn is_heading(node: &NodeRef<'_>) -> bool {
    matches!(name(node).as_str(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "summary" | "dt")
}

fn id_of(heading: &NodeRef<'_>) -> Option<String> {
    let within = || heading.descendants_it().find_map(|node| own(&node));
    let before =
        || heading.prev_element_sibling().filter(|node| collapsed(&node.text()).is_empty()).and_then(|node| own(&node));
    own(heading).or_else(within).or_else(before).or_else(|| around(heading))
}

/// The id of an element, or the name of an anchor.
fn own(node: &NodeRef<'_>) -> Option<String> {
    let named = || attribute(node, "name").filter(|_| name(node) == "a");
    attribute(node, "id").or_else(named).filter(|id| (1..=ID).contains(&id.len()) && !id.contains(char::is_whitespace))
}

/// The id of an element that the heading begins.
fn around(heading: &NodeRef<'_>) -> Option<String> {
    let mut node = *heading;
    for _ in 0..AROUND {
        let parent = node.parent()?;
        if parent.first_element_child().is_none_or(|first| first.id != node.id) {
            return None;
        }
        if let Some(id) = own(&parent) {
            return Some(id);
        }
        node = parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::parse;

    #[test]
    fn a_heading_is_reached_by_the_nearest_id() {
        let html = "<h2 id=own>Own</h2><h2><a name=within></a>Within <a href='#within'>¶</a></h2><a id=before></a><h3>Before</h3>
            <section id=around><div><h2>Around</h2><p>x</p><h3>Second of it</h3></div></section><p id=no>x</p><h2>None</h2>
            <details id=fold><summary>Folded?</summary></details><h2 id='größe'>Größe</h2><h2 id='a b'>Two words</h2>";
        let document = parse::parse(html).expect("a page");
        let found = of(&document.root());
        let found: Vec<(&str, &str)> = found.iter().map(|(text, id)| (text.as_str(), id.as_str())).collect();
        let expected = [
            ("Own", "own"),
            ("Within", "within"),
            ("Before", "before"),
            ("Around", "around"),
            ("Second of it", ""),
            ("None", ""),
            ("Folded?", "fold"),
            ("Größe", "gr%C3%B6%C3%9Fe"),
            ("Two words", ""),
        ];
        assert_eq!(found, expected);
    }
}
