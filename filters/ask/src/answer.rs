//! What a question gets: passages of the site, a question back, or the word that there is no answer.
//!
//! An answer needs a passage that holds enough of what the question says, the rare words counting most. No single word is
//! demanded: how much is missing is what the confidence says.

use super::{
    Answer, Hit, Library, Question, Turn, confidence,
    findings::Read,
    follow, plain,
    question::{Asked, Part, Spelling},
    quote,
    rank::{self, Ranked},
    unclear::{self, Choice},
};

/// Passages of a page that is only listed, in bytes.
const LISTED: usize = 220;
/// The most questions that are proposed after an answer.
pub(super) const FOLLOW_UPS: usize = 3;

impl Library {
    /// Answers a question from the pages of the site and from the session.
    pub fn answer(&self, question: &Question<'_>) -> Answer {
        if let Some(answer) = follow::about_session(question.query, question.before) {
            return answer;
        }
        let last = question.before.last();
        // An option may come back as the next question, too.
        let chosen =
            |turn: &&Turn| matches!(unclear::choice(question.query, &turn.options), Choice::One(_) | Choice::All);
        let (query, said) = match (question.clarification, last.filter(|turn| !turn.options.is_empty())) {
            (Some(said), Some(turn)) if question.query.trim().is_empty() => (turn.query.as_str(), Some(said)),
            (None, Some(turn)) if chosen(&turn) => (turn.query.as_str(), Some(question.query)),
            (said, _) => (question.query, said),
        };
        let before = match (said, question.before) {
            // The turn that asked back is this question itself.
            (Some(_), [before @ .., turn]) if !turn.options.is_empty() => before,
            (_, before) => before,
        };
        if let Some(said) = said {
            let plain = self.read(query, None, before, question);
            if plain.answers(&self.index, before)
                && let Some(meant) = unclear::candidates(&self.index, &plain)
            {
                let offered = last.map(|turn| turn.options.as_slice()).unwrap_or_default();
                let with = self.read(query, Some(said), before, question);
                return self.settled(question, said, offered, (&plain, &with), &meant);
            }
        }
        let read = self.read(query, said, before, question);
        if read.answers(&self.index, before) {
            return match said {
                Some(_) => self.found(question, &read.asked, &read.ranked),
                None => self.reply(question, &read),
            };
        }
        // What was said then may be a question of its own; "And where do I park?" may be about something else than what was
        // asked before.
        let alone = said.or((!before.is_empty()).then_some(query)).and_then(|text| self.alone(text, question));
        if let Some(read) = alone {
            return self.reply(question, &read);
        }
        if before.is_empty()
            && said.is_none()
            && !self.index.entries.is_empty()
            && (read.asked.promoted || read.asked.terms.is_empty())
        {
            return self.portrait(question);
        }
        self.unanswered(question, &read.asked, &read.ranked)
    }

    /// Pages that fit, at most so many, the best first: the items of `application/feed`.
    pub fn feed(&self, question: &Question<'_>, at_most: usize) -> Vec<Hit> {
        let hits = self.hits(question, question.before, at_most);
        // The subject may be another than before.
        if hits.is_empty() && !question.before.is_empty() { self.hits(question, &[], at_most) } else { hits }
    }

    fn hits(&self, question: &Question<'_>, before: &[Turn], at_most: usize) -> Vec<Hit> {
        let read = self.read(question.query, question.clarification, before, question);
        let fits = |ranked: &&Ranked| confidence::may_answer(&read.asked, ranked);
        let mut hits: Vec<(u32, Hit)> = Vec::new();
        for ranked in read.ranked.iter().filter(fits).filter(|_| !read.is_elsewhere) {
            if hits.len() == at_most {
                break;
            }
            if hits.iter().all(|(page, _)| *page != ranked.page) {
                hits.push((ranked.page, self.hit(ranked)));
            }
        }
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    fn hit(&self, ranked: &Ranked) -> Hit {
        let leaf = &self.index.leaves[ranked.page as usize];
        let description = match &leaf.description {
            Some(text) if !text.is_empty() => text.clone(),
            _ => plain::shortened(&plain::text(self.index.markdown(ranked.entry)).0, LISTED).to_owned(),
        };
        Hit { title: leaf.title.clone(), url: self.url(&leaf.page.path), description }
    }

    pub(super) fn read(&self, query: &str, said: Option<&str>, before: &[Turn], question: &Question<'_>) -> Read {
        let locale = question.locale;
        let name = self.facts.name.as_deref().unwrap_or_default();
        let says = |text: &str| {
            let part = Part { text, weight: 1.0, wanted: true };
            let asked = Asked::read(&self.index, &[part], name, locale, Spelling::Exact);
            asked.terms.iter().any(|term| term.counts && !asked.promoted)
        };
        let mut parts = vec![Part { text: query, weight: 1.0, wanted: true }];
        parts.extend(said.map(|text| Part { text, weight: 2.0, wanted: false }));
        let leans = !before.is_empty() && follow::leans(query, says(query));
        if leans {
            parts.extend(follow::context(before, says));
        }
        // The vector is the question's alone.
        let is_alone = said.is_none() && !leans && query == question.query;
        let near = question.vector.filter(|_| is_alone).map(|vector| self.near(vector)).filter(|near| !near.is_empty());
        let read = |spelling| {
            let asked = Asked::read(&self.index, &parts, name, locale, spelling);
            let ranked = rank::rank(&self.index, &asked, query);
            let ranked = match &near {
                Some(near) => rank::fused(&self.index, &asked, ranked, near),
                None => ranked,
            };
            let context = asked.context();
            let is_elsewhere = leans && context != 0 && ranked.first().is_some_and(|best| best.covered & context == 0);
            let is_name = query.split_whitespace().count() == asked.terms.iter().filter(|term| term.counts).count();
            Read { asked, ranked, is_name, is_elsewhere, is_guessed: spelling == Spelling::Alike }
        };
        let exact = read(Spelling::Exact);
        if exact.answers(&self.index, before) || exact.asked.unknown().next().is_none() {
            return exact;
        }
        // Nothing else is found: perhaps a word is misspelt.
        Some(read(Spelling::Alike)).filter(|alike| alike.answers(&self.index, before)).unwrap_or(exact)
    }

    /// A text read as a question that nothing was said before; `None` where the site does not answer it.
    pub(super) fn alone(&self, text: &str, question: &Question<'_>) -> Option<Read> {
        Some(self.read(text, None, &[], question)).filter(|read| read.answers(&self.index, &[]))
    }

    pub(super) fn reply(&self, question: &Question<'_>, read: &Read) -> Answer {
        match unclear::candidates(&self.index, read) {
            Some(meant) => {
                let options = unclear::labels(&self.index, &meant).into_iter().take(unclear::OPTIONS).collect();
                Answer::Unclear { question: unclear::question(&self.index, &meant), options }
            }
            None => self.found(question, &read.asked, &read.ranked),
        }
    }

    /// The answer from the best of these passages.
    pub(super) fn found(&self, question: &Question<'_>, asked: &Asked, ranked: &[Ranked]) -> Answer {
        let Some(best) = ranked.first() else { return self.unanswered(question, asked, ranked) };
        let confidence = confidence::of(&self.index, asked, ranked);
        // Where the meaning is near, it does not matter that the site uses other words.
        let is_unsure = confidence < confidence::SURE && best.near.is_none_or(|near| near < confidence::MEANT);
        let note = self.unmentioned_words(asked).filter(|_| is_unsure);
        let follow_ups = self.follow_ups(best, ranked);
        quote::answer(self, (asked, ranked), question, note, follow_ups, confidence)
    }

    /// Questions that the site answers, near to what was asked: what stands beside the answer, then what came next.
    fn follow_ups(&self, best: &Ranked, ranked: &[Ranked]) -> Vec<String> {
        let index = &self.index;
        let section = index.entries[best.entry].section as usize;
        let beside = (section + 1..section + 3).chain(section.checked_sub(1));
        let beside = beside.filter(|at| index.sections.get(*at).is_some_and(|other| other.page == best.page));
        let further = ranked.iter().skip(1).take(12).map(|ranked| index.entries[ranked.entry].section as usize);
        let mut questions: Vec<String> = Vec::new();
        for at in beside.chain(further).filter(|at| *at != section) {
            if let Some(question) = self.as_question(at)
                && questions.len() < FOLLOW_UPS
                && !questions.contains(&question)
            {
                questions.push(question);
            }
        }
        questions
    }

    /// A section's heading as something to ask.
    pub(super) fn as_question(&self, section: usize) -> Option<String> {
        let section = self.index.sections.get(section)?;
        let leaf = &self.index.leaves[section.page as usize];
        let title = &leaf.title;
        let heading = section.path.last()?.as_str();
        if leaf.is_gone || heading.is_empty() || heading.len() + title.len() > 120 {
            return None;
        }
        Some(match heading == title || heading.ends_with('?') {
            true => heading.to_owned(),
            false => format!("{title}: {heading}"),
        })
    }

    /// Says that the site does not answer, and which of its pages and passages come nearest.
    fn unanswered(&self, question: &Question<'_>, asked: &Asked, ranked: &[Ranked]) -> Answer {
        let mut near: Vec<Ranked> =
            ranked.iter().filter(|ranked| confidence::is_near(asked, ranked)).cloned().collect();
        if near.is_empty() {
            near.extend(ranked.iter().filter(|ranked| ranked.covered & asked.counting() != 0).cloned());
        }
        let is_likely = confidence::is_likely(&self.index, asked, &near);
        let mut text = self.nothing_found().to_owned();
        if is_likely {
            text = text.replacen("answers that", "clearly answers that", 1);
        }
        if !self.index.entries.is_empty()
            && let Some(note) = self.unmentioned_words(asked)
        {
            text.push(' ');
            text.push_str(&note);
        }
        let sections = near.iter().take(6).map(|ranked| self.index.entries[ranked.entry].section as usize);
        let mut follow_ups: Vec<String> = Vec::new();
        for question in sections.chain(0..3).filter_map(|at| self.as_question(at)) {
            if follow_ups.len() < FOLLOW_UPS && !follow_ups.contains(&question) {
                follow_ups.push(question);
            }
        }
        quote::nothing(self, text, asked, (&near, is_likely), follow_ups, question)
    }

    /// Which words of a question the site does not have, in a sentence.
    fn unmentioned_words(&self, asked: &Asked) -> Option<String> {
        let words: Vec<String> = asked.unknown().take(3).map(|term| plain::quoted(&term.written)).collect();
        (!words.is_empty()).then(|| format!("{} {}.", self.unmentioned(), words.join(" or ")))
    }
}
