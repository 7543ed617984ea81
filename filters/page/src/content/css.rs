//! CSS selectors over a page: the one engine for pages, extraction and forms.

use dom_query::{Document, Matcher, NodeRef};
use url::Url;

use super::{
    parse::{self, MAX_DEPTH},
    walk, write,
};

/// The longest selector, in bytes.
const LONGEST: usize = 1_000;
/// Elements that stand in a line of text.
const INLINE: [&str; 33] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "var", "wbr",
];
/// The longest Markdown of one element.
const MAX_MARKDOWN: usize = 256 * 1024;

/// An element of a page.
pub type Element<'a> = NodeRef<'a>;

/// A page as a tree, within bounds.
pub struct Tree(Document);

impl Tree {
    /// Parses a page; `None` where it would be too deep, too large or too slow. Call it where blocking is allowed, and
    /// be ready to catch a panic.
    pub fn parse(html: &str) -> Option<Self> {
        let document = parse::parse(html)?;
        walk::is_within(&document.tree, MAX_DEPTH).then_some(Self(document))
    }

    pub fn root(&self) -> Element<'_> {
        self.0.root()
    }

    /// The address that relative references of the page start from.
    pub fn base(&self, at: &Url) -> Url {
        let declared = self.0.select("base[href]").nodes().first().and_then(|base| walk::attribute(base, "href"));
        declared.and_then(|href| at.join(&href).ok()).unwrap_or_else(|| at.clone())
    }

    /// The language of the page, as it says.
    pub fn language(&self) -> Option<String> {
        self.0.select("html").nodes().first().and_then(|html| walk::attribute(html, "lang"))
    }
}

/// A compiled selector.
#[derive(Debug, Clone)]
pub struct Css(Matcher);

impl Css {
    /// Compiles a selector.
    ///
    /// # Errors
    ///
    /// Why it is none, as a phrase.
    pub fn parse(selector: &str) -> Result<Self, String> {
        if selector.len() > LONGEST {
            return Err(format!("is longer than {LONGEST} bytes"));
        }
        Matcher::new(selector).map(Self).map_err(|_| "is no CSS selector that can be read".to_owned())
    }

    /// The elements below that match, in the order of the page.
    pub fn all<'a>(&self, root: &Element<'a>) -> impl Iterator<Item = Element<'a>> {
        root.descendants_it().filter(|node| node.is_element() && node.is_match(&self.0))
    }

    /// The first of them.
    pub fn first<'a>(&self, root: &Element<'a>) -> Option<Element<'a>> {
        self.all(root).next()
    }

    pub fn matches(&self, element: &Element<'_>) -> bool {
        element.is_match(&self.0)
    }
}

/// The elements below `root` that a selector of ours names. One that cannot be read names none.
pub fn all<'a>(selector: &str, root: &Element<'a>) -> Vec<Element<'a>> {
    Css::parse(selector).map(|css| css.all(root).collect()).unwrap_or_default()
}

/// An element's name, in small letters.
pub fn name(element: &Element<'_>) -> String {
    walk::name(element)
}

/// An attribute's value, trimmed; `None` where it is missing.
pub fn attribute(element: &Element<'_>, name: &str) -> Option<String> {
    walk::attribute(element, name)
}

/// The words of a class or an id, in small letters: `no-errors`, `formError` and `form_error` have two each.
pub fn words_of_name(name: &str) -> Vec<String> {
    walk::words_of_name(name)
}

/// Whether people see an element, as far as it and those around it say.
pub fn is_shown(element: &Element<'_>) -> bool {
    !walk::is_hidden(element) && !element.ancestors_it(None).any(|above| walk::is_hidden(&above))
}

/// The text of an element as people read it: runs of white space as one space, blocks apart from each other.
pub fn text(element: &Element<'_>) -> String {
    let mut text = String::new();
    let mut stack = vec![(*element, false)];
    while let Some((node, is_end)) = stack.pop() {
        if node.is_text() {
            text.push_str(&node.text());
            continue;
        }
        let name = walk::name(&node);
        if !INLINE.contains(&name.as_str()) {
            text.push(' ');
        }
        if is_end || walk::UNREAD.contains(&name.as_str()) {
            continue;
        }
        stack.push((node, true));
        stack.extend(node.children_it(true).map(|child| (child, false)));
    }
    walk::collapsed(&text)
}

/// The Markdown of one element. It prepares the element for that, so ask for everything else before.
pub fn markdown(element: &Element<'_>, base: &Url, by_paths: bool) -> Option<String> {
    super::prune::prepare_element(element, base, by_paths)?;
    let markdown = write::markdown(element, MAX_MARKDOWN)?;
    Some(markdown.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_and_read() {
        let tree =
            Tree::parse("<ul><li class=a>One<p>two</p>three<li>Four <b>5</b><br>6<script>x</script></ul>").unwrap();
        let root = tree.root();
        let texts = |selector: &str| Css::parse(selector).unwrap().all(&root).map(|li| text(&li)).collect::<Vec<_>>();
        assert_eq!(texts("li"), ["One two three", "Four 5 6"]);
        assert_eq!(texts("ul > li:not(.a)"), ["Four 5 6"]);
        assert!(Css::parse("li[").is_err() && Css::parse("").is_err());
        let li = Css::parse("li").unwrap().first(&root).unwrap();
        assert!(Css::parse(".a").unwrap().matches(&li));
    }

    #[test]
    fn an_element_is_markdown_and_the_base_counts() {
        let html = "<base href=/deep/><div><p>Hi <a href=x>you</a></p><ul><li>1</ul></div>";
        let tree = Tree::parse(html).unwrap();
        let base = tree.base(&Url::parse("http://site.test/a").unwrap());
        assert_eq!(base.as_str(), "http://site.test/deep/");
        let div = Css::parse("div").unwrap().first(&tree.root()).unwrap();
        let markdown = markdown(&div, &base, true).unwrap();
        assert!(markdown.starts_with("Hi [you](/deep/x)") && markdown.contains("- 1"), "{markdown}");
    }
}
