//! What the pages that an import read say of the site itself: its name, and which of them are there to be read.

use super::form::Found;

/// Between the name of a page and that of its site.
const BETWEEN: [&str; 8] = [" - ", " – ", " — ", " | ", " · ", " • ", " » ", " :: "];
/// The most pages that are named.
const MOST_NAMED: usize = 12;

/// Titles and paths of the pages that were read, in this order.
#[derive(Default)]
pub(super) struct Pages {
    titles: Vec<String>,
    /// Without those that have a query.
    paths: Vec<String>,
}

impl Pages {
    pub(super) fn note(&mut self, target: &str, title: Option<String>) {
        self.titles.extend(title.filter(|title| !title.is_empty()));
        if target != "/" && !target.contains('?') && !self.paths.iter().any(|known| known == target) {
            self.paths.push(target.to_owned());
        }
    }

    /// The site's name, and whether it is certain: what the titles of its pages share. A title alone may as well be that of
    /// the start page.
    pub(super) fn name(&self) -> Option<(String, bool)> {
        let first = self.titles.first()?;
        let mut others = self.titles.iter().filter(|title| *title != first).peekable();
        if others.peek().is_none() {
            return Some((first.clone(), false));
        }
        let others: Vec<Vec<&str>> = others.map(|title| parts(title)).collect();
        let is_shared = |part: &&str| others.iter().all(|other| other.contains(part));
        let shared = parts(first).into_iter().find(is_shared);
        Some(shared.map_or_else(|| (first.clone(), false), |name| (name.to_owned(), true)))
    }

    /// The paths of pages on which no form that acts was found.
    pub(super) fn without_forms<'a>(&'a self, found: &'a [Found]) -> impl Iterator<Item = &'a String> {
        let acts =
            move |path: &String| found.iter().any(|found| found.method == "POST" && found.page.as_ref() == Some(path));
        self.paths.iter().filter(move |path| !acts(path)).take(MOST_NAMED)
    }
}

fn parts(title: &str) -> Vec<&str> {
    BETWEEN.iter().fold(vec![title], |parts, between| parts.into_iter().flat_map(|part| part.split(between)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(titles: &[&str]) -> Option<(String, bool)> {
        let mut pages = Pages::default();
        titles.iter().for_each(|title| pages.note("/", Some((*title).to_owned())));
        pages.name()
    }

    #[test]
    fn a_site_is_called_by_what_the_titles_of_its_pages_share() {
        let certain = |name: &str| Some((name.to_owned(), true));
        assert_eq!(named(&["Welcome - Green Corner", "Plants - Green Corner"]), certain("Green Corner"));
        assert_eq!(named(&["Acme | Start | en", "Acme | Jobs"]), certain("Acme"));
        assert_eq!(named(&["Acme", "Jobs – Acme"]), certain("Acme"));
        let guess = |name: &str| Some((name.to_owned(), false));
        assert_eq!(named(&["Welcome - Green Corner", "Welcome - Green Corner"]), guess("Welcome - Green Corner"));
        assert_eq!(named(&["Start", "Jobs"]), guess("Start"));
        assert_eq!(named(&[]), None);
    }
}
