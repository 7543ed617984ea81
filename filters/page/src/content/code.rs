//! Code blocks: their language by any of the ways in which pages say it, and their lines as lines.

use dom_query::NodeRef;

use super::walk::{attribute, has_word, name};

/// What stands before the language in a class.
const PREFIXES: [&str; 5] = ["language-", "lang-", "highlight-source-", "highlight-", "src-"];
/// Classes of line numbers, and of buttons beside a block.
const NUMBERS: [&str; 7] =
    ["linenos", "lineno", "linenumber", "line-numbers-rows", "line-number", "gutter", "copy-button"];
/// Languages have short names.
const MAX_LANGUAGE: usize = 24;

/// Makes a `<pre>` ready: its language where the writer looks for it, and a line end where a line ends.
pub(super) fn prepare(pre: &NodeRef<'_>) {
    if let Some(language) = language(pre) {
        pre.set_attr("data-lang", &language);
    }
    let below: Vec<NodeRef<'_>> = pre.descendants();
    for node in below {
        match name(&node).as_str() {
            "" => {}
            "button" | "script" | "style" | "svg" => node.remove_from_parent(),
            _ if has_word(&node, "class", &NUMBERS) => node.remove_from_parent(),
            "br" => node.replace_with(&node.tree.new_text("\n")),
            "div" | "p" | "li" | "tr" if !ends_line(&node) => {
                node.append_child(&node.tree.new_text("\n"));
            }
            _ => {}
        }
    }
}

/// Does its text end with a line's end?
fn ends_line(node: &NodeRef<'_>) -> bool {
    let mut last = *node;
    while let Some(child) = last.last_child() {
        last = child;
    }
    last.is_text() && last.text().ends_with('\n')
}

/// By the block itself, by the code in it, or by the boxes around it.
fn language(pre: &NodeRef<'_>) -> Option<String> {
    let code = pre.children_it(false).find(|node| name(node) == "code");
    let around = pre.ancestors_it(Some(2)).filter(|node| name(node) == "div");
    let places = std::iter::once(*pre).chain(code).chain(around);
    places.into_iter().find_map(|node| named(&node))
}

fn named(node: &NodeRef<'_>) -> Option<String> {
    let written = ["data-lang", "data-language"].into_iter().find_map(|name| attribute(node, name));
    let class = attribute(node, "class").unwrap_or_default();
    let mut words = class.split_ascii_whitespace().peekable();
    let mut by_class = None;
    while let Some(word) = words.next() {
        let word = word.trim_end_matches(';');
        let prefixed = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
        // SyntaxHighlighter's "brush: js" and pandoc's "sourceCode rust".
        let named = prefixed.or_else(|| matches!(word, "brush:" | "sourceCode").then(|| words.peek().copied())?);
        by_class = by_class.or(named.map(|name| name.trim_end_matches(';').to_owned()));
    }
    let language = written.or(by_class)?;
    let fits = language.len() <= MAX_LANGUAGE
        && language.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'.' | b'#'));
    (fits && !language.is_empty() && !matches!(language.as_str(), "default" | "none" | "text" | "plaintext"))
        .then_some(language)
}

/// Code that is a link as a whole becomes a link whose text is code: code holds no links.
pub(super) fn turn_link_out(code: &NodeRef<'_>) {
    // No walk may be under way while the tree is changed.
    let children = code.children();
    let [link] = children.as_slice() else { return };
    if name(link) != "a" || !link.children_it(false).all(|node| node.is_text()) {
        return;
    }
    let Some(href) = attribute(link, "href") else { return };
    link.remove_all_attrs();
    link.rename("code");
    code.rename("a");
    code.set_attr("href", &href);
}
