//! Software that is recognised by its pages and has a public JSON API: its declaration comes from a data file,
//! `software.toml`.

use std::sync::LazyLock;

use frontdesk_page::content::{
    crawl::may_act,
    css::{self, Css, Element},
};
use serde_json::Value;
use url::{Position, Url};

/// One entry of the data file, which says what each field means.
#[derive(Debug, Default)]
pub(super) struct Software {
    pub(super) name: String,
    mark: String,
    root: String,
    root_ends: String,
    probe: String,
    shows: String,
    /// Its own search replaces the search forms that the pages have.
    pub(super) is_search: bool,
    declaration: String,
}

static KNOWN: LazyLock<Vec<Software>> = LazyLock::new(|| {
    let file: toml::Table = include_str!("software.toml").parse().unwrap_or_default();
    let entries = file.get("software").and_then(toml::Value::as_array);
    entries.into_iter().flatten().map(Software::of_entry).collect()
});

/// An API that a page points to. Nothing has shown yet that it answers.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) software: &'static Software,
    /// The path of the API, with a query where the software has it there.
    root: String,
}

/// The software that a page is of.
pub(super) fn recognise(page: &Element<'_>, base: &Url, site: &Url) -> Vec<Candidate> {
    let is_of = |software: &&Software| Css::parse(&software.mark).is_ok_and(|css| css.first(page).is_some());
    KNOWN
        .iter()
        .filter(is_of)
        .filter_map(|software| Some(Candidate { root: software.root_on(page, base, site)?, software }))
        .collect()
}

impl Software {
    fn of_entry(entry: &toml::Value) -> Self {
        let text = |key| entry.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            mark: text("mark"),
            root: text("root"),
            root_ends: text("root_ends"),
            probe: text("probe"),
            shows: text("shows"),
            is_search: entry.get("is_search").and_then(toml::Value::as_bool).unwrap_or_default(),
            declaration: text("declaration"),
        }
    }

    /// Where its API is, by a page of the site.
    fn root_on(&self, page: &Element<'_>, base: &Url, site: &Url) -> Option<String> {
        let Some((selector, attribute)) = self.root.split_once(" @") else { return Some("/".to_owned()) };
        let href = css::attribute(&Css::parse(selector).ok()?.first(page)?, attribute)?;
        let url = base.join(&href).ok()?;
        if (url.host_str(), url.port_or_known_default()) != (site.host_str(), site.port_or_known_default()) {
            return None;
        }
        let whole = &url[Position::BeforePath..Position::AfterQuery];
        let end = whole.find(&self.root_ends)? + self.root_ends.len();
        let root = if self.root_ends.is_empty() { whole } else { &whole[..end] };
        // It is asked for and becomes part of a file: a plain path of the site that does not act, and WordPress's query.
        let path = root.strip_suffix("?rest_route=/").unwrap_or(root);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_.~-".contains(c);
        let is_fit = path.chars().all(is_plain) && !path.starts_with("//") && !may_act(path);
        is_fit.then(|| root.to_owned())
    }
}

impl Candidate {
    /// The address that shows whether the API answers: path and query.
    pub(super) fn probe(&self) -> String {
        format!("{}{}", self.root, self.software.probe)
    }

    /// Whether this is the answer of its API to the probe.
    pub(super) fn is_shown_by(&self, answer: &[u8]) -> bool {
        let shown = |value: &Value| match self.software.shows.as_str() {
            "" => value.is_array(),
            pointer => value.pointer(pointer).is_some_and(|found| !found.is_null()),
        };
        serde_json::from_slice(answer).is_ok_and(|value| shown(&value))
    }

    /// Its capabilities, in TOML.
    pub(super) fn declaration(&self) -> String {
        let and = if self.root.contains('?') { "&" } else { "?" };
        self.software.declaration.replace("@root@", &self.root).replace("@and@", and)
    }

    /// The ids of them.
    pub(super) fn ids(&self) -> Vec<String> {
        let ids = self.software.declaration.lines().filter_map(|line| line.strip_prefix("id = \""));
        ids.map(|id| id.trim_end_matches('"').to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use frontdesk_page::content::css::Tree;

    use super::*;

    fn on(html: &str) -> Vec<Candidate> {
        let site = Url::parse("http://shop.example:8080/blog/").unwrap();
        recognise(&Tree::parse(html).unwrap().root(), &site, &site)
    }

    #[test]
    fn software_is_recognised_and_its_api_found() {
        assert!(KNOWN.len() >= 7, "the data file is read");
        let found = on("<link rel='https://api.w.org/' href='http://shop.example:8080/wp-json/'>");
        let names: Vec<_> = found.iter().map(|candidate| candidate.software.name.as_str()).collect();
        assert_eq!(names, ["WordPress", "WooCommerce"]);
        assert_eq!(found[0].probe(), "/wp-json/wp/v2/types");
        let plain = on("<link rel='https://api.w.org/' href='/index.php?rest_route=/'>");
        assert_eq!(plain[0].probe(), "/index.php?rest_route=/wp/v2/types");
        assert!(plain[0].declaration().contains("\"/index.php?rest_route=/wp/v2/posts/{id}&_fields="));
        let wiki = on("<link rel=EditURI type=application/rsd+xml href='//shop.example:8080/w/api.php?action=rsd'>");
        assert_eq!(wiki[0].probe(), "/w/api.php?action=query&meta=siteinfo&format=json&formatversion=2");
        assert!(wiki[0].declaration().contains("\"/w/api.php?action=query&list=search"));
        assert_eq!(on("<meta name=Generator content='Drupal 10 (https://www.drupal.org)'>").len(), 1);
    }

    #[test]
    fn an_api_elsewhere_or_with_an_odd_path_is_not_taken() {
        assert!(on("<link rel='https://api.w.org/' href='https://elsewhere.example/wp-json/'>").is_empty());
        assert!(on("<link rel='https://api.w.org/' href='http://shop.example/wp-json/'>").is_empty());
        assert!(on("<link rel='https://api.w.org/' href='/wp\"%0a[auth]/'>").is_empty());
        for odd in ["/{id}/", "/.//127.0.0.1:1/wp-json/", "/account/delete/", "/x/?all=1&x=", "/x/?rest_route=/&a=/"] {
            assert!(on(&format!("<link rel='https://api.w.org/' href='{odd}'>")).is_empty(), "{odd}");
        }
        assert!(on("<p>Powered by WordPress").is_empty());
    }

    #[test]
    fn only_its_own_answer_shows_it() {
        let found = on("<link rel='https://api.w.org/' href='/wp-json/'>");
        assert!(found[0].is_shown_by(br#"{"post":{"slug":"post"}}"#));
        assert!(!found[0].is_shown_by(br#"{"code":"rest_disabled"}"#) && !found[0].is_shown_by(b"<html>"));
        assert!(found[1].is_shown_by(b"[]") && !found[1].is_shown_by(br#"{"code":"rest_no_route"}"#));
    }
}
