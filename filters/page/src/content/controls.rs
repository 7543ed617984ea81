//! Links that look like controls: a console has one for each row, all with the same text (`Start`, `Stop`), or writes them
//! as buttons. Links to documents have the titles of the documents.

use std::collections::{HashMap, HashSet};

use dom_query::NodeRef;

use super::walk::{attribute, collapsed};

/// So many links with one text are controls.
const ALIKE: usize = 3;
/// A longer text is that of a document.
const LONGEST: usize = 64;
/// How the names of buttons begin in style sheets.
const BUTTONS: [&str; 2] = ["btn", "button"];
/// Scripts on a click.
const CLICKS: [&str; 5] = ["onclick", "onmousedown", "@click", "x-on:click", "ng-click"];

/// The links of a page, by their texts.
#[derive(Debug, Default)]
pub(super) struct Controls {
    by_text: HashMap<String, HashSet<String>>,
    /// Links that are no controls: one with an image only, one letter, or a long text.
    others: HashSet<String>,
    /// Links that look like buttons.
    buttons: Vec<String>,
}

impl Controls {
    /// Notes a link that leads to `target`.
    pub(super) fn note(&mut self, link: &NodeRef<'_>, target: &str) {
        let is_clicked = CLICKS.iter().any(|name| link.has_attr(name));
        let classes = attribute(link, "class").unwrap_or_default().to_ascii_lowercase();
        let is_called = |class: &str| BUTTONS.iter().any(|button| class.starts_with(button));
        if is_clicked || classes.split_ascii_whitespace().any(is_called) {
            self.buttons.push(target.to_owned());
            return;
        }
        let text = collapsed(&link.text()).to_lowercase();
        // A number of a page, a letter of an index.
        let is_letter = text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if text.is_empty() || is_letter || text.len() > LONGEST {
            self.others.insert(target.to_owned());
        } else {
            self.by_text.entry(text).or_default().insert(target.to_owned());
        }
    }

    /// The targets to which only controls lead.
    pub(super) fn take(self) -> Vec<String> {
        let (alike, titled): (Vec<_>, Vec<_>) = self.by_text.into_values().partition(|targets| targets.len() >= ALIKE);
        let mut others = self.others;
        others.extend(titled.into_iter().flatten());
        let mut controls: Vec<String> = alike.into_iter().flatten().chain(self.buttons).collect();
        controls.retain(|target| !others.contains(target));
        controls.sort_unstable();
        controls.dedup();
        controls
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::read_marked;

    fn controls(html: &str) -> Vec<String> {
        let at = Url::parse("https://site.test/").expect("a URL");
        read_marked(&format!("<title>T</title><body><p>Words.</p>{html}"), &at, false).expect("a page").1.controls
    }

    #[test]
    fn links_with_one_text_are_controls_unless_others_name_their_targets() {
        let row = |n: usize| format!("<tr><td><a href='/{n}/on'>On</a><a href='/{n}/off'>Off</a></td></tr>");
        let table: String = (0..3).map(row).collect();
        assert_eq!(controls(&format!("<table>{table}</table>")).len(), 6);
        assert_eq!(controls(&format!("<table>{}</table>", row(1))), [""; 0], "one row");
        let post = |n: usize| format!("<h2><a href='/{n}'>Title {n}</a></h2><a href='/{n}'>Read more</a>");
        assert_eq!(controls(&(0..9).map(post).collect::<String>()), [""; 0], "titles name them");
    }

    #[test]
    fn what_looks_like_a_button_is_a_control() {
        for markup in ["class='btn btn-primary'", "class='x Button--small'", "onclick='go()'"] {
            assert_eq!(controls(&format!("<a href='/x' {markup}>Go</a>")), ["/x"], "{markup}");
        }
        assert_eq!(controls("<a href='/x' class='x-btn'>Go</a><a href='/y'>Y</a>"), [""; 0]);
        assert_eq!(controls("<a href='/x' class=btn>Go</a><a href='/x'>About X</a>"), [""; 0]);
    }
}
