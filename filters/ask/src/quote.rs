//! From passages to an answer: the best of them as Markdown, whole, the best first, within the tokens there are.

use std::{fmt::Write, ops::Range};

use super::{
    Answer, Library, Question, Relevance, Source, confidence, cost::count, index::Index, lead, passage::Form, plain,
    question::Asked, quotation, rank::Ranked,
};

/// The most passages of an answer, and sources of one.
const PASSAGES: usize = 12;
const SOURCES: usize = 8;
/// Pages that are named where none answers, and passages of them.
const NEAREST: usize = 3;
const NEAR_PASSAGES: usize = 2;
/// A passage that fits less well than so much of the best is not quoted; and where the best answers for certain.
const BEHIND: f32 = 0.6;
const BEHIND_CERTAIN: f32 = 0.8;
/// How much of an answer the rest of the best passage's section may take, and how much the best page all together, before
/// other pages are quoted, in percent.
const OF_SECTION: usize = 30;
const OF_PAGE: usize = 43;
/// Where less than this is quoted, in percent of an answer, what stands around the best passage is quoted too: so many passages
/// at most.
const FLOOR: usize = 30;
const AROUND: usize = 12;
/// What a source costs beyond its title and address: names and marks of JSON.
const PER_SOURCE: usize = 14;

/// Stands where passages of a section are left out, and how many tokens it costs.
const LEFT_OUT: &str = "\n\n[…]";
const LEFT_OUT_COST: usize = 2;

/// Passages of one section.
struct Quote {
    section: u32,
    /// It is of the page that is quoted first, and goes on with what that says.
    goes_on: bool,
    /// In the order of the page, with their text.
    passages: Vec<(usize, String)>,
    /// The sentence of them that alone answers.
    lead: Option<String>,
}

impl Quote {
    fn entries(&self) -> Vec<usize> {
        self.passages.iter().map(|(entry, _)| *entry).collect()
    }

    fn text(&self, index: &Index) -> String {
        let mut text = heading(index, self.section);
        if self.goes_on {
            text.insert(0, '#');
        }
        if let Some(lead) = &self.lead {
            let _ = write!(text, "\n\n> {lead}");
        }
        let Some((first, _)) = self.passages.first() else { return text };
        let gaps = gaps(index.section_of(*first), &self.entries());
        for (is_gap, (_, passage)) in gaps.iter().zip(&self.passages) {
            text.push_str(if *is_gap { LEFT_OUT } else { "" });
            let _ = write!(text, "\n\n{passage}");
        }
        text.push_str(if gaps.ends_with(&[true]) { LEFT_OUT } else { "" });
        text
    }
}

/// Whether something is left out before each of these passages of a section, and after the last.
fn gaps(section: Range<usize>, entries: &[usize]) -> Vec<bool> {
    let begins = [section.start].into_iter().chain(entries.iter().map(|entry| entry + 1));
    let ends = entries.iter().copied().chain([section.end]);
    begins.zip(ends).map(|(begin, end)| begin != end).collect()
}

/// What there is to spend, in tokens.
struct Purse {
    /// On what is quoted.
    text: usize,
    /// For what stands beside it.
    beside: usize,
}

/// The best passages and where they stand; nothing where not even one fits. The section of the best comes first, as far as
/// it fits into its share, and then what else its page says of it: a page is best understood as a whole, and where one of
/// its sections fits, the answer is often in the one beside it.
fn gather(
    library: &Library,
    ranked: &[Ranked],
    purse: &mut Purse,
    (most, confidence): (usize, f32),
) -> (Vec<Quote>, Vec<Source>) {
    let mut gathered = Gathered { library, quotes: Vec::new(), sources: Vec::new(), count: 0 };
    let Some(best) = ranked.first() else { return (gathered.quotes, gathered.sources) };
    let (all, index) = (purse.text, &library.index);
    let behind = behind(confidence);
    // Where meaning was searched, the score by words alone says little.
    let is_close = |next: &&Ranked| best.near.is_some() || next.fit() >= behind * best.fit();
    if gathered.add(best.entry, purse) {
        let mut beside: Vec<usize> = index.section_of(best.entry).filter(|entry| *entry != best.entry).collect();
        // What answers best comes first there too, then what stands nearest.
        let place = |entry: usize| ranked.iter().position(|ranked| ranked.entry == entry).unwrap_or(usize::MAX);
        beside.sort_by_cached_key(|entry| (place(*entry), entry.abs_diff(best.entry)));
        let mut room = purse.text * OF_SECTION / 100;
        for entry in beside {
            let cost = count(index.markdown(entry)) + 2;
            let Some(left) = room.checked_sub(cost).filter(|_| gathered.count < most) else { break };
            room = left;
            gathered.add(entry, purse);
        }
        let reserved = all - all * OF_PAGE / 100;
        for next in ranked.iter().skip(1).take_while(is_close).filter(|next| next.page == best.page) {
            if gathered.count >= most {
                break;
            }
            // What is for other pages is not spent on this one.
            let Some(text) = purse.text.checked_sub(reserved) else { break };
            let mut of_page = Purse { text, beside: purse.beside };
            gathered.add(next.entry, &mut of_page);
            *purse = Purse { text: of_page.text + reserved, beside: of_page.beside };
        }
        gathered.quotes.iter_mut().skip(1).for_each(|quote| quote.goes_on = true);
    }
    for next in ranked.iter().skip(1).take_while(is_close) {
        if gathered.count >= most {
            break;
        }
        gathered.add(next.entry, purse);
    }
    if confidence < confidence::SURE {
        gathered.fill(best.entry, purse, (all - all * FLOOR / 100, most));
    }
    (gathered.quotes, gathered.sources)
}

/// How far behind the best passage another may be: the surer the best answers, the less else is quoted.
fn behind(confidence: f32) -> f32 {
    let certainty = (confidence - confidence::SURE).max(0.0) / (1.0 - confidence::SURE);
    BEHIND + (BEHIND_CERTAIN - BEHIND) * certainty
}

/// What has been gathered so far.
struct Gathered<'a> {
    library: &'a Library,
    quotes: Vec<Quote>,
    sources: Vec<Source>,
    count: usize,
}

impl Gathered<'_> {
    /// Adds a passage, where it can be paid for and is not there yet.
    fn add(&mut self, entry: usize, purse: &mut Purse) -> bool {
        let index = &self.library.index;
        let section = index.entries[entry].section;
        let known = self.quotes.iter().position(|quote| quote.section == section);
        if known.is_some_and(|known| self.quotes[known].passages.iter().any(|(other, _)| *other == entry)) {
            return false;
        }
        let text = quotation::passage(index.markdown(entry), index.entries[entry].form == Form::WithinCode);
        // Every word is a token at least, and counting words is cheap.
        if text.split_ascii_whitespace().count() > purse.text {
            return false;
        }
        let source = source(self.library, section);
        let is_new = self.sources.len() < SOURCES && !self.sources.iter().any(|known| known.is_as(&source));
        let price = if is_new { price(&source) } else { 0 };
        // What the text costs, and what of its source is not paid for beside it.
        let head = if known.is_some() { 2 } else { count(&heading(index, section)) + 2 };
        let marks = |entries: &[usize]| {
            LEFT_OUT_COST * gaps(index.section_of(entry), entries).into_iter().filter(|is_gap| *is_gap).count()
        };
        let mut entries = known.map(|at| self.quotes[at].entries()).unwrap_or_default();
        let paid = if entries.is_empty() { 0 } else { marks(&entries) };
        entries.insert(entries.partition_point(|other| *other < entry), entry);
        let cost = head + count(&text) + price.saturating_sub(purse.beside) + marks(&entries);
        let cost = cost.saturating_sub(paid);
        let Some(left) = purse.text.checked_sub(cost) else { return false };
        purse.text = left;
        purse.beside = purse.beside.saturating_sub(price);
        match known {
            Some(known) => {
                let passages = &mut self.quotes[known].passages;
                let place = passages.partition_point(|(other, _)| *other < entry);
                passages.insert(place, (entry, text));
            }
            None => self.quotes.push(Quote { section, goes_on: false, passages: vec![(entry, text)], lead: None }),
        }
        self.count += 1;
        self.sources.extend(is_new.then_some(source));
        true
    }

    /// Adds what stands around the best passage, until so many tokens are left, or there are so many passages: a short section
    /// says little by itself.
    fn fill(&mut self, best: usize, purse: &mut Purse, (left, most): (usize, usize)) {
        let index = &self.library.index;
        let quoted = self.quotes.len();
        for entry in index.around(best, AROUND) {
            if purse.text <= left || self.count >= most {
                break;
            }
            self.add(entry, purse);
        }
        // They go on with the best page, before other pages.
        let page = |quote: &Quote| index.sections[quote.section as usize].page;
        let own = index.sections[index.entries[best].section as usize].page;
        let at = self.quotes[..quoted].iter().take_while(|quote| page(quote) == own).count();
        self.quotes[quoted..].iter_mut().for_each(|quote| quote.goes_on = at > 0);
        let added = self.quotes.len() - quoted;
        self.quotes[at..].rotate_right(added);
    }
}

/// Puts an answer together.
pub(super) fn answer(
    library: &Library,
    (asked, ranked): (&Asked, &[Ranked]),
    question: &Question<'_>,
    note: Option<String>,
    mut follow_ups: Vec<String>,
    confidence: f32,
) -> Answer {
    let index = &library.index;
    let most = question.max_tokens.max(1);
    let quoted = most.min(question.answer_tokens.max(1));
    let note = note.map(|note| format!("{note}\n\n")).filter(|note| count(note) * 4 <= quoted).unwrap_or_default();
    let mut purse = Purse { text: quoted - count(&note), beside: most - quoted };
    let fits = |ranked: &Ranked| count(index.markdown(ranked.entry)) <= quoted;
    // A passage too long for what was allowed is cut; a shorter one, which says less, does not take its place.
    let Some(best) = ranked.first().filter(|best| fits(best)) else {
        return around_best(library, (asked, ranked), (quoted, most), confidence);
    };
    let (mut quotes, sources) = gather(library, ranked, &mut purse, (PASSAGES, confidence));
    if !quotes.iter().any(|quote| quote.passages.iter().any(|(entry, _)| *entry == best.entry)) {
        return around_best(library, (asked, ranked), (quoted, most), confidence);
    }
    if let Some(lead) = lead::sentence(index, asked, best.entry).map(|lead| quotation::escaped(&lead))
        && let Some(left) = purse.text.checked_sub(count(&lead) + 4)
        && let Some(first) = quotes.first_mut()
    {
        purse.text = left;
        first.lead = Some(lead);
    }
    drop_unpaid(&mut follow_ups, purse.text + purse.beside);
    let texts: Vec<String> = quotes.iter().map(|quote| quote.text(index)).collect();
    Answer::Found { text: format!("{note}{}", texts.join("\n\n")), sources, follow_ups, confidence }
}

/// As much of the best passage as there is room for, around the sentence that says most of what was asked.
fn around_best(
    library: &Library,
    (asked, ranked): (&Asked, &[Ranked]),
    (quoted, most): (usize, usize),
    confidence: f32,
) -> Answer {
    let Some(best) = ranked.first() else {
        return Answer::Nothing { text: String::new(), follow_ups: Vec::new() };
    };
    let index = &library.index;
    let section = index.entries[best.entry].section;
    let (source, head) = (source(library, section), heading(index, section));
    let is_told = price(&source) * 2 <= most;
    let room = quoted.min(if is_told { most - price(&source) } else { most });
    let text = plain::text(index.markdown(best.entry)).0;
    let escaped = |most| quotation::escaped(&lead::around(index, asked, best.entry, &text, most));
    let around = |most: usize| {
        let text = escaped(most);
        let over = count(&text).saturating_sub(most);
        if over == 0 { text } else { escaped(most.saturating_sub(over)) }
    };
    let text = match room.checked_sub(count(&head) + 2).filter(|left| *left * 2 >= room) {
        Some(left) => format!("{head}\n\n{}", around(left)),
        None => around(room),
    };
    Answer::Found { text, sources: is_told.then_some(source).into_iter().collect(), follow_ups: Vec::new(), confidence }
}

/// The word that there is no answer, the pages that come nearest and the best of their passages, as far as there are tokens
/// for it: as many as of an answer where it is likely that they answer after all.
pub(super) fn nothing(
    library: &Library,
    mut text: String,
    asked: &Asked,
    (near, is_likely): (&[Ranked], bool),
    mut follow_ups: Vec<String>,
    question: &Question<'_>,
) -> Answer {
    let most = question.max_tokens.max(1);
    let mut pages: Vec<u32> = Vec::new();
    for ranked in near {
        if pages.len() < NEAREST && !pages.contains(&ranked.page) {
            pages.push(ranked.page);
        }
    }
    let leaf = |page: &u32| &library.index.leaves[*page as usize];
    let lines = pages
        .iter()
        .map(|page| format!("\n- {}: {}", quotation::escaped(&leaf(page).title), library.url(&leaf(page).page.path)));
    // A word that the site never has speaks against it.
    let which = if is_likely && asked.unknown().next().is_none() { "These pages may" } else { "The nearest pages" };
    let list = format!(" {which}:{}", lines.collect::<String>());
    if !pages.is_empty() && count(&text) + count(&list) <= most {
        text.push_str(&list);
        let room = most.min(question.answer_tokens).saturating_sub(count(&text) + 12);
        let (passages, share) = if is_likely { (PASSAGES, 1) } else { (NEAR_PASSAGES, 4) };
        let mut purse = Purse { text: room.min(question.answer_tokens / share), beside: usize::MAX };
        let (quotes, _) = gather(library, near, &mut purse, (passages, 0.0));
        if !quotes.is_empty() {
            text.push_str("\n\nWhat they say that comes nearest:");
            for quote in &quotes {
                let _ = write!(text, "\n\n{}", quote.text(&library.index));
            }
        }
    }
    drop_unpaid(&mut follow_ups, most.saturating_sub(count(&text)));
    Answer::Nothing { text, follow_ups }
}

/// Leaves out the follow-ups that cannot be paid for.
fn drop_unpaid(follow_ups: &mut Vec<String>, room: usize) {
    while follow_ups.iter().map(|text| count(text) + 4).sum::<usize>() > room {
        follow_ups.pop();
    }
}

/// The line above what is quoted of a section: the page's title and the headings that lead there.
fn heading(index: &Index, section: u32) -> String {
    let section = &index.sections[section as usize];
    let title = index.leaves[section.page as usize].title.as_str();
    let mut line = plain::clean(title);
    for heading in section.path.iter().filter(|heading| heading.as_str() != title) {
        let _ = write!(line, " › {heading}");
    }
    format!("## {}", quotation::escaped(&line))
}

fn source(library: &Library, section: u32) -> Source {
    let section = &library.index.sections[section as usize];
    let leaf = &library.index.leaves[section.page as usize];
    let mut url = library.url(&leaf.page.path);
    if let Some(anchor) = &section.anchor {
        let _ = write!(url, "#{anchor}");
    }
    let heading = section.path.last().filter(|heading| **heading != leaf.title).cloned();
    Source { title: leaf.title.clone(), url, section: heading, relevance: Relevance::Direct }
}

fn price(source: &Source) -> usize {
    count(&source.title) + count(&source.url) + source.section.as_deref().map_or(0, count) + PER_SOURCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_for_what_is_left_out_costs_what_it_says() {
        assert_eq!(count(LEFT_OUT), LEFT_OUT_COST);
    }

    #[test]
    fn a_gap_is_what_is_left_out_before_between_and_after() {
        assert_eq!(gaps(3..6, &[3, 4, 5]), [false; 4]);
        assert_eq!(gaps(3..8, &[4, 6]), [true, true, true]);
        assert_eq!(gaps(3..5, &[3]), [false, true]);
    }

    #[test]
    fn the_surer_an_answer_is_the_closer_another_passage_has_to_come() {
        assert_eq!([0.0, confidence::SURE, 1.0].map(behind), [BEHIND, BEHIND, BEHIND_CERTAIN]);
        assert!(behind(0.9) > BEHIND && behind(0.9) < BEHIND_CERTAIN);
    }
}
