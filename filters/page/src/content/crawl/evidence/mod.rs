//! What shows that a link leads to a document. A link is followed only if something does: a verb can be spelled in too
//! many ways, and a console that starts or deletes something on a GET looks like any other page.
//!
//! - A page that came from a file leads to other files. Its links with the ending of a document are followed; links to
//!   folders and names without an ending need one more sign, because a file can also be the front page of a program:
//!   outside the page's own folder they are a guess, and guesses end when they prove wrong.
//! - A page that a program made, and that names its own address for search engines (`rel=canonical`, with Open Graph,
//!   JSON-LD or the like), leads to pages whose addresses have the same shape.
//! - A page of a book (`rel=next` or `rel=prev` in its head) leads to the `.html` pages beside and below it, also where a
//!   program made it: some servers of files do not say when a file changed.
//! - A listing of a folder's files leads to the documents and folders in it.
//! - Of each kind one link is tried first, and none that looks like a control or is called like an act. Its answer has to
//!   show that it is a document (`Found::is_document`), else no other of the kind is followed.
//! - Every other page leads nowhere. What the site lists is read all the same: sitemaps, feeds, llms.txt.

mod shape;

use std::collections::HashSet;

use super::{acts, guess::Guess, static_file::Served};

/// Endings of documents, in small letters.
const DOCUMENTS: [&str; 5] = ["html", "htm", "xhtml", "md", "markdown"];
/// Names of parameters that turn pages.
const PAGES: [&str; 3] = ["page", "paged", "pg"];

/// What is known of a page that has links.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// Path and query of the page.
    pub(super) at: &'a str,
    pub(super) served: Served,
    pub(super) is_markdown: bool,
    /// It names its generator, or describes itself to search engines.
    pub(super) is_declared: bool,
    /// It names the address under which it is to be known, here or elsewhere.
    pub(super) has_canonical: bool,
    /// A server of files made it, of the names of the files in a folder.
    pub(super) is_listing: bool,
    /// The pages before and after it, by its own word.
    pub(super) sequence: &'a [String],
    /// Links that look like controls: their text is the same as that of others, or they look like buttons.
    pub(super) controls: &'a HashSet<String>,
    /// The page's own address, as path and query, if it is here.
    pub(super) canonical: Option<&'a str>,
}

/// How much speaks for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speaks {
    Nothing,
    /// Its own ending, in a book: no word of its name may be one of an act.
    Written,
    /// Its shape: it must not be called like an act, nor like what could be one.
    Shape,
    /// A file, which is perhaps the front page of a program: it must not say plainly that it acts, and is asked for on a
    /// guess (see `Books::may_guess`).
    Guess,
    /// The operator, or a page before it: it must not be called like an act.
    Place,
    /// A file, and its own ending: it must not say plainly that it acts.
    Ending,
    /// It is a file of the same folder or tree: whatever it is called, it is a document.
    Tree,
}

impl Evidence<'_> {
    /// What speaks for following a link of this page. `is_relative`: it is written relative to the page.
    pub(super) fn speaks_for(&self, link: &str, is_relative: bool) -> Speaks {
        let (path, query) = link.split_once('?').map_or((link, None), |(path, query)| (path, Some(query)));
        match (self.served, query) {
            (Served::Personal, _) => Speaks::Nothing,
            (_, None) if self.is_listing && is_relative && path.starts_with(folder_of(self.at)) => match path {
                file if is_written(file) => Speaks::Tree,
                folder if folder.ends_with('/') => Speaks::Place,
                _ => Speaks::Nothing,
            },
            (_, Some(query)) if turns_pages(query) && self.is_document() && self.is_next(link, path) => Speaks::Place,
            (Served::File { in_parts }, None) => self.link_of_file(path, in_parts, is_relative),
            (Served::Made, None) if self.is_markdown && is_written(path) => Speaks::Shape,
            (Served::Made, None) if self.is_in_book() && is_written(path) && self.is_near(path) => Speaks::Written,
            (Served::Made, _) if self.has_shape_of_own(link) => Speaks::Shape,
            _ => Speaks::Nothing,
        }
    }

    /// What a link is taken for that only this page speaks for; `None`: the operator or the page's own sequence speaks for
    /// it.
    pub(super) fn guess(&self, link: &str, speaks: Speaks) -> Option<Guess> {
        match speaks {
            Speaks::Nothing => None,
            Speaks::Place if self.is_listing && !link.contains('?') => Some(Guess::Folder),
            Speaks::Place => None,
            Speaks::Written => Some(Guess::Book),
            Speaks::Shape if !self.is_markdown => Some(Guess::Shape),
            Speaks::Shape | Speaks::Guess | Speaks::Ending | Speaks::Tree => {
                Some(if is_written(link) { Guess::Document } else { Guess::Folder })
            }
        }
    }

    /// Whether the path of a link is that of the page, where the operator lets queries be followed.
    pub(super) fn is_own_path(&self, link: &str) -> bool {
        let path = |target: &str| target.split('?').next().unwrap_or_default().to_owned();
        self.served != Served::Personal && path(link) == path(self.at)
    }

    /// A page that is published itself: its next page is too.
    fn is_document(&self) -> bool {
        matches!(self.served, Served::File { .. }) || self.is_declared && self.canonical.is_some()
    }

    /// Manuals name the page before and the one after in their heads.
    fn is_in_book(&self) -> bool {
        !self.sequence.is_empty()
    }

    fn is_next(&self, link: &str, path: &str) -> bool {
        self.at.split('?').next() == Some(path) || self.sequence.iter().any(|next| next == link)
    }

    fn link_of_file(&self, path: &str, in_parts: bool, is_relative: bool) -> Speaks {
        let is_declared = self.is_declared || self.has_canonical;
        if is_written(path) {
            return if self.is_near(path) { Speaks::Tree } else { Speaks::Ending };
        }
        let is_near = top_of(self.at).is_some_and(|top| top_of(path) == Some(top));
        let is_folder = path.ends_with('/');
        match (is_folder, is_near) {
            (true, true) => Speaks::Tree,
            (false, true) if in_parts && is_declared => Speaks::Tree,
            (_, false) if is_declared && (in_parts || is_folder) => Speaks::Guess,
            (true, false) if is_relative => Speaks::Guess,
            _ => Speaks::Nothing,
        }
    }

    /// Whether a path lies below the page's folder, or in the same top folder.
    fn is_near(&self, path: &str) -> bool {
        path.starts_with(folder_of(self.at)) || top_of(path).is_some_and(|top| top_of(self.at) == Some(top))
    }

    /// Whether a link looks like the address that the page itself is known by.
    fn has_shape_of_own(&self, link: &str) -> bool {
        self.is_declared && self.canonical.is_some_and(|canonical| shape::is_alike(canonical, link))
    }
}

/// Whether a link may be followed for what speaks for it, as far as its words tell.
pub(super) fn may_be_followed(link: &str, speaks: Speaks) -> bool {
    match speaks {
        Speaks::Nothing => false,
        Speaks::Written => !acts::has_word_of_act(link),
        Speaks::Shape => !acts::is_called_like_act(link) && !acts::is_doubtful(link),
        Speaks::Place => !acts::is_called_like_act(link),
        Speaks::Guess | Speaks::Ending => !acts::acts(link),
        Speaks::Tree => true,
    }
}

/// `page=2` and nothing else.
fn turns_pages(query: &str) -> bool {
    query.split_once('=').is_some_and(|(name, value)| PAGES.contains(&name) && shape::is_number(value))
}

/// Whether a path has the ending of a document.
pub(super) fn is_written(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(before, ending)| !before.is_empty() && DOCUMENTS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// The folder in which a page lies: `/docs/` of `/docs/a.html`.
fn folder_of(target: &str) -> &str {
    let path = target.split('?').next().unwrap_or_default();
    path.rfind('/').map_or("/", |end| &path[..=end])
}

/// The first folder of a path: `docs` of `/docs/a/`. `None` where it lies in none.
fn top_of(target: &str) -> Option<&str> {
    folder_of(target).split('/').nth(1).filter(|top| !top.is_empty())
}

#[cfg(test)]
mod tests;
