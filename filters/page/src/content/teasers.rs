//! Takes out of an article what leads elsewhere: boxes by their names, paragraphs that are nothing but links,
//! text that stands there twice, and what is left of such boxes at the end.

use std::collections::HashSet;

use dom_query::NodeRef;

use super::{
    surroundings::is_beside,
    walk::{attribute, collapsed, contains, name, weight},
};

/// Elements that are judged as one.
const BLOCKS: [&str; 14] =
    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote", "figure"];
/// A box of more than one part in so many of the text is no box.
const BOX_SHARE: usize = 3;
/// How much of a block has to be links to be nothing but links, in percent.
const LINKED: usize = 90;
/// The longest word before a link that makes it a teaser, in bytes: "Read more:".
const LABEL: usize = 16;
/// A teaser has at least so many words.
const TEASER_WORDS: usize = 4;
/// In a text of fewer blocks than these, a link is rarely a teaser.
const FEW_BLOCKS: usize = 8;
/// Where more than one part in so many of the text is links, the links are what the page is about.
const LINKS_SHARE: usize = 4;

/// From how many letters on a block that stands on the page twice is repeated, and not a refrain.
const REPEATED: usize = 200;

/// One part of the text.
struct Block<'a> {
    node: NodeRef<'a>,
    name: String,
    text: usize,
    linked: usize,
}

impl Block<'_> {
    fn is_heading(&self) -> bool {
        matches!(self.name.as_str(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
    }

    fn is_linked(&self) -> bool {
        self.linked > 0 && self.linked * 100 >= self.text * LINKED
    }

    /// A paragraph that is a link, or a link behind a word.
    fn is_teaser(&self) -> bool {
        matches!(self.name.as_str(), "p" | "div" | "h2" | "h3" | "h4" | "h5" | "h6")
            && (self.is_linked() || self.linked > LABEL && self.text - self.linked <= LABEL)
            && collapsed(&self.node.text()).split(' ').count() >= TEASER_WORDS
    }
}

/// Takes the teasers out of the article below `root`.
pub(super) fn remove(root: &NodeRef<'_>) {
    let blocks = blocks(root);
    remove_repeated(&blocks);
    let all: usize = blocks.iter().map(|block| block.text).sum();
    let teasers: usize = blocks.iter().filter(|block| block.is_teaser()).map(|block| block.linked).sum();
    let is_about_links = blocks.len() < FEW_BLOCKS || teasers * LINKS_SHARE > all;
    let mut is_end = !is_about_links;
    for block in blocks.iter().rev() {
        // What is left of a box at the end: its heading, or links of a word or two.
        is_end &= block.is_heading() || block.is_linked() || block.is_teaser() || block.text == 0;
        if is_end || !is_about_links && block.is_teaser() {
            block.node.remove_from_parent();
        }
    }
}

/// Takes out long blocks that stand on the page a second time: captions of a gallery, quotes out of the text.
fn remove_repeated(blocks: &[Block<'_>]) {
    let mut seen = HashSet::new();
    for block in blocks.iter().filter(|block| block.text >= REPEATED && block.name != "pre") {
        if !seen.insert(collapsed(&block.node.text())) {
            block.node.remove_from_parent();
        }
    }
}

/// Takes the boxes out that the names of their elements say stand beside the text.
pub(super) fn remove_boxes(root: &NodeRef<'_>) {
    let most = weight(root) / BOX_SHARE;
    let mut stack: Vec<NodeRef<'_>> = root.children_it(true).collect();
    while let Some(node) = stack.pop() {
        if is_beside(&node) && !contains(&node, &["h1", "pre"]) && weight(&node) <= most {
            node.remove_from_parent();
        } else {
            stack.extend(node.children_it(true));
        }
    }
}

/// The blocks of a text in their order.
fn blocks<'a>(root: &NodeRef<'a>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut stack: Vec<NodeRef<'a>> = root.children_it(true).collect();
    while let Some(node) = stack.pop() {
        if !node.is_element() {
            continue;
        }
        let called = name(&node);
        let is_leaf = || called == "div" && !contains(&node, &BLOCKS) && !contains(&node, &["div"]);
        let is_block = BLOCKS.contains(&called.as_str()) || is_leaf();
        if is_block {
            let (text, linked) = (weight(&node), linked(&node));
            blocks.push(Block { node, name: called, text, linked });
        } else {
            stack.extend(node.children_it(true));
        }
    }
    blocks
}

/// How many letters of a block are in links to other pages.
fn linked(block: &NodeRef<'_>) -> usize {
    let leads_away = |node: &NodeRef<'_>| {
        name(node) == "a" && attribute(node, "href").is_some_and(|href| !href.is_empty() && !href.starts_with('#'))
    };
    block.descendants_it().filter(leads_away).map(|link| weight(&link)).sum()
}
