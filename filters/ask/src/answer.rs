//! What a question gets: an answer, a question back, or the word that there is none.
//!
//! An answer needs a passage that holds half of what the question says, the rare words counting most: a word that the
//! site does not have at all weighs more than any that it has.

use tantivy::tokenizer::Language;

use super::{
    Answer, Hit, Library, MOST_TOKENS, Question, Turn,
    asked::{Asked, Part},
    follow, plain,
    reading::Read,
    say::{FOLLOW_UPS, FURTHER, count, excerpt},
    search::{self, FOUND, Ranked},
    unclear::{self, Choice},
    words,
};

/// Languages tried besides the visitor's.
const LANGUAGES: usize = 3;

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
        let mut first = None;
        for language in self.languages(question) {
            if let Some(said) = said {
                let plain = self.read(query, None, before, language);
                if plain.answers(before)
                    && let Some(meant) = unclear::candidates(&self.index, &plain)
                {
                    let offered = last.map(|turn| turn.options.as_slice()).unwrap_or_default();
                    let with = self.read(query, Some(said), before, language);
                    return self.settled(question, said, offered, (&plain, &with), &meant);
                }
            }
            let read = self.read(query, said, before, language);
            if read.answers(before) {
                return match said {
                    Some(_) => self.found(question, &read.asked, &read.found, 1),
                    None => self.reply(question, &read),
                };
            }
            first.get_or_insert(read);
        }
        // What was said then may be a question of its own.
        if let Some(read) = said.and_then(|said| self.alone(said, question)) {
            return self.reply(question, &read);
        }
        if said.is_none() && !before.is_empty() {
            // "And where do I park?" may be about something else than what was asked before.
            if let Some(read) = self.alone(query, question) {
                return self.reply(question, &read);
            }
        }
        if before.is_empty()
            && said.is_none()
            && first.as_ref().is_some_and(|read| read.asked.promoted || read.asked.terms.is_empty())
        {
            return self.portrait(question);
        }
        self.nothing(question, first)
    }

    /// Pages that fit, at most so many, the best first: the items of `application/feed`.
    pub fn feed(&self, question: &Question<'_>, at_most: usize) -> Vec<Hit> {
        let hits = self.hits(question, question.before, at_most);
        // The subject may be another than before.
        if hits.is_empty() && !question.before.is_empty() { self.hits(question, &[], at_most) } else { hits }
    }

    fn hits(&self, question: &Question<'_>, before: &[Turn], at_most: usize) -> Vec<Hit> {
        let mut hits: Vec<(u32, Hit)> = Vec::new();
        for language in self.languages(question) {
            let read = self.read(question.query, question.clarification, before, language);
            for ranked in read.found {
                if hits.len() == at_most {
                    break;
                }
                if hits.iter().all(|(page, _)| *page != ranked.page) {
                    hits.push((ranked.page, self.hit(&read.asked, &ranked)));
                }
            }
            if !hits.is_empty() {
                break;
            }
        }
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    fn hit(&self, asked: &Asked, ranked: &Ranked) -> Hit {
        let leaf = &self.index.leaves[ranked.page as usize];
        let description = match &leaf.description {
            Some(text) if !text.is_empty() => text.clone(),
            _ => {
                let sentences = excerpt(&self.index.entries[ranked.entry], asked, FURTHER);
                sentences.into_iter().map(|sentence| sentence.text).collect::<Vec<_>>().join(" ")
            }
        };
        Hit { title: leaf.title.clone(), url: self.url(&leaf.path), description }
    }

    /// The visitor's language if the site has it, then those of the site.
    fn languages(&self, question: &Question<'_>) -> Vec<Language> {
        let wanted = question.locale.and_then(words::language);
        let known = self.index.languages.iter().map(|(language, _)| *language);
        let mut all: Vec<Language> = known.clone().filter(|language| Some(*language) == wanted).collect();
        all.extend(known.filter(|language| Some(*language) != wanted));
        all.truncate(1 + LANGUAGES);
        all
    }

    /// Does a text say anything of its own?
    fn says(&self, query: &str, language: Language) -> bool {
        let name = self.facts.name.as_deref().unwrap_or_default();
        let asked = Asked::read(&self.index, &[Part { text: query, weight: 1.0, wanted: true }], name, language);
        asked.terms.iter().any(|term| term.counts && !asked.promoted)
    }

    pub(super) fn read(&self, query: &str, said: Option<&str>, before: &[Turn], language: Language) -> Read {
        let name = self.facts.name.as_deref().unwrap_or_default();
        let says = |text: &str| self.says(text, language);
        let mut parts = vec![Part { text: query, weight: 1.0, wanted: true }];
        parts.extend(said.map(|text| Part { text, weight: 2.0, wanted: false }));
        let leans = !before.is_empty() && follow::leans(query, says(query));
        if leans {
            parts.extend(follow::context(before, says));
        }
        let asked = Asked::read(&self.index, &parts, name, language);
        let ranked = search::rank(&self.index, &asked, query);
        let context = asked.context();
        let holds = |ranked: &Ranked| {
            asked.share(ranked.covered) >= FOUND && (!leans || context == 0 || ranked.covered & context != 0)
        };
        let (found, near): (Vec<Ranked>, Vec<Ranked>) = ranked.into_iter().partition(holds);
        Read { asked, found, near }
    }

    /// A text read as a question that nothing was said before; `None` where the site does not answer it.
    pub(super) fn alone(&self, text: &str, question: &Question<'_>) -> Option<Read> {
        let reads = self.languages(question).into_iter().map(|language| self.read(text, None, &[], language));
        reads.into_iter().find(|read| read.answers(&[]))
    }

    pub(super) fn reply(&self, question: &Question<'_>, read: &Read) -> Answer {
        match unclear::candidates(&self.index, read) {
            Some(meant) => {
                let options = unclear::labels(&self.index, &meant).into_iter().take(unclear::OPTIONS).collect();
                Answer::Unclear { question: unclear::question(&self.index, &meant), options }
            }
            None => self.found(question, &read.asked, &read.found, 1),
        }
    }

    fn nothing(&self, question: &Question<'_>, read: Option<Read>) -> Answer {
        let mut text = self.nothing_found().to_owned();
        let mut follow_ups = Vec::new();
        if let Some(read) = read.filter(|_| !self.index.entries.is_empty()) {
            let unknown = read.asked.terms.iter().filter(|term| term.counts && term.is_unknown());
            let unknown: Vec<String> = unknown.take(3).map(|term| plain::quoted(&term.written)).collect();
            if !unknown.is_empty() {
                text.push_str(&format!(" {} {}.", self.unmentioned(), unknown.join(" or ")));
            }
            let near = read.near.iter().take(2 * FOLLOW_UPS).map(|ranked| ranked.entry);
            for at in near.chain([0]) {
                if let Some(question) = self.as_question(at)
                    && follow_ups.len() < FOLLOW_UPS
                    && !follow_ups.contains(&question)
                    && self.can_answer(&question, at)
                {
                    follow_ups.push(question);
                }
            }
        }
        let most = question.max_tokens.min(MOST_TOKENS);
        while !follow_ups.is_empty() && count(&text) + follow_ups.iter().map(|text| count(text)).sum::<usize>() > most {
            follow_ups.pop();
        }
        Answer::Nothing { text, follow_ups }
    }
}
