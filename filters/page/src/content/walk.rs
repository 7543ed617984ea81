//! Small questions about elements, asked in every step of reading a page.

use dom_query::{NodeRef, Tree};

/// Elements whose text nobody reads.
pub(super) const UNREAD: [&str; 8] = ["script", "style", "noscript", "template", "svg", "head", "canvas", "iframe"];

/// An element's name, in small letters; empty for what is no element.
pub(super) fn name(node: &NodeRef<'_>) -> String {
    node.qual_name_ref().map(|name| name.local.to_string()).unwrap_or_default()
}

/// An attribute's value, trimmed; `None` where it is missing.
pub(super) fn attribute(node: &NodeRef<'_>, name: &str) -> Option<String> {
    node.attr(name).map(|value| value.trim().to_owned())
}

/// Is this one of the words of an attribute, whatever the case?
pub(super) fn has_word(node: &NodeRef<'_>, attribute: &str, wanted: &[&str]) -> bool {
    node.attr(attribute).is_some_and(|list| {
        list.split_ascii_whitespace().any(|word| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(word)))
    })
}

/// Is nothing of it shown to people? What they do not see is not the site's word to agents either.
pub(super) fn is_hidden(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    element.attrs.iter().any(|attribute| {
        let value = || attribute.value.trim().to_ascii_lowercase();
        match attribute.name.local.as_ref() {
            "hidden" => value() != "until-found",
            "aria-hidden" => value() == "true",
            "style" => {
                let style: String = attribute.value.chars().filter(|c| !c.is_whitespace()).collect();
                let style = style.to_ascii_lowercase();
                style.contains("display:none") || style.contains("visibility:hidden")
            }
            _ => false,
        }
    })
}

/// How many letters of text lie below, white space and what nobody reads apart.
pub(super) fn weight(node: &NodeRef<'_>) -> usize {
    letters(node, &[])
}

/// The same outside of links.
pub(super) fn prose(node: &NodeRef<'_>) -> usize {
    letters(node, &["a"])
}

fn letters(node: &NodeRef<'_>, without: &[&str]) -> usize {
    let mut stack = vec![*node];
    let mut letters = 0;
    while let Some(node) = stack.pop() {
        if node.is_text() {
            letters += node.text().bytes().filter(|b| !b.is_ascii_whitespace()).count();
            continue;
        }
        let called = name(&node);
        if !UNREAD.contains(&called.as_str()) && !without.contains(&called.as_str()) {
            stack.extend(node.children_it(false));
        }
    }
    letters
}

/// Does one of these elements lie below?
pub(super) fn contains(node: &NodeRef<'_>, wanted: &[&str]) -> bool {
    node.descendants_it().any(|below| wanted.contains(&name(&below).as_str()))
}

/// Text with every run of white space as one space.
pub(super) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How deep the tree is, if no deeper than `most`.
pub(super) fn is_within(tree: &Tree, most: usize) -> bool {
    let mut stack = vec![(tree.root(), 0)];
    while let Some((node, depth)) = stack.pop() {
        if depth > most {
            return false;
        }
        stack.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    true
}
