//! Whether a page says that it is an article: in its metadata (Open Graph, JSON-LD, microdata, microformats), never by
//! its looks. Pages that say nothing, and pages whose content is comments, lists or documentation, are no articles.

use dom_query::NodeRef;
use serde_json::Value;

use super::walk::{attribute, has_word};

/// The longest JSON-LD block that is read, in bytes.
const MAX_JSON_LD_BYTES: usize = 512 * 1024;
/// The schema.org types of articles.
const ARTICLES: [&str; 12] = [
    "Article",
    "NewsArticle",
    "AnalysisNewsArticle",
    "BackgroundNewsArticle",
    "OpinionNewsArticle",
    "ReportageNewsArticle",
    "ReviewNewsArticle",
    "SatiricalArticle",
    "ScholarlyArticle",
    "BlogPosting",
    "LiveBlogPosting",
    "Report",
];
/// The schema.org types of pages whose content is more than one text.
const COLLECTIONS: [&str; 8] = [
    "QAPage",
    "FAQPage",
    "DiscussionForumPosting",
    "SearchResultsPage",
    "CollectionPage",
    "TechArticle",
    "APIReference",
    "ItemList",
];
/// Programs that make documentation or forums, as they name themselves in `<meta name=generator>`.
const MANY_TEXTS: [&str; 25] = [
    "antora",
    "asciidoctor",
    "docusaurus",
    "docutils",
    "doxygen",
    "gitbook",
    "javadoc",
    "mdbook",
    "mediawiki",
    "mkdocs",
    "rustdoc",
    "sphinx",
    "starlight",
    "vitepress",
    "vuepress",
    "discourse",
    "flarum",
    "fluxbb",
    "invision",
    "mybb",
    "nodebb",
    "phpbb",
    "simple machines",
    "vbulletin",
    "xenforo",
];

/// What the elements of a page said so far.
#[derive(Debug, Default)]
pub(super) struct Signs {
    says_article: bool,
    says_otherwise: bool,
    /// How many entries are marked up (microformats): an index has several.
    entries: usize,
    /// How many blogs are: one for each row of an index.
    blogs: usize,
}

impl Signs {
    /// Takes in what one element says; scripts of the type `application/ld+json` among them.
    pub(super) fn take(&mut self, node: &NodeRef<'_>, name: &str) {
        match name {
            "meta" => self.meta(node),
            "script" if has_word(node, "type", &["application/ld+json"]) => self.json_ld(&node.text()),
            _ => {
                self.says_article |= has_word(node, "itemprop", &["articleBody"]);
                self.entries += usize::from(has_word(node, "class", &["hentry", "h-entry"]));
                if let Some(kind) = node.attr("itemtype") {
                    let kind = kind.rsplit('/').next().unwrap_or_default();
                    self.blogs += usize::from(kind == "Blog");
                    self.schema(kind);
                }
            }
        }
    }

    /// Whether the page is an article.
    pub(super) fn is_article(&self) -> bool {
        !self.says_otherwise && self.blogs < 2 && (self.says_article || self.entries == 1)
    }

    fn meta(&mut self, node: &NodeRef<'_>) {
        let named = attribute(node, "property").or_else(|| attribute(node, "name")).unwrap_or_default();
        let content = attribute(node, "content").unwrap_or_default().to_ascii_lowercase();
        match named.to_ascii_lowercase().as_str() {
            "og:type" if content == "article" => self.says_article = true,
            "og:type" if content.starts_with("product") => self.says_otherwise = true,
            "generator" if MANY_TEXTS.iter().any(|program| content.contains(program)) => {
                self.says_otherwise = true;
            }
            _ => {}
        }
    }

    fn json_ld(&mut self, text: &str) {
        if text.len() > MAX_JSON_LD_BYTES {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            // Line ends within strings are common. The first type is that of the whole.
            let mut quoted = text.split_once("\"@type\"").map_or("", |(_, rest)| rest).split('"');
            self.schema(quoted.nth(1).unwrap_or_default());
            return;
        };
        let things = match &value {
            Value::Array(things) => things.as_slice(),
            Value::Object(thing) => match thing.get("@graph") {
                Some(Value::Array(things)) => things.as_slice(),
                _ => std::slice::from_ref(&value),
            },
            _ => &[],
        };
        for thing in things {
            match thing.get("@type") {
                Some(Value::String(kind)) => self.schema(kind),
                Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).for_each(|kind| self.schema(kind)),
                _ => {}
            }
        }
    }

    fn schema(&mut self, kind: &str) {
        self.says_article |= ARTICLES.contains(&kind);
        self.says_otherwise |= COLLECTIONS.contains(&kind);
    }
}
