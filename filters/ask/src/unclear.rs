//! When a question has several answers: what is asked back, and what the visitor's choice means.
//!
//! Two signs, both of the site's own making: pages laid out alike have a section of the same name each ("When to go"), and
//! the question names the section but no page; or the question is a name alone that several pages share. Passages that
//! merely answer as well as each other are all quoted.

use std::collections::HashSet;

use super::{
    Answer, Library, Question,
    findings::Read,
    index::{Index, Section},
    plain,
    question::{Asked, Part, Spelling},
    rank::Ranked,
    remembered_turn::OPTION,
    vocabulary::BREAK,
};
use frontdesk_base::text::clip;

/// The most options offered. A caller who means another page can name it.
pub(super) const OPTIONS: usize = 5;
/// Pages that are counted, and can be named; of more it is said that there are more.
const MOST_MEANT: usize = 50;
/// How much of a question a heading has to name for the heading to be what is asked for.
const NAMED: f32 = 0.85;
/// How much of the heading the question has to be: "How big can a database get?" does not name "In-header database size".
const NAMES: f32 = 0.6;
/// How much of what somebody wrote a page has to hold to be the one that is meant.
const DESCRIBED: f32 = 0.5;
/// How much of each page is compared with it, in bytes.
const DESCRIBING: usize = 20_000;
/// Characters of what somebody chose that are compared with the options.
const LONGEST_CHOICE: usize = 1024;
/// Sentences that share so many of their stems say the same.
const AGREEING: f32 = 0.8;

/// The passages that are meant, one a page, if it cannot be told which: the best first.
pub(super) fn candidates(index: &Index, read: &Read) -> Option<Vec<Ranked>> {
    let meant = same_sections(index, read);
    let meant = if meant.len() < 2 && read.is_name { same_names(index, read) } else { meant };
    (meant.len() > 1).then_some(meant)
}

/// Sections of one name on pages laid out alike ("When to go"), where the question names the section and no page, and says
/// nothing that one of them alone holds.
fn same_sections(index: &Index, read: &Read) -> Vec<Ranked> {
    let Read { asked, ranked, .. } = read;
    let Some(top) = ranked.first() else { return Vec::new() };
    let section = |ranked: &Ranked| &index.sections[index.entries[ranked.entry].section as usize];
    let counting = asked.counting();
    let named = top.headed & counting;
    let is_the_heading = top.heading > 0.0 && top.aimed >= NAMES * top.heading;
    if section(top).heading_terms.is_empty()
        || named == 0
        || !is_the_heading
        || top.titled & counting & !top.headed != 0
    {
        return Vec::new();
    }
    let heading = &section(top).heading_terms;
    let same =
        |other: &&Ranked| section(other).heading_terms == *heading && other.titled & counting & !other.headed == 0;
    let alike: Vec<&Ranked> = ranked.iter().filter(same).collect();
    let is_settled = !asked.promoted
        && (asked.share(named) < NAMED || alike.iter().any(|other| other.covered & counting & !named != 0));
    if is_settled || alike.len() < 2 {
        return Vec::new();
    }
    let headings = headings(index, top.entry);
    let is_alike =
        |other: &&Ranked| other.page == top.page || laid_out_alike(&headings, &self::headings(index, other.entry));
    one_a_page(index, alike.into_iter().filter(is_alike))
}

/// The headings of the page that a passage is of.
fn headings(index: &Index, entry: usize) -> HashSet<&[u32]> {
    let at = index.entries[entry].section as usize;
    let is_same = |section: &&Section| section.page == index.sections[at].page;
    let before = index.sections[..at].iter().rev().take_while(is_same);
    let all = before.chain(index.sections[at..].iter().take_while(is_same));
    all.map(|section| &*section.heading_terms).filter(|heading| !heading.is_empty()).collect()
}

/// Does one of two pages have half of the other's headings, as two branches of a shop have, or two towns in a guide? Two chapters
/// that share one heading are no such pages.
fn laid_out_alike(one: &HashSet<&[u32]>, other: &HashSet<&[u32]>) -> bool {
    one.intersection(other).count() * 2 >= one.len().min(other.len())
}

/// Pages and sections that share a name, where the question is that name and nothing else: "timetable", where there is a
/// winter timetable and a summer timetable.
fn same_names(index: &Index, read: &Read) -> Vec<Ranked> {
    let Read { asked, ranked, .. } = read;
    let counting = asked.counting();
    let is_named = |other: &&Ranked| (other.headed | other.titled) & counting == counting;
    if counting == 0 || !ranked.first().is_some_and(|top| is_named(&top)) {
        return Vec::new();
    }
    let named: Vec<&Ranked> = ranked.iter().filter(is_named).collect();
    // Where one is called just so, that is the one.
    let is_whole = |other: &&Ranked| {
        let section = &index.sections[index.entries[other.entry].section as usize];
        let title = &index.leaves[other.page as usize].title_terms;
        let ours = |terms: &[u32]| !terms.is_empty() && terms.iter().all(|id| asked.by_id.contains_key(id));
        ours(&section.heading_terms) || ours(title)
    };
    if named.iter().any(is_whole) { Vec::new() } else { one_a_page(index, named.into_iter()) }
}

fn one_a_page<'a>(index: &Index, ranked: impl Iterator<Item = &'a Ranked>) -> Vec<Ranked> {
    let mut kept: Vec<(&Ranked, HashSet<u32>)> = Vec::new();
    for other in ranked {
        if kept.len() == MOST_MEANT || kept.iter().any(|(known, _)| known.page == other.page) {
            continue;
        }
        let tongue = index.leaves[other.page as usize].tongue;
        let mut terms = Vec::new();
        index.vocabulary.known(&plain::text(index.markdown(other.entry)).0, usize::from(tongue), &mut terms);
        let says: HashSet<u32> = terms.into_iter().filter(|term| *term != BREAK).collect();
        if !kept.iter().any(|(_, said)| overlap(said, &says) >= AGREEING) {
            kept.push((other, says));
        }
    }
    kept.into_iter().map(|(ranked, _)| ranked.clone()).collect()
}

fn overlap(a: &HashSet<u32>, b: &HashSet<u32>) -> f32 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    if either == 0 { 0.0 } else { both as f32 / either as f32 }
}

/// What an option is called: the page's title, with the section where that alone would not tell them apart.
pub(super) fn labels(index: &Index, meant: &[Ranked]) -> Vec<String> {
    let titles: Vec<&str> = meant.iter().map(|ranked| index.leaves[ranked.page as usize].title.as_str()).collect();
    let headings: Vec<&str> = meant.iter().map(|ranked| index.heading(ranked.entry)).collect();
    let sections = headings.iter().any(|heading| *heading != headings[0]);
    let mut labels: Vec<String> = Vec::new();
    for ((title, heading), ranked) in titles.iter().zip(&headings).zip(meant) {
        let label = match sections && !heading.is_empty() && heading != title {
            true => format!("{title}: {heading}"),
            false => (*title).to_owned(),
        };
        let label = plain::shortened(&label, OPTION);
        if !labels.iter().any(|known| known == label) {
            labels.push(label.to_owned());
            continue;
        }
        let path = format!(" ({})", index.leaves[ranked.page as usize].page.path);
        let apart = if path.len() <= OPTION / 2 { path } else { format!(" ({})", labels.len() + 1) };
        labels.push(format!("{}{apart}", plain::shortened(label, OPTION - apart.len())));
    }
    labels
}

/// What is asked back.
pub(super) fn question(index: &Index, meant: &[Ranked]) -> String {
    let heading = meant.first().map(|ranked| index.heading(ranked.entry)).unwrap_or_default();
    let same = !heading.is_empty() && meant.iter().all(|ranked| index.heading(ranked.entry) == heading);
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
                return self.found(question, &plain.asked, meant);
            }
            Choice::One(at) => labels.iter().position(|label| *label == offered[at]),
            // Pages that were not offered can be named as well.
            Choice::Free => {
                let said = plain::clean(clip(said, LONGEST_CHOICE)).to_lowercase();
                labels.iter().position(|label| label.to_lowercase() == said)
            }
        };
        let described = || self.described(said, meant);
        let (one, sure) = match one {
            Some(one) => (Some(one), true),
            None => described().map_or((None, false), |(one, share)| (Some(one), share >= DESCRIBED)),
        };
        // Words that hardly describe one of the pages may be a question of their own.
        let alone = if sure { None } else { self.alone(said, question) };
        if let Some(alone) = &alone {
            let page = alone.ranked.first().map(|best| best.page);
            if !meant.iter().any(|ranked| Some(ranked.page) == page) {
                // Where that is one more page of this kind, the question is answered from it.
                return match with.ranked.first().is_some_and(|best| Some(best.page) == page) {
                    true => self.found(question, &with.asked, &with.ranked),
                    false => self.reply(question, alone),
                };
            }
        }
        let of_the_search = alone.and_then(|read| {
            let page = read.ranked.first()?.page;
            meant.iter().position(|ranked| ranked.page == page)
        });
        match one.or(of_the_search) {
            Some(one) => {
                let page = meant[one].page;
                let section = |ranked: &&Ranked| {
                    self.index.entries[ranked.entry].section == self.index.entries[meant[one].entry].section
                };
                let others = plain
                    .ranked
                    .iter()
                    .filter(|other| other.page == page && other.entry != meant[one].entry)
                    .filter(section);
                let ranked: Vec<Ranked> = [&meant[one]].into_iter().chain(others).cloned().collect();
                self.found(question, &plain.asked, &ranked)
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
    fn described(&self, said: &str, meant: &[Ranked]) -> Option<(usize, f32)> {
        let part = Part { text: said, weight: 1.0, wanted: true };
        let asked = Asked::read(&self.index, &[part], "", None, Spelling::Exact);
        let held = |ranked: &Ranked| {
            let leaf = &self.index.leaves[ranked.page as usize];
            let mut terms = leaf.title_terms.to_vec();
            let page = &leaf.page.markdown;
            let begin = &page[..page.floor_char_boundary(DESCRIBING)];
            self.index.vocabulary.known(&plain::text(begin).0, usize::from(leaf.tongue), &mut terms);
            asked.share(asked.share_of(&terms).1)
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
    let bare = said.trim_end_matches(['.', '!', ')']).trim_start_matches("the ").trim_end_matches(" one");
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
        assert_eq!(choice("the second one.", &options), Choice::One(1));
        assert_eq!(choice("1", &options), Choice::One(0));
        assert_eq!(choice("third", &options), Choice::Free);
        assert_eq!(choice("Both", &options), Choice::All);
        assert_eq!(choice("the Spanish capital", &options), Choice::Free);
        assert_eq!(choice(&"x".repeat(1_000_000), &options), Choice::Free);
    }
}
