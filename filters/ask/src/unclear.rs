//! When a question has several answers: what is asked back, and what the visitor's choice means.
//!
//! Two signs, both of the site's own making. Pages laid out alike have a section of the same name each ("When to go"),
//! and the question names the section but no page. Or the best passages of different pages hold the same part of the
//! question, within a tenth of each other, and say different things.

use std::collections::HashSet;

use super::{
    Answer, Library, Question,
    asked::{Asked, Part},
    index::{Entry, Index},
    passage::HEADING,
    plain,
    reading::Read,
    search::{FOUND, Ranked},
};
use frontdesk_base::text::clip;

/// The most options offered. A caller who means another page can name it.
pub(super) const OPTIONS: usize = 5;
/// Pages that are counted, and can be named; of more it is said that there are more.
const MOST_MEANT: usize = 50;
/// Passages looked at.
const LOOKED_AT: usize = 48;
/// How near another page has to come to be as good.
const WITHIN: f32 = 0.9;
/// How much of what the best passage holds of the question a section of the same name has to hold.
const ALIKE: f32 = 0.6;
/// Characters of what somebody chose that are compared with the options.
const LONGEST_CHOICE: usize = 1024;
/// Sentences that share so many of their stems say the same.
const AGREEING: f32 = 0.5;

/// The passages that are meant, one a page, if it cannot be told which: the best first.
pub(super) fn candidates(index: &Index, read: &Read) -> Option<Vec<Ranked>> {
    let Read { asked, found, near } = read;
    let top = found.first()?;
    let meant = sections(index, asked, found, near, top);
    let meant = if meant.len() > 1 { meant } else { equals(index, asked, found, top) };
    (meant.len() > 1).then_some(meant)
}

/// Sections of the same name on pages that the question does not name.
fn sections(index: &Index, asked: &Asked, found: &[Ranked], near: &[Ranked], top: &Ranked) -> Vec<Ranked> {
    let entry = &index.entries[top.entry];
    let counting = asked.counting();
    if entry.heading_terms.is_empty() || top.headed & counting == 0 || top.titled & counting != 0 {
        return Vec::new();
    }
    let same = |other: &&Ranked| {
        index.entries[other.entry].heading_terms == entry.heading_terms && other.titled & counting == 0
    };
    let rival = |other: &Ranked| {
        other.page != top.page
            && same(&other)
            && (asked.promoted || asked.share(other.covered) >= ALIKE * asked.share(top.covered))
    };
    if !found.iter().chain(near).any(rival) {
        return Vec::new();
    }
    one_a_page(index, asked, found.iter().chain(near).filter(same))
}

/// Passages of different pages that hold the same of the question, as well as the best one.
fn equals(index: &Index, asked: &Asked, ranked: &[Ranked], top: &Ranked) -> Vec<Ranked> {
    let counting = asked.counting();
    let same = |other: &&Ranked| {
        // A question that names a page is about that one.
        let named = top.titled & counting & !other.titled == 0;
        named
            && other.score >= WITHIN * top.score
            && other.close >= WITHIN * top.close
            && top.covered & counting == other.covered & counting
    };
    one_a_page(index, asked, ranked.iter().take(LOOKED_AT).filter(same))
}

fn one_a_page<'a>(index: &Index, asked: &Asked, ranked: impl Iterator<Item = &'a Ranked>) -> Vec<Ranked> {
    let mut kept: Vec<(&Ranked, HashSet<u32>)> = Vec::new();
    for other in ranked {
        if kept.iter().any(|(known, _)| known.page == other.page) {
            continue;
        }
        let says: HashSet<u32> = best(&index.entries[other.entry], asked).iter().copied().collect();
        if kept.len() < MOST_MEANT && !kept.iter().any(|(_, said)| overlap(said, &says) >= AGREEING) {
            kept.push((other, says));
        }
    }
    kept.into_iter().map(|(ranked, _)| ranked.clone()).collect()
}

/// The stems of the sentence that holds most of the question.
fn best<'a>(entry: &'a Entry, asked: &Asked) -> &'a [u32] {
    let held = |terms: &[u32]| asked.sentence(terms);
    let best = entry.said.iter().max_by(|a, b| held(&a.terms).total_cmp(&held(&b.terms)));
    best.map_or(&[], |said| &said.terms)
}

fn overlap(a: &HashSet<u32>, b: &HashSet<u32>) -> f32 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    if either == 0 { 0.0 } else { both as f32 / either as f32 }
}

/// What an option is called: the page's title, with the section where that alone would not tell them apart.
pub(super) fn labels(index: &Index, meant: &[Ranked]) -> Vec<String> {
    let titles: Vec<&str> = meant.iter().map(|ranked| index.leaves[ranked.page as usize].title.as_str()).collect();
    let headings: Vec<&str> = meant.iter().map(|ranked| index.entries[ranked.entry].heading.as_str()).collect();
    let sections = headings.iter().any(|heading| *heading != headings[0]);
    let mut labels: Vec<String> = Vec::new();
    for ((title, heading), ranked) in titles.iter().zip(&headings).zip(meant) {
        let mut label = match sections && !heading.is_empty() && heading != title {
            true => plain::shortened(&format!("{title}: {heading}"), HEADING).to_owned(),
            false => (*title).to_owned(),
        };
        if labels.contains(&label) {
            label = plain::shortened(&format!("{label} ({})", index.leaves[ranked.page as usize].path), 2 * HEADING)
                .to_owned();
        }
        labels.push(label);
    }
    labels
}

/// What is asked back.
pub(super) fn question(index: &Index, meant: &[Ranked]) -> String {
    let heading = meant.first().map(|ranked| index.entries[ranked.entry].heading.as_str()).unwrap_or_default();
    let same = !heading.is_empty() && meant.iter().all(|ranked| index.entries[ranked.entry].heading == heading);
    let pages = match meant.len() {
        MOST_MEANT.. => format!("More than {} pages of this site", MOST_MEANT - 1),
        count => format!("{count} pages of this site"),
    };
    let said = match same {
        true => format!("{pages} have a section {}", plain::quoted(heading)),
        false => format!("{pages} answer that differently"),
    };
    match meant.len() > OPTIONS {
        true => format!("{said}. Here are {OPTIONS} of them; you can name another. Which one do you mean?"),
        false => format!("{said}. Which one do you mean?"),
    }
}

impl Library {
    /// The answer to a question that was asked back: `plain` is the question as it was, `meant` the pages that answer it,
    /// `said` what came back, and `with` the question with that.
    pub(super) fn settled(
        &self,
        question: &Question<'_>,
        said: &str,
        offered: &[String],
        (plain, with): (&Read, &Read),
        meant: &[Ranked],
    ) -> Answer {
        let labels = labels(&self.index, meant);
        let offered = if offered.is_empty() { &labels[..labels.len().min(OPTIONS)] } else { offered };
        let one = match choice(said, offered) {
            Choice::All => {
                let meant = &meant[..meant.len().min(OPTIONS)];
                return self.found(question, &plain.asked, meant, meant.len());
            }
            Choice::One(at) => labels.iter().position(|label| *label == offered[at]),
            // Pages that were not offered can be named as well.
            Choice::Free => {
                let said = plain::clean(clip(said, LONGEST_CHOICE)).to_lowercase();
                labels.iter().position(|label| label.to_lowercase() == said)
            }
        };
        let described = || self.described(said, plain, meant);
        let (one, sure) = match one {
            Some(one) => (Some(one), true),
            None => described().map_or((None, false), |(one, share)| (Some(one), share >= FOUND)),
        };
        // Words that hardly describe one of the pages may be a question of their own.
        let alone = if sure { None } else { self.alone(said, question) };
        if let Some(alone) = &alone {
            let page = alone.found.first().map(|best| best.page);
            if !meant.iter().any(|ranked| Some(ranked.page) == page) {
                // Where that is one more page of this kind, the question is answered from it.
                return match with.found.first().is_some_and(|best| Some(best.page) == page) {
                    true => self.found(question, &with.asked, &with.found, 1),
                    false => self.reply(question, alone),
                };
            }
        }
        let of_the_search = alone.and_then(|read| {
            let page = read.found.first()?.page;
            meant.iter().position(|ranked| ranked.page == page)
        });
        match one.or(of_the_search) {
            Some(one) => {
                let page = meant[one].page;
                let others = plain.found.iter().filter(|other| other.page == page && other.entry != meant[one].entry);
                let ranked: Vec<Ranked> = [&meant[one]].into_iter().chain(others).cloned().collect();
                self.found(question, &plain.asked, &ranked, 1)
            }
            // Never a guess: what was said fits none of them, or several.
            None => {
                let text = format!("{} {}.", self.unfitting(), plain::quoted(plain::shortened(said, 80)));
                Answer::Nothing { text, follow_ups: labels.into_iter().take(OPTIONS).collect() }
            }
        }
    }

    /// Which of the passages somebody means by words of their own: the one whose page has most of them, and which share of
    /// them that is.
    fn described(&self, said: &str, plain: &Read, meant: &[Ranked]) -> Option<(usize, f32)> {
        let part = Part { text: said, weight: 1.0, wanted: true };
        let asked = Asked::read(&self.index, &[part], "", plain.asked.language);
        let held = |ranked: &Ranked| {
            let entries = self.index.entries.iter().filter(|entry| entry.page == ranked.page);
            let texts =
                entries.flat_map(|entry| entry.said.iter().map(|said| &said.terms).chain([&entry.heading_terms]));
            let title = &self.index.leaves[ranked.page as usize].terms;
            asked.share(texts.chain([title]).fold(0, |bits, terms| bits | asked.share_of(terms).1))
        };
        let shares: Vec<f32> = meant.iter().map(held).collect();
        let best = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b]))?;
        let alone = shares.iter().filter(|share| **share >= shares[best]).count() == 1;
        (shares[best] > 0.0 && alone).then_some((best, shares[best]))
    }
}

/// What a visitor's choice among options means.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    One(usize),
    All,
    /// Words of the visitor's own.
    Free,
}

/// Reads a choice: an option as it was offered, its number, all of them, or words of the visitor's own.
pub(super) fn choice(said: &str, options: &[String]) -> Choice {
    const ORDER: [&[&str]; 5] = [
        &["1", "first", "erste"],
        &["2", "second", "zweite"],
        &["3", "third", "dritte"],
        &["4", "fourth", "vierte"],
        &["5", "fifth", "fünfte"],
    ];
    const ALL: [&str; 9] = ["all", "any", "both", "either", "everything", "each", "all of them", "alle", "beide"];
    let said = plain::clean(clip(said, LONGEST_CHOICE)).to_lowercase();
    if let Some(at) = options.iter().position(|option| option.to_lowercase() == said) {
        return Choice::One(at);
    }
    let bare = said.trim_start_matches("the ").trim_end_matches(" one").trim_end_matches(['.', '!', ')']);
    if ALL.contains(&bare) {
        return Choice::All;
    }
    let number = ORDER.iter().take(options.len()).position(|names| names.contains(&bare));
    number.map_or(Choice::Free, Choice::One)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_an_option_a_number_or_free() {
        let options = ["Madrid".to_owned(), "New York".to_owned()];
        assert_eq!(choice(" new  york", &options), Choice::One(1));
        assert_eq!(choice("the second one", &options), Choice::One(1));
        assert_eq!(choice("1", &options), Choice::One(0));
        assert_eq!(choice("third", &options), Choice::Free);
        assert_eq!(choice("Both", &options), Choice::All);
        assert_eq!(choice("the Spanish capital", &options), Choice::Free);
        assert_eq!(choice(&"x".repeat(1_000_000), &options), Choice::Free);
    }
}
