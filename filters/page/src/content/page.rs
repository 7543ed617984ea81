//! One page, read: its words as Markdown, what it says of itself, and where it leads.

use url::Url;

use super::{
    anchors,
    article::{self, Article},
    facts::{self, path_and_query},
    faq,
    parse::{self, MAX_DEPTH},
    prune::{self, Links},
    published::Published,
    select::{self, Content, Found},
    tidy::headed,
    walk, write,
};

/// The largest page that is read, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest Markdown that comes of one.
const MAX_MARKDOWN_BYTES: usize = 2 * MAX_BYTES;
/// The most Markdown of a page that is there to sign in.
const MAX_LOGIN_BYTES: usize = 600;

/// A page of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Path and query on the site, as asked.
    pub path: String,
    /// What it is called; its path where it does not say.
    pub title: String,
    /// In a sentence, by its own word.
    pub description: Option<String>,
    /// A language tag (BCP 47).
    pub language: Option<String>,
    /// When it changed, by its own word (W3C date and time).
    pub modified: Option<String>,
    /// The main content: without navigation, links absolute.
    pub markdown: String,
    /// Path and query of the links of the whole page that stay on the site, each once; not those that ask not to be
    /// followed (`rel=nofollow`).
    pub links: Vec<String>,
    /// Where the page itself says that it belongs, as path and query, if that is on this site.
    pub canonical: Option<String>,
    /// It does not want to be in an index (`<meta name=robots>`, or `frontdesk` for us alone).
    pub noindex: bool,
    /// It does not want its links to be followed.
    pub nofollow: bool,
    /// The site's own Markdown of this page, as path and query.
    pub alternate_markdown: Option<String>,
    /// Headings and the fragments under which they can be reached, in the order of the page.
    pub anchors: Vec<(String, String)>,
}

/// Reads a page found at `at`; `None` where it cannot be read within bounds (size, depth, time), or has no words.
///
/// Takes milliseconds and more, and recurses into a library's code: call it where blocking is allowed, and be ready to
/// catch a panic.
pub fn read(html: &str, at: &Url) -> Option<Page> {
    read_with(html, at, Links::Whole).map(|(page, _)| page)
}

/// What a crawler has to know of a page besides.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    /// Path and query of links that act by their markup: buttons, what asks for confirmation.
    pub(super) acting: Vec<String>,
    /// Links that look like controls: several lead elsewhere under the same text, or they look like buttons.
    pub(super) controls: Vec<String>,
    /// The page is there for people to sign in.
    pub(super) is_login: bool,
    /// What shows that the page was published for readers.
    pub(super) published: Published,
}

/// The same for a crawler. `by_paths`: with the links that stay on the site as paths, for pages of a site whose name
/// nobody has said.
pub(super) fn read_marked(html: &str, at: &Url, by_paths: bool) -> Option<(Page, Marks)> {
    read_with(html, at, if by_paths { Links::Paths(at) } else { Links::Whole })
}

/// The same for an answer to a capability call. `by_paths`: links that stay on the site are paths of it.
pub fn read_for_answer(html: &str, at: &Url, by_paths: bool) -> Option<Page> {
    read_marked(html, at, by_paths).map(|(page, _)| page)
}

/// The title of a page that may have no words; `None` where it cannot be read within bounds.
pub fn title(html: &str) -> Option<String> {
    let document = parse::parse(html)?;
    walk::is_within(&document.tree, MAX_DEPTH).then(|| walk::collapsed(&document.select("title").text()))
}

fn read_with(html: &str, at: &Url, links: Links<'_>) -> Option<(Page, Marks)> {
    if html.len() > MAX_BYTES {
        return None;
    }
    let document = parse::parse(html)?;
    if !walk::is_within(&document.tree, MAX_DEPTH) {
        return None;
    }
    let facts = facts::collect(&document.root(), at);
    let anchors = anchors::of(&document.root());
    let pairs = faq::of_scripts(&document.root());
    // Start pages list what the site has, whatever they say.
    let article = (facts.signs.is_article() && at.path() != "/").then(|| article::find(&document)).flatten();
    let content = match article.as_ref().and_then(Article::root) {
        Some(root) => Content { root, found: Found::Article },
        None => select::content(&document)?,
    };
    prune::prune(&content, facts.base.as_ref().unwrap_or(at), links)?;
    let heading = article.as_ref().and_then(|article| article.title.as_deref()).or(facts.title.as_deref());
    let markdown = write::markdown(&content.root, MAX_MARKDOWN_BYTES)?;
    let markdown = headed(with_answers(markdown, &pairs, facts.base.as_ref().unwrap_or(at), links), heading);
    let path = path_and_query(at);
    let is_login = facts.asks_for_password && markdown.trim().len() <= MAX_LOGIN_BYTES;
    let marks = Marks { acting: facts.acting, controls: facts.controls.take(), is_login, published: facts.published };
    let page = (1..=MAX_MARKDOWN_BYTES).contains(&markdown.len()).then(|| Page {
        title: facts.title.unwrap_or_else(|| path.clone()),
        path,
        description: facts.description,
        language: facts.language,
        modified: facts.modified,
        markdown,
        links: facts.links,
        canonical: facts.canonical,
        noindex: facts.noindex,
        nofollow: facts.nofollow,
        alternate_markdown: facts.alternate_markdown,
        anchors,
    })?;
    Some((page, marks))
}

/// Markdown with the questions and answers that a page has in its JSON-LD alone.
fn with_answers(mut markdown: String, pairs: &[faq::Pair], base: &Url, links: Links<'_>) -> String {
    for faq::Pair { question, answer } in pairs {
        let Some(answer) = fragment(answer, base, links).filter(|answer| !answer.trim().is_empty()) else { continue };
        if !faq::is_there(&markdown, &answer) && markdown.len() + answer.len() < MAX_MARKDOWN_BYTES {
            if !markdown.is_empty() {
                markdown.push('\n');
            }
            markdown.push_str(&format!("## {}\n\n{}\n", write::plain(question), answer.trim()));
        }
    }
    markdown
}

/// A piece of HTML as Markdown.
fn fragment(html: &str, base: &Url, links: Links<'_>) -> Option<String> {
    let document = parse::parse(html)?;
    if !walk::is_within(&document.tree, MAX_DEPTH) {
        return None;
    }
    let content = Content { root: document.body()?, found: Found::Article };
    prune::prune(&content, base, links)?;
    write::markdown(&content.root, MAX_MARKDOWN_BYTES)
}
