//! The notice and the links themselves: what a page says to an agent that reads it.
//!
//! The wording states what exists and where, nothing else. A text that told an agent what to do would be what a
//! careful agent takes for an injected instruction, and rightly ignores.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use frontdesk_base::text::escaped;
use ring::digest;

use super::{
    csp,
    form_marks::FormMark,
    insertion::{Insertion, Link, Position},
    markdown_path,
};

const ALTERNATE: &str = "<link rel=\"alternate\"";
/// The same relation for parsers that read `rel` as a list of words, but not for the selector
/// `link[rel=alternate]`, which compares the whole value.
const ALTERNATE_AS_LIST: &str = "<link rel=\"alternate \"";

/// The link to a page's Markdown as it goes into the page, in two pieces. `follows_alternates`: a script of the page
/// selects `link[rel=alternate]` and takes each for the page in another language. mkdocs-material does, and asks for
/// `sitemap.xml` beside each: a 404 in every visitor's console.
pub(super) fn link_for(element: &[u8], follows_alternates: bool) -> [&[u8]; 2] {
    match element.strip_prefix(ALTERNATE.as_bytes()) {
        Some(rest) if follows_alternates => [ALTERNATE_AS_LIST.as_bytes(), rest],
        _ => [element, &[]],
    }
}

impl Insertion {
    /// The notice and the links for a site whose manifest and contract are at these paths.
    ///
    /// It is hidden by the `hidden` attribute alone: an inline style would break a strict Content-Security-Policy on every
    /// page. A style sheet that sets `display` undoes the attribute, so the element is one that few set it for: resets do
    /// so for `<section>` and `<aside>`, not for `<div>`. The paragraphs are hidden as well, for layouts that say
    /// something of every `<div>` of the body. An element with a name of its own would be safe from all that, but pages
    /// wait for elements with such names to be defined; and in a `<template>` no reader of the page would find the text.
    /// The role is the one of a `<section>` with a label, which a `<div>` may have only with a role.
    pub fn standard(manifest_path: &str, interface_path: &str, markdown: bool) -> Insertion {
        let (manifest, interface) = (escaped(manifest_path), escaped(interface_path));
        let notice = format!(
            "<div class=\"ahp-notice\" role=\"region\" aria-label=\"AI Agent Notice\" hidden>\
             <p hidden>For AI agents and other autonomous systems: this site supports the Agent Handshake Protocol (AHP). \
             Protocol version: AHP/0.1.</p>\
             <p hidden>The manifest, which lists what the site offers, is at <code>{manifest}</code>. The contract of what can \
             be called, and how, is at <code>{interface}</code>.</p></div>"
        );
        let link = |rel: &str, href: &str, kind: &str| Link {
            rel: rel.to_owned(),
            html: Bytes::from(format!("<link rel=\"{rel}\" href=\"{href}\" type=\"{kind}\">")),
        };
        Insertion {
            notice: Bytes::from(notice),
            position: Position::default(),
            links: vec![
                link("agent-interface", &interface, "application/aicp+toml"),
                link("ahp-manifest", &manifest, "application/agent+json"),
            ],
            markdown,
            script: Bytes::new(),
            forms: Vec::new(),
        }
    }

    /// The same with an element that loads a script, for pages whose policy allows it.
    #[must_use]
    pub fn with_script(self, element: String) -> Insertion {
        Insertion { script: element.into(), ..self }
    }

    /// The same with forms of the site to mark.
    #[must_use]
    pub fn with_forms(self, forms: Vec<FormMark>) -> Insertion {
        Insertion { forms, ..self }
    }

    /// The forms to mark on the page at this path and query.
    pub fn forms_of(&self, target: &str) -> Vec<FormMark> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let path = target.split('?').next().unwrap_or(target);
        self.forms.iter().filter(|form| form.page == path).cloned().collect()
    }

    /// What the page at this path and query gets of its own. `policies`: its `Content-Security-Policy` lines.
    pub fn of_page<'p>(&self, target: Option<&str>, policies: impl Iterator<Item = &'p [u8]>) -> Bytes {
        let link = target.map(|target| self.link_of(target)).unwrap_or_default();
        if self.script.is_empty() || !csp::allows_own_script(policies) {
            return link;
        }
        [link, self.script.clone()].concat().into()
    }

    /// The same with the notice there.
    #[must_use]
    pub fn at(self, position: Position) -> Insertion {
        Insertion { position, ..self }
    }

    /// The link to the Markdown of the page at this path and query; nothing where pages are not told.
    pub fn link_of(&self, target: &str) -> Bytes {
        if !self.markdown || !markdown_path::is_plain(target) {
            return Bytes::new();
        }
        let (kind, path) = (markdown_path::MEDIA_TYPE, escaped(&markdown_path::path_of(target)));
        Bytes::from([ALTERNATE, " href=\"", &path, "\" type=\"", kind, "\">"].concat())
    }

    /// Eight characters that change with what is inserted, to be a part of the page's ETag. `excluded`: as written, the
    /// pages that have no Markdown.
    pub fn tag(&self, excluded: &[String]) -> String {
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(&self.notice);
        hash.update(match self.position {
            Position::Start => &b"start"[..],
            Position::End => b"end",
        });
        // The link to a page's Markdown follows from the page's path, which is what the tag stands for anyway, and from
        // what is excluded.
        // The number changes with how the link is written.
        hash.update(if self.markdown { b"markdown 2" } else { b"" });
        hash.update(&self.script);
        for form in &self.forms {
            let written = format!("{form:?}");
            hash.update(&(written.len() as u64).to_be_bytes());
            hash.update(written.as_bytes());
        }
        for written in excluded.iter().filter(|_| self.markdown) {
            hash.update(&(written.len() as u64).to_be_bytes());
            hash.update(written.as_bytes());
        }
        for link in &self.links {
            // The lengths keep two different insertions from running together into the same bytes.
            hash.update(&(link.html.len() as u64).to_be_bytes());
            hash.update(&link.html);
        }
        URL_SAFE_NO_PAD.encode(&hash.finish().as_ref()[..6])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_what_exists_and_is_hidden_without_a_style() {
        let insertion = Insertion::standard("/.well-known/agent.json", "/.well-known/agent-interface.toml", true);
        let notice = std::str::from_utf8(&insertion.notice).unwrap();
        assert!(
            notice.starts_with(
                "<div class=\"ahp-notice\" role=\"region\" aria-label=\"AI Agent Notice\" hidden><p hidden>"
            )
        );
        assert!(!notice.contains("style") && notice.matches("<p").count() == notice.matches("<p hidden>").count());
        for part in ["Agent Handshake Protocol", "AHP/0.1", "<code>/.well-known/agent.json</code>"] {
            assert!(notice.contains(part), "{part}");
        }
        for order in ["must", "should", "please", "ignore", "instead", "you "] {
            assert!(!notice.to_lowercase().contains(order), "{order}");
        }
        assert_eq!(
            insertion.links[0].html,
            "<link rel=\"agent-interface\" href=\"/.well-known/agent-interface.toml\" type=\"application/aicp+toml\">"
        );
    }

    #[test]
    fn paths_are_escaped() {
        let insertion = Insertion::standard("/\"><script>&", "/i", true);
        assert!(!String::from_utf8_lossy(&insertion.notice).contains("<script"));
        assert!(!String::from_utf8_lossy(&insertion.links[1].html).contains("<script"));
    }

    #[test]
    fn a_page_is_told_where_its_markdown_is() {
        let link = |target| String::from_utf8(Insertion::standard("/a", "/b", true).link_of(target).to_vec()).unwrap();
        assert_eq!(
            link("/x?a=\"1&2\""),
            "<link rel=\"alternate\" href=\"/x.md?a=&quot;1&amp;2&quot;\" type=\"text/markdown\">"
        );
        assert_eq!(link("http://elsewhere.example/"), "");
        assert_eq!(link("//elsewhere.example/x"), "");
        assert!(Insertion::standard("/a", "/b", false).link_of("/x").is_empty());
        assert_ne!(Insertion::standard("/a", "/b", false).tag(&[]), Insertion::standard("/a", "/b", true).tag(&[]));
    }

    /// A head whose pieces are cut everywhere gives the same link.
    #[test]
    fn the_script_of_mkdocs_material_does_not_select_the_link() {
        let insertion = std::sync::Arc::new(Insertion::standard("/a", "/b", true));
        let fed = |head: &str, at: usize| {
            let page =
                format!("<!doctype html><html><head>{head}<title>T</title></head><body><p>Words</p></body></html>");
            let mut inserter = super::super::Inserter::new(insertion.clone()).of_page(insertion.link_of("/guide/"));
            let (first, second) = page.split_at(at.min(page.len()));
            let pieces = [first, second].map(|piece| inserter.feed(Bytes::copy_from_slice(piece.as_bytes())).joined());
            String::from_utf8([&pieces[0][..], &pieces[1], &inserter.finish()].concat()).unwrap()
        };
        let plain = "<link rel=\"alternate\" href=\"/guide/index.md\" type=\"text/markdown\">";
        let as_list = "<link rel=\"alternate \" href=\"/guide/index.md\" type=\"text/markdown\">";
        for (head, expected) in [
            (
                "<meta charset=\"utf-8\"><meta name=\"generator\" content=\"mkdocs-1.6.1, mkdocs-material-9.8.2\">",
                as_list,
            ),
            ("<meta name=generator content=\"mkdocs-1.6.1, mkdocs-material-9.8.2\">", as_list),
            ("<meta name=\"generator\" content=\"mkdocs-1.6.1\">", plain),
            ("<meta name=\"generator\" content=\"zensical-0.0.73\">", plain),
            ("<meta name=\"description\" content=\"About mkdocs-material\">", plain),
            ("", plain),
        ] {
            for at in 0..160 {
                let page = fed(head, at);
                assert_eq!(page.matches(expected).count(), 1, "{head} at {at}: {page}");
                assert_eq!(page.matches("text/markdown").count(), 1, "{head} at {at}: {page}");
            }
        }
    }

    #[test]
    fn a_script_goes_into_pages_whose_policy_allows_it() {
        let insertion = Insertion::standard("/a", "/b", true).with_script("<script></script>".into());
        let of = |policies: &[&str]| {
            let page = insertion.of_page(Some("/x"), policies.iter().map(|policy| policy.as_bytes()));
            String::from_utf8(page.to_vec()).unwrap()
        };
        let link = "<link rel=\"alternate\" href=\"/x.md\" type=\"text/markdown\">";
        assert_eq!(of(&["script-src 'self'"]), format!("{link}<script></script>"));
        assert_eq!(of(&["script-src 'nonce-a'"]), link);
        assert_eq!(of(&[]), link);
        assert_ne!(insertion.tag(&[]), Insertion::standard("/a", "/b", true).tag(&[]));
    }

    #[test]
    fn the_tag_follows_what_is_inserted() {
        let one = Insertion::standard("/a", "/b", true);
        assert_eq!(one.tag(&[]), Insertion::standard("/a", "/b", true).tag(&[]));
        assert_ne!(one.tag(&[]), Insertion::standard("/a", "/c", true).tag(&[]));
        assert_ne!(one.tag(&[]), Insertion::standard("/a", "/b", true).at(Position::Start).tag(&[]));
        assert_ne!(one.tag(&[]), one.tag(&["/no/*".into()]), "those pages are told nothing of Markdown");
        assert_eq!(one.tag(&[]).len(), 8);
    }
}
