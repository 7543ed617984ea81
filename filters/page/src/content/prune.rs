//! Makes the content ready to be written: what is no content goes, links become absolute, and elements that the writer
//! does not know take the name of one that it knows.
//!
//! The tree is walked without recursion. What lies in lists and quotes is written behind their marks, line by line: so
//! they may lie in each other only so deep.

use dom_query::NodeRef;
use frontdesk_base::work_limit::WorkLimit;
use url::{Position, Url};

use super::{
    code,
    element_fate::ElementFate,
    faq, images, math,
    parse::PATIENCE,
    select::{Content, Found},
    table::{self, Grid},
    tabs,
    walk::{attribute, collapsed, contains, has_word, is_hidden, name, prose, weight},
};

/// How deep lists, quotes and marks may lie in each other; further in they are plain text.
const MAX_NESTED: usize = 20;
/// How many bytes absolute links may take in all: a long address in many short links is a large text.
const MAX_LINK_BYTES: usize = 4 * 1024 * 1024;
/// The longest link.
const MAX_LINK: usize = 2_048;

/// `[source]` and `[docs]`, which Sphinx puts behind what it documents.
const SOURCE_LINKS: [&str; 2] = ["viewcode-link", "viewcode-back"];
const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
/// An aside that says what it is about stands in the text, not beside it.
const CALLOUTS: [&str; 12] = [
    "note",
    "tip",
    "info",
    "important",
    "warning",
    "caution",
    "danger",
    "callout",
    "admonition",
    "notice",
    "alert",
    "starlight-aside",
];
/// Roles of what surrounds a content.
const SURROUNDINGS: [&str; 7] =
    ["navigation", "banner", "contentinfo", "complementary", "search", "menubar", "alertdialog"];
/// The same by class or id, where a page does not mark its main part.
const CHROME: [&str; 19] = [
    "ahp-notice",
    "nav",
    "navbar",
    "navigation",
    "navheader",
    "navfooter",
    "docnav",
    "menu",
    "sidebar",
    "sphinxsidebar",
    "footer",
    "breadcrumb",
    "breadcrumbs",
    "related",
    "skip-link",
    "cookie-banner",
    "page-header",
    "toplang",
    "bottomlang",
];

/// How links are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Links<'a> {
    Whole,
    /// As paths, where they stay at this address's site.
    Paths(&'a Url),
}

impl Links<'_> {
    /// `None`: there is no way to write it.
    fn written(self, url: Url) -> Option<String> {
        match self {
            Self::Paths(at) if at.origin() == url.origin() => {
                let path = &url[Position::BeforePath..];
                // That would be another site's.
                (!path.starts_with("//")).then(|| path.to_owned())
            }
            _ => Some(url.into()),
        }
    }
}

/// Prepares one element to be written.
pub(super) fn prepare_element(element: &NodeRef<'_>, base: &Url, by_paths: bool) -> Option<()> {
    let links = if by_paths { Links::Paths(base) } else { Links::Whole };
    prune(&Content { root: *element, found: Found::Marked }, base, links)
}

/// Prepares the content of a page whose links are relative to `base`. `None`: its links alone are too much.
pub(super) fn prune(content: &Content<'_>, base: &Url, links: Links<'_>) -> Option<()> {
    tabs::prepare(&content.root);
    let mut pruning = Pruning {
        weight: weight(&content.root),
        prose: prose(&content.root),
        marked: content.found != Found::Whole,
        base,
        links,
        links_left: MAX_LINK_BYTES,
        grid: Grid::default(),
    };
    let mut stack: Vec<(NodeRef<'_>, usize)> = content.root.children_it(true).map(|node| (node, 0)).collect();
    let limit = WorkLimit::begin(PATIENCE);
    while let Some((node, nested)) = stack.pop() {
        // Some elements are looked through as a whole, and may lie in each other.
        if limit.is_over() {
            return None;
        }
        if !node.is_element() {
            if node.is_comment() {
                node.remove_from_parent();
            }
            continue;
        }
        let mut nested = nested;
        match pruning.fate(&node)? {
            ElementFate::Drop => {
                node.remove_from_parent();
                continue;
            }
            ElementFate::Ready => continue,
            ElementFate::Rename(name) => node.rename(name),
            ElementFate::Keep => {}
        }
        if is_marked(&name(&node)) {
            nested += 1;
            if nested > MAX_NESTED {
                node.rename("span");
            }
        }
        stack.extend(node.children_it(true).map(|child| (child, nested)));
    }
    Some(())
}

/// Does it put a mark before its text or around it?
fn is_marked(name: &str) -> bool {
    matches!(
        name,
        "ul" | "ol"
            | "dl"
            | "dd"
            | "blockquote"
            | "table"
            | "a"
            | "b"
            | "strong"
            | "em"
            | "i"
            | "code"
            | "del"
            | "s"
            | "strike"
    )
}

/// The links of a page alone are too much.
struct TooMuch;

struct Pruning<'a> {
    /// Of the whole content.
    weight: usize,
    /// The same outside of links.
    prose: usize,
    marked: bool,
    base: &'a Url,
    links: Links<'a>,
    links_left: usize,
    grid: Grid,
}

/// Does an element hold nothing but white space?
fn is_blank(node: &NodeRef<'_>) -> bool {
    node.children_it(false).all(|child| child.is_text() && child.text().trim().is_empty())
}

impl Pruning<'_> {
    /// `None`: give the page up.
    fn fate(&mut self, node: &NodeRef<'_>) -> Option<ElementFate> {
        if is_hidden(node) && !tabs::is_panel(node) && !math::is_shown_as_image(node) && !faq::is_answer(node)
            || has_word(node, "role", &SURROUNDINGS)
            || has_word(node, "class", &["ahp-notice"])
            || has_word(node, "class", &SOURCE_LINKS)
        {
            return Some(ElementFate::Drop);
        }
        let called = name(node);
        if matches!(called.as_str(), "script" | "span" | "div")
            && let Some(fate) = math::of_script(node, &called)
        {
            return Some(fate);
        }
        // The name says little about an element that holds most of the page's words: an end tag may be missing.
        if !self.marked
            && (has_word(node, "class", &CHROME) || has_word(node, "id", &CHROME))
            && prose(node) * 2 < self.prose
        {
            return Some(ElementFate::Drop);
        }
        Some(match called.as_str() {
            "dd" if is_blank(node) => ElementFate::Drop,
            // A question may be a button that unfolds its answer.
            "button" | "span" | "div" | "p" | "a" if faq::is_question(node) && !contains(node, &HEADINGS) => {
                let around = node.parent().filter(|around| HEADINGS.contains(&name(around).as_str()));
                ElementFate::Rename(if around.is_some() { "span" } else { "summary" })
            }
            "script" | "style" | "noscript" | "template" | "svg" | "canvas" | "iframe" | "object" | "embed"
            | "video" | "audio" | "nav" | "footer" | "select" | "textarea" | "button" | "datalist" | "link"
            | "meta" | "head" | "title" | "frameset" | "applet" | "colgroup" => ElementFate::Drop,
            // One to tick is part of a list of tasks.
            "input" if has_word(node, "type", &["checkbox"]) => ElementFate::Ready,
            "input" => ElementFate::Drop,
            "aside" if has_word(node, "class", &["footnote", "footnote-list", "footnotes"]) => {
                ElementFate::Rename("div")
            }
            "aside" if has_word(node, "class", &CALLOUTS) => ElementFate::Rename("blockquote"),
            "aside" if is_product(node) => ElementFate::Rename("div"),
            "aside" => ElementFate::Drop,
            "dialog" if !node.has_attr("open") => ElementFate::Drop,
            "header" if self.marked || contains(node, &HEADINGS) => ElementFate::Rename("div"),
            "header" => ElementFate::Drop,
            // Some sites have the whole page in a form.
            "form" if weight(node) * 2 < self.weight => ElementFate::Drop,
            "kbd" | "samp" | "tt" | "code" => {
                code::turn_link_out(node);
                if name(node) == "a" { return self.link(node) } else { ElementFate::Rename("code") }
            }
            "cite" | "dfn" | "var" => ElementFate::Rename("em"),
            "pre" | "math" => ElementFate::Ready,
            "ul" | "ol" => {
                // A list between the items of another belongs to the one before it.
                let is_between = node.parent().is_some_and(|around| matches!(name(&around).as_str(), "ul" | "ol"));
                if let Some(item) = node.prev_element_sibling().filter(|item| is_between && name(item) == "li") {
                    item.append_child(node);
                }
                ElementFate::Keep
            }
            "table" => {
                table::prepare(node, &mut self.grid);
                ElementFate::Keep
            }
            "a" if !is_struck_through(node) => return self.link(node),
            "img" => return self.image(node),
            _ if is_struck_through(node) => ElementFate::Rename("del"),
            _ => ElementFate::Keep,
        })
    }

    fn link(&mut self, node: &NodeRef<'_>) -> Option<ElementFate> {
        let Some(href) = attribute(node, "href") else {
            // A mere anchor; left in a heading, it swallows the space before the heading's words.
            return Some(if node.children_it(false).next().is_none() { ElementFate::Drop } else { ElementFate::Keep });
        };
        if href.starts_with('#') {
            let text = collapsed(&node.text());
            // The mark beside a heading, and the way past the navigation.
            if matches!(text.as_str(), "" | "#" | "¶" | "§" | "🔗" | "↩" | "↩︎" | "↑")
                || text.to_ascii_lowercase().starts_with("skip to")
            {
                return Some(ElementFate::Drop);
            }
            if node.ancestors_it(Some(2)).any(|around| HEADINGS.contains(&name(&around).as_str())) {
                // A heading that leads to itself.
                return Some(ElementFate::Rename("span"));
            }
        }
        match self.absolute(&href, &["http", "https", "mailto", "tel"]).ok()? {
            Some(url) => node.set_attr("href", &url),
            None => node.remove_attr("href"),
        }
        node.remove_attr("title");
        Some(ElementFate::Keep)
    }

    fn image(&mut self, node: &NodeRef<'_>) -> Option<ElementFate> {
        let alt = attribute(node, "alt");
        if alt.as_deref() == Some("") {
            // It says itself that it says nothing.
            return Some(ElementFate::Drop);
        }
        let source = images::source(node);
        let url = match source {
            Some(source) => self.absolute(&source, &["http", "https"]).ok()?,
            None => None,
        };
        match (url, alt) {
            (Some(url), _) => {
                node.set_attr("src", &url);
                node.remove_attr("title");
                Some(ElementFate::Ready)
            }
            (None, Some(alt)) => {
                node.replace_with(&node.tree.new_text(alt));
                Some(ElementFate::Ready)
            }
            (None, None) => Some(ElementFate::Drop),
        }
    }

    /// The link as it is written; nothing where it is none that is.
    fn absolute(&mut self, link: &str, schemes: &[&str]) -> Result<Option<String>, TooMuch> {
        if link.len() > MAX_LINK {
            return Ok(None);
        }
        let url = self.base.join(link).ok().filter(|url| schemes.contains(&url.scheme()));
        let Some(url) = url.and_then(|url| self.links.written(url)).filter(|url| url.len() <= MAX_LINK) else {
            return Ok(None);
        };
        self.links_left = self.links_left.checked_sub(url.len()).ok_or(TooMuch)?;
        Ok(Some(url))
    }
}

/// Whether an aside describes the product that a shop's page is about, by schema.org's microdata.
fn is_product(aside: &NodeRef<'_>) -> bool {
    aside.descendants_it().any(|node| has_word(&node, "itemprop", &["description", "offers", "price"]))
}

/// Is its text crossed out by its style?
fn is_struck_through(node: &NodeRef<'_>) -> bool {
    node.has_attr("style")
        && matches!(name(node).as_str(), "span" | "font" | "b" | "i" | "em" | "strong" | "a" | "small")
        && node.attr("style").is_some_and(|style| style.to_ascii_lowercase().contains("line-through"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use dom_query::Document;
    use url::Url;

    use super::{Links, prune};
    use crate::content::select::{self, Found};

    #[test]
    fn an_anchor_in_a_heading_takes_no_space_from_it() {
        let at = Url::parse("https://a.example/").unwrap();
        let html = "<body><h2><a id=\"kernel\"></a>10.1. The kernel</h2><p>Words.</p>";
        let page = crate::content::read(html, &at).unwrap();
        assert!(page.markdown.contains("## 10.1. The kernel"), "{}", page.markdown);
    }

    #[test]
    fn what_is_looked_through_again_and_again_is_given_up() {
        let at = Url::parse("https://a.example/").unwrap();
        for (around, given_up) in [("<header>", true), ("<main><header>", false), ("<main>", false)] {
            let html = format!("<body>{}{}<h1>x</h1>", around.repeat(200), "<i></i>".repeat(30_000));
            let document = Document::from(html);
            let began = Instant::now();
            let content = select::content(&document).unwrap();
            assert!(given_up || content.found == Found::Marked, "{around}");
            let pruned = prune(&content, &at, Links::Whole);
            assert!(began.elapsed() < Duration::from_secs(10), "{around}: {:?}", began.elapsed());
            assert!(given_up == pruned.is_none(), "{around}");
        }
    }
}
