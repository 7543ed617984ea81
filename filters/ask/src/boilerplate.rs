//! What is no passage: lists of links, what stands on most pages of the site, requests to accept cookies.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher,
};

use foldhash::fast::FixedState;

use super::{
    markdown::{self, Kind},
    passage::{Form, Part},
    plain,
};

/// From so many links on, in percent of its text, a passage leads to answers and is none.
const LINKED: u8 = 65;
/// The index of a book: the least share of links in its text, in percent, the least number of links, and the most other bytes
/// for each.
const INDEXED: u8 = 40;
const ENTRIES: usize = 4;
const BESIDE: usize = 24;
/// What stands on so many pages, and on one page in so many, belongs to the site and not to the page.
const PAGES: usize = 5;
const SHARE: usize = 3;
/// Shorter blocks, in bytes, may stand on many pages: "Yes."
const SHORT: usize = 24;
/// A request to accept cookies is no longer than this, in bytes.
const BANNER: usize = 900;
const CONSENT: [&str; 10] =
    ["accept", "consent", "agree", "zustimm", "akzeptier", "accepte", "aceptar", "accetta", "aceitar", "akkoord"];

/// The blocks that stand on most pages of a site, by their hashes, which are the same in every process.
#[derive(Default)]
pub(super) struct Repeated {
    hasher: FixedState,
    pub(super) blocks: HashSet<u64>,
}

impl Repeated {
    /// Those of these hashes.
    pub(super) fn of_hashes(blocks: HashSet<u64>) -> Self {
        Self { hasher: FixedState::default(), blocks }
    }

    /// Reads the pages of a site.
    pub(super) fn of<'a>(pages: impl ExactSizeIterator<Item = &'a str>) -> Self {
        let (hasher, total) = (FixedState::default(), pages.len());
        if total < PAGES {
            return Self { hasher, blocks: HashSet::new() };
        }
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for markdown in pages {
            let mut seen = HashSet::new();
            for block in markdown::blocks(markdown) {
                let text = markdown[block.range].trim();
                let counted = !matches!(block.kind, Kind::Heading(_)) && text.len() >= SHORT;
                if counted && seen.insert(hasher.hash_one(text)) {
                    *counts.entry(hasher.hash_one(text)).or_default() += 1;
                }
            }
        }
        let often = |count: u32| count as usize >= PAGES && count as usize * SHARE >= total;
        let blocks = counts.into_iter().filter(|(_, count)| often(*count)).map(|(hash, _)| hash).collect();
        Self { hasher, blocks }
    }

    /// Does this block stand on most pages?
    pub(super) fn has(&self, text: &str) -> bool {
        let text = text.trim();
        text.len() >= SHORT && self.blocks.contains(&self.hasher.hash_one(text))
    }
}

/// Is a passage no answer to anything?
pub(super) fn is_no_answer(markdown: &str, part: &Part, headings: &[String]) -> bool {
    let text = &markdown[part.range.clone()];
    if !matches!(part.form, Form::Code | Form::WithinCode) && (part.linked >= LINKED || is_index(text, part.linked)) {
        return true;
    }
    asks_for_consent(text) && !headings.iter().any(|heading| is_about_cookies(heading))
        || plain::text(text).0.chars().filter(|c| c.is_alphanumeric()).count() < 2
}

/// Is it terms with the places where they are explained: "keys: Section 8.1, Section 8.2"?
fn is_index(text: &str, linked: u8) -> bool {
    let links = text.matches("](").count();
    if linked < INDEXED || links < ENTRIES {
        return false;
    }
    let size = plain::text(text).0.len();
    size - size * usize::from(linked.min(100)) / 100 <= BESIDE * links
}

fn asks_for_consent(text: &str) -> bool {
    if text.len() > BANNER {
        return false;
    }
    let text = text.to_lowercase();
    text.contains("cookie") && CONSENT.iter().any(|word| text.contains(word))
}

fn is_about_cookies(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    ["cookie", "privacy", "datenschutz", "confidentialité", "privacidad"].iter().any(|word| heading.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passage;

    fn answers(markdown: &str) -> usize {
        let sections = passage::cut(markdown, |_| false);
        let parts = sections.iter().flat_map(|section| section.parts.iter().map(move |part| (part, &section.path)));
        parts.filter(|(part, path)| !is_no_answer(markdown, part, path)).count()
    }

    #[test]
    fn contents_and_banners_are_no_answers() {
        assert_eq!(answers("# Contents\n\n- [One thing](/1)\n- [Another thing](/2)\n"), 0);
        assert_eq!(answers("We use cookies. [Accept all](/c) or choose which you consent to.\n"), 0);
        let index = "keys: [Section 8.1](/8#1), [Section 8.2](/8#2)\n\nlines: [Section 3.1](/3#1)\n\nports: [3.5](/3#5), [4.26](/4#26)\n";
        assert_eq!(answers(&format!("# Index\n\n{index}")), 0);
        assert_eq!(answers("# Cookies\n\nWe set one cookie. You need not accept it.\n"), 1);
        assert_eq!(answers("# Prices\n\nA ticket costs 24 EUR, see [the list](/l).\n"), 1);
    }

    #[test]
    fn what_stands_on_most_pages_belongs_to_none() {
        let pages: Vec<String> = (0..9)
            .map(|n| format!("# Page {n}\n\nCall us from Monday to Friday.\n\nText of page number {n} alone.\n"))
            .collect();
        let repeated = Repeated::of(pages.iter().map(String::as_str));
        assert!(repeated.has("Call us from Monday to Friday."));
        assert!(!repeated.has("Text of page number 3 alone."));
        assert!(!Repeated::of(pages[..3].iter().map(String::as_str)).has("Call us from Monday to Friday."));
    }
}
